"""NodeResourcesFit: is there room, and how full should a node be?

Upstream: plugins/noderesources/fit.go and its three scoring strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import is_extended, is_scalar
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.allocation import ScoredResources
from kwhatif.framework.declaration import Args, Default
from kwhatif.framework.events import Event, always
from kwhatif.framework.interface import Handle, Plugin, Scope, Suggestion
from kwhatif.framework.status import Rejection, Status
from kwhatif.golang.field_errors import Path
from kwhatif.golang.vocabulary import ConfigStruct, ResourceName
from kwhatif.plugins.shared.device_totals import left_to_devices, score_scope, with_devices
from kwhatif.plugins.shared.resource_args import (
    ResourceSpec,
    UtilizationShapePoint,
    label_problems,
    shape_problems,
    weight_problems,
    weighted,
)
from kwhatif.plugins.shared.resource_rates import Rate, least_allocated, most_allocated, requested_to_capacity_ratio
from kwhatif.plugins.shared.room_changes import roomier, smaller_requests
from kwhatif.results.amounts import spell_alike
from kwhatif.versions import Features

NO_SIDECARS = "Pod has a restartable init container and the SidecarContainers feature is disabled"
LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
_ALWAYS_COMPARED = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requested resources: names, their columns on the resource axis, and amounts; all k long."""

    names: tuple[str, ...]
    columns: slice | IntpArray
    amounts: Int64Array


class RequestedToCapacityRatioParam(ConfigStruct):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigStruct):
    """``type`` is one of ``STRATEGIES``."""

    type: Annotated[str, msgspec.Meta(extra={"go": "v1.ScoringStrategyType", "words": STRATEGIES})] = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(Args):
    ignored_resources: tuple[ResourceName, ...] = ()
    ignored_resource_groups: tuple[Annotated[str, msgspec.Meta(extra={"names": "resource_group"})], ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type=LEAST_ALLOCATED)


class NodeResourcesFit(Plugin[Wanted, ScoredResources]):
    name = "NodeResourcesFit"
    args = NodeResourcesFitArgs
    default = Default(80, weight=1)
    checked_at_start = True
    left_to_extenders = "ignored_resources"
    reads_labels = False
    sees_sums_only = True
    needs_pre_filter = True
    filter_scope = Scope.ROW
    score_scope = Scope.ROW
    requeue_on = MappingProxyType({Event.POD_DELETED: always})

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        return {*super().points(features), *(("placementScore",) if features.pod_group_placement else ())}

    @classmethod
    def completed(cls, args: Any, features: Features) -> Any:
        strategy = args.scoring_strategy
        return replace(args, scoring_strategy=replace(strategy, resources=weighted(strategy.resources)))

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        found = [*_ignored_problems(path, args)]
        strategy = args.scoring_strategy
        found += _strategy_problems(path.child("scoringStrategy"), strategy, features)
        yield from found
        if not found and strategy.type == REQUESTED_TO_CAPACITY_RATIO and strategy.requested_to_capacity_ratio is None:
            # Where validation lets it pass, upstream trips over it.
            yield "it panics without a requestedToCapacityRatio"

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        args = handle.args
        self._ignored: Collection[str] = frozenset(args.ignored_resources or ())
        self._ignored_groups: Collection[str] = frozenset(args.ignored_resource_groups or ())
        strategy = args.scoring_strategy
        self._resources = [(spec.name, spec.weight) for spec in strategy.resources]
        self._rate = _strategy(strategy)

    def alike(self, pod: PodInfo) -> Hashable:
        shape = pod.shape
        return tuple(shape.requests.items()), tuple(shape.fit_score_requests.items()), self._refuses_sidecars(pod)

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

            def share(place: int, k: int = int(k), amount: int = amount) -> float:
                return (amount + int(used[place, k]) - int(capacity[place, k])) / max(amount, 1)

            yield Rejection(
                short[:, k],
                f"Insufficient {name}",
                unresolvable=never[:, k] if hopeless else False,
                detail=detail,
                short=share,
            )

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: Wanted | None) -> ScoredResources:
        return ScoredResources.of(self._resources, pod.shape.fit_score_requests, nodes.cluster, with_defaults=True)

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        yield from smaller_requests(pod, cluster, rows)
        yield from roomier(pod, cluster, rows)

    def scopes(self, pod: PodInfo) -> tuple[Scope, Scope]:
        return self.filter_scope, score_scope(pod, self._resources, self.handle)

    def score(self, pod: PodInfo, nodes: NodeView, state: ScoredResources) -> Int64Array:
        return self._rate(with_devices(state.on(nodes), state, nodes, self.handle), state)


def _and_what_is_not_asked_for(requests: Mapping[str, int], ignored: Callable[[str], bool]) -> dict[str, int]:
    """What is compared with the room there is: everything, once the pod asks for anything."""
    if not any(amount or is_scalar(name) for name, amount in requests.items()):
        return {}
    wanted = {name: requests.get(name, 0) for name in _ALWAYS_COMPARED}
    return wanted | {name: amount for name, amount in requests.items() if is_scalar(name) and not ignored(name)}


def spell_shortage(name: str, asks: int, used: int, capacity: int) -> str:
    """The arithmetic of a shortage, in one unit: ``memory: asks 4Gi, free 2.8Gi of 16Gi, short 1.2Gi``."""
    free = capacity - used
    wanted, left, whole, short = spell_alike(name, asks, free, capacity, asks - free)
    return f"{name}: asks {wanted}, free {left} of {whole}, short {short}"


def _strategy(strategy: object) -> Rate:
    kind = getattr(strategy, "type", None) or LEAST_ALLOCATED
    if kind == MOST_ALLOCATED:
        return most_allocated
    if kind == REQUESTED_TO_CAPACITY_RATIO:
        ratio = getattr(strategy, "requested_to_capacity_ratio", None)
        shape = (ratio.shape if ratio else None) or ()
        return requested_to_capacity_ratio(tuple((point.utilization, point.score) for point in shape))
    return least_allocated


def _ignored_problems(path: Path, args: NodeResourcesFitArgs) -> Iterator[str]:
    for index, name in enumerate(args.ignored_resources):
        yield from label_problems(path.child("ignoredResources").index(index), name)
    for index, group in enumerate(args.ignored_resource_groups):
        at = path.child("ignoredResourceGroups").index(index)
        if "/" in group:
            yield at.invalid(group, "resource group name can't contain '/'")
        yield from label_problems(at, group)


def _strategy_problems(path: Path, strategy: ScoringStrategy, features: Features) -> Iterator[str]:
    if strategy.type not in STRATEGIES:
        yield path.child("type").unsupported(strategy.type, STRATEGIES)
    yield from weight_problems(path.child("resources"), strategy.resources)
    ratio, at = strategy.requested_to_capacity_ratio, path.child("requestedToCapacityRatio")
    if not features.ratio_shape_must_match_strategy:
        if ratio is not None:
            yield from shape_problems(path.child("shape"), ratio.shape, features)
    elif strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            yield at.required("must be specified when type is RequestedToCapacityRatio")
        else:
            yield from shape_problems(at.child("shape"), ratio.shape, features)
    elif ratio is not None:
        yield at.forbidden("must be nil when type is not RequestedToCapacityRatio")
