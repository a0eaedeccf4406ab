"""Pods while nodes are drained: evicted, gone, replaced, placed, ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kwhatif.api.core import Condition, Pod, PodStatus
from kwhatif.autoscaling.upcoming_nodes import UpcomingNode
from kwhatif.cluster.cluster import FINISHED
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.upgrade.ready_replicas import Workloads
from kwhatif.commands.upgrade.scaling import ScalingOverTime
from kwhatif.scheduling.controllers import grace_of
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.scheduling.timeline import Agenda
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.recreated_pods import RecreatedPods, is_made_at_once, owner_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import Session


@dataclass(frozen=True)
class EvictionTimes:
    """``grace`` replaces what pods say of it; ``ready_after`` is how long a pod takes to become ready, by workload.

    The workload ``""`` is all others.
    """

    grace: float | None = None
    ready_after: Mapping[str, float] = field(default_factory=lambda: {"": 30.0})

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
        return [each.asked.pod for each in self._recreated.waiting]

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
                self.run.left += 1
            if not is_made_at_once(pod):
                self._make_again(pod)
            on_gone()
            self.try_again()

        self.agenda.after(self.times.grace_of(info), leave)

    def _make_again(self, pod: Pod) -> None:
        if (pod.status.phase or "") in FINISHED:
            return
        attempted = self._recreated.make_again(pod)
        if attempted is None:
            self.not_made_again.append(pod.key)
            return
        again = attempted.asked.pod
        self.replacements[pod.key] = again.key
        self._made_again.add(again.identity)
        if not attempted.placement.good:
            self.workloads.waits(again, self.agenda.now)
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
            self.workloads.finds(placed.asked.pod, self.agenda.now)
            self._expect_ready(placed.asked.pod)
        self._replace_victims()
        self._ask_for_nodes()

    def _expect_ready(self, pod: Pod) -> None:
        """A pod that has a node becomes ready after a while, unless it is deleted before."""

        def become_ready() -> None:
            found = self.session.cluster.find(pod.identity)
            if found is None or found[0].shape.terminating:
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
