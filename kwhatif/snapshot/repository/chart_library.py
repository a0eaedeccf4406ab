"""Charts that somebody has pulled: directories, archives of ``helm pull``, and OCI layouts, by name and version.

Upstream: helm (pkg/chart/loader/archive.go, pkg/registry/constants.go), OCI image-spec (image-layout.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.objects import list_at, section, text_at
from kwhatif.errors import InputError
from kwhatif.results.amounts import format_some
from kwhatif.snapshot.read.files import Text, display_path
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.read.rooted_files import FileRoot, walk_folders
from kwhatif.snapshot.repository.chart_files import unpack_chart
from kwhatif.snapshot.repository.version_constraints import Version, is_allowed

CHART = "Chart.yaml"
_LAYOUT = "oci-layout"
_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


@dataclass(frozen=True)
class ChartReference:
    """A chart that is somewhere else: its name, which versions will do, and the URL of its repository, if known.

    In a registry (``oci://``) the URL is that of the chart itself.
    """

    name: str
    version: str = ""
    repository: str = ""

    @property
    def command(self) -> str:
        """What pulls it."""
        version = f" --version {_quote(self.version)}" if self.version else ""
        if self.repository.startswith("oci://"):
            return f"helm pull {_quote(self.repository)}{version}"
        where = f" --repo {_quote(self.repository)}" if self.repository else ""
        return f"helm pull {_quote(self.name)}{where}{version}"


def reference_to(name: str, version: str, repository: str) -> ChartReference:
    """A chart of a repository of charts, or of the directory of a registry that has others, too."""
    is_oci = repository.startswith("oci://")
    return ChartReference(name, version, f"{repository.rstrip('/')}/{name}" if is_oci else repository)


def _quote(text: str) -> str:
    import shlex

    return shlex.quote(text)


@dataclass(frozen=True)
class PulledChart:
    """A chart of a library, from ``place``. Few of many charts are asked for the files that they are made of."""

    name: str
    version: str
    place: str
    read_files: Callable[[], dict[str, bytes]] = field(repr=False, hash=False, compare=False)

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Its files by their paths in it. Raises InputError."""
        return self.read_files()

    def absent_dependencies(self) -> Iterator[ChartReference]:
        """The charts that it depends on and that are not in its own directory ``charts``."""
        for file in (CHART, "requirements.yaml"):
            for dependency in map(section, list_at(_read(self.files.get(file, b"")), "dependencies")):
                name = text_at(dependency, "name")
                if not any(part.startswith((f"charts/{name}/", f"charts/{name}-")) for part in self.files):
                    yield reference_to(name, text_at(dependency, "version"), text_at(dependency, "repository"))


def _read(data: bytes) -> dict[str, Any]:
    documents = read_documents(Text(CHART, data))
    return decode(documents[0].value, dict[str, Any]) if documents else {}


class ChartLibrary:
    """The charts below some directories, which are read at the first look-up."""

    def __init__(self, folders: Sequence[str] = ()) -> None:
        self._folders = folders
        self._refused: dict[str, str] = {}

    def find(self, reference: ChartReference) -> PulledChart | None:
        """The newest version that a reference allows; None if there is none. Raises InputError for a directory that
        cannot be read.
        """
        charts = [chart for chart in self._charts_of(reference) if is_allowed(chart.version, reference.version)]
        return max(charts, key=lambda chart: (Version(chart.version), chart.place), default=None)

    def refusal_of(self, reference: ChartReference) -> str:
        """Why an archive is not read that is called as a chart; empty if there is none."""
        start = f"{reference.name.rpartition('/')[2]}-"
        return next((why for place, why in self._refused.items() if os.path.basename(place).startswith(start)), "")

    def describe_absence(self, reference: ChartReference) -> str:
        """Why a chart is not found, and what to do."""
        others = sorted({chart.version for chart in self._charts_of(reference)}, key=Version)
        what = f"its chart is not here, but {format_some(others, 3)} of it" if others else "its chart is not here"
        return self.refusal_of(reference) or f"{what} ({reference.command}; then --charts DIR)"

    def _charts_of(self, reference: ChartReference) -> Sequence[PulledChart]:
        return self._charts.get(reference.name.rpartition("/")[2], ())

    @cached_property
    def _charts(self) -> dict[str, list[PulledChart]]:
        charts: dict[str, list[PulledChart]] = {}
        for folder in self._folders:
            if not os.path.isdir(folder):
                raise InputError("expected a directory with pulled charts", source=display_path(folder))
            for chart in self._charts_below(folder):
                charts.setdefault(chart.name, []).append(chart)
        return charts

    def _charts_below(self, top: str) -> Iterator[PulledChart]:
        root, inside = FileRoot(top), ""
        for folder, names in walk_folders(top):
            if inside and (folder == inside or folder.startswith(inside + os.sep)):
                # A part of the chart that it is in.
                continue
            if CHART in names:
                inside = folder
                data = root.read(os.path.join(folder, CHART), bounds.MANIFEST_BYTES)
                yield from _chart(display_path(folder), data, partial(_files_of, root, folder))
            elif _LAYOUT in names:
                inside = folder
                for place, data in _layers_of(root, folder):
                    yield from self._unpack(place, data)
            else:
                for name in sorted(names):
                    if name.endswith((".tgz", ".tar.gz")):
                        path = os.path.join(folder, name)
                        yield from self._unpack(display_path(path), root.read(path, bounds.MANIFEST_BYTES))

    def _unpack(self, place: str, data: bytes) -> Iterator[PulledChart]:
        """The chart of an archive; none if it is one of something else."""
        try:
            files = dict(unpack_chart(place, data, bounds.MANIFEST_BYTES))
            yield from _chart(place, files.get(CHART, b""), lambda: files)
        except InputError as error:
            self._refused[place] = error.problem


def _files_of(root: FileRoot, top: str) -> dict[str, bytes]:
    return {
        os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/"): root.read(
            os.path.join(folder, name), bounds.MANIFEST_BYTES
        )
        for folder, names in walk_folders(top)
        for name in names
    }


def _chart(place: str, data: bytes, read_files: Callable[[], dict[str, bytes]]) -> Iterator[PulledChart]:
    with suppress(InputError):
        value = _read(data)
        if text_at(value, "name"):
            yield PulledChart(text_at(value, "name"), str(value.get("version") or ""), place, read_files)


class _Descriptor(msgspec.Struct, rename="camel"):
    digest: str = ""
    media_type: str = ""


class _Manifests(msgspec.Struct):
    manifests: list[_Descriptor] = []
    layers: list[_Descriptor] = []


def _layers_of(root: FileRoot, folder: str) -> Iterator[tuple[str, bytes]]:
    """The archives of the charts of an OCI layout."""

    def blob(digest: str) -> bytes:
        algorithm, _, name = digest.partition(":")
        if not (algorithm.isalnum() and name.isalnum()):
            raise InputError(f"expected a digest, found {digest!a}", source=display_path(folder))
        return root.read(os.path.join(folder, "blobs", algorithm, name), bounds.MANIFEST_BYTES)

    index = decode(msgspec.Raw(root.read(os.path.join(folder, "index.json"), bounds.SETTINGS_BYTES)), _Manifests)
    for manifest in index.manifests:
        for layer in decode(msgspec.Raw(blob(manifest.digest)), _Manifests).layers:
            if layer.media_type == _CONTENT:
                yield f"{display_path(folder)} {layer.digest}", blob(layer.digest)
