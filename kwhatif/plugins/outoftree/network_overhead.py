"""NetworkOverhead: keep workloads near those that they depend on, by what the network between costs.

Upstream: pkg/networkaware/networkoverhead/networkoverhead.go of scheduler-plugins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.scheduler_plugins import (
    APP_GROUP_LABEL,
    WORKLOAD_LABEL,
    AppGroup,
    AppGroupDependency,
    NetworkTopology,
)
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.arithmetic import invert_costs
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Dependency, Plugin
from kwhatif.framework.status import SKIP, Rejection, Skip, Status
from kwhatif.plugins.shared.app_groups import first_named, search_halves
from kwhatif.plugins.shared.followed_pods import FollowedPods, followed_by_label
from kwhatif.versions import Features

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
_MOST_COST, _SAME_ZONE = 100, 1
_MEASURED = "NetperfCosts"
"""Costs of this name are not sorted before they are searched."""

Place = tuple[str, str]
"""Region and zone of a node; empty where it has none."""


class NetworkOverheadArgs(Args):
    namespaces: tuple[str, ...] = ()
    weights_name: Annotated[str | None, msgspec.Meta(extra={"words": ("UserDefined", _MEASURED)})] = None
    network_topology_name: str | None = None


class Overhead(msgspec.Struct, frozen=True, eq=False):
    """int64[N] each: dependencies whose limit a node keeps, those whose it breaks, and what the network costs there.

    ``by_dependency`` says of a row what each dependency costs.
    """

    satisfied: Int64Array
    violated: Int64Array
    cost: Int64Array
    by_dependency: Mapping[tuple[int, str, int], int]
    """(row of a pod that is a dependency, its selector, what it may cost) -> number of such pods."""


class NetworkOverhead(Plugin[Overhead, None]):
    name = "NetworkOverhead"
    args = NetworkOverheadArgs
    dependencies = MappingProxyType(
        {
            "AppGroup": Dependency("it says which workloads depend on which", lambda pod, _: _in_group(pod)),
            "NetworkTopology": Dependency(
                "it says what the network between zones costs", lambda pod, _: _in_group(pod)
            ),
        }
    )

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        return replace(
            args,
            namespaces=args.namespaces or ("default",),
            weights_name="UserDefined" if args.weights_name is None else args.weights_name,
            network_topology_name="nt-default" if args.network_topology_name is None else args.network_topology_name,
        )

    def applies_to(self, pod: PodInfo) -> bool:
        return _in_group(pod)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Overhead | Skip | Status:
        args: NetworkOverheadArgs = self.handle.args
        name = pod.shape.labels.get(APP_GROUP_LABEL)
        if not name:
            return SKIP
        group = first_named(cluster, AppGroup, args.namespaces, name)
        topology = first_named(cluster, NetworkTopology, args.namespaces, args.network_topology_name or "")
        if group is None or topology is None:
            # Upstream the scheduler ends here.
            kind, missing = ("AppGroup", name) if group is None else ("NetworkTopology", args.network_topology_name)
            return Status.error(f"{kind} {missing} is in none of the namespaces {', '.join(args.namespaces)}")
        wanted = _dependencies(group, pod)
        if not wanted:
            return SKIP
        rows = self._rows(cluster, name, {dependency.workload.selector for dependency in wanted})
        if not rows.any_scheduled:
            return SKIP
        by_dependency: Counter[tuple[int, str, int]] = Counter()
        for app_group_dependency in wanted:
            selector = app_group_dependency.workload.selector
            for row, number in rows.by_selector.get(selector, {}).items():
                by_dependency[row, selector, app_group_dependency.max_network_cost] += number
        return self._overhead(cluster, topology, by_dependency)

    def _rows(self, cluster: Cluster, group: str, selectors: set[str]) -> _Scheduled:
        """Where pods of the group run, those that wait for a permit left aside."""
        pods: FollowedPods = followed_by_label(cluster, APP_GROUP_LABEL)
        by_selector: dict[str, Counter[int]] = {}
        some = False
        for info, row in pods.pods_of(group).values():
            if info.uid in self.handle.waiting:
                continue
            some = True
            selector = info.shape.labels.get(WORKLOAD_LABEL, "")
            if selector in selectors:
                by_selector.setdefault(selector, Counter())[row] += 1
        return _Scheduled(by_selector, some)

    def _overhead(
        self, cluster: Cluster, topology: NetworkTopology, by_dependency: Mapping[tuple[int, str, int], int]
    ) -> Overhead:
        codes, places = _places(cluster)
        satisfied, violated, cost = (np.zeros(len(places), np.int64) for _ in range(3))
        own = {row: np.zeros(3, np.int64) for row, _, _ in by_dependency}
        costs = [_costs(topology, self.handle.args.weights_name, place) for place in places]
        for (row, _, limit), number in by_dependency.items():
            home = int(codes[row])
            for k, place in enumerate(places):
                kept, broken, price = _between(place, places[home], costs[k], limit)
                satisfied[k] += number * kept
                violated[k] += number * broken
                cost[k] += number * price
                if k == home:
                    # On the pod's own node it costs nothing.
                    own[row] += np.array([number * (1 - kept), -number * broken, -number * price])
        by_node = np.stack([satisfied, violated, cost])[:, codes]
        for row, change in own.items():
            by_node[:, row] += change
        return Overhead(by_node[0], by_node[1], by_node[2], by_dependency)

    def filter(self, pod: PodInfo, nodes: NodeView, state: Overhead) -> Iterator[Rejection]:
        satisfied, violated = nodes.take_rows(state.satisfied), nodes.take_rows(state.violated)
        names = nodes.columns.names
        for place in np.flatnonzero(violated > satisfied).tolist():
            where = np.zeros(nodes.size, np.bool_)
            where[place] = True
            kept, broken = int(satisfied[place]), int(violated[place])
            yield Rejection(
                where,
                f"Node {names[nodes.row(place)]} does not meet several network requirements from Workload "
                f"dependencies: Satisfied: {kept} Violated: {broken}",
                detail=lambda place: self._detail(nodes, place, state),
            )

    def _detail(self, nodes: NodeView, place: int, state: Overhead) -> str:
        """What each dependency costs from there, by the node that it runs on."""
        cluster, row, parts = nodes.cluster, nodes.row(place), []
        topology = first_named(
            cluster, NetworkTopology, self.handle.args.namespaces, self.handle.args.network_topology_name
        )
        codes, places = _places(cluster)
        if topology is None:
            return ""
        here = places[codes[row]]
        costs = _costs(topology, self.handle.args.weights_name, here)
        for (other, selector, limit), number in sorted(state.by_dependency.items()):
            node = cluster.columns.names[other]
            if other == row:
                parts.append(f"{selector} on {node}: same node, costs 0")
                continue
            kept, broken, price = _between(here, places[codes[other]], costs, limit)
            pods = "" if number == 1 else f" ({number} pods)"
            of = f"of at most {limit}{', too much' * broken}" if kept or broken else "as its cost is not given"
            parts.append(f"{selector} on {node}{pods}: costs {price} {of}")
        return "; ".join(parts)

    def score(self, pod: PodInfo, nodes: NodeView, state: Overhead | None) -> Int64Array:
        if state is None:
            return np.zeros(nodes.size, np.int64)
        costs: Int64Array = nodes.take_rows(state.cost)
        return costs

    def describe_score(self, pod: PodInfo, nodes: NodeView, place: int, state: Overhead | None) -> str:
        return "no pod runs that it depends on" if state is None else self._detail(nodes, place, state)

    def normalize(self, pod: PodInfo, nodes: NodeView, state: Overhead | None, scores: Int64Array) -> Int64Array:
        return invert_costs(scores)


class _Scheduled(msgspec.Struct, frozen=True):
    """Rows of scheduled pods by selector, and whether there is any of the group at all."""

    by_selector: dict[str, Counter[int]]
    any_scheduled: bool


def _in_group(pod: PodInfo) -> bool:
    return bool(pod.shape.labels.get(APP_GROUP_LABEL))


def _dependencies(group: AppGroup, pod: PodInfo) -> list[AppGroupDependency]:
    own = pod.shape.labels.get(WORKLOAD_LABEL, "")
    return [
        dependency
        for workload in group.spec.workloads or ()
        if workload.workload.selector == own
        for dependency in workload.dependencies or ()
    ]


@cached_per_cluster
def _places(cluster: Cluster) -> tuple[IntpArray, list[Place]]:
    """intp[N] codes of the distinct places of nodes."""
    codes: dict[Place, int] = {}
    column = []
    for node in cluster.columns.nodes:
        labels = node.metadata.labels or {}
        place = labels.get(REGION, ""), labels.get(ZONE, "")
        column.append(codes.setdefault(place, len(codes)))
    return np.array(column, np.intp), list(codes)


def _costs(topology: NetworkTopology, weights_name: str | None, place: Place) -> dict[tuple[str, str], int]:
    """(origin, destination) -> cost, from a region and a zone."""
    costs: dict[tuple[str, str], int] = {}
    is_sorted = weights_name != _MEASURED
    for weights in topology.spec.weights or ():
        if weights.name != weights_name:
            continue
        levels = weights.topology_list or []
        levels = sorted(levels, key=lambda level: level.topology_key) if is_sorted else levels
        for key, origin in zip((REGION, ZONE), place, strict=True):
            level = search_halves(levels, lambda level: level.topology_key, key) if origin else None
            origins = (level.origin_list if level is not None else None) or []
            origins = sorted(origins, key=lambda origin_cost: origin_cost.origin) if is_sorted else origins
            origin_costs = search_halves(origins, lambda origin_cost: origin_cost.origin, origin)
            for cost in (origin_costs.cost_list if origin_costs is not None else None) or ():
                costs[origin, cost.destination] = cost.network_cost
    return costs


def _between(here: Place, there: Place, costs: Mapping[tuple[str, str], int], limit: int) -> tuple[int, int, int]:
    """Of a pod on another node: whether it counts as satisfied, as violated, and what it costs."""
    if there == ("", ""):
        return 0, 1, _MOST_COST
    if here == there:
        return 1, 0, _SAME_ZONE
    level = 1 if here[0] == there[0] else 0
    cost = costs.get((here[level], there[level]))
    if cost is None:
        return 0, 0, _MOST_COST
    return int(cost <= limit), int(cost > limit), cost
