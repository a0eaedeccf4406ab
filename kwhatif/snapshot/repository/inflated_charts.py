"""Charts that kustomizations name, rendered as ``kustomize build --enable-helm`` does it.

A chart lies in the kustomization's directory ``charts``, where no version is compared, or in a library of pulled ones.
Upstream: kustomize (api/types/helmchartargs.go, api/internal/builtins/HelmChartInflationGenerator.go,
api/internal/target/kusttarget.go for the namespace).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kwhatif.api.objects import list_at, section, text_at
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import Origin, decode, items_of, plain_of, read_documents
from kwhatif.snapshot.repository.chart_library import ChartLibrary, ChartReference, PulledChart, reference_to
from kwhatif.snapshot.repository.charts import ChartRelease, has_chart, merge_values
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.kustomizations import Kustomization, KustomizationGraph
from kwhatif.snapshot.repository.reading_report import ReadingReport
from kwhatif.snapshot.repository.renderer import Renderer, RenderRequest

_VALUES = "values.yaml"

_Key = tuple[str, int, str]
"""The place of a kustomization, the number of a chart in it, and the kustomization's namespace."""


class InflatedCharts:
    """The objects of the charts of kustomizations; what is not here, or cannot be rendered, is ``absent`` of them."""

    def __init__(
        self,
        tree: FileTree,
        graph: KustomizationGraph,
        renderer: Renderer,
        library: ChartLibrary,
        report: ReadingReport,
    ) -> None:
        self._tree, self._graph, self._renderer = tree, graph, renderer
        self._library, self._report = library, report
        self._made: dict[_Key, list[tuple[Origin, dict[str, Any]]]] = {}

    def inflate(self, builds: Iterable[tuple[str, str]]) -> None:
        """Render the charts of all that will be built: directories, each with the namespace that its overlay sets.

        Raises InputError if all has to be rendered.
        """
        requests: list[tuple[_Key, Kustomization, str, RenderRequest]] = []
        for folder, namespace in builds:
            for one, within in self._reach_of(folder, namespace):
                for number, (entry, _) in enumerate(one.charts):
                    key = (self._tree.place_of(one.folder), number, within)
                    if key in self._made:
                        continue
                    self._made[key] = []
                    try:
                        requests.append((key, one, _name_of(entry), self._request_of(one, entry, within)))
                    except InputError as error:
                        one.absent[_name_of(entry)] = error.problem
        texts = self._renderer.render([request for _, _, _, request in requests])
        for (key, one, name, request), text in zip(requests, texts, strict=True):
            try:
                if text is None:
                    raise InputError(f"its chart was not rendered: {self._renderer.reason_of(request)}")
                self._made[key] = list(_objects_of(text))
            except InputError as error:
                one.absent[name] = str(error)

    def objects_of(self, folder: str, namespace: str) -> Iterator[tuple[Origin, dict[str, Any]]]:
        """The objects of the charts of a directory's kustomization, which is in a namespace."""
        place = self._tree.place_of(folder)
        for number in range(len(self._graph.add(folder).charts)):
            yield from self._made.get((place, number, namespace), ())

    def _reach_of(self, folder: str, namespace: str) -> Iterator[tuple[Kustomization, str]]:
        """The kustomizations that a directory's leads to, each with its own namespace, or that of the nearest above."""
        ahead, seen = [(folder, namespace or self._graph.add(folder).namespace)], set[tuple[str, str]]()
        while ahead:
            place, namespace = ahead.pop()
            key = self._tree.place_of(place), namespace
            if key not in seen:
                seen.add(key)
                yield self._graph.add(place), namespace
                below = [*self._graph.add(place).folders]
                ahead += ((inner, self._graph.add(inner).namespace or namespace) for inner in below)

    def _request_of(self, one: Kustomization, entry: Mapping[str, Any], namespace: str) -> RenderRequest:
        """Raises InputError for a chart that is not here, or is asked for in a way that is not known here."""
        name, folder = text_at(entry, "name"), local_folder(self._tree, one.folder, entry)
        wanted = _reference_of(entry)
        pulled = None if folder else self._library.find(wanted)
        if not folder and pulled is None:
            file = self._tree.display(self._graph.file_of(one.folder))
            self._report.absent_charts.setdefault(wanted.command, []).append(file)
            raise InputError(self._library.describe_absence(wanted))
        if entry.get("nameTemplate"):
            raise InputError("nameTemplate is not evaluated")
        # A release without a name gets another one each time, which begins with that of the chart.
        release = ChartRelease(
            text_at(entry, "releaseName") or name,
            text_at(entry, "namespace") or namespace,
            values=list(self._values_of(one, entry, folder, pulled)),
            parameters=list(_options_of(entry)),
        )
        return RenderRequest(folder or self._tree.at_top("."), release, pulled)

    def _values_of(
        self, one: Kustomization, entry: Mapping[str, Any], folder: str, pulled: PulledChart | None
    ) -> Iterator[Mapping[str, Any]]:
        """The values of which later ones count more; helm has those of the chart itself below all of them."""
        inline, how = section(entry, "valuesInline"), text_at(entry, "valuesMerge") or "override"
        if how not in ("merge", "override", "replace"):
            raise InputError(f"valuesMerge: expected merge, override or replace, found {how!a}")
        values: dict[str, Any] = {}
        if file := text_at(entry, "valuesFile"):
            values = self._read(self._tree.path_in(one.folder, file))
        elif how == "merge":
            # The chart's own values are the file, which here counts more than what stands in the kustomization.
            if pulled is not None and _VALUES not in pulled.files:
                raise InputError(f"its chart has no {_VALUES}")
            values = _mapping_of(pulled.files[_VALUES]) if pulled else self._read(self._tree.path_in(folder, _VALUES))
        if inline:
            values = {
                "merge": merge_values(inline, values),
                "override": merge_values(values, inline),
                "replace": inline,
            }[how]
        yield values
        for values_file in list_at(entry, "additionalValuesFiles"):
            yield self._read(self._tree.path_in(one.folder, str(values_file)))

    def _read(self, path: str) -> dict[str, Any]:
        return _mapping_of(self._tree.read(path).data)


def local_folder(tree: FileTree, folder: str, entry: Mapping[str, Any]) -> str:
    """The directory of a chart beside the kustomization that names it; empty if it is not there."""
    name, version = text_at(entry, "name"), str(entry.get("version") or "")
    home = tree.path_in(folder, text_at(entry, "chartHome") or "charts")
    if version and entry.get("repo"):
        home = tree.path_in(home, f"{name}-{version}")
    path = tree.path_in(home, name)
    return path if name and has_chart(tree, path) and not tree.leads_out(path) else ""


def _mapping_of(data: bytes) -> dict[str, Any]:
    """Values of a chart. Raises InputError for what is no mapping."""
    values: dict[str, Any] = {}
    for document in read_documents(Text(_VALUES, data)):
        values |= decode(document.value, dict[str, Any])
    return values


def _reference_of(entry: Mapping[str, Any]) -> ChartReference:
    return reference_to(text_at(entry, "name"), str(entry.get("version") or ""), text_at(entry, "repo"))


def _name_of(entry: Mapping[str, Any]) -> str:
    return f"chart {text_at(entry, 'releaseName') or text_at(entry, 'name')}"


def _options_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if version := text_at(entry, "kubeVersion"):
        yield "kube-version", version
    for api_version in list_at(entry, "apiVersions"):
        yield "api-versions", str(api_version)
    if entry.get("skipHooks") is True:
        yield "no-hooks", "true"


def _objects_of(text: Text) -> Iterator[tuple[Origin, dict[str, Any]]]:
    for document in read_documents(text, as_kustomize=True):
        for item in items_of(document):
            yield item.origin, plain_of(item)
