"""Observers of runs, which keep the state of the cluster in which pods were tried, to explain them later."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.amounts import format_count
from kwhatif.results.explain import PodReport
from kwhatif.results.place import Placement
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.simulation.explanation.explain import PodDecision, report_of
from kwhatif.simulation.explanation.fixes import TrialCluster
from kwhatif.simulation.explanation.options import ExplainOptions
from kwhatif.simulation.session import PodToSchedule, Session

MOST_WAITING = 12
"""For how many pods without a node a page has the matrix."""

MOST_RECORDED = 64
"""For how many workloads the cluster is kept as it was when one of their pods was tried."""


class PodAttempt(msgspec.Struct):
    """A pod and a copy of the cluster in which it is tried, ``after`` counts the pods that found their nodes before,
    ``evicted`` those evicted before; ``row`` is the node it gets, if any.
    """

    session: Session
    info: PodInfo
    after: int
    evicted: int
    row: int | None = None
    evicts: bool = False


class _ForwardingObserver(Observer):
    """Observes a run of a session, counts the pods that find a node, and forwards to another observer, ``beside``."""

    session: Session

    def __init__(self, beside: Observer | None) -> None:
        self._beside = beside or Observer()
        self._placed = self._evicted = 0

    def start_over(self) -> None:
        self._beside.start_over()
        self._placed = self._evicted = 0

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        self._beside.before_cycle(scheduler, pod)

    def on_decision(self, scheduler: Scheduler, attempt: Attempt) -> None:
        self._beside.on_decision(scheduler, attempt)

    def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
        self._beside.after_cycle(scheduler, attempt)
        self._placed += attempt.is_placed
        self._evicted += len(attempt.victims_to_evict)

    def _before_this(self, attempt: Attempt) -> PodAttempt:
        """The state before a pod that has found no node, which is the present one, as a failed attempt changes
        nothing.
        """
        return structs.replace(self._as_now(attempt.pod), evicted=self._evicted - len(attempt.victims_to_evict))

    def _as_now(self, pod: PodInfo) -> PodAttempt:
        return PodAttempt(self.session.sandbox(), copy.copy(pod), self._placed, self._evicted)


class AttemptRecorder(_ForwardingObserver):
    """Keeps the cluster as it was at the last attempt of each selected pod."""

    def __init__(self, meant: Callable[[Pod], bool], beside: Observer) -> None:
        super().__init__(beside)
        self._meant = meant
        self.tries: dict[str, PodAttempt] = {}
        self._evicting: dict[str, PodAttempt] = {}

    def start_over(self) -> None:
        super().start_over()
        self.tries.clear()
        self._evicting.clear()

    def try_of(self, key: str) -> PodAttempt:
        """The attempt to explain: the last, or the one that had pods evicted so that the last found a node."""
        last = self.tries[key]
        return last if last.row is None else self._evicting.get(key, last)

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        super().before_cycle(scheduler, pod)
        if not self._meant(pod.pod):
            return
        earlier = self.tries.get(pod.key)
        if earlier is not None and earlier.evicts:
            self._evicting.setdefault(pod.key, earlier)
        else:
            self._evicting.pop(pod.key, None)
        self.tries[pod.key] = self._as_now(pod)

    def on_decision(self, scheduler: Scheduler, attempt: Attempt) -> None:
        super().on_decision(scheduler, attempt)
        if attempt.pod.key in self.tries:
            self.tries[attempt.pod.key].row = attempt.row
            self.tries[attempt.pod.key].evicts = bool(attempt.nominated)


class PendingRecorder(_ForwardingObserver):
    """Keeps the cluster as it was for the first pods that find no node, one a workload."""

    def __init__(self, beside: Observer | None = None) -> None:
        super().__init__(beside)
        self._tries: dict[str, PodAttempt] = {}

    def start_over(self) -> None:
        super().start_over()
        self._tries.clear()

    def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
        super().after_cycle(scheduler, attempt)
        whose = _workload(attempt.pod.pod)
        known = self._tries.get(whose)
        mine = known is not None and known.info.key == attempt.pod.key
        if attempt.is_placed or attempt.nominated:
            if mine:
                del self._tries[whose]
        elif mine or (known is None and len(self._tries) < MOST_WAITING):
            self._tries[whose] = self._before_this(attempt)

    def reports(self, placements: Mapping[str, Placement]) -> list[PodReport]:
        """Reports of those without a node in the end, without fixes, which are left to ``explain``."""
        tries = {attempt.info.key: attempt for attempt in self._tries.values()}
        asked = [
            PodToSchedule(attempt.info.pod)
            for key, attempt in tries.items()
            if key in placements and not placements[key].good
        ]
        return reports_of(asked, placements, tries.__getitem__, ExplainOptions(fixes=False))


class WorkloadRecorder(_ForwardingObserver):
    """Keeps the cluster as it was when the ``first`` pod of each workload was tried, when one first was ``evicting``
    others, and when the first that has found no node so far was tried last (``failed``); by ``owner_of``.
    """

    def __init__(self, owner_of: Callable[[Pod], str]) -> None:
        super().__init__(None)
        self._owner_of = owner_of
        self.first: dict[str, PodAttempt] = {}
        self.evicting: dict[str, PodAttempt] = {}
        self.failed: dict[str, PodAttempt] = {}

    def start_over(self) -> None:
        super().start_over()
        for kept in (self.first, self.evicting, self.failed):
            kept.clear()

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        super().before_cycle(scheduler, pod)
        whose = self._owner_of(pod.pod)
        if whose not in self.first and len(self.first) < MOST_RECORDED:
            self.first[whose] = self._as_now(pod)

    def on_decision(self, scheduler: Scheduler, attempt: Attempt) -> None:
        super().on_decision(scheduler, attempt)
        first = self.first.get(self._owner_of(attempt.pod.pod))
        if first is not None and first.info.key == attempt.pod.key and first.row is None:
            first.row = attempt.row

    def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
        super().after_cycle(scheduler, attempt)
        whose = self._owner_of(attempt.pod.pod)
        if whose not in self.first:
            return
        known = self.failed.get(whose)
        mine = known is not None and known.info.key == attempt.pod.key
        if attempt.waiting:
            # It may have to give its node back.
            return
        if attempt.is_placed or attempt.nominated:
            if mine:
                del self.failed[whose]
            if attempt.nominated and whose not in self.evicting:
                self.evicting[whose] = self._before_this(attempt)
        elif mine or known is None:
            self.failed[whose] = self._before_this(attempt)


def reports_of(
    asked: Sequence[PodToSchedule],
    placements: Mapping[str, Placement],
    attempt_of: Callable[[str], PodAttempt],
    looking: ExplainOptions,
    tried_in: TrialCluster | None = None,
) -> list[PodReport]:
    """Reports of pods as they were tried; one for all pods of a workload with the same outcome. Fixes are ``tried_in``
    the final cluster.
    """
    reports: dict[tuple[str, ...], PodReport] = {}
    for item in asked:
        key, placement = item.pod.key, placements[item.pod.key]
        alike = (item.owner, placement.outcome, placement.reason) if item.owner else (key,)
        if alike in reports:
            reports[alike] = replace(reports[alike], alike=(*reports[alike].alike, placement))
            continue
        reports[alike] = report_of_attempt(attempt_of(key), item, placement, looking, tried_in)
    return list(reports.values())


def report_of_attempt(
    tried: PodAttempt,
    asked: PodToSchedule,
    placement: Placement,
    looking: ExplainOptions,
    tried_in: TrialCluster | None = None,
) -> PodReport:
    """A pod as it was tried."""
    attempt = tried.session.driver.decide(tried.info)
    decided = PodDecision(tried.session, asked, placement, tried.info, attempt, tried.row)
    if tried_in is not None and attempt.nominated:
        # It runs in the end, and whom it evicted has left: what would have spared them is asked as things were.
        tried_in = structs.replace(tried_in, session=tried.session)
    return replace(report_of(decided, looking, tried_in), state=_describe_state(tried))


def _describe_state(tried: PodAttempt) -> str:
    """The state in which a pod was tried, in words; empty if that is the snapshot's."""
    states = [f"{format_count(tried.after, 'pod')} found a node"] if tried.after else []
    if tried.evicted:
        states.append(f"{format_count(tried.evicted, 'pod')} {'was' if tried.evicted == 1 else 'were'} evicted")
    return f"as it was tried, after {' and '.join(states)}" if states else ""


def _workload(pod: Pod) -> str:
    owner = pod.controller
    return pod.key if owner is None else f"{pod.metadata.namespace}/{owner.kind}/{owner.name}"
