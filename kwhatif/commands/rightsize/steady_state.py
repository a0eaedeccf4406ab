"""A cluster left alone until nothing moves: the scheduler places, autoscalers add nodes and take unneeded ones away."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from datetime import timedelta
from typing import Protocol

from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.node_provisioning import NodeClaim
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from kwhatif.autoscaling.karpenter.consolidation import METHODS, consolidate
from kwhatif.commands.autoscale.groups_plan import bound_pods, removed_together, unneeded_wait, without_nodes
from kwhatif.golang.parsing import SECOND
from kwhatif.progress import report_progress
from kwhatif.results.place import Placement
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler, build_autoscaling_context
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler, build_karpenter_snapshot
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.question import Scenario
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot

MOST_ROUNDS = 500
LARGE = 200
"""Nodes; a cluster with more of them has its unneeded ones taken away all at once."""
LOOPS = 4
"""So many loops look for unneeded nodes before some of them go."""
SCAN = 10 * SECOND
"""From one loop to the next (--scan-interval)."""


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


def reach_steady_state(case: Scenario, snapshot: Snapshot, asked: Sequence[PodToSchedule]) -> SteadyState:
    """The cluster of a case with other objects, once nothing moves; ``asked`` are its pods that wait."""
    session = _open_session(case, snapshot)
    scaler = case.scaler
    before = set(session.cluster.columns.names)
    run = PlacementRun(session, scaler)
    run.schedule_all(asked)
    state = SteadyState(session, session, asked, run.placements, [], [victim.key for victim in run.evicted])
    state.waiting = _unscheduled_pods(session, run, asked)
    if scaler is not None:
        state.added, state.removed = [], []
        state.groups = _groups_of(scaler, session)
        _remove_nodes(state, scaler)
        names = set(state.session.cluster.columns.names)
        state.added = sorted(names - before)
        state.removed = sorted(before - names)
    return state


def _open_session(case: Scenario, snapshot: Snapshot) -> Session:
    """A session of the case with other objects."""
    other = copy.copy(case)
    other.edited = replaced(case.edited, snapshot=snapshot)
    return other.new_session()


def _unscheduled_pods(session: Session, run: PlacementRun, asked: Sequence[PodToSchedule]) -> list[Pod]:
    homes = run.homes()
    left = [item.pod for item in asked if item.pod.key not in homes]
    return [*left, *(victim.pod for victim in run.evicted if session.cluster.find(victim.uid) is None)]


def _groups_of(scaler: Scaler, session: Session) -> dict[str, str]:
    """Node -> its node group or NodePool."""
    found: dict[str, str] = {}
    for each in scaler.autoscalers:
        if isinstance(each, GroupAutoscaler):
            found |= {name: group.name for group in each.known.groups for name in group.nodes}
        elif isinstance(each, PoolAutoscaler):
            labels = ((node.name, node.metadata.labels or {}) for node in session.cluster.columns.given)
            found |= {name: of["karpenter.sh/nodepool"] for name, of in labels if "karpenter.sh/nodepool" in of}
    return found


def _remove_nodes(state: SteadyState, scaler: Scaler) -> None:
    """Rounds of each autoscaler, as long as one of them takes nodes away."""
    scale_downs = [
        scale_down for each in scaler.autoscalers if (scale_down := _scale_down_of(each, scaler)) is not None
    ]
    for done in range(MOST_ROUNDS):
        report_progress("Taking nodes away", "rounds", done)
        for scale_down in scale_downs:
            gone = next(
                (
                    each
                    for each in scale_down.candidates(state)
                    if each and _drain_nodes(state, each, scale_down.helper)
                ),
                None,
            )
            if gone:
                scale_down.forget_nodes(gone)
                break
        else:
            return


class _ScaleDown(Protocol):
    """An autoscaler that takes nodes away; ``helper`` buys machines in their place, if it does so."""

    helper: Scaler | None

    def candidates(self, state: SteadyState) -> Iterator[set[str]]:
        """The nodes that go next, at once; fewer each time, should those before not be able to."""

    def forget_nodes(self, names: Collection[str]) -> None:
        """They are gone."""


def _scale_down_of(autoscaler: object, scaler: Scaler) -> _ScaleDown | None:
    if isinstance(autoscaler, GroupAutoscaler):
        return _GroupScaleDown(autoscaler, scaler)
    return _PoolConsolidation(autoscaler, scaler) if isinstance(autoscaler, PoolAutoscaler) else None


class _GroupScaleDown:
    """cluster-autoscaler: nodes that have been unneeded for long enough, as many as go at once, as in ``until_quiet``.

    In a large cluster that would take hundreds of rounds, since few nodes are drained at a time. There all those go at
    once that it could remove one after the other: its simulation has found a place for the pods of each with all those
    before it gone.
    """

    helper: Scaler | None = None

    def __init__(self, autoscaler: GroupAutoscaler, scaler: Scaler) -> None:
        self._known, self._now = autoscaler.known, scaler.now

    def candidates(self, state: SteadyState) -> Iterator[set[str]]:
        world = build_autoscaling_context(state.session, self._known, state.waiting, self._now)
        wait = unneeded_wait(world)
        self._now += timedelta(seconds=wait)
        if len(state.session.cluster) > LARGE:
            yield _removable(world, wait)
        yield removed_together(world, wait)

    def forget_nodes(self, names: Collection[str]) -> None:
        self._known = without_nodes(self._known, names)


def _removable(world: AutoscalingContext, wait: int) -> set[str]:
    """All nodes that a few loops find unneeded and that may go, without regard to how many are drained at a time."""
    autoscaler, unneeded = StaticAutoscaler(), 0
    for number in range(LOOPS):
        loop = autoscaler.loop(replaced(world, now=world.now + number * SCAN), up=False, down=True)
        # Each loop looks for some more unneeded nodes than the last one had.
        if len(loop.scale_down.unneeded) == unneeded:
            break
        unneeded = len(loop.scale_down.unneeded)
    later = replaced(world, now=world.now + LOOPS * SCAN + wait * SECOND)
    found = autoscaler.loop(later, up=False, down=True).scale_down
    return {name for part in found.removable or () for name in part}


class _PoolConsolidation:
    """Karpenter: the nodes of the first command that any of its methods comes to."""

    def __init__(self, autoscaler: PoolAutoscaler, scaler: Scaler) -> None:
        self._autoscaler, self._now = autoscaler, scaler.now
        self.helper: Scaler | None = replaced(scaler, autoscalers=[autoscaler])

    def candidates(self, state: SteadyState) -> Iterator[set[str]]:
        snapshot = state.session.snapshot.copy()
        snapshot.objects.put(Pod, [*bound_pods(state.session), *state.waiting])
        world = build_karpenter_snapshot(
            snapshot, self._autoscaler.known, self._autoscaler.pools, self._now, state.waiting
        )
        for method in METHODS:
            command = consolidate(world, method).command
            if command is not None:
                yield {each.name for each in command.nodes}

    def forget_nodes(self, names: Collection[str]) -> None:
        """What Karpenter knows of its nodes is in the cluster itself."""


def _drain_nodes(state: SteadyState, going: Collection[str], helper: Scaler | None) -> bool:
    """Nodes go, and their pods are made again; not if one of these found no node, which no autoscaler would let be."""
    session = state.session
    cluster = session.cluster
    staying = [pod for pod in bound_pods(session) if pod.spec.node_name not in going]
    leaving = [info.pod for info, row in cluster.pods() if cluster.columns.names[row] in going]
    moving = [_recreate(pod) for pod in leaving if not pod.is_mirror and not is_of_daemon_set(pod)]
    snapshot = session.snapshot.copy()
    snapshot.objects.put(Node, [node for node in cluster.columns.given if node.name not in going])
    snapshot.objects.put(Pod, staying)
    gone = {node.spec.provider_id for node in cluster.columns.given if node.name in going}
    claims = [claim for claim in snapshot.objects.list_all(NodeClaim) if claim.status.provider_id not in gone]
    snapshot.objects.put_if_any(NodeClaim, claims)
    then = session.with_snapshot(snapshot)
    run = PlacementRun(then, helper)
    asked = [PodToSchedule(pod, ran_before=True) for pod in (*moving, *state.waiting)]
    run.schedule_all(asked)
    left = _unscheduled_pods(then, run, asked)
    if len(left) > len(state.waiting):
        return False
    state.session, state.waiting = then, left
    state.evicted += [pod.key for pod in moving]
    return True


def _recreate(pod: Pod) -> Pod:
    status = replace(pod.status, phase="Pending", conditions=None, nominated_node_name=None)
    return replace(pod, spec=replace(pod.spec, node_name=None), status=status)
