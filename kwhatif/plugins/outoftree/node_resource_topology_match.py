"""NodeResourceTopologyMatch: only nodes whose kubelet would find a NUMA cell for the pod, the better aligned first.

Upstream: pkg/noderesourcetopology (filter.go, score.go, cache/) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Container, PodSpec
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import is_scalar
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import MAX_SCORE, Dependency, Handle, Plugin, Scope
from kwhatif.framework.status import Rejection
from kwhatif.golang.config_struct import ConfigStruct, one_of
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.cell_scores import STRATEGIES, fewest_cells, lowest_score, score_cells
from kwhatif.plugins.shared.cell_search import CellSearch, amounts_of, is_native, lacking
from kwhatif.plugins.shared.cells_left import cells_left_of
from kwhatif.plugins.shared.foreign_pods import foreign_pods_of
from kwhatif.plugins.shared.node_resources import ResourceSpec, fill_default_weights
from kwhatif.plugins.shared.numa_cells import Cells, cells_of
from kwhatif.plugins.shared.pod_qos import QosClass, containers_of, effective_requests, qos_class_of, requests_of
from kwhatif.versions import Features

_STALE = "invalid node topology data"
_FEWEST = "LeastNUMANodes"


class NodeResourceTopologyScoring(ConfigStruct):
    type: Annotated[str, one_of("ScoringStrategyType", *STRATEGIES, _FEWEST)] = ""
    resources: tuple[ResourceSpec, ...] = ()


class NodeResourceTopologyCache(ConfigStruct):
    foreign_pods_detect: (
        Annotated[str, one_of("ForeignPodsDetectMode", "None", "All", "OnlyExclusiveResources")] | None
    ) = None
    resync_method: Annotated[str, one_of("CacheResyncMethod", "Autodetect", "All", "OnlyExclusiveResources")] | None = (
        None
    )
    informer_mode: Annotated[str, one_of("CacheInformerMode", "Shared", "Dedicated")] | None = None
    resync_scope: Annotated[str, one_of("CacheResyncScope", "All", "OnlyResources")] | None = None


class NodeResourceTopologyMatchArgs(Args):
    scoring_strategy: NodeResourceTopologyScoring | None = None
    cache_resync_period_seconds: int | None = None
    discard_reserved_nodes: bool = False
    cache: NodeResourceTopologyCache | None = None
    preemption_mode: Annotated[str, one_of("PreemptionMode", "Disabled", "Enabled")] | None = None


class NodeResourceTopologyMatch(Plugin[None, None]):
    name = "NodeResourceTopologyMatch"
    args = NodeResourceTopologyMatchArgs
    # Since August 2026 it has PreFilter, where nothing happens unless preemptionMode is Enabled.
    offline_points = ("preFilter", "reserve", "postBind")
    depends_on_labels = False
    checked_at_start = True
    dependencies = MappingProxyType(
        {"NodeResourceTopology": Dependency("it says what the NUMA cells of nodes have left")}
    )

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        given = args.scoring_strategy or NodeResourceTopologyScoring(type="LeastAllocated")
        cache = args.cache or NodeResourceTopologyCache()
        return replace(
            args,
            scoring_strategy=replace(given, resources=fill_default_weights(given.resources)),
            cache=replace(
                cache,
                foreign_pods_detect="All" if cache.foreign_pods_detect is None else cache.foreign_pods_detect,
                resync_method="Autodetect" if cache.resync_method is None else cache.resync_method,
                informer_mode="Dedicated" if cache.informer_mode is None else cache.informer_mode,
            ),
        )

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        if args.scoring_strategy.type not in (*STRATEGIES, _FEWEST):
            problem = "invalid ScoringStrategyType"
            yield path.child("scoringStrategy.type").invalid(args.scoring_strategy.type, problem)

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        args: NodeResourceTopologyMatchArgs = handle.args
        assert args.scoring_strategy is not None
        self._strategy = args.scoring_strategy.type
        self._weights = {resource.name: resource.weight for resource in args.scoring_strategy.resources}
        self._discards = args.discard_reserved_nodes
        self._counts_placed = not self._discards and (args.cache_resync_period_seconds or 0) > 0
        self._detects = (args.cache.foreign_pods_detect if args.cache is not None else None) or "All"

    def scopes(self, pod: PodInfo) -> tuple[Scope, Scope]:
        scope = Scope.ROW if self._counts_placed or self._discards else Scope.NODE
        return scope, scope

    def cache_key(self, pod: PodInfo) -> Hashable:
        spec = pod.shape.spec
        requests = tuple(
            (init_container.restart_policy, frozenset(requests_of(init_container).items()))
            for init_container in spec.init_containers or ()
        )
        return (
            qos_class_of(spec),
            requests,
            tuple(frozenset(requests_of(container).items()) for container in spec.containers or ()),
            frozenset((spec.overhead or {}).items()),
        )

    # --- filter

    def filter(self, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
        spec = pod.shape.spec
        qos = qos_class_of(spec)
        if qos is QosClass.BEST_EFFORT and all(map(is_native, _names(spec))):
            return
        cells, rows = cells_of(nodes.cluster), _rows(nodes)
        stale = self._stale(nodes.cluster, cells, rows)
        if stale.any():
            why = "a pod waits there" if self._discards else "a pod of another scheduler runs there"
            yield Rejection(stale, _STALE, detail=lambda place: why)
        aligned = cells.known[rows] & cells.single[rows] & ~stale
        for as_whole in (True, False):
            mine = aligned & (cells.by_pod[rows] == as_whole)
            if mine.any():
                yield from self._align(spec, qos, nodes, cells, rows, mine, as_whole=as_whole)

    def _align(
        self,
        spec: PodSpec,
        qos: QosClass,
        nodes: NodeView,
        cells: Cells,
        rows: IntpArray,
        mine: BoolArray,
        *,
        as_whole: bool,
    ) -> Iterator[Rejection]:
        """Rejections of nodes that align pods as a whole, or container by container."""
        places = np.flatnonzero(mine)
        search = CellSearch(cells, self._available(nodes.cluster, cells, rows[places]), rows[places], qos)
        open_to: BoolArray = np.ones(len(places), np.bool_)
        for what, requests, keeps in _steps(spec, as_whole=as_whole):
            has = {name: _has_resource(nodes.cluster, name)[rows[places]] for name in requests}
            before = search.left.copy() if keeps else search.left
            suits, fits = search.suiting(requests, has)
            refused = open_to & ~fits
            if refused.any():
                where = np.zeros(nodes.size, np.bool_)
                where[places[refused]] = True
                short = lacking(cells, before, rows[places], qos, requests, has)
                yield Rejection(where, f"cannot align {what}", detail=_at(places, short))
            open_to &= fits
            if keeps:
                search.take(requests, suits)

    # --- score

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        spec = pod.shape.spec
        if qos_class_of(spec) is not QosClass.GUARANTEED:
            return np.full(nodes.size, MAX_SCORE, np.int64)
        cells, rows = cells_of(nodes.cluster), _rows(nodes)
        scores = np.zeros(nodes.size, np.int64)
        aligned = cells.known[rows] & ~self._stale(nodes.cluster, cells, rows)
        if self._strategy != _FEWEST:
            aligned &= cells.single[rows]
        for as_whole in (True, False):
            places = np.flatnonzero(aligned & (cells.by_pod[rows] == as_whole))
            if len(places):
                left = self._available(nodes.cluster, cells, rows[places])
                scores[places] = self._scores(spec, cells, rows[places], left, as_whole=as_whole)
        return scores

    def _scores(self, spec: PodSpec, cells: Cells, rows: IntpArray, free: Int64Array, *, as_whole: bool) -> Int64Array:
        wanted = [requests for _, requests in _scored_requests(spec, as_whole=as_whole)]
        if self._strategy == _FEWEST:
            return _score_fewest(cells, rows, free, wanted)
        present = cells.number[rows] <= cells.highest
        of_each = [lowest_score(self._score_cells(amounts, cells, free), present) for amounts in wanted]
        if as_whole:
            return of_each[0]
        return np.floor(sum(scores.astype(np.float64) for scores in of_each) / max(len(of_each), 1)).astype(np.int64)

    def _score_cells(self, requests: Mapping[str, int], cells: Cells, free: Int64Array) -> Int64Array:
        return score_cells(self._strategy, requests, cells.names, free, self._weights)

    def describe_score(self, pod: PodInfo, nodes: NodeView, place: int, state: None) -> str:
        spec, cells, row = pod.shape.spec, cells_of(nodes.cluster), nodes.row(place)
        if qos_class_of(spec) is not QosClass.GUARANTEED:
            return "the pod is not Guaranteed"
        if not cells.known[row]:
            return "no NodeResourceTopology"
        if self._strategy == _FEWEST:
            return f"by the number of cells that it takes, of {len(cells.lists[row])}"
        if not cells.single[row]:
            return "its policy is not single-numa-node"
        left = self._available(nodes.cluster, cells, np.array([row], np.intp))
        parts = []
        for what, requests in _scored_requests(spec, as_whole=bool(cells.by_pod[row])):
            scores = self._score_cells(requests, cells, left)[0].tolist()
            of = ", ".join(f"node-{cell.number} {scores[k]}" for k, cell in enumerate(cells.lists[row]))
            parts.append(f"{what}: {of}")
        return f"{self._strategy}, the lowest above 0 {'; '.join(parts)}"

    # --- what is left

    def _stale(self, cluster: Cluster, cells: Cells, rows: IntpArray) -> BoolArray:
        """bool[n]: nodes of which upstream's cache does not know what is left.

        Pods of other schedulers run there, or, where such nodes are discarded, pods that wait for their permits.
        """
        if self._discards:
            held = {waiting.node for waiting in self.handle.waiting.values()}
            stale: BoolArray = np.zeros(len(rows), np.bool_)
            if held:
                stale[:] = [cluster.columns.names[row] in held for row in rows.tolist()]
            return stale
        if not self._counts_placed or self._detects == "None":
            return np.zeros(len(rows), np.bool_)
        foreign = foreign_pods_of(cluster, tuple(self.handle.profiles), self._detects == "OnlyExclusiveResources")
        return cells.known[rows] & foreign.on_rows(rows)

    def _available(self, cluster: Cluster, cells: Cells, rows: IntpArray) -> Int64Array:
        """int64[n, Z, R]: what cells have, less what pods placed since ask for, of every cell."""
        if self._counts_placed:
            return cells_left_of(cluster).of_rows(rows)
        left: Int64Array = cells.available[rows]
        return left


def _score_fewest(cells: Cells, rows: IntpArray, left: Int64Array, requests: Sequence[Mapping[str, int]]) -> Int64Array:
    """int64[n]: the score by the number of cells; once for all nodes between which it cannot differ.

    What a cell has beyond all that is asked for makes no difference.
    """
    names = sorted({name for amounts in requests for name in amounts} & cells.names.keys())
    most = np.array([sum(amounts.get(name, 0) for amounts in requests) for name in names], np.int64)
    enough = np.minimum(left[:, :, [cells.names[name] for name in names]], most)
    known: dict[tuple[int, bytes], int] = {}
    scores = np.zeros(len(rows), np.int64)
    for k, (row, layout) in enumerate(zip(rows.tolist(), cells.layouts[rows].tolist(), strict=True)):
        key = layout, enough[k].tobytes()
        if key not in known:
            known[key] = fewest_cells(cells.lists[row], left[k], cells.names, requests, cells.managers[row].most_cells)
        scores[k] = known[key]
    return scores


def _rows(nodes: NodeView) -> IntpArray:
    return np.arange(nodes.size) if nodes.rows is None else nodes.rows


def _names(spec: PodSpec) -> Iterator[str]:
    return (name for container in containers_of(spec) for name in requests_of(container))


def _steps(spec: PodSpec, *, as_whole: bool) -> Iterator[tuple[str, dict[str, int], bool]]:
    """What is aligned one after the other, with its requests, and whether it keeps what it gets."""
    if as_whole:
        yield "pod", amounts_of(effective_requests(spec)), False
        return
    for container in spec.init_containers or ():
        yield f"{_kind_of(container)} container", amounts_of(requests_of(container)), False
    for container in spec.containers or ():
        yield "container", amounts_of(requests_of(container)), True


def _scored_requests(spec: PodSpec, *, as_whole: bool) -> list[tuple[str, dict[str, int]]]:
    """What is scored, with its requests: the pod, or each of its containers, of which the mean counts."""
    if as_whole:
        return [("of the pod", amounts_of(effective_requests(spec)))]
    return [(f"of {container.name}", amounts_of(requests_of(container))) for container in containers_of(spec)]


def _at(places: IntpArray, describe: Callable[[int], str]) -> Callable[[int], str]:
    """The reasons of some places of a view, by the places of the whole view."""
    numbers = {place: k for k, place in enumerate(places.tolist())}
    return lambda place: describe(numbers[place])


def _kind_of(container: Container) -> str:
    return "sidecar" if container.restart_policy == "Always" else "init"


@cached_per_cluster
def _has_resource(cluster: Cluster, name: str) -> BoolArray:
    """bool[N]: nodes that have a resource at all, were it none of it."""
    if name in ("cpu", "memory", "pods", "ephemeral-storage"):
        return np.ones(len(cluster), np.bool_)
    mask = [is_scalar(name) and name in node.status.for_pods for node in cluster.columns.nodes]
    return np.array(mask, np.bool_)
