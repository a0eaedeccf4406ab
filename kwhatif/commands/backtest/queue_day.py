"""A recorded day of Kueue, lived twice: with the queues that were recorded and with other ones.

Workloads come and go as recorded, and work as long as recorded once they are admitted; Kueue decides when that is.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import median
from typing import ClassVar

import msgspec

from kwhatif.api.kinds import Objects
from kwhatif.api.kueue import GROUP, ClusterQueue, KueueWorkload, Topology
from kwhatif.api.times import format_time, nanoseconds_of
from kwhatif.commands.backtest.options import OtherQueuesOptions
from kwhatif.commands.backtest.pod_lives import note_missing
from kwhatif.commands.backtest.queue_day_result import (
    QueueDayDiff,
    QueueDaySide,
    QueueWaits,
    WorkloadDay,
    WorkloadDayChange,
)
from kwhatif.errors import InputError, UsageError
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.cycle import PREEMPTING
from kwhatif.kueue.kueue_objects import KueueState, kueue_objects
from kwhatif.kueue.run import KueueRun, RecordedCycle
from kwhatif.kueue.workload import ADMITTED, EVICTED, FINISHED, PREEMPTED, Workload
from kwhatif.results.amounts import format_count
from kwhatif.results.place import Refusal
from kwhatif.simulation.inputs import Inputs, Notes, SchedulerOptions
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.queueing.configuration_file import read_configuration
from kwhatif.simulation.queueing.queue_run import with_own_objects
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.objects import resource_of
from kwhatif.snapshot.recording import Recording

_CYCLES = 10.0
"""Seconds that are no difference: how long Kueue's cycles take is not known; here it is a second each."""


class WorkloadLife(msgspec.Struct):
    """A workload as recorded; times are seconds since the beginning. One that was ``there`` came before it.

    ``works_for`` is the time from its last admission to its end, ``ends`` the time of that end; None if neither was
    seen.
    """

    source: KueueWorkload
    came: float
    there: bool = False
    admissions: list[float] = []
    preempted: int = 0
    ends: float | None = None
    deleted: float | None = None
    works_for: float | None = None
    waits: bool = True


class RecordedQueueDay(msgspec.Struct):
    """The lives of all workloads by their uid, and how many changes of other objects of Kueue's there were."""

    begins: float
    lasts: float
    lives: dict[str, WorkloadLife]
    other_changes: int


def read_queue_day(start: Snapshot, recording: Recording) -> RecordedQueueDay:
    """What a recording shows of Workloads."""
    begins = recording.starts_at or 0.0
    day = RecordedQueueDay(begins, 0.0, {}, 0)
    for obj in start.objects.list_all(KueueWorkload):
        if _condition(obj, FINISHED) is None:
            life = day.lives[_uid(obj)] = WorkloadLife(obj, 0.0, there=True, waits=obj.status.admission is None)
            admitted = _condition(obj, ADMITTED)
            if admitted is not None:
                life.admissions = [min(nanoseconds_of(admitted) / SECOND - begins, 0.0)]
    for change in recording.changes:
        if change.version <= recording.begins:
            continue
        at = max(change.at - begins, 0.0)
        day.lasts = max(day.lasts, at)
        if change.kind.struct is KueueWorkload:
            _note_change(day, resource_of(change.item, KueueWorkload), at, deleted=change.deleted)
        elif change.kind.group == GROUP and change.kind.name != "WorkloadPriorityClass":
            day.other_changes += 1
    return day


def _note_change(day: RecordedQueueDay, obj: KueueWorkload, at: float, *, deleted: bool) -> None:
    life = day.lives.get(_uid(obj))
    if life is None:
        if _condition(obj, FINISHED) is not None:
            return
        life = day.lives[_uid(obj)] = WorkloadLife(obj, at)
    if deleted:
        life.deleted = at
        return
    admitted = _condition(obj, ADMITTED) is not None
    if admitted and life.waits:
        life.admissions.append(at)
    evicted = _condition(obj, EVICTED, reason=PREEMPTED) is not None
    if not admitted and not life.waits and evicted:
        life.preempted += 1
    life.waits = not admitted
    if _condition(obj, FINISHED) is not None and life.ends is None:
        life.ends, life.waits = at, False
        life.works_for = at - life.admissions[-1] if life.admissions else 0.0


def _uid(obj: KueueWorkload) -> str:
    return obj.metadata.uid or obj.key


def _condition(obj: KueueWorkload, kind: str, *, reason: str = "") -> str | None:
    """Since when a condition is true; None if it is not."""
    for condition in obj.status.conditions or ():
        if condition.type == kind and condition.status == "True" and reason in ("", condition.reason):
            return condition.last_transition_time or "1970-01-01T00:00:00Z"
    return None


class LivedWorkload(msgspec.Struct):
    """What one side does with a workload."""

    life: WorkloadLife
    admissions: list[float] = []
    preempted_by: list[str] = []
    flavors: tuple[str, ...] = ()
    cluster_queue: str = ""
    status: str = ""

    def as_result(self) -> WorkloadDay:
        first = self.admissions[0] - self.life.came if self.admissions else None
        return WorkloadDay(
            admitted_after=None if first is None else round(max(first, 0.0), 3),
            flavors=self.flavors,
            preempted_by=tuple(self.preempted_by),
            status=self.status,
        )


class LivedQueueDay:
    """The recorded workloads, fed to Kueue with the queues of ``objects``."""

    def __init__(
        self, day: RecordedQueueDay, objects: Objects, start: Snapshot, configuration: Mapping[str, object]
    ) -> None:
        self._day = day
        kueue = kueue_objects(objects, start.whole, configuration)
        kueue.workloads = [life.source for life in day.lives.values() if life.there]
        self._begins = int(day.begins) * SECOND
        self._run = KueueRun(KueueState(kueue), kueue.workloads, self._begins)
        self._order = count()
        self._agenda: list[tuple[float, int, str, str, int]] = []
        self.lived = {uid: LivedWorkload(life) for uid, life in day.lives.items()}
        self._keys: dict[str, str] = {}
        self._noted: dict[str, object] = {}

    def live(self) -> dict[str, LivedWorkload]:
        """The whole day, moment by moment."""
        for uid, life in self._day.lives.items():
            if life.there:
                self._keys[life.source.key] = uid
                if life.admissions:
                    self._admit(uid, self._run.state.workloads[life.source.key], life.admissions[0])
            else:
                self._plan(life.came, "create", uid)
            if life.deleted is not None:
                self._plan(life.deleted, "delete", uid)
        self._rest(0.0)
        while self._agenda and self._agenda[0][0] <= self._day.lasts:
            at = self._agenda[0][0]
            while self._agenda and self._agenda[0][0] == at:
                _, _, what, uid, number = heapq.heappop(self._agenda)
                self._happen(what, uid, number)
            self._rest(at)
        for uid, lived in self.lived.items():
            workload = self._run.state.workloads.get(lived.life.source.key)
            gone = workload is None or self._keys.get(workload.key) != uid
            lived.status = lived.status or ("deleted" if gone or workload is None else workload.status)
        return self.lived

    def _plan(self, at: float, what: str, uid: str, number: int = 0) -> None:
        heapq.heappush(self._agenda, (at, next(self._order), what, uid, number))

    def _happen(self, what: str, uid: str, number: int) -> None:
        lived = self.lived[uid]
        key = lived.life.source.key
        if what == "create":
            self._keys[key] = uid
            self._run.create([lived.life.source])
        elif self._keys.get(key) != uid:
            return
        elif what == "delete":
            workload = self._run.state.workloads[key]
            lived.status = "finished" if workload.status == "finished" else "deleted"
            self._run.delete([key])
        elif number == len(lived.admissions):
            # It was not preempted since.
            self._run.finish([key])

    def _rest(self, at: float) -> None:
        began = self._run.now = max(self._run.now, self._begins + int(at * SECOND))
        for cycle in self._run.rest():
            self._note(cycle)
        for key, workload in self._run.state.workloads.items():
            uid = self._keys[key]
            if workload.status != "admitted" or workload.admission is self._noted.get(uid):
                continue
            # The clock goes on with the cycles.
            self._admit(uid, workload, at + max(workload.conditions[ADMITTED].time - began, 0) / SECOND)

    def _admit(self, uid: str, workload: Workload, at: float) -> None:
        lived = self.lived[uid]
        lived.admissions.append(at)
        lived.cluster_queue, self._noted[uid] = workload.cluster_queue, workload.admission
        flavors = (flavor for admission in workload.admission or () for flavor in admission.flavors.values())
        lived.flavors = tuple(dict.fromkeys(flavors))
        if (works_for := lived.life.works_for) is not None:
            self._plan(max(at + works_for, 0.0), "finish", uid, len(lived.admissions))

    def _note(self, cycle: RecordedCycle) -> None:
        for entry in cycle.entries:
            if entry.result == PREEMPTING:
                for target in entry.targets:
                    self.lived[self._keys[target.workload.key]].preempted_by.append(entry.workload.key)


@dataclass(frozen=True, kw_only=True)
class QueueDay(OtherQueuesOptions, Question[QueueDayDiff]):
    """What would other objects of Kueue have made of a recorded day? Its workloads come twice, to the recorded queues
    and to the other ones.
    """

    takes = SchedulerOptions
    schedules: ClassVar[bool] = False
    starts_jobs: ClassVar[bool] = False

    def build_scenarios(self, options: SchedulerOptions) -> Sequence[Scenario]:
        return [Scenario(Inputs(self.recording_and_start[1]), options)]

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[QueueDayDiff]:
        (scenario,) = scenarios
        recording, start = self.recording_and_start
        note_missing(recording, notes)
        if not start.objects.list_all(ClusterQueue):
            raise UsageError("there is no ClusterQueue in the recording: Kueue has decided nothing")
        path = scenario.scheduler_options.kueue_config
        configuration = read_configuration(path) if path else {}
        day = read_queue_day(start, recording)
        refusals: list[Refusal] = []
        others = with_own_objects(start.objects, load_manifests(self.queues), refusals)
        if refusals:
            raise InputError(f"{refusals[0].object}: {refusals[0].message}").with_source(refusals[0].origin)
        a = LivedQueueDay(day, start.objects, start, configuration).live()
        b = LivedQueueDay(day, others, start, configuration).live()
        names = [queue if isinstance(queue, str) else f"a {queue.get('kind')}" for queue in self.queues]
        return Answer(_compare(day, a, b, ", ".join(names), topologies=bool(start.objects.list_all(Topology))))


def _compare(
    day: RecordedQueueDay, a: dict[str, LivedWorkload], b: dict[str, LivedWorkload], label: str, *, topologies: bool
) -> QueueDayDiff:
    queues = sorted({workload.cluster_queue for side in (a, b) for workload in side.values() if workload.cluster_queue})
    belongs = {uid: a[uid].cluster_queue or b[uid].cluster_queue for uid in day.lives}

    def side(label: str, admissions: dict[str, Sequence[float]], preempted: dict[str, int]) -> QueueDaySide:
        def waits(queue: str) -> QueueWaits:
            uids = [uid for uid in day.lives if queue in ("", belongs[uid])]
            return _waits_of(queue, day, {uid: admissions[uid] for uid in uids}, sum(preempted[uid] for uid in uids))

        return QueueDaySide(label=label, waits=tuple(map(waits, ["", *queues])))

    def lived_side(label: str, lived: dict[str, LivedWorkload]) -> QueueDaySide:
        admissions: dict[str, Sequence[float]] = {uid: workload.admissions for uid, workload in lived.items()}
        return side(label, admissions, {uid: len(workload.preempted_by) for uid, workload in lived.items()})

    recorded: dict[str, Sequence[float]] = {uid: life.admissions for uid, life in day.lives.items()}
    return QueueDayDiff(
        start=format_time(int(day.begins)),
        seconds=round(day.lasts, 3),
        workloads=len(day.lives),
        recorded=side("what was recorded", recorded, {uid: life.preempted for uid, life in day.lives.items()}),
        a=lived_side("the recorded queues", a),
        b=lived_side(label, b),
        changes=tuple(_changes(day, a, b)),
        assumed=tuple(_list_assumptions(day, b, topologies=topologies)),
    )


def _waits_of(queue: str, day: RecordedQueueDay, admissions: dict[str, Sequence[float]], preempted: int) -> QueueWaits:
    lengths, during, left = [], 0, 0
    for uid, times in admissions.items():
        life = day.lives[uid]
        during += sum(at >= 0 for at in times)
        if times and times[0] < 0:
            continue
        over = min((end for end in (life.deleted, day.lasts) if end is not None), default=day.lasts)
        lengths.append(max((times[0] if times else over) - life.came, 0.0))
        left += not times and life.deleted is None
    lengths.sort()
    lengths = lengths or [0.0]
    return QueueWaits(
        cluster_queue=queue,
        admitted=during,
        at_the_end=left,
        preempted=preempted,
        median=round(median(lengths), 3),
        p95=round(lengths[-(-95 * len(lengths) // 100) - 1], 3),
        maximum=round(lengths[-1], 3),
    )


def _changes(
    day: RecordedQueueDay, a: dict[str, LivedWorkload], b: dict[str, LivedWorkload]
) -> Iterator[WorkloadDayChange]:
    for uid, life in day.lives.items():
        what = _what(a[uid], b[uid])
        if what:
            yield WorkloadDayChange(
                workload=life.source.key,
                cluster_queue=b[uid].cluster_queue or a[uid].cluster_queue,
                priority=life.source.spec.priority or 0,
                what=what,
                a=a[uid].as_result(),
                b=b[uid].as_result(),
            )


def _what(a: LivedWorkload, b: LivedWorkload) -> str:
    """The kind of difference, or nothing."""
    if bool(a.admissions) != bool(b.admissions):
        return "waits" if a.admissions else "admitted"
    if len(a.preempted_by) != len(b.preempted_by):
        return "preempted" if len(b.preempted_by) > len(a.preempted_by) else "spared"
    if a.flavors != b.flavors:
        return "flavor"
    if a.admissions and abs(a.admissions[0] - b.admissions[0]) > _CYCLES:
        return "sooner" if b.admissions < a.admissions else "later"
    return ""


def _list_assumptions(day: RecordedQueueDay, b: dict[str, LivedWorkload], *, topologies: bool) -> Iterable[str]:
    yield (
        "workloads come and are deleted when they were recorded to, and work as long as recorded from each admission "
        "on; an evicted one is gone at once and begins anew"
    )
    endless = sum(bool(b[uid].admissions) and life.works_for is None for uid, life in day.lives.items())
    if endless:
        yield f"{format_count(endless, 'workload')} without a recorded end keep quota until the day is over"
    if day.other_changes:
        changes = format_count(day.other_changes, "recorded change")
        yield f"{changes} of ClusterQueues and other objects of Kueue's are left out: those of the start stay"
    if topologies:
        yield "topologies have the nodes and the other pods of the start"
