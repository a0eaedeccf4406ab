"""The replacement of a pool's nodes in simulated time, by one plan, with one queue of pods.

As a MachineDeployment scales its sets: new nodes are made as long as there are no more than the pool and its surge, and
old ones are drained as long as no more are missing than may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set
from kwhatif.autoscaling.upcoming_nodes import UpcomingNode
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.upgrade.evictions import Evictions, EvictionTimes, ScalingOverTime, Workloads
from kwhatif.commands.upgrade.result import Obstacle, Phase, PoolMoment, UpgradedNode
from kwhatif.commands.upgrade.strategies import ReplacementPlan
from kwhatif.results.place import TimelineEntry
from kwhatif.scheduling.budget_status import with_statuses
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.scheduling.timeline import Agenda
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.edits.cordon import cordon_node
from kwhatif.simulation.placement.recreated_pods import owner_of
from kwhatif.simulation.session import Session


class PoolNodes:
    """``names`` maps the old nodes to the new ones, which are inactive at first."""

    def __init__(self, session: Session, names: Mapping[str, str]) -> None:
        self._session, self.names = session, names
        self._waiting: dict[str, list[PodInfo]] = {}
        cluster = session.cluster
        for name in names.values():
            row = self._row(name)
            self._waiting[name] = list(cluster.pods_on[row])
            cluster.forget_all(self._waiting[name], row)
            cluster.deactivate_node(row)

    def pods_on(self, name: str) -> Sequence[PodInfo]:
        return list(self._session.cluster.pods_on[self._row(name)])

    def join(self, name: str) -> None:
        """A new node is ready, with the pods of its daemon sets."""
        cluster, row = self._session.cluster, self._row(name)
        cluster.activate_node(row)
        cluster.assume_all(self._waiting.pop(name), row)

    def leave(self, name: str) -> None:
        """Delete an old node with the pods left on it."""
        self._session.cluster.remove_node(self._row(name))

    def cordon(self, names: Iterable[str]) -> None:
        """These nodes take no new pods from now on."""
        changing = set(names)
        given = self._session.cluster.columns.given
        self._session.change_nodes([cordon_node(node) for node in given if node.name in changing])

    def _row(self, name: str) -> int:
        row = self._session.cluster.columns.row(name)
        assert row is not None
        return row


_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"


class _Drain(msgspec.Struct):
    """One node on its way out. ``left`` are pods that may not go yet, ``going`` those that are terminating."""

    node: str
    began: float
    left: list[PodInfo]
    going: int = 0
    evicted: int = 0
    forced: int = 0
    drained: float | None = None
    deleted: float | None = None
    refused: dict[str, tuple[str, float]] = {}
    next_try: float | None = None


class Replacement(msgspec.Struct):
    """``provision`` is how many seconds a new node takes to be ready. ``kept`` are pods of nodes whose drain has not
    begun that could not be evicted in the end, with node and reason.
    """

    plan: ReplacementPlan
    pool: PoolNodes
    evictions: Evictions
    agenda: Agenda
    provision: float
    drains: dict[str, _Drain] = {}
    cordoned: dict[str, float] = {}
    timeline: list[TimelineEntry] = []
    moments: list[PoolMoment] = []
    forced: list[str] = []
    failed: bool = False
    ended: float | None = None
    more_node_seconds: float = 0.0
    made: dict[str, float] = {}
    kept: list[tuple[str, PodInfo, str]] = []
    _counted_until: float = 0.0
    _ready: int = 0
    _deleted: int = 0

    @property
    def size(self) -> int:
        return len(self.pool.names)

    def run(self) -> None:
        """Run from the first new node until nothing happens any more."""
        self._tell_moment()
        self._advance()
        self.agenda.run_to_end()
        self._tell_moment()
        if self.phase != "done":
            self._try_the_rest()

    def _try_the_rest(self) -> None:
        """Request the evictions that are refused on nodes whose drain has not begun, so that all blockers are named."""
        budgets, as_now = self.evictions.budgets, self.evictions.as_now
        for name in self.pool.names:
            for info in () if name in self.drains else self._evictable(name):
                if reason := self._objection(info):
                    self.kept.append((name, info, reason))
                    if budgets.forbids(as_now(info.pod)):
                        budgets.evict(as_now(info.pod))

    # --- what may happen next

    def _advance(self) -> None:
        """Make and drain as many nodes as the plan allows now."""
        if self.failed:
            return
        names = list(self.pool.names)
        while len(self.made) < self.size and len(self.made) - self._deleted < self.plan.surge:
            self._make(self.pool.names[names[len(self.made)]])
        if self.plan.cordons_all and not self.cordoned and self._may_begin():
            self._cordon(names)
        for name in names:
            if name in self.drains:
                continue
            if not self._may_drain():
                return
            if self.plan.avoids_blocked and self._blocks(name):
                continue
            self._drain(name)

    def _may_begin(self) -> bool:
        """Whether the new nodes are there that the first drain waits for."""
        if self.plan.waits_for_all:
            return self._ready == self.size
        return self._ready >= min(self.plan.surge, self.size)

    def _may_drain(self) -> bool:
        if self.plan.cordons_all and not self.cordoned:
            return False
        active = [drain for drain in self.drains.values() if drain.drained is None or self._is_soaking(drain)]
        if self.plan.parallel is not None and len(active) >= self.plan.parallel:
            return False
        available = self.size - len(self.drains) + self._ready
        return available - 1 >= self.size - self.plan.unavailable

    def _is_soaking(self, drain: _Drain) -> bool:
        return drain.deleted is None and not self.plan.keeps_old

    def _blocks(self, name: str) -> bool:
        """Whether some pod of the node may not be evicted now."""
        return any(self._objection(info) for info in self._evictable(name))

    def _objection(self, info: PodInfo) -> str:
        if self.plan.avoids_blocked and (info.pod.metadata.annotations or {}).get(_DO_NOT_DISRUPT) == "true":
            return f"it bears the annotation {_DO_NOT_DISRUPT}"
        return self.evictions.budgets.forbids(self.evictions.as_now(info.pod))

    # --- nodes

    def _make(self, name: str) -> None:
        self._count_node_time()
        self.made[name] = self.agenda.now
        self._tell("a node is created", node=name)

        def be_ready() -> None:
            self._ready += 1
            self.pool.join(name)
            self._tell("a new node is ready", node=name)
            self._tell_moment()
            self.evictions.try_again()
            self._advance()
            self._check_end()

        self.agenda.after(self.provision, be_ready)

    def _cordon(self, names: Sequence[str]) -> None:
        fresh = [name for name in names if name not in self.cordoned]
        if fresh:
            self.pool.cordon(fresh)
            self.cordoned |= dict.fromkeys(fresh, self.agenda.now)

    def _evictable(self, name: str) -> list[PodInfo]:
        """As kubectl drain --ignore-daemonsets --delete-emptydir-data --force has it, by namespace and name."""
        pods = [
            info
            for info in self.pool.pods_on(name)
            if not info.pod.is_mirror and not is_of_daemon_set(info.pod) and not info.pod.is_finished
        ]
        return sorted(pods, key=lambda info: (info.pod.namespace, info.pod.name))

    def _drain(self, name: str) -> None:
        self._cordon([name])
        drain = self.drains[name] = _Drain(name, self.agenda.now, self._evictable(name))
        self._tell("a drain begins", node=name)
        self._tell_moment()
        if self.plan.drain_timeout is not None:
            self.agenda.after(self.plan.drain_timeout, lambda: self._time_out(drain))
        self._evict(drain)

    def _evict(self, drain: _Drain) -> None:
        """Ask for all evictions that are left."""
        drain.next_try = None
        left, drain.left = drain.left, []
        for info in left:
            reason = self.evictions.budgets.evict(self.evictions.as_now(info.pod))
            if reason:
                drain.left.append(info)
                since = drain.refused.get(info.key, ("", self.agenda.now))[1]
                if info.key not in drain.refused:
                    self._tell("an eviction is refused", pod=info.key, node=drain.node, why=reason)
                drain.refused[info.key] = (reason, since)
                continue
            self.evictions.budgets.release(info.pod)
            drain.refused.pop(info.key, None)
            drain.evicted += 1
            self._send(drain, info)
        self._check_drained(drain)

    def _send(self, drain: _Drain, info: PodInfo) -> None:
        drain.going += 1

        def confirm_gone() -> None:
            drain.going -= 1
            self._check_drained(drain)

        self.evictions.go(info, confirm_gone)

    def budgets_changed(self) -> None:
        """Some budget may allow more: drains retry at their next interval."""
        for drain in self.drains.values():
            if drain.left and drain.drained is None and drain.next_try is None:
                rounds = math.floor((self.agenda.now - drain.began) / self.plan.retry) + 1
                drain.next_try = drain.began + rounds * self.plan.retry
                self.agenda.after(drain.next_try - self.agenda.now, lambda drain=drain: self._evict(drain))  # type: ignore[misc]
        if self.plan.avoids_blocked:
            self._advance()

    def _time_out(self, drain: _Drain) -> None:
        if drain.drained is not None or self.failed:
            return
        if self.plan.after_timeout == "fail":
            self._tell_moment()
            self.failed = True
            self.ended = self.agenda.now
            self._tell("the drain took too long: the upgrade fails", node=drain.node)
            return
        left, drain.left = drain.left, []
        for info in left:
            drain.forced += 1
            self.forced.append(info.key)
            self.evictions.lose(info.pod)
            self._tell("the drain took too long: a pod is deleted", pod=info.key, node=drain.node)
            self._send(drain, info)
        self._check_drained(drain)

    def _check_drained(self, drain: _Drain) -> None:
        if drain.left or drain.going or drain.drained is not None:
            return
        drain.drained = self.agenda.now
        self._tell("a node is empty", node=drain.node)
        if self.plan.keeps_old:
            if all(other.drained is not None for other in self.drains.values()) and len(self.drains) == self.size:
                self.agenda.after(self.plan.pool_soak, self._delete_all)
            self._advance()
            return
        self.agenda.after(self.plan.node_soak, lambda: self._delete(drain))

    def _delete_all(self) -> None:
        for drain in self.drains.values():
            self._delete(drain)

    def _delete(self, drain: _Drain) -> None:
        self._count_node_time()
        drain.deleted = self.agenda.now
        self._deleted += 1
        self.pool.leave(drain.node)
        self._tell("a node is deleted", node=drain.node)
        self._tell_moment()
        self._advance()
        self._check_end()

    def _check_end(self) -> None:
        if self.ended is None and self._deleted == self.size and self._ready == self.size:
            self.ended = self.agenda.now

    # --- reports

    @property
    def end(self) -> float:
        """When it was over, or when nothing happened any more."""
        return self.agenda.now if self.ended is None else self.ended

    @property
    def phase(self) -> Phase:
        if self.failed:
            return "failed"
        return "hangs" if self.ended is None else "done"

    def tell_new_nodes(self, nodes: Sequence[UpcomingNode]) -> None:
        """Autoscalers have added nodes, which are not part of the pool."""
        for node in nodes:
            self._tell("a node of an autoscaler is ready", node=node.node.name, why=f"of {node.group}")

    def _tell(self, what: str, *, pod: str = "", node: str = "", why: str = "") -> None:
        self.timeline.append(TimelineEntry(time=self.agenda.now, pod=pod, what=what, why=why, node=node))

    def _tell_moment(self) -> None:
        """How many nodes there are from now on, up to the end."""
        now = self.agenda.now
        if self.ended is not None:
            return
        self._count_node_time()
        moment = PoolMoment(
            time=now,
            old=self.size - self._deleted,
            new=self._ready,
            pending=self.evictions.workloads.pending,
        )
        if self.moments and self.moments[-1].time == now:
            self.moments.pop()
        self.moments.append(moment)

    def _count_node_time(self) -> None:
        """Add up for how long there have been more machines than the pool's size, from when they are asked for."""
        if self.ended is None:
            self.more_node_seconds += (self.agenda.now - self._counted_until) * (len(self.made) - self._deleted)
            self._counted_until = self.agenda.now

    def nodes(self) -> list[UpgradedNode]:
        nodes = []
        for name in self.pool.names:
            drain = self.drains.get(name)
            nodes.append(
                UpgradedNode(
                    node=name,
                    cordoned=self.cordoned.get(name),
                    drained=drain.drained if drain else None,
                    deleted=drain.deleted if drain else None,
                    evicted=drain.evicted if drain else 0,
                    forced=drain.forced if drain else 0,
                )
            )
        return nodes

    def obstacles(self) -> list[Obstacle]:
        """What keeps the nodes that are not done."""
        refused = [
            self._obstacle(drain.node, info, *drain.refused.get(info.key, ("", drain.began)))
            for drain in self.drains.values()
            for info in drain.left
        ]
        return refused + [self._obstacle(*kept) for kept in self.kept]

    def _obstacle(self, node: str, info: PodInfo, reason: str, since: float | None = None) -> Obstacle:
        owner = owner_of(info.pod)
        return Obstacle(
            node=node,
            pod=info.key,
            reason=reason,
            budget=self.evictions.budgets.names_of(info.pod),
            owner=owner,
            since=since,
            helpers=tuple(self.evictions.unready_of(owner)),
        )


PROVISION = 120.0
"""Seconds that a new node takes to be ready, by default."""


def replace_pool(
    session: Session,
    names: Mapping[str, str],
    plan: ReplacementPlan,
    times: EvictionTimes | None = None,
    provision: float = PROVISION,
    scaler: Scaler | None = None,
) -> Replacement:
    """Replace the nodes of a session's own cluster, old name -> new name, from the first new node to the end.

    Autoscalers, if there are any, help pods without a node with nodes of other groups.
    """
    pods = session.snapshot.objects.list_all(Pod)
    budgets = EvictionBudgets(with_statuses(session.snapshot.objects.list_all(PodDisruptionBudget), pods))
    running = (pod for pod in pods if pod.spec.node_name and not pod.is_finished)
    agenda = Agenda()
    scaling = None if scaler is None else ScalingOverTime(session, agenda, scaler)
    evictions = Evictions(session, budgets, Workloads(running), agenda, times or EvictionTimes(), lambda: None, scaling)
    replacement = Replacement(plan, PoolNodes(session, names), evictions, agenda, provision)
    evictions.changed, evictions.on_new_nodes = replacement.budgets_changed, replacement.tell_new_nodes
    replacement.run()
    evictions.run.explain_futile()
    return replacement
