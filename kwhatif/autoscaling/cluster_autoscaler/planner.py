"""Scale-down: which nodes are unneeded, since when, whether their pods can be moved, and which of them are deleted now.

Upstream: cluster-autoscaler/core/scaledown/planner/planner.go, unneeded/nodes.go, unremovable/nodes.go and
budgets/budgets.go; RemovalSimulator in simulator/cluster.go; processors/scaledowncandidates and processors/nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import (
    AutoscalingContext,
    ClusterLimits,
    NodeGroup,
    NodeGroups,
)
from kwhatif.autoscaling.cluster_autoscaler.drainability import (
    DrainContext,
    DrainOutcome,
    RemainingBudgets,
    outcome,
    pods_to_move,
)
from kwhatif.autoscaling.cluster_autoscaler.eligibility import Utilization, eligibility, is_scale_down_disabled
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import ZERO, readiness
from kwhatif.autoscaling.cluster_autoscaler.simulated_cluster import Hints, SimulatedCluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray
from kwhatif.progress import track


class Removal(msgspec.Struct):
    """A removable node: the new node of each of its pods, pods that it waits for, and whether it is ``risky``, since
    its pods need more of a disruption budget than that allows at once.
    """

    node: str
    moves: dict[str, str]
    pods: Sequence[PodInfo]
    finishing: Sequence[PodInfo]
    risky: bool = False


def move_pods(
    simulated: SimulatedCluster, node: str, pods: Sequence[PodInfo], destinations: BoolArray, hints: Hints
) -> dict[str, str] | None:
    """Take a node away and place its pods elsewhere: pod -> node.

    None, and no change, if one of them fits nowhere. ``destinations`` bool[N]. While its pods are placed, the node
    exists without any, so that topology spread still counts it.
    """
    row = simulated.row(node)
    assert row is not None
    destinations = destinations.copy()
    destinations[row] = False
    moves: dict[str, str] = {}
    with simulated.undoable(row) as attempt:
        for pod in pods:
            home = hints.place(simulated, pod, destinations)
            if home is None:
                home = hints.search(simulated, pod, destinations)
            if home is None:
                return None
            moves[pod.key] = simulated.name(home)
        attempt.keep()
    simulated.depart(row)
    return moves


Buckets = dict[str, list[str]]
"""Group -> its nodes; groups in the order in which they first appear."""


def crop_nodes_to_budgets(
    empty: Sequence[str], drained: Sequence[str], groups: NodeGroups, flags: Flags, registered: Mapping[str, int]
) -> tuple[list[str], list[str]]:
    """The empty nodes and those with pods whose deletion begins now: whole zero-or-max groups first, then the others.

    ``registered`` is the number of nodes of each group.
    """
    budget, drain_budget = flags.max_scale_down_parallelism, flags.max_drain_parallelism
    empty_single, empty_whole = _by_group(empty, groups)
    drain_single, drain_whole = _by_group(drained, groups)
    # Groups that are at zero or at their maximum go as a whole or not at all, so they are first: the first of them may
    # exceed the budget, since it would never fit one that is smaller than the group.
    going: list[str] = []
    drain_going: list[str] = []
    overflow = True
    for name, nodes in empty_whole.items():
        with_pods = drain_whole.get(name, [])
        count = len(nodes) + len(with_pods)
        tight = budget < count or drain_budget < len(with_pods)
        if tight and (budget == 0 or (with_pods and drain_budget == 0) or not overflow):
            break
        # Part of the group stays busy, so it cannot be taken as a whole in this loop.
        if count not in (groups[name].target, registered.get(name, 0)):
            continue
        going += nodes
        drain_going += with_pods
        budget, drain_budget, overflow = budget - count, drain_budget - len(with_pods), False
    # Drained nodes count against both budgets, empty ones against the first alone: draining is what loads the cluster.
    drain_budget = min(budget, drain_budget)
    for name, nodes in drain_whole.items():
        if name in empty_whole:
            continue
        if drain_budget < len(nodes) and (drain_budget == 0 or not overflow):
            break
        if len(nodes) not in (groups[name].target, registered.get(name, 0)):
            continue
        drain_going += nodes
        budget, drain_budget, overflow = budget - len(nodes), drain_budget - len(nodes), False
    some = [node for nodes in empty_single.values() for node in nodes][: max(budget, 0)]
    drain_budget = min(budget - len(some), drain_budget)
    others = [node for nodes in drain_single.values() for node in nodes][: max(drain_budget, 0)]
    return going + some, drain_going + others


def _by_group(nodes: Sequence[str], groups: NodeGroups) -> tuple[Buckets, Buckets]:
    """The nodes of ordinary groups, and those of zero-or-max ones."""
    single: Buckets = {}
    whole: Buckets = {}
    for node in nodes:
        group = groups.group_of(node)
        if group is not None:
            (whole if group.settings.zero_or_max_node_scaling else single).setdefault(group.name, []).append(node)
    return single, whole


NO_CANDIDATES, NOTHING_DELETED = "ScaleDownNoCandidates", "ScaleDownNoNodeDeleted"
DELETE_STARTED, NOT_TRIED, IN_COOLDOWN = "ScaleDownNodeDeleteStarted", "ScaleDownNotTried", "ScaleDownInCooldown"


class Unremovable(msgspec.Struct, frozen=True):
    """Why a node stays; for ``BlockedByPod`` the first blocking pod and its rule."""

    reason: str
    pod: str = ""
    pod_reason: str = ""


class ScaleDown(msgspec.Struct):
    """The outcome of one loop's scale-down.

    ``removable`` and ``deleted``: empty nodes, and nodes with pods; None where the loop did not get that far.
    """

    result: str
    candidates: list[str] = []
    utilization: dict[str, Utilization] = {}
    unneeded: dict[str, Removal] = {}
    unremovable: dict[str, Unremovable] = {}
    removable: tuple[list[str], list[str]] | None = None
    deleted: tuple[list[str], list[str]] | None = None


class Planner:
    """Remembers over loops since when nodes are unneeded, which could not be removed, and where pods fitted."""

    def __init__(self) -> None:
        self._hints = Hints()
        self._since: dict[str, int] = {}
        self._recent: dict[str, int] = {}
        self._previous: frozenset[str] = frozenset()
        self._last_update = ZERO
        self._interval: int | None = None
        self._last = ScaleDown(NOT_TRIED)

    def skip_loop(self, *, healthy: bool) -> ScaleDown:
        """A loop without scale-down: the state of the last one is kept.

        In an unhealthy cluster no node stays unneeded.
        """
        if not healthy:
            self._since = {}
            self._last.unneeded = {}
        unneeded = {name: replace(removal, moves={}) for name, removal in self._last.unneeded.items()}
        last = self._last
        return ScaleDown(NOT_TRIED, utilization=last.utilization, unneeded=unneeded, unremovable=last.unremovable)

    def plan(self, world: AutoscalingContext, simulated: SimulatedCluster, nodes: Sequence[Node]) -> ScaleDown:
        """One loop; ``nodes`` are the existing ones, in the order given."""
        scale_down = self._last = ScaleDown(NO_CANDIDATES)
        listed = [simulated.cluster.columns.nodes[row] for row in simulated.listed_rows]
        here = {node.name: node for node in nodes}
        candidates = [node for node in nodes if self._may_shrink(world.groups.group_of(node.name))]
        scale_down.candidates = [node.name for node in self._in_order(world, simulated, candidates)]
        budgets = RemainingBudgets(world.objects.list_all(PodDisruptionBudget))
        context = DrainContext(world.flags, world.now, budgets, world.controllers)
        self._note_time(world)
        self._recent = {name: until for name, until in self._recent.items() if until > world.now}
        self._categorize(world, simulated.fork(), context, here, scale_down)
        self._hints.drop_old()
        self._since = {name: self._since.get(name, world.now) for name in scale_down.unneeded}
        self._previous = frozenset(self._since)
        if scale_down.candidates:
            self._choose(world, listed, here, scale_down)
        return scale_down

    @staticmethod
    def _may_shrink(group: NodeGroup | None) -> bool:
        return group is not None and group.target > group.min_size

    def _in_order(self, world: AutoscalingContext, simulated: SimulatedCluster, nodes: Sequence[Node]) -> list[Node]:
        """Empty ones first, then those that were unneeded in the last loop."""
        context = DrainContext(world.flags, world.now, RemainingBudgets(()), None)

        def late(node: Node) -> tuple[bool, bool, bool]:
            new, waits = node.name not in self._previous, False
            for pod in self._pods(simulated, node.name):
                said = outcome(pod, context)
                if said not in (DrainOutcome.SKIP, DrainOutcome.WAIT):
                    return True, False, new
                waits |= said is DrainOutcome.WAIT
            return False, waits, new

        return sorted(nodes, key=late)

    @staticmethod
    def _pods(simulated: SimulatedCluster, node: str) -> list[PodInfo]:
        row = simulated.row(node)
        return [] if row is None else simulated.cluster.pods_on[row]

    def _note_time(self, world: AutoscalingContext) -> None:
        """Adapts the number of candidates to how often loops run."""
        usual = world.flags.scale_down_unneeded_time or 1
        self._interval = min(self._interval or usual, world.now - self._last_update)
        self._last_update = world.now

    def _most_unneeded(self, world: AutoscalingContext) -> int:
        count = world.flags.max_scale_down_parallelism
        interval = max(self._interval or 1, 1)
        loops = max(world.flags.scale_down_unneeded_time, interval) // interval
        return min(len(self._since) + 2 * count, count * loops + count)

    def _categorize(
        self,
        world: AutoscalingContext,
        simulated: SimulatedCluster,
        context: DrainContext,
        here: dict[str, Node],
        scale_down: ScaleDown,
    ) -> None:
        # 1. What can be told from the node and its use alone, before any pod is moved in thought.
        eligible = []
        for name in scale_down.candidates:
            if name in self._recent:
                scale_down.unremovable[name] = Unremovable("RecentlyUnremovable")
                continue
            reason, used = eligibility(world, here[name], self._pods(simulated, name))
            if used is not None:
                scale_down.utilization[name] = used
            if reason:
                scale_down.unremovable[name] = Unremovable(reason)
            else:
                eligible.append(name)
        # 2. Whether the pods would fit elsewhere. A node found unneeded is no destination for those after it, and what
        # its budgets allow is spent, so the order of candidates decides: two half-empty nodes do not vouch for each
        # other.
        destinations = np.zeros(len(simulated.cluster), np.bool_)
        destinations[[row for name in here if (row := simulated.row(name)) is not None]] = True
        most, counted = self._most_unneeded(world), 0
        for name in track(eligible, "Trying", "nodes"):
            if counted >= most:
                break
            removal = self._simulate(simulated, name, context, destinations)
            if isinstance(removal, Unremovable):
                scale_down.unremovable[name] = removal
                self._recent[name] = world.now + world.flags.unremovable_node_recheck_timeout
                continue
            removal.risky = not context.budgets.allows_all(removal.pods)
            context.budgets.take(removal.pods)
            destinations[simulated.cluster.columns.row(name)] = False
            scale_down.unneeded[name] = removal
            group = world.groups.group_of(name)
            counted += not (group is not None and group.settings.zero_or_max_node_scaling)

    def _simulate(
        self, simulated: SimulatedCluster, name: str, context: DrainContext, destinations: BoolArray
    ) -> Removal | Unremovable:
        moving = pods_to_move(self._pods(simulated, name), context)
        if moving.blocking is not None:
            pod, reason = moving.blocking
            return Unremovable("BlockedByPod", pod.key, reason)
        moves = move_pods(simulated, name, moving.pods, destinations, self._hints)
        return (
            Unremovable("NoPlaceToMovePods") if moves is None else Removal(name, moves, moving.pods, moving.finishing)
        )

    # --- which of them go

    def _choose(
        self, world: AutoscalingContext, listed: Sequence[Node], here: dict[str, Node], scale_down: ScaleDown
    ) -> None:
        limits = ClusterLimits.least(listed, world.groups, world.flags)
        sizes = {group.name: group.target for group in world.groups}
        removals = sorted(scale_down.unneeded.values(), key=lambda removal: (bool(removal.pods), removal.node))
        going = []
        for removal in removals:
            reason = self._reason_to_wait(world, here[removal.node], limits, sizes)
            if reason:
                scale_down.unremovable[removal.node] = Unremovable(reason)
            else:
                going.append(removal)
        going.sort(key=lambda removal: (bool(removal.pods), removal.risky))
        registered: dict[str, int] = {}
        for node in listed:
            group = world.groups.group_of(node.name)
            if group is not None:
                registered[group.name] = registered.get(group.name, 0) + 1
        going = self._whole_groups(world, going, registered, scale_down)
        for removal in list(going):
            if removal.finishing:
                scale_down.unremovable[removal.node] = Unremovable("BlockedByOnCompletionPod")
                going.remove(removal)
        empty = [removal.node for removal in going if not removal.pods]
        drained = [removal.node for removal in going if removal.pods]
        scale_down.removable = (empty, drained)
        scale_down.deleted = crop_nodes_to_budgets(empty, drained, world.groups, world.flags, registered)
        scale_down.result = DELETE_STARTED if any(scale_down.deleted) else NOTHING_DELETED

    def _reason_to_wait(
        self, world: AutoscalingContext, node: Node, limits: ClusterLimits, sizes: dict[str, int]
    ) -> str:
        group = world.groups.group_of(node.name)
        assert group is not None
        if is_scale_down_disabled(node):
            return "ScaleDownDisabledAnnotation"
        ready, settings = readiness(node).ready, group.settings
        wait = settings.scale_down_unneeded_time if ready else settings.scale_down_unready_time
        if wait > 0 and self._since[node.name] + wait >= world.now:
            return "NotUnneededLongEnough" if ready else "NotUnreadyLongEnough"
        if sizes[group.name] <= group.min_size:
            return "NodeGroupMinSizeReached"
        if limits.consume(group, node, 1):
            return "MinimalResourceLimitExceeded"
        sizes[group.name] -= 1
        return ""

    @staticmethod
    def _whole_groups(
        world: AutoscalingContext, going: list[Removal], registered: dict[str, int], scale_down: ScaleDown
    ) -> list[Removal]:
        """Of zero-or-max groups all nodes go, or none; they come last."""
        single: list[Removal] = []
        whole: dict[str, list[Removal]] = {}
        for removal in going:
            group = world.groups.group_of(removal.node)
            if group is not None and group.settings.zero_or_max_node_scaling:
                whole.setdefault(group.name, []).append(removal)
            else:
                single.append(removal)
        for name, removals in whole.items():
            if len(removals) in (world.groups[name].target, registered.get(name, 0)):
                single += removals
            else:
                scale_down.unremovable |= {removal.node: Unremovable("AtomicScaleDownFailed") for removal in removals}
        return single
