"""A recorded day simulated with two configurations, and the comparison.

The world does what was recorded, and the simulated scheduler decides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import ClassVar

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.claim_store import Devices
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import Storage
from kwhatif.commands.backtest.options import RECORDED_POLICY, OtherPolicyOptions
from kwhatif.commands.backtest.pod_lives import PodLife, note_missing
from kwhatif.commands.backtest.recorded_cluster import ChangingObjects, Put, RecordedDay, recorded_world
from kwhatif.commands.backtest.result import (
    BacktestDiff,
    DayChange,
    DayMoment,
    DayPreemption,
    DaySide,
    PendingTime,
    Reality,
    WorkloadChange,
)
from kwhatif.commands.diff.run import at_version
from kwhatif.progress import report_start
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity
from kwhatif.results.diff import ClusterUse
from kwhatif.results.place import TimelineEntry
from kwhatif.scheduling.controllers import grace_of
from kwhatif.scheduling.simulator import Simulator
from kwhatif.simulation.cluster_use import use_of
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Inputs, Notes, SchedulerOptions
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.afterwards import store_volumes
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.recording import rfc3339

_ASSUMED = Storage.KINDS | Devices.KINDS


class PendingPeriod(msgspec.Struct, frozen=True):
    """The time in which one pod waited: from when it could first be tried until it was ``bound``, and where. None and
    an empty node if it was not; it waited ``until`` then.
    """

    entered: float
    bound: float | None
    node: str
    until: float

    @property
    def waiting_seconds(self) -> float:
        return (self.until if self.bound is None else self.bound) - self.entered


class ReplayedDay(msgspec.Struct):
    """The outcome of a day.

    ``stays`` are by the pods' uids in the recording: one for each life, and one more for each replacement; ``homes``
    are all nodes by uid. ``preempted`` are the lives in which the scheduler preempted the pod, ``preemptions`` describe
    them. ``uses`` are the utilisation at each requested moment, and how many pods waited.
    """

    session: Session
    stays: dict[str, list[PendingPeriod]] = {}
    homes: dict[str, str] = {}
    preempted: set[str] = set()
    preemptions: list[TimelineEntry] = []
    uses: list[tuple[float, ClusterUse, int]] = []


class Day:
    """The external events of a day, fed to a scheduler that begins with the cluster of ``session``."""

    def __init__(self, session: Session, world: RecordedDay) -> None:
        self._session, self._world = session, world
        self._objects = ChangingObjects(session)
        self._by_uid = {life.uid: life for life in world.lives.lives}
        self._simulator = Simulator(
            session.driver, leaves_after=self._leaves_after, works_for=self._works_for, begins=world.begins
        )

    def live(self, moments: Sequence[float]) -> ReplayedDay:
        """Simulate the whole day; returns the utilisation at the given moments."""
        simulator, lived = self._simulator, ReplayedDay(self._session)
        for moment in moments:
            simulator.call_at(moment, lambda: lived.uses.append(self._use()))
        for life in self._world.lives:
            self._plan(life)
        for at, puts in self._world.changes:
            simulator.call_at(at, partial(self._renew, puts))
        for at, node in self._world.lives.emptied:
            simulator.call_at(at, partial(simulator.empty_node, node))
        simulator.run(self._world.lasts)
        lived.stays = {life.uid: list(self._stays(life)) for life in self._world.lives}
        lived.homes = {uid: node for uid, (_, node) in simulator.bound.items()}
        lived.preempted = {simulator.stands_for.get(uid, uid) for uid in simulator.evicted}
        lived.preemptions = [entry for entry in simulator.diary.entries if entry.what == "preempted"]
        return lived

    # --- pods

    def _plan(self, life: PodLife) -> None:
        """Schedule a pod's arrival, changes and end."""
        simulator = self._simulator
        if life.there and not life.created:
            if life.works_for is not None:
                simulator.complete_at(life.uid, life.works_for)
        elif life.there or self._session.driver.scheduler(life.pod.spec.scheduler_name) is None:
            if life.bound is not None:
                simulator.call_at(life.bound, lambda: self._appears(life))
        else:
            simulator.call_at(life.created, lambda: simulator.create_pod(self._info(life.pod)))
        for at, pod in life.changes:
            simulator.call_at(at, partial(self._changes, pod))
        if (end := life.unwanted_at) is not None:
            simulator.call_at(end, lambda: simulator.remove(life.uid))

    def _info(self, pod: Pod, *, bound: bool = False) -> PodInfo:
        return self._session.info(PodToSchedule(pod), bound=bound)

    def _appears(self, life: PodLife) -> None:
        """Add a pod that another scheduler binds, as recorded, for as long as recorded."""
        info = self._info(life.pod, bound=True)
        self._simulator.add_bound_pod(info, life.node)
        if life.works_for is not None:
            self._simulator.complete_at(info.uid, self._simulator.now + life.works_for)

    def _changes(self, pod: Pod) -> None:
        pod_and_row = self._session.cluster.find(pod.identity)
        self._simulator.update_pod(self._info(pod, bound=pod_and_row is not None))

    def _works_for(self, pod: PodInfo) -> float | None:
        life = self._by_uid.get(self._simulator.stands_for.get(pod.uid, pod.uid))
        return None if life is None else life.works_for

    def _leaves_after(self, pod: PodInfo) -> float:
        """As long as it took the very pod in the recording, else as long as it took others, within its grace period."""
        life = self._by_uid.get(pod.uid)
        recorded = self._world.leaving if life is None or life.leaving is None else life.leaving
        grace = float(grace_of(pod))
        return grace if recorded is None else min(recorded, grace)

    # --- other objects

    def _renew(self, puts: Sequence[Put]) -> None:
        """Replace objects: schedulers read them again, and pods are requeued."""
        objects, cluster = self._objects, self._session.cluster
        if any(kind in _ASSUMED for kind, _, _ in puts):
            self._store_assumed()
        nodes: list[str] = []
        for kind, key, obj in puts:
            if kind == "Node" and obj is None:
                self._simulator.empty_node(key[1], lost=True)
            if objects.put(kind, key, obj) != obj and kind == "Node":
                nodes.append(key[1])
        changed = objects.reread()
        readers = frozenset[str]().union(*(objects.readers.get(kind, frozenset()) for kind in changed))
        if changed:
            there = [name for name in nodes if cluster.columns.row(name) is not None]
            self._simulator.requeueing.handle_changes(there, readers)

    def _store_assumed(self) -> None:
        """Store what the scheduler assumed of claims in the objects, before they are read again."""
        objects, cluster = self._session.snapshot.objects, self._session.cluster
        store_volumes(objects, cluster)
        claims = cluster.devices.claims.values()
        for obj in (*objects.list_all(PersistentVolumeClaim), *objects.list_all(PersistentVolume), *claims):
            self._objects.put(type(obj).__name__, (obj.namespace, obj.name), obj)

    # --- outcome

    def _use(self) -> tuple[float, ClusterUse, int]:
        queue = self._simulator.queue
        waiting = [queued_pod for queued_pod in (*queue.waiting(), *queue.backing_off()) if queued_pod.gate is None]
        return self._simulator.now, use_of(self._session.cluster), len(waiting)

    def _stays(self, life: PodLife) -> list[PendingPeriod]:
        """Each pod of a life that the scheduler was to find a node for."""
        simulator, pending_periods = self._simulator, []
        uid: str | None = life.uid
        while uid is not None:
            entered = simulator.entered.get(uid)
            if entered is not None:
                bound, node = simulator.bound.get(uid, (None, ""))
                until = self._world.lasts if life.unwanted_at is None else life.unwanted_at
                pending_periods.append(PendingPeriod(entered, bound, node, max(until, entered)))
            uid = simulator.recreated.get(uid)
        return pending_periods


_STEPS = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)
_MOMENTS = 240
"""The most moments at which the cluster is sampled."""
_FOLLOWED = "each ends as the pod did that was made in its place"


@dataclass(frozen=True, kw_only=True)
class DayDiff(OtherPolicyOptions, Question[BacktestDiff]):
    """What would another configuration have made of a recorded day? It is simulated twice, with the recorded
    scheduler's and with the other one.
    """

    takes = SchedulerOptions
    renames: ClassVar[Mapping[str, Flag]] = {"policy": RECORDED_POLICY}
    several_runs: ClassVar[bool] = True

    def build_scenarios(self, options: SchedulerOptions) -> Sequence[Scenario]:
        inputs = Inputs(self.recording_and_start[1])
        return [Scenario(inputs, options), Scenario(inputs, at_version(options, self.other))]

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[BacktestDiff]:
        recording, _ = self.recording_and_start
        note_missing(recording, notes)
        day = recorded_world(recording, scenarios[0].snapshot)
        moments = list(_moments(day.lasts))
        report_start("Replaying the day as recorded")
        recorded = {life.uid: life.node for life in day.lives.lives if life.node}
        a = Day(scenarios[0].new_session(prefers=recorded), day).live(moments)
        report_start("Replaying the day with the other configuration")
        b = Day(scenarios[1].new_session(prefers=a.homes), day).live(moments)
        label = f"policy {self.other}" if isinstance(self.other, str) else "a policy of its own"
        runs = [Run(a.session), Run(b.session)]
        return Answer(_compare_runs(day, a, b, label, Owners(scenarios[0].snapshot), *map(assess, runs)), runs)


def _moments(lasts: float) -> Iterator[float]:
    step = next((step for step in _STEPS if lasts <= step * _MOMENTS), lasts / _MOMENTS)
    number = 1
    while number * step <= lasts:
        yield number * step
        number += 1


def _compare_runs(
    day: RecordedDay, a: ReplayedDay, b: ReplayedDay, label: str, owners: Owners, a_on: Fidelity, b_on: Fidelity
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
                    waited_a=_round_seconds(sum(stay.waiting_seconds for stay in ours)),
                    waited_b=_round_seconds(sum(stay.waiting_seconds for stay in theirs)),
                )
            )
    return BacktestDiff(
        start=day.start,
        seconds=_round_seconds(day.lasts),
        a=_side("the recorded scheduler", day, a, a_on),
        b=_side(label, day, b, b_on),
        recorded=_reality(day, a),
        pods=pods.total(),
        changes=tuple(changes),
        workloads=tuple(_by_workload(changes, pods)),
        preemptions=(*_preemptions("A", a), *_preemptions("B", b)),
        over_time=tuple(
            DayMoment(
                at=rfc3339(day.begins + at), seconds=_round_seconds(at), a=x, b=y, waiting_a=waiting, waiting_b=others
            )
            for (at, x, waiting), (_, y, others) in zip(a.uses, b.uses, strict=True)
        ),
        assumed=tuple(_list_assumptions(day)),
    )


def _what(life: PodLife, sides: tuple[ReplayedDay, ReplayedDay]) -> str:
    """The kind of difference, or nothing."""
    ours, theirs = (_node(side.stays[life.uid]) for side in sides)
    if bool(ours) != bool(theirs):
        return "pending" if ours else "placed"
    if ours != theirs:
        return "moved"
    by_a, by_b = (life.uid in side.preempted for side in sides)
    return "" if by_a == by_b else "evicted" if by_b else "spared"


def _node(stays: Sequence[PendingPeriod]) -> str:
    """Where it is in the end."""
    return stays[-1].node if stays else ""


def _side(label: str, day: RecordedDay, lived: ReplayedDay, fidelity: Fidelity) -> DaySide:
    stays = [(life, stay) for life in day.lives for stay in lived.stays[life.uid]]
    return DaySide(
        label=label,
        bound=sum(stay.bound is not None for _, stay in stays),
        at_the_end=sum(_waits_at_the_end(life, lived.stays[life.uid]) for life in day.lives),
        preempted=len(lived.preemptions),
        pending=_pending((life, stay.waiting_seconds, stay.bound is not None) for life, stay in stays),
        fidelity=fidelity,
    )


def _waits_at_the_end(life: PodLife, stays: Sequence[PendingPeriod]) -> bool:
    return bool(stays) and stays[-1].bound is None and life.unwanted_at is None


def _reality(day: RecordedDay, a: ReplayedDay) -> Reality:
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


def _pending(waits: Iterable[tuple[PodLife, float, bool]]) -> tuple[PendingTime, ...]:
    """Of lives, how long each waited, and whether it was bound then."""
    by_priority: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for life, waited, bound in waits:
        by_priority[life.pod.spec.priority or 0].append((max(waited, 0.0), bound))
    everybody = [moment for some in by_priority.values() for moment in some]
    in_order = sorted(by_priority.items(), reverse=True)
    return (_time(None, everybody), *(_time(priority, some) for priority, some in in_order))


def _time(priority: int | None, waits: list[tuple[float, bool]]) -> PendingTime:
    lengths = sorted(waited for waited, _ in waits) or [0.0]
    return PendingTime(
        priority=priority,
        pods=len(waits),
        bound=sum(bound for _, bound in waits),
        median=_round_seconds(median(lengths)),
        p95=_round_seconds(lengths[-(-95 * len(lengths) // 100) - 1]),
        maximum=_round_seconds(lengths[-1]),
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


def _preemptions(side: str, lived: ReplayedDay) -> Iterator[DayPreemption]:
    for entry in lived.preemptions:
        by = entry.why.removeprefix("by ")
        yield DayPreemption(seconds=_round_seconds(entry.time), side=side, pod=entry.pod, node=entry.node, by=by)


def _list_assumptions(day: RecordedDay) -> Iterator[str]:
    """The assumptions about the world, which do not depend on the scheduler."""
    yield (
        "pods come, change and are deleted when they were recorded to: no controller waits for another pod, "
        "and no autoscaler acts otherwise"
    )
    if finished := sum(life.works_for is not None for life in day.lives):
        yield f"{format_count(finished, 'pod')} that finished work as long as recorded, from their binding on"
    lives = day.lives.lives
    if preempted := sum(life.preempted for life in lives):
        yield f"{format_count(preempted, 'pod')} that the recorded scheduler preempted stay: {_FOLLOWED}"
    if lost := sum(life.lost and not life.preempted for life in lives):
        pods = format_count(lost, "pod")
        yield f"{pods} that had to leave a node stay unless they are on that node here: {_FOLLOWED}"
    if day.leaving is not None:
        yield (
            f"a deleted pod is gone as soon as it was in the recording, else after {day.leaving:.3g} s (the "
            "median), and at the end of its grace period at the latest"
        )


def _round_seconds(seconds: float) -> float:
    return round(seconds, 3)
