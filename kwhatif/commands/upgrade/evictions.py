"""Pods while nodes are drained: evicted, gone, replaced, placed, ready; and nodes that autoscalers add for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, Pod, PodStatus
from kwhatif.autoscaling.upcoming_nodes import UpcomingNode
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.upgrade.result import PendingSpan, WorkloadReadiness
from kwhatif.scheduling.controllers import grace_of
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.scheduling.timeline import Agenda
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.recreated_pods import RecreatedPods, is_made_at_once, owner_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot


class ScalingOverTime:
    """Requests nodes, but not while some are being provisioned, nor twice for the same pods. ``joined`` is called with
    new ones.
    """

    def __init__(self, session: Session, agenda: Agenda, scaler: Scaler) -> None:
        self._session, self._agenda = session, agenda
        later = scaler.later
        self.scaler = structs.replace(scaler, later=lambda of, waiting: _without_absent(later(of, waiting), of))
        self._on_their_way = False
        self._asked_about: tuple[tuple[str, ...], int] | None = None

    def ask(self, waiting: Sequence[Pod], joined: Callable[[Sequence[UpcomingNode]], None]) -> None:
        """Ask about pods without a node; ``joined`` is called when nodes that come for them are there."""
        question = tuple(pod.key for pod in waiting), self._session.cluster.membership_version
        if not waiting or self._on_their_way or question == self._asked_about:
            return
        self._asked_about, self.scaler.time = question, self._agenda.now
        nodes = self.scaler.ask(self._session, waiting)
        if not nodes:
            return
        self._on_their_way = True

        def join() -> None:
            self._on_their_way = False
            self.scaler.join(self._session, nodes)
            joined(nodes)

        self._agenda.after(self.scaler.provision, join)


def _without_absent(snapshot: Snapshot, session: Session) -> Snapshot:
    """The snapshot without nodes that are yet to come or have left, which have rows all the same."""
    cluster = session.cluster
    there = {name for name, active in zip(cluster.columns.names, cluster.active.tolist(), strict=True) if active}
    snapshot.objects.put(Node, [node for node in snapshot.objects.list_all(Node) if node.name in there])
    return snapshot


class _Workload(msgspec.Struct):
    example: Pod
    before: int = 0
    ready: int = 0
    lowest: int = 0
    at: float = 0.0


class Workloads(msgspec.Struct):
    """``running`` are the pods in the beginning, all of which count as ready."""

    running: Iterable[Pod]
    _workloads: dict[str, _Workload] = {}
    _spans: dict[str, PendingSpan] = {}
    _touched: set[str] = set()

    def __post_init__(self) -> None:
        for pod in self.running:
            owner = owner_of(pod)
            if owner:
                workload = self._workloads.setdefault(owner, _Workload(pod))
                workload.before += 1
                workload.ready = workload.lowest = workload.before

    def loses(self, pod: Pod, now: float) -> None:
        """A pod is deleted: it is not ready any more."""
        workload = self._workloads.get(owner_of(pod))
        if workload is None:
            return
        self._touched.add(owner_of(pod))
        workload.ready -= 1
        if workload.ready < workload.lowest:
            workload.lowest, workload.at = workload.ready, now

    def gains(self, pod: Pod) -> None:
        """A pod recreated is ready."""
        workload = self._workloads.get(owner_of(pod))
        if workload is not None:
            workload.ready += 1

    def waits(self, pod: Pod, now: float, why: str) -> None:
        """A pod has no node."""
        span = PendingSpan(pod=pod.key, owner=owner_of(pod), since=now, until=None, message=why)
        self._spans.setdefault(pod.key, span)

    def finds(self, pod: Pod, now: float) -> None:
        """A pod that had no node has one."""
        span = self._spans.get(pod.key)
        if span is not None and span.until is None:
            self._spans[pod.key] = replace(span, until=now)

    @property
    def pending(self) -> int:
        return sum(span.until is None for span in self._spans.values())

    def spans(self, messages: dict[str, str]) -> list[PendingSpan]:
        """Those that waited for more than a moment, the longest first."""
        spans = [
            span if span.until is not None else replace(span, message=messages.get(span.pod, span.message))
            for span in self._spans.values()
            if span.until is None or span.until > span.since
        ]
        return sorted(
            spans,
            key=lambda pending_span: (
                pending_span.until is not None,
                -(pending_span.until or 0.0) + pending_span.since,
                pending_span.pod,
            ),
        )

    def readiness(self, budgets: EvictionBudgets) -> list[WorkloadReadiness]:
        """The workloads that lost a pod, those that fell lowest first."""
        rows = [
            WorkloadReadiness(
                owner=owner,
                before=workload.before,
                lowest=workload.lowest,
                at=workload.at,
                after=workload.ready,
                budget=budgets.names_of(workload.example),
                needed=budgets.needed_of(workload.example),
            )
            for owner, workload in self._workloads.items()
            if owner in self._touched
        ]
        return sorted(
            rows,
            key=lambda workload_readiness: (
                workload_readiness.lowest / workload_readiness.before,
                workload_readiness.owner,
            ),
        )


_IN_VAIN = "no node took it when it was created"
"""Why a pod waits that was not tried, since all nodes were certain to reject it."""


class EvictionTimes(msgspec.Struct, frozen=True):
    """``grace`` replaces what pods say of it; ``ready_after`` is how long a pod takes to become ready, by workload.

    The workload ``""`` is all others.
    """

    grace: float | None = None
    ready_after: Mapping[str, float] = msgspec.field(default_factory=lambda: {"": 30.0})

    def grace_of(self, info: PodInfo) -> float:
        return float(grace_of(info)) if self.grace is None else self.grace

    def ready_after_of(self, pod: Pod) -> float:
        owner = owner_of(pod).rpartition("/")[2]
        known = (seconds for name, seconds in self.ready_after.items() if name and _is_of(owner, name))
        return next(known, self.ready_after.get("", 30.0))


def _is_of(owner: str, name: str) -> bool:
    """Whether an owner is the workload, or the replica set of a deployment of that name."""
    return owner == name or owner.rpartition("-")[0] == name


@dataclass
class Evictions:
    """One queue of pods for all drains. ``changed`` is called whenever a budget may allow more."""

    session: Session
    budgets: EvictionBudgets
    workloads: Workloads
    agenda: Agenda
    times: EvictionTimes
    changed: Callable[[], None]
    scaling: ScalingOverTime | None = None
    on_new_nodes: Callable[[Sequence[UpcomingNode]], None] = lambda nodes: None
    not_made_again: list[str] = field(default_factory=list)
    replacements: dict[str, str] = field(default_factory=dict)
    run: PlacementRun = field(init=False)
    _made_again: set[str] = field(default_factory=set)
    _ready: set[str] = field(default_factory=set)
    _recreated: RecreatedPods = field(init=False)

    def __post_init__(self) -> None:
        self.run = PlacementRun(self.session)
        self._recreated = RecreatedPods(self.run)

    @property
    def waiting(self) -> list[Pod]:
        """The pods that have no node."""
        return [pod.item.pod for pod in self._recreated.waiting]

    def run_of(self) -> Run:
        """The run so far."""
        return self._recreated.run_of({})

    def unready_of(self, owner: str) -> list[str]:
        """Pods of a workload that are not ready yet, those without a node first."""
        return [pod.key for pod in self.waiting if owner_of(pod) == owner]

    def as_now(self, pod: Pod) -> Pod:
        """The pod with the status that it has by now, if it was recreated: ready, or running and not ready yet."""
        if pod.identity not in self._made_again:
            return pod
        conditions = [Condition(type="Ready", status="True" if pod.identity in self._ready else "False")]
        return replace(pod, status=PodStatus(phase="Running", conditions=conditions))

    def lose(self, pod: Pod) -> None:
        """A pod is deleted without asking its budget, which has one healthy pod less if it was."""
        if self._is_ready(pod):
            self.budgets.lose(pod)

    def _is_ready(self, pod: Pod) -> bool:
        return pod.identity not in self._made_again or pod.identity in self._ready

    def go(self, info: PodInfo, on_gone: Callable[[], None]) -> None:
        """A pod is evicted. ``on_gone`` is called when it is gone."""
        pod, cluster = info.pod, self.session.cluster
        self._recreated.evict(info)
        if self._is_ready(pod):
            self.workloads.loses(pod, self.agenda.now)
        if cluster.find(info.uid) is not None:
            cluster.mark_terminating(info.uid, preempted=False)
        if is_made_at_once(pod):
            self._make_again(pod)

        def leave() -> None:
            if cluster.find(info.uid) is not None:
                cluster.remove_pod(info.uid)
                self.run.departed += 1
            if not is_made_at_once(pod):
                self._make_again(pod)
            on_gone()
            self.try_again()

        self.agenda.after(self.times.grace_of(info), leave)

    def _make_again(self, pod: Pod) -> None:
        if pod.is_finished:
            return
        attempted = self._recreated.make_replacement(pod)
        if attempted is None:
            self.not_made_again.append(pod.key)
            return
        again = attempted.item.pod
        self.replacements[pod.key] = again.key
        self._made_again.add(again.identity)
        if not attempted.placement.good:
            self.workloads.waits(again, self.agenda.now, attempted.placement.reason or _IN_VAIN)
        self._after_attempts()

    def _ask_for_nodes(self) -> None:
        """Autoscalers hear of the pods that have no node."""
        if self.scaling is not None:
            self.scaling.ask(self.waiting, self._join)

    def _join(self, nodes: Sequence[UpcomingNode]) -> None:
        self.on_new_nodes(nodes)
        self.try_again()

    def try_again(self) -> None:
        """Pods without a node are tried once more, since room came."""
        self._recreated.retry(self._replace_victims)
        self._after_attempts()

    def _after_attempts(self) -> None:
        for placed in self._recreated.take_placed():
            self.workloads.finds(placed.item.pod, self.agenda.now)
            self._expect_ready(placed.item.pod)
        self._replace_victims()
        self._ask_for_nodes()

    def _expect_ready(self, pod: Pod) -> None:
        """A pod that has a node becomes ready after a while, unless it is deleted before."""

        def become_ready() -> None:
            pod_and_row = self.session.cluster.find(pod.identity)
            if pod_and_row is None or pod_and_row[0].shape.terminating:
                return
            self._ready.add(pod.identity)
            self.workloads.gains(pod)
            self.budgets.ready(pod)
            self.changed()

        self.agenda.after(self.times.ready_after_of(pod), become_ready)

    def _replace_victims(self) -> None:
        """Victims of pods with a higher priority are replaced, too."""
        for victim in self._recreated.take_victims():
            self.workloads.finds(victim.pod, self.agenda.now)
            if self._is_ready(victim.pod):
                self.workloads.loses(victim.pod, self.agenda.now)
                self.budgets.lose(victim.pod)
            self._make_again(victim.pod)
