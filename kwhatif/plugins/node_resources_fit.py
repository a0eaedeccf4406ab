"""NodeResourcesFit: sufficient resources, scores by utilization, and suggestions of changes that make room.

Upstream: plugins/noderesources/fit.go and its three scoring strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Container, Node, Pod, ResourceRequirements
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_bound_pods import room_if_empty
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import is_extended, is_scalar
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.declaration import Args, DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, Handle, Plugin, Scope, Suggestion, always
from kwhatif.framework.placement import PodGroupAssignments
from kwhatif.framework.resource_allocation import Allocation, ScoredResources
from kwhatif.framework.signature import Signature, sign_resources
from kwhatif.framework.status import Rejection, Status
from kwhatif.golang.config_struct import ConfigStruct, ResourceName
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.node_resources import (
    Rate,
    ResourceSpec,
    UtilizationShapePoint,
    add_devices,
    fill_default_weights,
    label_problems,
    least_allocated,
    left_to_devices,
    most_allocated,
    requested_to_capacity_ratio,
    score_scope,
    shape_problems,
    weight_problems,
)
from kwhatif.plugins.shared.pod_changes import Edit, with_spec
from kwhatif.results.amounts import format_amount, format_in_one_unit
from kwhatif.versions import Features

MOST_NODES = 2
"""How many nodes are suggested."""


def suggest_requests(pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Edit]:
    """Lower one request to the most that any of these nodes, short of that resource alone, has left."""
    axis, columns = cluster.shapes.resources, cluster.columns
    room: dict[str, int] = {}
    for row in rows:
        if cluster.pod_count[row] >= columns.allowed_pods[row]:
            continue
        free = {
            name: int(columns.allocatable[row, axis.column(name)] - cluster.requested[row, axis.column(name)])
            for name in pod.shape.requests
        }
        short = [name for name, request in pod.shape.requests.items() if request > free[name]]
        if len(short) == 1 and free[short[0]] > 0:
            room[short[0]] = max(room.get(short[0], 0), free[short[0]])
    for name, most in sorted(room.items()):
        edited = _lower_request(pod.pod, name, pod.shape.requests[name] - most)
        if edited is not None:
            request = format_amount(name, pod.shape.requests[name])
            yield f"lower its {name} request from {request} to {_exact(name, most)}", edited


def _exact(name: str, amount: int) -> str:
    """An amount as it can be typed into a manifest without asking for more than there is."""
    for power, suffix in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
        if name != "cpu" and amount >= 1024**power and (amount % 1024**power == 0 or power < 3):
            return f"{amount // 1024**power}{suffix}"
    return format_amount(name, amount) if name == "cpu" else str(amount)


def _lower_request(pod: Pod, name: str, by: int) -> Pod | None:
    """The pod with ``by`` less of a resource, taken from pod-level requests or from its hungriest container."""
    spec = pod.spec
    if spec.resources is not None and name in (spec.resources.requests or {}):
        resources = _less(spec.resources, name, by)
        return None if resources is None else with_spec(pod, resources=resources)
    containers = list(spec.containers or ())

    def request_of(container: Container) -> int:
        quantity = ((container.resources.requests if container.resources else None) or {}).get(name)
        return 0 if quantity is None else quantity.amount_of(name)

    hungriest = max(range(len(containers)), key=lambda i: request_of(containers[i]), default=None)
    if hungriest is None or containers[hungriest].resources is None:
        return None
    resources = _less(containers[hungriest].resources, name, by)  # type: ignore[arg-type]
    if resources is None:
        return None
    containers[hungriest] = replace(containers[hungriest], resources=resources)
    return with_spec(pod, containers=containers)


def _less(resources: ResourceRequirements, name: str, by: int) -> ResourceRequirements | None:
    requests = dict(resources.requests or {})
    if name not in requests:
        return None
    left = requests[name].amount_of(name) - by
    if left <= 0:
        return None
    requests[name] = Quantity.from_amount(name, left)
    return replace(resources, requests=requests)


def suggest_room(pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[tuple[str, Node]]:
    """Free the missing amount of one resource, on the nodes where that is least; or one pod slot.

    Nodes that could not hold the pod beside those of daemon sets, if all others were gone, are left out.
    """
    axis, columns = cluster.shapes.resources, cluster.columns
    suggestions: list[tuple[float, str, str, Node]] = []
    for row in rows:
        node, total = columns.nodes[row], columns.allocatable[row]
        if columns.allowed_pods[row] < 1:
            continue
        # Evictions cannot help on a node that is too small for the pod beside its daemons.
        room = room_if_empty(cluster, row)
        if any(amount > room[axis.column(name)] for name, amount in pod.shape.requests.items()):
            continue
        free = total - cluster.requested[row]
        short = {
            name: request - int(free[axis.column(name)])
            for name, request in pod.shape.requests.items()
            if request > free[axis.column(name)]
        }
        # One lack at a time: a node short of two resources is not near enough to be called a way out.
        full = int(cluster.pod_count[row] - columns.allowed_pods[row]) + 1
        if full > 0 and not short:
            count = f"{cluster.pod_count[row]} of {columns.allowed_pods[row]}"
            suggestions.append(
                (
                    full,
                    node.name,
                    f"take a pod off node {node.name} ({count} run there)",
                    _more(node, "pods", full),
                )
            )
        elif full <= 0 and len(short) == 1:
            ((name, lack),) = short.items()
            # Compared by the share of the node, as a core and a byte cannot be.
            share = lack / int(total[axis.column(name)])
            text = f"free {format_amount(name, lack)} {name} on node {node.name}"
            suggestions.append((share, node.name, text, _more(node, name, lack)))
    for _, _, text, edited in sorted(suggestions, key=lambda item: item[:2])[:MOST_NODES]:
        yield text, edited


def _more(node: Node, name: str, lack: int) -> Node:
    """The node with that much more allocatable: the same to the scheduler as that much less in use."""
    allocatable = dict(node.status.for_pods)
    more = Quantity.from_amount(name, lack)
    allocatable[name] = allocatable[name] + more if name in allocatable else more
    return replace(node, status=replace(node.status, allocatable=allocatable))


NO_SIDECARS = "Pod has a restartable init container and the SidecarContainers feature is disabled"
LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
_ALWAYS_COMPARED = ("cpu", "memory", "ephemeral-storage")


class Wanted(msgspec.Struct, frozen=True):
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
    default = DefaultPlugin(80, weight=1)
    checked_at_start = True
    left_to_extenders = "ignored_resources"
    depends_on_labels = False
    depends_on_sums_only = True
    needs_pre_filter = True
    filter_scope = Scope.ROW
    score_scope = Scope.ROW
    events_to_register = MappingProxyType({ClusterEvent.POD_DELETED: always})

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        points = super().points(features)
        return points if features.pod_group_placement else set(points) - {"placementScore"}

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        strategy = args.scoring_strategy
        return replace(args, scoring_strategy=replace(strategy, resources=fill_default_weights(strategy.resources)))

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        wrong = [*_ignored_problems(path, args)]
        strategy = args.scoring_strategy
        wrong += _strategy_problems(path.child("scoringStrategy"), strategy, features)
        yield from wrong
        if not wrong and strategy.type == REQUESTED_TO_CAPACITY_RATIO and strategy.requested_to_capacity_ratio is None:
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

    def cache_key(self, pod: PodInfo) -> Hashable:
        shape = pod.shape
        return tuple(shape.requests.items()), tuple(shape.fit_score_requests.items()), self._refuses_sidecars(pod)

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_resources(pod.shape, self.handle)

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
        count, allowed = nodes.pod_count, nodes.take_rows(nodes.columns.allowed_pods)
        full = count >= allowed
        if full.any():
            yield Rejection(
                full, "Too many pods", detail=lambda place: f"pods: {count[place]} of {allowed[place]} in use"
            )
        if not state.names:
            return
        capacity = nodes.allocatable[:, state.columns]
        used = nodes.requested[:, state.columns]
        free = capacity - used  # a sum might not fit into 64 bits
        hopeless = self.handle.features.request_beyond_capacity_is_unresolvable
        for k, name in enumerate(state.names):
            amount = state.amounts.item(k)
            short = free[:, k] < amount
            if name in nodes.cluster.devices.serving:
                short &= ~left_to_devices(name, nodes)
            if not short.any():
                continue

            def detail(place: int, k: int = k, name: str = name, amount: int = amount) -> str:
                return format_shortage(name, amount, int(used[place, k]), int(capacity[place, k]))

            def share(place: int, k: int = k, amount: int = amount) -> float:
                return (amount + int(used[place, k]) - int(capacity[place, k])) / max(amount, 1)

            yield Rejection(
                short,
                f"Insufficient {name}",
                unresolvable=capacity[:, k] < amount if hopeless else False,
                detail=detail,
                short=share,
            )

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: Wanted | None) -> ScoredResources:
        return ScoredResources.for_pod(self._resources, pod.shape.fit_score_requests, nodes.cluster, with_defaults=True)

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        yield from suggest_requests(pod, cluster, rows)
        yield from suggest_room(pod, cluster, rows)

    def scopes(self, pod: PodInfo) -> tuple[Scope, Scope]:
        return self.filter_scope, score_scope(pod, self._resources, self.handle)

    def score(self, pod: PodInfo, nodes: NodeView, state: ScoredResources) -> Int64Array:
        return self._rate(add_devices(state.allocation_on(nodes), state, nodes, self.handle), state)

    def score_placement(self, assignments: PodGroupAssignments, cluster: Cluster) -> int:
        """The utilization of all the placement's nodes together: the fuller the better, whatever the strategy for
        nodes.
        """
        requests: dict[str, int] = {}
        for pod in assignments.pods:
            for name, amount in pod.shape.fit_score_requests.items():
                requests[name] = requests.get(name, 0) + amount
        state = ScoredResources.for_pod(self._resources, requests, cluster, with_defaults=True)
        at = state.allocation_on(NodeView(cluster, assignments.placement.rows))
        capacity = at.capacity.sum(axis=0, keepdims=True)
        used = np.where(at.capacity != 0, at.used, 0).sum(axis=0, keepdims=True)
        return int(most_allocated(Allocation(capacity, used, used + state.asked, state.weights), state)[0])


def _and_what_is_not_asked_for(requests: Mapping[str, int], ignored: Callable[[str], bool]) -> dict[str, int]:
    """The resources that are compared with free ones: all of them, once the pod requests anything."""
    if not any(amount or is_scalar(name) for name, amount in requests.items()):
        return {}
    wanted = {name: requests.get(name, 0) for name in _ALWAYS_COMPARED}
    return wanted | {name: amount for name, amount in requests.items() if is_scalar(name) and not ignored(name)}


def format_shortage(name: str, asks: int, used: int, capacity: int) -> str:
    """The arithmetic of a shortage, in one unit: ``memory: asks 4Gi, free 2.8Gi of 16Gi, short 1.2Gi``."""
    free = capacity - used
    wanted, left, whole, short = format_in_one_unit(name, asks, free, capacity, asks - free)
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
        yield path.child("type").not_supported(strategy.type, STRATEGIES)
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
