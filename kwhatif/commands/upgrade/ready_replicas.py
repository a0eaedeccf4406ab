"""Ready replicas of workloads over time, and pods without a node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.commands.upgrade.result import PendingSpan, WorkloadReadiness
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.simulation.placement.recreated_pods import owner_of


@dataclass
class _Workload:
    example: Pod
    before: int = 0
    ready: int = 0
    lowest: int = 0
    at: float = 0.0


@dataclass
class _Span:
    owner: str
    since: float
    until: float | None = None


@dataclass
class Workloads:
    """``running`` are the pods in the beginning, all of which count as ready."""

    running: Iterable[Pod]
    _workloads: dict[str, _Workload] = field(default_factory=dict)
    _spans: dict[str, _Span] = field(default_factory=dict)
    _touched: set[str] = field(default_factory=set)

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

    def waits(self, pod: Pod, now: float) -> None:
        """A pod has no node."""
        self._spans.setdefault(pod.key, _Span(owner_of(pod), now))

    def finds(self, pod: Pod, now: float) -> None:
        """A pod that had no node has one."""
        span = self._spans.get(pod.key)
        if span is not None and span.until is None:
            span.until = now

    @property
    def pending(self) -> int:
        return sum(span.until is None for span in self._spans.values())

    def spans(self, messages: dict[str, str]) -> list[PendingSpan]:
        """Those that waited for more than a moment, the longest first."""
        found = [
            PendingSpan(
                pod=key,
                owner=span.owner,
                since=span.since,
                until=span.until,
                message=messages.get(key, "") if span.until is None else "",
            )
            for key, span in self._spans.items()
            if span.until is None or span.until > span.since
        ]
        return sorted(found, key=lambda each: (each.until is not None, -(each.until or 0.0) + each.since, each.pod))

    def readiness(self, budgets: EvictionBudgets) -> list[WorkloadReadiness]:
        """The workloads that lost a pod, those that fell lowest first."""
        found = [
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
        return sorted(found, key=lambda each: (each.lowest / each.before, each.owner))
