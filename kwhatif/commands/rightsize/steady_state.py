"""A cluster run to a steady state: the scheduler places pods, autoscalers add nodes and remove unneeded ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from datetime import timedelta
from typing import Protocol

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroups
from kwhatif.autoscaling.cluster_autoscaler.eligibility import eligibility
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from kwhatif.autoscaling.karpenter.consolidation import METHODS, consolidate
from kwhatif.progress import report_progress, track
from kwhatif.results.place import Placement
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler, build_autoscaling_context
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler, build_karpenter_snapshot
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.scale_down import (
    bound_pods,
    is_movable,
    movable_pods,
    removed_together,
    snapshot_without_nodes,
    unneeded_wait,
    without_nodes,
)
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot

MOST_ROUNDS = 500
LARGE = 200
"""Nodes; in a cluster with more of them all that one loop finds removable are drained before the next loop."""


@dataclass
class SteadyState:
    """A cluster in its steady state. ``placements`` are of pods that waited at first, ``waiting`` have no node then.

    ``added`` and ``removed`` are nodes by name, None where no autoscaler was asked. ``first`` is the session in which
    those who waited were tried, before any node went.
    """

    session: Session
    first: Session
    asked: Sequence[PodToSchedule]
    placements: list[Placement]
    waiting: list[Pod]
    evicted: list[str] = field(default_factory=list)
    added: list[str] | None = None
    removed: list[str] | None = None
    groups: dict[str, str] = field(default_factory=dict)


def reach_steady_state(scenario: PreparedScenario, snapshot: Snapshot, pods: Sequence[PodToSchedule]) -> SteadyState:
    """The cluster of a scenario with other objects, once nothing moves; ``pods`` are its pods that wait."""
    session = scenario.with_snapshot(snapshot).new_session()
    scaler = scenario.scaler
    before = set(session.cluster.columns.names)
    run = PlacementRun(session, scaler)
    run.schedule_all(pods)
    state = SteadyState(session, session, pods, run.placements, [], [victim.key for victim in run.evicted])
    state.waiting = _unscheduled_pods(session, run, pods)
    if scaler is not None:
        state.added, state.removed = [], []
        state.groups = groups_of_nodes(scaler, session)
        remove_unneeded_nodes(state, scaler)
        names = set(state.session.cluster.columns.names)
        state.added = sorted(names - before)
        state.removed = sorted(before - names)
    return state


def _unscheduled_pods(session: Session, run: PlacementRun, pods: Sequence[PodToSchedule]) -> list[Pod]:
    homes = run.homes()
    left = [item.pod for item in pods if item.pod.key not in homes]
    return [*left, *(victim.pod for victim in run.evicted if session.cluster.find(victim.uid) is None)]


def groups_of_nodes(scaler: Scaler, session: Session) -> dict[str, str]:
    """Node -> its node group or NodePool."""
    found: dict[str, str] = {}
    for each in scaler.autoscalers:
        if isinstance(each, GroupAutoscaler):
            found |= {name: group.name for group in each.known.groups for name in group.nodes}
        elif isinstance(each, PoolAutoscaler):
            labels = ((node.name, node.metadata.labels or {}) for node in session.cluster.columns.given)
            found |= {name: of["karpenter.sh/nodepool"] for name, of in labels if "karpenter.sh/nodepool" in of}
    return found


def remove_unneeded_nodes(state: SteadyState, scaler: Scaler) -> None:
    """Rounds of each autoscaler, as long as one of them takes nodes away."""
    scale_downs = [found for each in scaler.autoscalers if (found := _scale_down_of(each, scaler)) is not None]
    for done in range(MOST_ROUNDS):
        report_progress("Taking nodes away", "rounds", done)
        if not any(each.remove_nodes(state) for each in scale_downs):
            return


class _ScaleDown(Protocol):
    """An autoscaler that takes nodes away."""

    def remove_nodes(self, state: SteadyState) -> bool:
        """One round: nodes go, and their pods find others. Whether any could go."""


def _scale_down_of(autoscaler: object, scaler: Scaler) -> _ScaleDown | None:
    if isinstance(autoscaler, GroupAutoscaler):
        return _GroupScaleDown(autoscaler, scaler)
    return _PoolConsolidation(autoscaler, scaler) if isinstance(autoscaler, PoolAutoscaler) else None


class _GroupScaleDown:
    """cluster-autoscaler: nodes that have been unneeded for long enough, as many as are removed at once, as
    ``run_until_stable`` does.

    In a large cluster that would take hundreds of rounds, since few nodes are drained at a time. There a round goes
    through all nodes that one loop finds removable, and drains one after the other, as long as the node is still
    utilized little enough and its pods find other nodes.
    """

    def __init__(self, autoscaler: GroupAutoscaler, scaler: Scaler) -> None:
        self._known, self._now = autoscaler.known, scaler.now

    def remove_nodes(self, state: SteadyState) -> bool:
        world = build_autoscaling_context(state.session, self._known, state.waiting, self._now)
        wait = unneeded_wait(world)
        self._now += timedelta(seconds=wait)
        if len(state.session.cluster) > LARGE and state.session.driver.undoable:
            gone = set(_drain_in_turn(state, world, _removable(world)))
        else:
            gone = removed_together(world, wait)
            if not gone or not _drain_together(state, gone, None):
                return False
        self._known = without_nodes(self._known, gone)
        return bool(gone)


def _removable(world: AutoscalingContext) -> list[str]:
    """All nodes that a loop would remove if it looked at each, none had to be unneeded for a time, and none waited for
    others to be drained.
    """
    groups = [
        replaced(group, settings=replaced(group.settings, scale_down_unneeded_time=0, scale_down_unready_time=0))
        for group in world.groups
    ]
    flags = replaced(world.flags, max_scale_down_parallelism=len(world.nodes))
    found = StaticAutoscaler().loop(replaced(world, groups=NodeGroups(groups), flags=flags), up=False, down=True)
    return [name for part in found.scale_down.removable or () for name in part]


class _PoolConsolidation:
    """Karpenter: the nodes of the first command that any of its methods comes to, and machines in their place."""

    def __init__(self, autoscaler: PoolAutoscaler, scaler: Scaler) -> None:
        self._autoscaler, self._now = autoscaler, scaler.now
        self._helper = replaced(scaler, autoscalers=[autoscaler])

    def remove_nodes(self, state: SteadyState) -> bool:
        snapshot = state.session.snapshot.copy()
        snapshot.objects.put(Pod, [*bound_pods(state.session), *state.waiting])
        world = build_karpenter_snapshot(
            snapshot, self._autoscaler.known, self._autoscaler.pools, self._now, state.waiting
        )
        commands = (consolidate(world, method).command for method in METHODS)
        return any(
            _drain_together(state, {each.name for each in command.nodes}, self._helper)
            for command in commands
            if command is not None
        )


def _drain_together(state: SteadyState, going: Collection[str], helper: Scaler | None) -> bool:
    """Nodes go, and their pods are recreated; not if one of these found no node, which no autoscaler would let be."""
    session = state.session
    moving = [_recreate(info.pod) for info in movable_pods(session.cluster, going)]
    then = _session_without(session, going)
    run = PlacementRun(then, helper)
    asked = [PodToSchedule(pod, ran_before=True) for pod in (*moving, *state.waiting)]
    run.schedule_all(asked)
    unscheduled = _unscheduled_pods(then, run, asked)
    if len(unscheduled) > len(state.waiting):
        return False
    state.session, state.waiting = then, unscheduled
    state.evicted += [pod.key for pod in moving]
    return True


def _drain_in_turn(state: SteadyState, world: AutoscalingContext, names: Sequence[str]) -> list[str]:
    """Drain nodes one after the other, each in the cluster that the one before left; those that are gone then.

    A node stays if its pods by now need more of it than the autoscaler allows, or if one of them found no other node.
    """
    session = state.session
    cluster, driver = session.cluster, session.driver
    gone: list[str] = []
    for name in track(names, "Draining", "nodes"):
        row = cluster.columns.row(name)
        assert row is not None
        if eligibility(world, cluster.columns.nodes[row], cluster.pods_on[row])[0]:
            continue
        before = cluster.checkpoint()
        moving = [_recreate(info.pod) for info in cluster.pods_on[row] if is_movable(info)]
        cluster.nominated.pop(name, None)
        cluster.forget_all(cluster.pods_on[row], row)
        cluster.deactivate_node(row)
        driver.begin_anew(driver.shared.next_start)
        run = PlacementRun(session)
        asked = [PodToSchedule(pod, ran_before=True) for pod in moving]
        run.schedule_all(asked)
        if _unscheduled_pods(session, run, asked):
            cluster.go_back(before)
            driver.begin_anew(driver.shared.next_start)
            continue
        gone.append(name)
        state.evicted += [pod.key for pod in moving]
    if gone:
        state.session = _session_without(session, gone)
    return gone


def _session_without(session: Session, going: Collection[str]) -> Session:
    return session.with_snapshot(snapshot_without_nodes(session, going), shapes=session.cluster.shapes)


def _recreate(pod: Pod) -> Pod:
    status = replace(pod.status, phase="Pending", conditions=None, nominated_node_name=None)
    return replace(pod, spec=replace(pod.spec, node_name=None), status=status)
