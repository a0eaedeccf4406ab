"""Charts of directories with the charts that they depend on, as ``helm dependency build`` puts them together.

A dependency lies in the chart's directory ``charts``, at a path of the repository (``file://``), or in a library of
pulled charts. Upstream: helm (pkg/chart/dependency.go, pkg/action/dependency.go, pkg/downloader/manager.go).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kwhatif import bounds
from kwhatif.api.objects import list_at, text_at
from kwhatif.errors import InputError
from kwhatif.snapshot.read.git_trees import problem_of_name
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.repository.chart_files import chart_files, complete_chart
from kwhatif.snapshot.repository.chart_library import ChartLibrary, ChartReference, PulledChart, reference_to
from kwhatif.snapshot.repository.charts import CHART, has_chart
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.version_constraints import is_allowed

_AT_PATH = "file://"
_MOST_DEEP = 16
_MOST_PARTS = 1000


@dataclass(frozen=True)
class Chart:
    """The metadata of a chart from ``Chart.yaml``; ``problem`` says why it cannot be rendered offline.

    ``parts`` are charts that it depends on and that are not in its directory: other directories and pulled ones.
    """

    folder: str
    name: str
    version: str = ""
    is_library: bool = False
    problem: str = ""
    parts: Sequence[Chart | PulledChart] = field(default=(), repr=False)


class ChartReader:
    """Reads the charts of a tree. What they lack may be in the library."""

    def __init__(self, tree: FileTree, library: ChartLibrary) -> None:
        self._tree, self._library = tree, library
        self._charts: dict[str, Chart] = {}

    def chart_of(self, folder: str, depth: int = 0) -> Chart:
        """The chart of a directory; one that cannot be read has that for its problem."""
        place = self._tree.place_of(folder)
        if place not in self._charts:
            # Until it is read, whatever leads back to it finds this.
            self._charts[place] = Chart(folder, "", problem="its dependencies are in a circle")
            self._charts[place] = self._read(folder, depth)
        return self._charts[place]

    def problem_of(self, chart: Chart | PulledChart) -> str:
        """Why a chart cannot be rendered; empty if it can."""
        if isinstance(chart, Chart):
            return chart.problem
        known, ahead = {chart.place}, [chart]
        while ahead:
            pulled_chart = ahead.pop()
            for wanted, part in self._parts_of_pulled(pulled_chart):
                if part is None:
                    return _describe_absent([wanted])
                if part.place not in known:
                    known.add(part.place)
                    ahead.append(part)
        return ""

    def _parts_of_pulled(self, chart: PulledChart) -> Iterator[tuple[ChartReference, PulledChart | None]]:
        """What a pulled chart depends on and does not bring along, as far as somebody has pulled that."""
        return ((wanted, self._library.find(wanted)) for wanted in chart.absent_dependencies())

    def files_of(self, chart: Chart | PulledChart) -> dict[str, bytes]:
        """The files of a chart and its parts as helm gets them. Raises InputError for what it must not get."""
        files: dict[str, bytes] = {}
        ahead: list[tuple[str, Chart | PulledChart]] = [("", chart)]
        size = count = 0
        while ahead:
            place, unit = ahead.pop()
            count += 1
            own = unit.files if isinstance(unit, PulledChart) else chart_files(self._tree, unit.folder)
            size += sum(map(len, own.values()))
            if count > _MOST_PARTS or size > bounds.MANIFEST_BYTES:
                raise InputError(f"it and its dependencies are more than {_MOST_PARTS:,} charts, or too large")
            files |= {f"{place}{name}": data for name, data in own.items()}
            parts = unit.parts if isinstance(unit, Chart) else [part for _, part in self._parts_of_pulled(unit) if part]
            ahead += ((f"{place}charts/part-{number}/", part) for number, part in enumerate(parts))
        return complete_chart(files)

    def folders_of(self, chart: Chart) -> set[str]:
        """The directories of a chart and its parts."""
        folders: set[str] = set()
        ahead = [chart]
        while ahead:
            unit = ahead.pop()
            if unit.folder not in folders:
                folders.add(unit.folder)
                ahead += (part for part in unit.parts if isinstance(part, Chart))
        return folders

    def _read(self, folder: str, depth: int) -> Chart:
        name = os.path.basename(folder)
        try:
            value = _fields_of(self._tree, folder, CHART)
            listed = value.get("dependencies")
            if listed is None and value.get("apiVersion") == "v1":
                listed = _fields_of(self._tree, folder, "requirements.yaml").get("dependencies")
        except InputError as error:
            return Chart(folder, name, problem=str(error))
        if not isinstance(value.get("name"), str):
            return Chart(folder, name, problem="its Chart.yaml has no name")
        parts: list[Chart | PulledChart] = []
        absent: list[ChartReference] = []
        problem = "" if depth < _MOST_DEEP else f"charts depend on each other more than {_MOST_DEEP} levels deep"
        for dependency in list_at({"dependencies": listed}, "dependencies") if not problem else ():
            if not isinstance(dependency, dict) or self._is_vendored(folder, str(dependency.get("name"))):
                continue
            part = self._find(folder, dependency, depth)
            if part is None:
                absent.append(_reference_of(dependency))
            else:
                problem = problem or ((why := self.problem_of(part)) and f"{text_at(dependency, 'name')}: {why}")
                parts.append(part)
        if absent:
            problem = _describe_absent(absent)
        version, is_library = str(value.get("version") or ""), value.get("type") == "library"
        return Chart(folder, value["name"], version, is_library, problem, parts)

    def _is_vendored(self, folder: str, name: str) -> bool:
        charts = self._tree.path_in(folder, "charts")
        if problem_of_name(os.fsencode(name)):
            return False
        if has_chart(self._tree, self._tree.path_in(charts, name)):
            return True
        return any(os.path.basename(file).startswith(f"{name}-") for file in self._tree.archives_in(charts))

    def _find(self, folder: str, entry: Mapping[str, Any], depth: int) -> Chart | PulledChart | None:
        repository = text_at(entry, "repository")
        if not repository.startswith(_AT_PATH):
            return self._library.find(_reference_of(entry))
        path = self._tree.path_in(folder, repository.removeprefix(_AT_PATH))
        if self._tree.leads_out(path) or not has_chart(self._tree, path):
            return None
        chart = self.chart_of(path, depth + 1)
        return chart if chart.problem or is_allowed(chart.version, text_at(entry, "version")) else None


def _describe_absent(charts: Sequence[ChartReference]) -> str:
    names, commands = ", ".join(chart.name for chart in charts), "; ".join(chart.command for chart in charts)
    return f"it depends on {names}, which is not in its charts directory ({commands}; then --charts DIR)"


def _reference_of(entry: Mapping[str, Any]) -> ChartReference:
    """What a chart says of one that it depends on."""
    return reference_to(text_at(entry, "name"), text_at(entry, "version"), text_at(entry, "repository"))


def _fields_of(tree: FileTree, folder: str, name: str) -> dict[str, Any]:
    path = tree.path_in(folder, name)
    fields: dict[str, Any] = {}
    for document in read_documents(tree.read(path)) if tree.is_file(path) else ():
        fields |= decode(document.value, dict[str, Any])
    return fields
