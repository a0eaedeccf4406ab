"""The consequences of some requests for a cluster: pending pods, nodes, cost by their prices; and the resource
that keeps the nodes of a pool, which is found by simulating the pool with an unlimited amount of each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.quantity import Quantity
from kwhatif.api.workloads_and_storage import CSINode, CSINodeDriver
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.storage import claim_names
from kwhatif.commands.rightsize.advice import format_quantity
from kwhatif.commands.rightsize.result import Binding, LargestSlot, Rescaled, Side
from kwhatif.errors import InputError
from kwhatif.progress import report_progress
from kwhatif.results.place import HOURS_A_MONTH
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler
from kwhatif.simulation.autoscalers.node_prices import Prices, catalogue_prices
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.edits.new_resources import NewResources, set_resources
from kwhatif.simulation.edits.scaling import scale
from kwhatif.simulation.node_pools import pool_of, resource_order_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.placement.scale_down import LARGE, ShrinkingCluster, groups_of_nodes, remove_unneeded_nodes
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule, Session, pending_pods
from kwhatif.snapshot.format.model import Snapshot

VOLUMES = "volumes"
ORIGIN = "rightsize"

Price = Callable[[Node, Mapping[str, str]], float | None]
"""What a node costs by the hour, given which group each node is of."""


class SteadyState(msgspec.Struct, frozen=True):
    """A cluster once the scheduler has placed pods, in its ``run``, and autoscalers have added nodes and removed
    unneeded ones.

    ``waiting`` pods have no node then. ``added`` and ``removed`` are nodes by name, None where no autoscaler was asked.
    """

    run: Run
    session: Session
    waiting: Sequence[Pod]
    evicted: Sequence[str]
    added: Sequence[str] | None = None
    removed: Sequence[str] | None = None
    groups: Mapping[str, str] = {}


def reach_steady_state(scenario: PreparedScenario, snapshot: Snapshot, pods: Sequence[PodToSchedule]) -> SteadyState:
    """The cluster of a scenario with other objects, once nothing moves; ``pods`` are its pods that wait."""
    session, scaler = scenario.with_snapshot(snapshot).new_session(), scenario.scaler
    before = set(session.cluster.columns.names)
    run = place_pods(session, pods, unknown_kinds=scenario.unknown_kinds, scaler=scaler)
    pending = {pod.pod for pod in run.pending}
    waiting, evicted = [pod for pod in run.left if pod.key in pending], [victim.pod for victim in run.victims]
    if scaler is None:
        return SteadyState(run, run.end, waiting, evicted)
    groups, shrinking = groups_of_nodes(scaler, run.end), ShrinkingCluster(run.end, waiting, evicted)
    remove_unneeded_nodes(shrinking, scaler)
    session, names = shrinking.session, set(shrinking.session.cluster.columns.names)
    added, removed = sorted(names - before), sorted(before - names)
    return SteadyState(run, session, shrinking.waiting, shrinking.evicted, added, removed, groups)


class Consequence(msgspec.Struct, frozen=True):
    """A cluster in its steady state with some requests. ``failed`` says whose replicas could not be had, and why."""

    state: SteadyState
    side: Side
    requested: Mapping[str, int]
    shares: Mapping[str, Mapping[str, float]]
    failed: Sequence[str] = ()
    unpriced: Sequence[str] = ()
    nodes_today: int = 0
    cost_today: float | None = None


class SizingTrial(msgspec.Struct):
    """Computes the consequences of requests, of one scenario; answers are kept, since steps repeat them."""

    scenario: PreparedScenario
    price: Price
    _known: dict[tuple[frozenset[str], frozenset[str]], Consequence] = {}

    def ask(self, new: NewResources, scalings: Sequence[Rescaled] = ()) -> Consequence:
        """The cluster in its steady state with these requests, and with the replicas that autoscalers then want."""
        key = frozenset(new), frozenset(scaling.workload for scaling in scalings)
        if key not in self._known:
            self._known[key] = self.try_resources(new, scalings)
        return self._known[key]

    def try_resources(
        self,
        new: NewResources,
        scalings: Sequence[Rescaled],
        change: Callable[[Snapshot], Snapshot] = lambda same: same,
    ) -> Consequence:
        """The same without the cache, in a cluster with another ``change``."""
        draft = Draft(self.scenario.snapshot)
        failed = []
        if new:
            set_resources(draft, new, ORIGIN)
        for scaling in scalings:
            kind, namespace, name = scaling.workload.split("/", 2)
            try:
                scale(draft, ORIGIN, scaling.then, kind, name, namespace)
            except InputError as error:
                failed.append(
                    f"HorizontalPodAutoscaler {scaling.autoscaler}: {error.problem}; "
                    f"its replicas stay {scaling.replicas}"
                )
        failed += [
            f"{failed_create.owner}: {failed_create.pods} pods are not created: {failed_create.message}"
            for failed_create in draft.failed
        ]
        state = reach_steady_state(self.scenario, change(draft.snapshot), asked_of(self.scenario, draft))
        requested = _sum_requests(state)
        side, unpriced = _side(state, requested, self.price)
        today = self.scenario.snapshot.objects.list_all(Node)
        cost = _monthly([self.price(node, state.groups) for node in today])
        return Consequence(state, side, requested, shares_of(state.session.cluster), failed, unpriced, len(today), cost)


def asked_of(scenario: PreparedScenario, draft: Draft) -> list[PodToSchedule]:
    """The pods that wait: those of the snapshot, of edits, and those that changes have led to."""
    known = {item.pod.key: item for item in (*scenario.pods_to_schedule, *draft.asked.values())}
    pods = []
    for item in pending_pods(draft.snapshot):
        if item.pod.metadata.deletion_timestamp:
            continue
        before = known.get(item.pod.key, item)
        pods.append(
            PodToSchedule(item.pod, before.origin, before.defaults, before.unknown_class, before.owner, edited=True)
        )
    return pods


def _sum_requests(state: SteadyState) -> dict[str, int]:
    """What all pods ask for, those that wait as well: cpu in millicores, memory in bytes."""
    cluster = state.session.cluster
    waiting = [state.session.info(PodToSchedule(pod, "")).shape.requests for pod in state.waiting]
    totals = cluster.totals(range(len(cluster)))
    placed = {name: totals.get(name, (0, 0))[1] for name in ("cpu", "memory")}
    return {name: amount + sum(counts.get(name, 0) for counts in waiting) for name, amount in placed.items()}


def _side(state: SteadyState, requested: Mapping[str, int], price: Price) -> tuple[Side, list[str]]:
    cluster = state.session.cluster
    busy = {row for info, row in cluster.pods() if not info.pod.is_mirror and not is_of_daemon_set(info.pod)}
    costs = {node.name: price(node, state.groups) for node in cluster.columns.given}
    side = Side(
        pods=len(list(cluster.pods())) + len(state.waiting),
        pending=len(state.waiting),
        nodes=len(cluster),
        nodes_in_use=len(busy),
        nodes_removable=None if state.removed is None else len(state.removed),
        nodes_added=None if state.added is None else len(state.added),
        cost=_monthly(list(costs.values())),
        requested={name: format_quantity(name, amount) for name, amount in requested.items()},
        largest_slot=largest_slot(cluster),
        removed=tuple(state.removed or ()),
        pending_pods=tuple(sorted(pod.key for pod in state.waiting)),
    )
    return side, sorted(name for name, cost in costs.items() if cost is None)


def _monthly(prices: Sequence[float | None]) -> float | None:
    """What all of these cost a month, as far as is known; None if nothing is."""
    known = [price for price in prices if price is not None]
    return round(sum(known) * HOURS_A_MONTH, 2) if known else None


def largest_slot(cluster: Cluster) -> LargestSlot | None:
    """The open node that has the most left of what it has least of, as a share of what nodes have on average."""
    totals, columns = cluster.totals(range(len(cluster))), cluster.columns
    free = {name: cluster.free(name) for name in ("cpu", "memory")}
    pods = (columns.allowed_pods - cluster.pod_count).tolist()

    def share(row: int) -> float:
        shares = (free[name][row] * len(cluster) / (totals.get(name, (0, 0))[0] or math.inf) for name in free)
        return min(shares)

    rows = [row for row, node in enumerate(columns.nodes) if not node.spec.unschedulable and pods[row] > 0]
    if not rows:
        return None
    row = min(rows, key=lambda row: (-share(row), columns.names[row]))
    cpu, memory = (format_quantity(name, amounts[row]) for name, amounts in free.items())
    return LargestSlot(node=columns.names[row], cpu=cpu, memory=memory, pods=pods[row])


def shares_of(cluster: Cluster) -> dict[str, dict[str, float]]:
    """Pool -> resource -> how much of what its nodes have is taken; volumes and pods among them."""
    pools, volumes = dict[str, list[int]](), _volumes(cluster)
    for row, node in enumerate(cluster.columns.nodes):
        pools.setdefault(pool_of(node), []).append(row)
    shares = {}
    for pool, rows in sorted(pools.items()):
        most, used = (sum(amounts[row] for row in rows) for amounts in volumes)
        sums = {**cluster.totals(rows), VOLUMES: (most, used)}
        shares[pool] = {
            name: round(requested / has, 4)
            for name, (has, requested) in sorted(sums.items(), key=lambda e: resource_order_of(e[0]))
            if has
        }
    return shares


def _volumes(cluster: Cluster) -> tuple[Sequence[int], Sequence[int]]:
    """How many volumes of CSI drivers each node may have, and how many claims its pods have."""
    most = [0] * len(cluster)
    for csi in cluster.objects.list_all(CSINode):
        row = cluster.columns.row(csi.name)
        counts = [driver.allocatable.count for driver in csi.spec.drivers or () if driver.allocatable is not None]
        if row is not None:
            most[row] = sum(count for count in counts if count is not None)
    claims: list[set[tuple[str, str]]] = [set() for _ in most]
    for info, row in cluster.pods() if any(most) else ():
        claims[row].update((info.pod.namespace, name) for name, _ in claim_names(info.pod))
    return most, [len(claim) for claim in claims]


def shortest_first(shares: Mapping[str, float]) -> list[str]:
    """Resources, the one that is shortest first."""
    return sorted(shares, key=lambda name: (-shares[name], resource_order_of(name)))


def nodes_by_group(names: Sequence[str], groups: Mapping[str, str]) -> list[tuple[str, int]]:
    """How many of some nodes belong to each group."""
    return sorted(Counter(groups.get(name, "") for name in names).items())


def price_by(named: Prices | None, scaler: Scaler | None) -> Price:
    """The price of a node by the hour: that of a file counts first, then what autoscalers know of their own nodes."""
    groups: dict[str, float | None] = {}
    offered: list[Prices] = []
    for autoscaler in scaler.autoscalers if scaler is not None else ():
        if isinstance(autoscaler, GroupAutoscaler):
            groups |= {group.name: group.price for group in autoscaler.known.groups}
        elif isinstance(autoscaler, PoolAutoscaler):
            offered.append(catalogue_prices(autoscaler.known))
    first: Sequence[Prices] = [] if named is None else [named]

    def price(node: Node, of: Mapping[str, str]) -> float | None:
        known = (prices(node) for prices in first)
        stated_price = next((node_price for node_price in known if node_price is not None), None)
        if stated_price is None and node.name in of:
            stated_price = groups.get(of[node.name])
        if stated_price is None:
            stated_price = next((stated for prices in offered if (stated := prices(node)) is not None), None)
        return stated_price

    return price


MOST_POOLS = 8
"""In a cluster of more pools none is simulated: each takes some runs of the scheduler and the autoscalers."""
MOST_RESOURCES = 3
"""How many of the scarcest resources of a pool are tried."""

_UNLIMITED = {"cpu": Quantity.from_units(10**6), "memory": Quantity.from_units(2**50, binary=True)}
_MANY = Quantity.from_units(10**6)


def find_bounds(
    trial: SizingTrial, new: NewResources, scalings: Sequence[Rescaled], before: Consequence, after: Consequence
) -> Iterator[Binding]:
    """The binding resource of each pool of the cluster under these requests.

    It is the one of which an unlimited amount would let most nodes go. Without autoscalers no node is ever removed, so
    nothing is simulated and it is the one that is shortest; nor is it simulated in a large cluster.
    """
    pools = {pool: shortest_first(shares) for pool, shares in after.shares.items() if shares}
    asking = after.side.nodes_removable is not None and after.nodes_today <= LARGE and len(pools) <= MOST_POOLS
    for pool, resources in pools.items():
        name, freed = resources[0], dict[str, int]()
        if asking:
            report_progress("Looking for the resource that binds", "pools", 0)
            for tried in resources[:MOST_RESOURCES]:
                relaxed = trial.try_resources(new, scalings, partial(without_bound, pool=pool, resource=tried))
                freed[tried] = after.side.nodes - relaxed.side.nodes
            name = max(freed, key=lambda name: (freed[name] > 0, -resources.index(name)))
        shares = after.shares[pool]
        yield Binding(
            pool=pool,
            resource=name,
            share=shares[name],
            before=before.shares.get(pool, {}).get(name),
            shares=dict(shares),
            nodes_freed=max(freed[name], 0) if asking else None,
        )


def without_bound(snapshot: Snapshot, pool: str, resource: str) -> Snapshot:
    """The snapshot where the nodes of a pool have an unlimited amount of a resource."""
    relaxed = snapshot.copy()
    nodes = snapshot.objects.list_all(Node)
    mine = {node.name for node in nodes if pool_of(node) == pool}
    if resource == VOLUMES:
        csi_nodes = snapshot.objects.list_all(CSINode)
        relaxed.objects.put(
            CSINode, [_any_volumes(csi_node) if csi_node.name in mine else csi_node for csi_node in csi_nodes]
        )
    else:
        room = {resource: _UNLIMITED.get(resource, _MANY)}
        relaxed.objects.put(Node, [_with_room(node, room) if node.name in mine else node for node in nodes])
    return relaxed


def _with_room(node: Node, room: Mapping[str, Quantity]) -> Node:
    allocatable = {**node.status.for_pods, **room}
    return replace(node, status=replace(node.status, allocatable=allocatable))


def _any_volumes(csi: CSINode) -> CSINode:
    drivers: list[CSINodeDriver] = [replace(driver, allocatable=None) for driver in csi.spec.drivers or ()]
    return replace(csi, spec=replace(csi.spec, drivers=drivers))
