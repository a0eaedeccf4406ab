"""A recorded day lived by two schedulers, and what that comes to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, ClassVar

from kwhatif.progress import begun
from kwhatif.results.amounts import counted
from kwhatif.results.backtest_diff import (
    BacktestDiff,
    DayChange,
    DayMoment,
    DayPreemption,
    DaySide,
    PendingTime,
    Reality,
    WorkloadChange,
)
from kwhatif.results.parts import Fidelity
from kwhatif.snapshot.foreign.recorded_moment import rfc3339
from kwhatif.snapshot.foreign.recording import Recording
from kwhatif.whatif.backtest.day import Day, Lived, Stay
from kwhatif.whatif.backtest.lives import Life
from kwhatif.whatif.backtest.missing import note_missing
from kwhatif.whatif.backtest.recorded_world import RecordedWorld, recorded_world
from kwhatif.whatif.diff.question import at_version
from kwhatif.whatif.fidelity.assess import Basis
from kwhatif.whatif.fidelity.ownership import Owners
from kwhatif.whatif.stages.inputs import Engine, Inputs
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question

_STEPS = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)
_MOMENTS = 240
"""At so many moments, or fewer, is looked at the cluster."""
_FOLLOWED = "each ends as the pod did that was made in its place"


@dataclass(frozen=True)
class DayDiff(Question[BacktestDiff]):
    """What would another configuration have done with the day of a ``recording``?

    The snapshot of both cases is what it begins with. ``label`` is what the other configuration is called.
    """

    several_runs: ClassVar[bool] = True

    recording: Recording
    label: str

    def cases(self, inputs: Inputs, engine: Engine, policy: Any) -> list[Case]:
        """The recorded scheduler's ``engine``, and the same with another ``policy``."""
        return [Case(inputs, engine), Case(inputs, at_version(engine, policy))]

    def needs_pods(self, case: Case) -> bool:
        return False

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[BacktestDiff]:
        note_missing(self.recording, notes)
        day = recorded_world(self.recording, cases[0].snapshot)
        moments = list(_moments(day.lasts))
        begun("Living the day as recorded")
        recorded = {life.uid: life.node for life in day.lives.lives if life.node}
        a = Day(cases[0].new_session(prefers=recorded), day).live(moments)
        begun("Living the day with the other configuration")
        b = Day(cases[1].new_session(prefers=a.homes), day).live(moments)
        cases[0].session, cases[1].session = a.session, b.session
        result = partial(_compared, day, a, b, self.label, Owners(cases[0].snapshot))
        return Answer([Basis(a.session), Basis(b.session)], result)


def _moments(lasts: float) -> Iterator[float]:
    step = next((step for step in _STEPS if lasts <= step * _MOMENTS), lasts / _MOMENTS)
    number = 1
    while number * step <= lasts:
        yield number * step
        number += 1


def _compared(
    day: RecordedWorld, a: Lived, b: Lived, label: str, owners: Owners, a_on: Fidelity, b_on: Fidelity
) -> BacktestDiff:
    changes, pods = [], Counter[str]()
    for life in day.lives:
        ours, theirs = a.stays[life.uid], b.stays[life.uid]
        if not ours and not theirs:
            continue
        workload = str(owners.workload_of(life.pod))
        pods[workload] += 1
        what = _what(life, (a, b))
        if what:
            changes.append(
                DayChange(
                    pod=life.pod.key,
                    workload=workload,
                    priority=life.pod.spec.priority or 0,
                    what=what,
                    node_a=_node(ours),
                    node_b=_node(theirs),
                    waited_a=_rounded(sum(stay.waited for stay in ours)),
                    waited_b=_rounded(sum(stay.waited for stay in theirs)),
                )
            )
    return BacktestDiff(
        start=day.start,
        seconds=_rounded(day.lasts),
        a=_side("the recorded scheduler", day, a, a_on),
        b=_side(label, day, b, b_on),
        recorded=_reality(day, a),
        pods=pods.total(),
        changes=tuple(changes),
        workloads=tuple(_by_workload(changes, pods)),
        preemptions=(*_preemptions("A", a), *_preemptions("B", b)),
        over_time=tuple(
            DayMoment(at=rfc3339(day.begins + at), seconds=_rounded(at), a=x, b=y, waiting_a=waiting, waiting_b=others)
            for (at, x, waiting), (_, y, others) in zip(a.uses, b.uses, strict=True)
        ),
        assumed=tuple(_assumed(day)),
    )


def _what(life: Life, sides: tuple[Lived, Lived]) -> str:
    """The kind of difference, or nothing."""
    ours, theirs = (_node(side.stays[life.uid]) for side in sides)
    if bool(ours) != bool(theirs):
        return "pending" if ours else "placed"
    if ours != theirs:
        return "moved"
    by_a, by_b = (life.uid in side.preempted for side in sides)
    return "" if by_a == by_b else "evicted" if by_b else "spared"


def _node(stays: Sequence[Stay]) -> str:
    """Where it is in the end."""
    return stays[-1].node if stays else ""


def _side(label: str, day: RecordedWorld, lived: Lived, fidelity: Fidelity) -> DaySide:
    stays = [(life, stay) for life in day.lives for stay in lived.stays[life.uid]]
    return DaySide(
        label=label,
        bound=sum(stay.bound is not None for _, stay in stays),
        at_the_end=sum(_waits_at_the_end(life, lived.stays[life.uid]) for life in day.lives),
        preempted=len(lived.preemptions),
        pending=_pending((life, stay.waited, stay.bound is not None) for life, stay in stays),
        fidelity=fidelity,
    )


def _waits_at_the_end(life: Life, stays: Sequence[Stay]) -> bool:
    return bool(stays) and stays[-1].bound is None and life.unwanted_at is None


def _reality(day: RecordedWorld, a: Lived) -> Reality:
    """What was recorded, beside what side A makes of it."""
    waits = []
    for life in day.lives.lives:
        if (ready := life.ready) is not None and not life.there:
            until = next((at for at in (life.bound, life.deleted) if at is not None), day.lasts)
            waits.append((life, until - ready, life.bound is not None))
    nodes = [(life.node, stays[0].node) for life in day.lives if (stays := a.stays[life.uid])]
    both = [(x, y) for x, y in nodes if x and y]
    return Reality(
        bound=sum(bound for _, _, bound in waits),
        at_the_end=sum(not bound and life.deleted is None for life, _, bound in waits),
        preempted=sum(life.preempted for life in day.lives.lives),
        pending=_pending(waits),
        both=len(both),
        same=sum(x == y for x, y in both),
    )


def _pending(waits: Iterable[tuple[Life, float, bool]]) -> tuple[PendingTime, ...]:
    """Of lives, how long each waited, and whether it was bound then."""
    by_priority: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for life, waited, bound in waits:
        by_priority[life.pod.spec.priority or 0].append((max(waited, 0.0), bound))
    everybody = [each for some in by_priority.values() for each in some]
    in_order = sorted(by_priority.items(), reverse=True)
    return (_time(None, everybody), *(_time(priority, some) for priority, some in in_order))


def _time(priority: int | None, waits: list[tuple[float, bool]]) -> PendingTime:
    lengths = sorted(waited for waited, _ in waits) or [0.0]
    return PendingTime(
        priority=priority,
        pods=len(waits),
        bound=sum(bound for _, bound in waits),
        median=_rounded(median(lengths)),
        p95=_rounded(lengths[-(-95 * len(lengths) // 100) - 1]),
        maximum=_rounded(lengths[-1]),
    )


def _by_workload(changes: Iterable[DayChange], pods: Counter[str]) -> Iterator[WorkloadChange]:
    """Those with the most changes first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for change in changes:
        counts[change.workload][change.what] += 1
    for workload, count in sorted(counts.items(), key=lambda item: (-item[1].total(), item[0])):
        yield WorkloadChange(
            workload=workload,
            pods=pods[workload],
            **{what: count[what] for what in ("moved", "pending", "placed", "evicted", "spared")},
        )


def _preemptions(side: str, lived: Lived) -> Iterator[DayPreemption]:
    for entry in lived.preemptions:
        by = entry.why.removeprefix("by ")
        yield DayPreemption(seconds=_rounded(entry.time), side=side, pod=entry.pod, node=entry.node, by=by)


def _assumed(day: RecordedWorld) -> Iterator[str]:
    """What the world is taken to do, whatever the schedulers do."""
    yield (
        "pods come, change and are deleted when they were recorded to: no controller waits for another pod, "
        "and no autoscaler acts otherwise"
    )
    if finished := sum(life.works_for is not None for life in day.lives):
        yield f"{counted(finished, 'pod')} that finished work as long as recorded, from their binding on"
    lives = day.lives.lives
    if preempted := sum(life.preempted for life in lives):
        yield f"{counted(preempted, 'pod')} that the recorded scheduler preempted stay: {_FOLLOWED}"
    if lost := sum(life.lost and not life.preempted for life in lives):
        yield f"{counted(lost, 'pod')} that had to leave a node stay unless they are on that node here: {_FOLLOWED}"
    if day.leaving is not None:
        yield (
            f"a pod that is told to go is gone as soon as it was in the recording, else after {day.leaving:.3g} s (the "
            "median), and at the end of its grace period at the latest"
        )


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
