"""Nodes that autoscalers take away, round by round, and the cluster without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

import msgspec
from msgspec import structs

from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.node_provisioning import NodeClaim
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroups, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.eligibility import eligibility
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from kwhatif.autoscaling.karpenter.consolidation import METHODS, consolidate
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.parsing import SECOND
from kwhatif.progress import report_progress, track
from kwhatif.scheduling.controllers import is_made_again
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler, build_autoscaling_context
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups
from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler, build_karpenter_snapshot
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.afterwards import store_volumes
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot

MOST_ROUNDS = 500
LARGE = 200
"""Nodes; in a cluster with more of them all that one loop finds removable are drained before the next loop."""


class ShrinkingCluster(msgspec.Struct):
    """A cluster whose unneeded nodes go; ``waiting`` pods have no node, the ``evicted`` ones had to leave theirs."""

    session: Session
    waiting: Sequence[Pod]
    evicted: list[str] = []

    def remove_nodes(self, going: Collection[str], helper: Scaler | None = None) -> bool:
        """Remove nodes, whose pods are recreated; not if more pods of a workload would wait then, since an autoscaler
        would bring the nodes back forever.
        """
        session, names = self.session, self.session.cluster.columns.names
        moving = [info for info, row in session.cluster.pods() if names[row] in going and _is_movable(info)]
        then = self._session_without(going)
        run = place_pods(then, [*_recreate(moving), *_again(self.waiting)], scaler=helper)
        pending = {pod.pod for pod in run.pending}
        waiting = [pod for pod in run.left if pod.key in pending]
        if _by_workload(then, waiting) - _by_workload(session, self.waiting):
            return False
        self.session, self.waiting = run.end, waiting
        self.evicted += [info.key for info in moving]
        return True

    def drain_in_turn(self, world: AutoscalingContext) -> list[str]:
        """Drain the nodes that one loop finds removable one after the other, each in the cluster that the one before
        left; those that are gone then.

        A node stays if its pods by now need more of it than the autoscaler allows, or if one finds no other node.
        """
        session = self.session
        cluster, driver = session.cluster, session.driver
        gone: list[str] = []
        for name in track(_removable(world), "Draining", "nodes"):
            row = cluster.columns.row(name)
            assert row is not None
            if eligibility(world, cluster.columns.nodes[row], cluster.pods_on[row])[0]:
                continue
            before = cluster.checkpoint()
            moving = [info for info in cluster.pods_on[row] if _is_movable(info)]
            cluster.remove_node(row)
            driver.begin_anew(driver.shared.next_start)
            run = PlacementRun(session)
            run.schedule_all(_recreate(moving))
            if run.evicted or not all(placement.good and placement.node for placement in run.placements):
                cluster.go_back(before)
                driver.begin_anew(driver.shared.next_start)
                continue
            gone.append(name)
            self.evicted += [info.key for info in moving]
        if gone:
            self.session = self._session_without(gone)
        return gone

    def _session_without(self, going: Collection[str]) -> Session:
        snapshot = _snapshot_without_nodes(self.session, going)
        return self.session.with_snapshot(snapshot, shapes=self.session.cluster.shapes)


class Removal(msgspec.Struct, frozen=True):
    """A round of cluster-autoscaler: its ``nodes`` have been unneeded for ``wait`` seconds, and are ``gone`` unless
    their pods would wait.
    """

    nodes: Collection[str]
    wait: int
    gone: bool


class _ScaleDown(Protocol):
    """An autoscaler that takes nodes away."""

    def remove_nodes(self, shrinking: ShrinkingCluster) -> bool:
        """One round: nodes go, and their pods find others. Whether any could go."""


class GroupScaleDown:
    """cluster-autoscaler: nodes that have been unneeded for long enough, as many as are removed at once.

    In a large cluster that would take hundreds of rounds, since few nodes are drained at a time. There a round goes
    through all nodes that one loop finds removable, and drains one after the other, as long as the node is still
    utilized little enough and its pods find other nodes.

    ``gone`` counts the removed nodes by group. Where groups ``grew`` just now, nodes stay for a while.
    """

    def __init__(self, groups: ConfiguredGroups, now: datetime, *, grew: bool = False) -> None:
        self._known, self._now, self.gone = groups, now, Counter[str]()
        self._earliest = now + timedelta(seconds=groups.flags.scale_down_delay_after_add // SECOND * grew)

    def remove_nodes(self, shrinking: ShrinkingCluster) -> bool:
        world = self._observe(shrinking)
        if len(shrinking.session.cluster) <= LARGE or not shrinking.session.driver.undoable:
            removal = self.remove_together(shrinking, world)
            return removal is not None and removal.gone
        self._now += timedelta(seconds=self._wait(world))
        gone = shrinking.drain_in_turn(world)
        self._forget(gone)
        return bool(gone)

    def remove_together(self, shrinking: ShrinkingCluster, world: AutoscalingContext | None = None) -> Removal | None:
        """The nodes that go in one loop, once all that are unneeded have been so for long enough; None if none does."""
        world = world or self._observe(shrinking)
        wait = self._wait(world)
        autoscaler = StaticAutoscaler()
        autoscaler.loop(world, up=False, down=True)
        deleted = autoscaler.loop(
            structs.replace(world, now=world.now + wait * SECOND), up=False, down=True
        ).scale_down.deleted
        going = {name for part in deleted or () for name in part}
        if not going:
            return None
        self._now += timedelta(seconds=wait)
        gone = shrinking.remove_nodes(going)
        if gone:
            self._forget(going)
        return Removal(going, wait, gone)

    def _observe(self, shrinking: ShrinkingCluster) -> AutoscalingContext:
        return build_autoscaling_context(shrinking.session, self._known, shrinking.waiting, self._now)

    def _wait(self, world: AutoscalingContext) -> int:
        """The seconds for which nodes have to be unneeded before any of them is removed."""
        unneeded = max((group.settings.scale_down_unneeded_time for group in world.groups), default=0) // SECOND + 1
        return max(unneeded, int((self._earliest - self._now).total_seconds()))

    def _forget(self, going: Collection[str]) -> None:
        """Nodes have gone from their groups."""
        groups = []
        for group in self._known.groups:
            nodes = tuple(name for name in group.nodes if name not in going)
            removed = len(group.nodes) - len(nodes)
            self.gone.update({group.name: removed} if removed else {})
            groups.append(structs.replace(group, target=group.target - removed, nodes=nodes))
        self._known = structs.replace(self._known, groups=NodeGroups(groups))
        delay = timedelta(seconds=self._known.flags.scale_down_delay_after_delete // SECOND)
        self._earliest = max(self._earliest, self._now + delay)


def _removable(world: AutoscalingContext) -> list[str]:
    """All nodes that a loop would remove if it looked at each, none had to be unneeded for a time, and none waited for
    others to be drained.
    """
    groups = [
        structs.replace(group, settings=replace(group.settings, scale_down_unneeded_time=0, scale_down_unready_time=0))
        for group in world.groups
    ]
    flags = replace(world.flags, max_scale_down_parallelism=len(world.nodes))
    loop = StaticAutoscaler().loop(structs.replace(world, groups=NodeGroups(groups), flags=flags), up=False, down=True)
    return [name for part in loop.scale_down.removable or () for name in part]


class _PoolConsolidation:
    """Karpenter: the nodes of the first command that any of its methods comes to, and machines in their place."""

    def __init__(self, autoscaler: PoolAutoscaler, scaler: Scaler) -> None:
        self._autoscaler, self._now = autoscaler, scaler.now
        self._helper = structs.replace(scaler, autoscalers=[autoscaler])

    def remove_nodes(self, shrinking: ShrinkingCluster) -> bool:
        snapshot = shrinking.session.snapshot.copy()
        snapshot.objects.put(Pod, [*_bound_pods(shrinking.session), *shrinking.waiting])
        world = build_karpenter_snapshot(
            snapshot, self._autoscaler.known, self._autoscaler.pools, self._now, shrinking.waiting
        )
        commands = (consolidate(world, method).command for method in METHODS)
        return any(
            shrinking.remove_nodes({node.name for node in command.nodes}, self._helper)
            for command in commands
            if command is not None
        )


def remove_unneeded_nodes(shrinking: ShrinkingCluster, scaler: Scaler) -> list[str]:
    """Rounds of each autoscaler, as long as one of them takes nodes away; the nodes that are gone then."""
    before = set(shrinking.session.cluster.columns.names)
    scale_downs: list[_ScaleDown] = []
    for autoscaler in scaler.autoscalers:
        if isinstance(autoscaler, GroupAutoscaler):
            scale_downs.append(GroupScaleDown(autoscaler.known, scaler.now))
        elif isinstance(autoscaler, PoolAutoscaler):
            scale_downs.append(_PoolConsolidation(autoscaler, scaler))
    for done in range(MOST_ROUNDS):
        report_progress("Removing nodes", "rounds", done)
        if not any(scale_down.remove_nodes(shrinking) for scale_down in scale_downs):
            break
    return sorted(before - set(shrinking.session.cluster.columns.names))


def groups_of_nodes(scaler: Scaler, session: Session) -> dict[str, str]:
    """Node -> its node group or NodePool."""
    groups: dict[str, str] = {}
    for autoscaler in scaler.autoscalers:
        if isinstance(autoscaler, GroupAutoscaler):
            groups |= {name: group.name for group in autoscaler.known.groups for name in group.nodes}
        elif isinstance(autoscaler, PoolAutoscaler):
            labels = ((node.name, node.metadata.labels or {}) for node in session.cluster.columns.given)
            groups |= {name: of["karpenter.sh/nodepool"] for name, of in labels if "karpenter.sh/nodepool" in of}
    return groups


def _again(pods: Iterable[Pod]) -> Iterator[PodToSchedule]:
    return (PodToSchedule(pod, ran_before=True) for pod in pods)


def _recreate(moving: Iterable[PodInfo]) -> list[PodToSchedule]:
    """The pods that controllers make in the place of these, by the same names."""
    pods = (info.pod for info in moving if is_made_again(info.pod))
    cleared = ((pod, structs.replace(pod.spec, node_name=None)) for pod in pods)
    status = {"phase": "Pending", "conditions": None, "nominated_node_name": None}
    return list(
        _again(structs.replace(pod, spec=spec, status=structs.replace(pod.status, **status)) for pod, spec in cleared)
    )


def _by_workload(session: Session, pods: Iterable[Pod]) -> Counter[str]:
    origins = PodOrigins(session.snapshot)
    return Counter(origins.owner_of(pod) for pod in pods)


def _bound_pods(session: Session) -> list[Pod]:
    """The pods that run, with their nodes."""
    names = session.cluster.columns.names
    return [
        structs.replace(info.pod, spec=structs.replace(info.pod.spec, node_name=names[row]))
        for info, row in session.cluster.pods()
    ]


def _is_movable(info: PodInfo) -> bool:
    """Whether the pod is evicted before its node goes."""
    return not info.pod.is_mirror and not is_of_daemon_set(info.pod)


def _snapshot_without_nodes(session: Session, going: Collection[str]) -> Snapshot:
    """The snapshot of a session's cluster as it is, without these nodes, their machines and all that is on them."""
    cluster, snapshot = session.cluster, session.snapshot.copy()
    nodes, objects = cluster.columns.given, snapshot.objects
    objects.put(Node, [node for node in nodes if node.name not in going])
    objects.put(Pod, [pod for pod in _bound_pods(session) if pod.spec.node_name not in going])
    store_volumes(objects, cluster)
    objects.put_if_any(ResourceClaim, cluster.devices.claims.values())
    gone = {node.spec.provider_id for node in nodes if node.name in going}
    claims = [claim for claim in objects.list_all(NodeClaim) if claim.status.provider_id not in gone]
    objects.put_if_any(NodeClaim, claims)
    return snapshot
