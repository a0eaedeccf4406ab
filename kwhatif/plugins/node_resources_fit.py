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
from kwhatif.framework.allocation import ScoredResources
from kwhatif.framework.events import Event, always
from kwhatif.framework.interface import Handle, Plugin, Scope
from kwhatif.framework.status import Rejection, Status
from kwhatif.plugins.shared.device_totals import left_to_devices, scores_devices, with_devices
from kwhatif.plugins.shared.resource_rates import Rate, least_allocated, most_allocated, requested_to_capacity_ratio

NO_SIDECARS = "Pod has a restartable init container and the SidecarContainers feature is disabled"
_ALWAYS_COMPARED = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requested resources: names, their columns on the resource axis, and amounts; all k long."""

    names: tuple[str, ...]
    columns: slice | IntpArray
    amounts: Int64Array


class NodeResourcesFit(Plugin[Wanted, ScoredResources]):
    name = "NodeResourcesFit"
    reads_labels = False
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

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: Wanted | None) -> ScoredResources:
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


def _strategy(strategy: object) -> Rate:
    kind = getattr(strategy, "type", None) or "LeastAllocated"
    if kind == "MostAllocated":
        return most_allocated
    if kind == "RequestedToCapacityRatio":
        ratio = getattr(strategy, "requested_to_capacity_ratio", None)
        shape = (ratio.shape if ratio else None) or ()
        return requested_to_capacity_ratio(tuple((point.utilization, point.score) for point in shape))
    return least_allocated
