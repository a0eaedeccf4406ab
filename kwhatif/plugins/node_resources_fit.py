"""NodeResourcesFit: is there room, and how full should a node be?

Upstream: plugins/noderesources/fit.go and its three scoring strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.requests import is_extended, is_scalar
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.cluster.units import spell_amount
from kwhatif.cluster.view import NodeView
from kwhatif.framework.allocation import Allocation, ScoredResources
from kwhatif.framework.arithmetic import broken_linear, go_round
from kwhatif.framework.events import Event, always
from kwhatif.framework.interface import MAX_SCORE, Handle, Plugin, Scope
from kwhatif.framework.status import Rejection, Status
from kwhatif.plugins.device_totals import left_to_devices, scores_devices, with_devices

NO_SIDECARS = "Pod has a restartable init container and the SidecarContainers feature is disabled"
_ALWAYS_COMPARED = ("cpu", "memory", "ephemeral-storage")
MAX_SHAPE_SCORE = 10
"""Points of a RequestedToCapacityRatio shape go from 0 to 10."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requested resources: names, their columns on the resource axis, and amounts; all k long."""

    names: tuple[str, ...]
    columns: slice | IntpArray
    amounts: Int64Array


class NodeResourcesFit(Plugin[Wanted, ScoredResources]):
    name = "NodeResourcesFit"
    needs_pre_filter = True
    filter_scope = Scope.ROW
    score_scope = Scope.ROW
    requeue_on = MappingProxyType({Event.POD_DELETED: always})

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        args = handle.args
        self._ignored: Collection[str] = frozenset(args.ignored_resources or ())
        self._ignored_groups: Collection[str] = frozenset(args.ignored_resource_groups or ())
        strategy = args.scoring_strategy
        self._resources = [(spec.name, spec.weight) for spec in strategy.resources]
        self._rate = _strategy(strategy)

    @property
    def request_sums(self) -> tuple[int, int]:
        return 1, 0

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Wanted | Status:
        if self._refuses_sidecars(pod) and self.handle.features.sidecars_are_refused_early:
            return Status.unresolvable(NO_SIDECARS)
        requests: Mapping[str, int] = pod.shape.requests
        if self.handle.features.overcommitted_nodes_refuse_what_is_not_asked_for:
            wanted = _and_what_is_not_asked_for(requests, self._is_ignored)
        else:
            wanted = {name: amount for name, amount in requests.items() if amount > 0 and not self._is_ignored(name)}
        columns = cluster.shapes.resources.columns(wanted)
        return Wanted(tuple(wanted), columns, np.array(list(wanted.values()), np.int64))

    def _refuses_sidecars(self, pod: PodInfo) -> bool:
        initial = pod.shape.spec.init_containers or ()
        features = self.handle.features
        off = features.sidecars and not features.sidecar_containers
        return off and any(container.restart_policy == "Always" for container in initial)

    def _is_ignored(self, name: str) -> bool:
        return is_extended(name) and (name in self._ignored or name.partition("/")[0] in self._ignored_groups)

    def filter(self, pod: PodInfo, nodes: NodeView, state: Wanted) -> Iterator[Rejection]:
        if self._refuses_sidecars(pod):
            yield Rejection(np.ones(nodes.size, np.bool_), NO_SIDECARS, unresolvable=True)
            return
        count, allowed = nodes.pod_count, nodes.of(nodes.columns.allowed_pods)
        full = count >= allowed
        if full.any():
            yield Rejection(
                full, "Too many pods", detail=lambda place: f"pods: {count[place]} of {allowed[place]} in use"
            )
        if not state.names:
            return
        capacity = nodes.allocatable[:, state.columns]
        used = nodes.requested[:, state.columns]
        short = state.amounts > capacity - used  # a sum might not fit into 64 bits
        for place, name in enumerate(state.names):
            if name in nodes.cluster.devices.serving:
                short[:, place] &= ~left_to_devices(name, nodes)
        if not short.any():
            return
        never = state.amounts > capacity
        hopeless = self.handle.features.request_beyond_capacity_is_unresolvable
        for k in np.flatnonzero(short.any(axis=0)):
            name, amount = state.names[k], int(state.amounts[k])

            def detail(place: int, k: int = int(k), name: str = name, amount: int = amount) -> str:
                return spell_shortage(name, amount, int(used[place, k]), int(capacity[place, k]))

            yield Rejection(
                short[:, k], f"Insufficient {name}", unresolvable=never[:, k] if hopeless else False, detail=detail
            )

    def pre_score(self, pod: PodInfo, nodes: NodeView) -> ScoredResources:
        return ScoredResources.of(self._resources, pod.shape.fit_score_requests, nodes.cluster, with_defaults=True)

    def scopes(self, pod: PodInfo) -> tuple[Scope, Scope]:
        return self.filter_scope, Scope.CLUSTER if scores_devices(pod, self._resources, self.handle) else Scope.ROW

    def score(self, pod: PodInfo, nodes: NodeView, state: ScoredResources) -> Int64Array:
        return self._rate(with_devices(state.on(nodes), state, nodes, self.handle), state)


def _and_what_is_not_asked_for(requests: Mapping[str, int], ignored: Callable[[str], bool]) -> dict[str, int]:
    """What is compared with the room there is: everything, once the pod asks for anything."""
    if not any(amount or is_scalar(name) for name, amount in requests.items()):
        return {}
    wanted = {name: requests.get(name, 0) for name in _ALWAYS_COMPARED}
    return wanted | {name: amount for name, amount in requests.items() if is_scalar(name) and not ignored(name)}


def spell_shortage(name: str, asks: int, used: int, capacity: int) -> str:
    """The arithmetic of a shortage: ``memory: asks 4Gi, free 2.8Gi of 16Gi, short 1.2Gi``."""
    free = capacity - used
    return (
        f"{name}: asks {spell_amount(name, asks)}, free {spell_amount(name, free)} of "
        f"{spell_amount(name, capacity)}, short {spell_amount(name, asks - free)}"
    )


Rate = Callable[[Allocation, ScoredResources], Int64Array]


def _strategy(strategy: object) -> Rate:
    kind = getattr(strategy, "type", None) or "LeastAllocated"
    if kind == "MostAllocated":
        return most_allocated
    if kind == "RequestedToCapacityRatio":
        ratio = getattr(strategy, "requested_to_capacity_ratio", None)
        shape = (ratio.shape if ratio else None) or ()
        scale = MAX_SCORE // MAX_SHAPE_SCORE
        return requested_to_capacity_ratio(tuple((p.utilization, p.score * scale) for p in shape))
    return least_allocated


def least_allocated(at: Allocation, resources: ScoredResources) -> Int64Array:
    """int64[n]: the emptier, the better. Upstream: least_allocated.go."""
    share = (at.capacity - at.requested) * MAX_SCORE // at.safe_capacity
    return at.weighted(np.where(at.requested > at.capacity, 0, share))


def most_allocated(at: Allocation, resources: ScoredResources) -> Int64Array:
    """int64[n]: the fuller, the better. Upstream: most_allocated.go."""
    return at.weighted(np.minimum(at.requested, at.capacity) * MAX_SCORE // at.safe_capacity)


def requested_to_capacity_ratio(shape: tuple[tuple[int, int], ...]) -> Rate:
    """A scorer after a given curve over utilisation in percent. Upstream: requested_to_capacity_ratio.go."""

    def rate(at: Allocation, resources: ScoredResources) -> Int64Array:
        percent = np.where(at.requested > at.capacity, 100, at.requested * 100 // at.safe_capacity)
        total = np.zeros(len(at.capacity), np.int64)
        weights = np.zeros(len(at.capacity), np.int64)
        for k in range(at.capacity.shape[1]):
            score = broken_linear(shape, percent[:, k])
            counts = (score > 0) & (at.capacity[:, k] != 0)
            total += np.where(counts, score * resources.weights[k], 0)
            weights += np.where(counts, resources.weights[k], 0)
        return np.where(weights == 0, 0, go_round(total / np.maximum(weights, 1)))

    return rate
