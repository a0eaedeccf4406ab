"""Kueue's decisions in a recording, each made again: workloads that got quota, in which flavors and domains, and
workloads that were preempted.

A decision is looked for in the state just before it was written. Kueue's cycles go on there until the workload is
decided on; if the outcome differs, so they do in the states a few changes earlier, since Kueue learns of changes a
little late.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from kwhatif.api.core import Namespace, Node, Pod
from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import KINDS, Objects
from kwhatif.api.kueue import GROUP, ClusterQueue, KueueWorkload, Topology
from kwhatif.api.meta import Resource
from kwhatif.api.objects import section
from kwhatif.api.times import nanoseconds_of
from kwhatif.commands.backtest.decisions import SAME, UNEXPLAINED
from kwhatif.commands.backtest.result import Disagreement
from kwhatif.commands.backtest.states import NEAR
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.cycle import ADMITTED, PREEMPTING
from kwhatif.kueue.kueue_objects import KueueState, kueue_objects
from kwhatif.kueue.run import KueueRun, RecordedCycle
from kwhatif.kueue.workload import EVICTED, FINISHED, PREEMPTED, PodSetAdmission
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.objects import resource_of
from kwhatif.snapshot.recording import Change, Recording

GOT_QUOTA, LOST_QUOTA = "admitted", "evicted"
"""The sorts of decisions."""
_PREEMPTOR = re.compile(r"\(UID: ([^,)]+)")
_EARLIER = 8
"""In how many earlier states a decision is looked for."""
_MOST_CYCLES = 200
"""In how many cycles a workload has to be decided on."""
_WHOLE = ("LimitRange", "RuntimeClass")


class RepeatedKueueDecision(msgspec.Struct, frozen=True):
    """A decision about a workload (``namespace/name``) and how far it agrees: ``SAME``, ``NEAR`` or not at all, then
    with what was ``recorded`` and the ``answer``.
    """

    what: str
    workload: str
    change: Change
    agreement: str
    recorded: str = ""
    answer: str = ""

    def disagreement(self) -> Disagreement:
        return Disagreement(
            pod=f"Workload {self.workload}",
            what=self.what,
            version=self.change.version,
            recorded=self.recorded,
            answer=self.answer,
            verdict=UNEXPLAINED,
            evidence=f"so it is in the {_EARLIER} states before, too",
            states=_EARLIER + 1,
        )


def repeat_kueue_decisions(
    start: Snapshot, recording: Recording, configuration: Mapping[str, object]
) -> Iterator[RepeatedKueueDecision]:
    """Every decision of Kueue's in a recording, in its order; nothing where there is no ClusterQueue.

    ``configuration`` is Kueue's. Raises InputError for objects that Kueue could not read.
    """
    queues = _RecordedQueues(start, configuration)
    later = [change for change in recording.changes if change.version > recording.begins]
    preemptions = _read_preemptions(start, later)
    for change in later:
        if change.kind.name in _WHOLE:
            queues.put_whole(change)
        struct = change.kind.struct
        if struct is None or not (struct in (Namespace, Node, Pod) or change.kind.group == GROUP):
            continue
        obj = None if change.deleted else resource_of(change.item, struct)
        if isinstance(obj, KueueWorkload):
            yield from queues.repeat(obj, change, preemptions.get(change.version))
        queues.put(change, obj)


class _Preemption(msgspec.Struct):
    """Whom a preemptor (by uid) drove out at one time, by ``namespace/name``."""

    preemptor: str
    last: int
    victims: set[str] = set()


def _read_preemptions(start: Snapshot, changes: list[Change]) -> dict[int, _Preemption]:
    """The preemptions by the version that shows the first victim; what is more than a second later is another one."""
    preemptions: dict[int, _Preemption] = {}
    latest: dict[str, _Preemption] = {}
    seen = {workload.key: workload for workload in start.objects.list_all(KueueWorkload)}
    for change in changes:
        if change.kind.struct is KueueWorkload and not change.deleted:
            obj = resource_of(change.item, KueueWorkload)
            if evicted := _new_preemption(seen.get(obj.key), obj):
                preemptor, at = evicted
                if preemptor not in latest or at > latest[preemptor].last + SECOND:
                    preemptions[change.version] = latest[preemptor] = _Preemption(preemptor, at)
                latest[preemptor].victims.add(obj.key)
                latest[preemptor].last = at
            seen[obj.key] = obj
    return preemptions


def _new_preemption(before: KueueWorkload | None, now: KueueWorkload) -> tuple[str, int] | None:
    """The uid of the workload that this one has just been preempted for, and when; None if it has not."""
    evicted = _condition(now, EVICTED)
    old = None if before is None else _condition(before, EVICTED)
    if evicted is None or evicted.reason != PREEMPTED or old == evicted:
        return None
    named = _PREEMPTOR.search(evicted.message or "")
    return (named[1], nanoseconds_of(evicted.last_transition_time or "1970-01-01T00:00:00Z")) if named else None


def _condition(workload: KueueWorkload, kind: str) -> Any:
    conditions = [
        condition
        for condition in workload.status.conditions or ()
        if condition.type == kind and condition.status == "True"
    ]
    return conditions[0] if conditions else None


class _RecordedQueues:
    """What Kueue knows at one moment of a recording, and how that was a few changes ago."""

    def __init__(self, start: Snapshot, configuration: Mapping[str, object]) -> None:
        self._configuration = configuration
        self._listed: dict[str, dict[tuple[str, str], Resource]] = {
            kind: {(obj.namespace, obj.name): obj for obj in listed} for kind, listed in start.objects.by_kind().items()
        }
        self._whole = {
            kind: {
                (_part(manifest, "namespace"), _part(manifest, "name")): manifest
                for manifest in start.whole.get(kind, ())
            }
            for kind in _WHOLE
        }
        self._recent: deque[tuple[str, tuple[str, str], Resource | None]] = deque(maxlen=_EARLIER)

    def put(self, change: Change, obj: Resource | None) -> None:
        listed = self._listed.setdefault(change.kind.name, {})
        before = listed.get(change.key)
        if not isinstance(obj, Pod | Node):
            self._recent.append((change.kind.name, change.key, before))
        if obj is None:
            listed.pop(change.key, None)
        else:
            listed[change.key] = obj

    def put_whole(self, change: Change) -> None:
        listed = self._whole[change.kind.name]
        if change.deleted:
            listed.pop(change.key, None)
        else:
            listed[change.key] = decode_json(change.raw, dict[str, Any])

    def repeat(
        self, now: KueueWorkload, change: Change, preemption: _Preemption | None
    ) -> Iterator[RepeatedKueueDecision]:
        """The decisions that made a workload what it is ``now``."""
        known = self._listed.get(KueueWorkload.__name__, {}).get(change.key)
        before = known if isinstance(known, KueueWorkload) else None
        if not self._listed.get(ClusterQueue.__name__):
            return
        if before is not None and before.status.admission is None and now.status.admission is not None:
            yield self._repeat_admission(now, change)
        if preemption is not None:
            yield self._repeat_preemption(preemption.preemptor, preemption.victims, change)

    def _repeat_admission(self, now: KueueWorkload, change: Change) -> RepeatedKueueDecision:
        answers: list[str] = []
        for back in range(len(self._recent) + 1):
            run = self._run(change, back)
            if now.key not in run.state.workloads:
                continue
            wanted = run.state.make_workload(now).admission or ()
            cycles = run.rest(lambda cycle: _result_of(cycle, now.key) == ADMITTED)
            workload = run.state.workloads[now.key]
            if _trace(workload.admission or ()) == _trace(wanted):
                first = not back and _result_of(cycles[0], now.key) == ADMITTED
                return RepeatedKueueDecision(GOT_QUOTA, now.key, change, SAME if first else NEAR)
            reserved = workload.conditions.get("QuotaReserved")
            answers.append(
                f"admitted: {_words(workload.admission)}"
                if workload.admission
                else f"waits: {reserved.message if reserved else 'others are before it'}"
            )
        recorded = f"admitted: {_words(run.state.make_workload(now).admission or ())}"
        return RepeatedKueueDecision(GOT_QUOTA, now.key, change, "", recorded, next(iter(answers), "is not there"))

    def _repeat_preemption(self, preemptor: str, victims: set[str], change: Change) -> RepeatedKueueDecision:
        answer, key = "", preemptor
        for back in range(len(self._recent) + 1):
            run = self._run(change, back)
            key = next((workload.key for workload in run.state.workloads.values() if workload.uid == preemptor), "")
            cycles = run.rest(partial(_is_decided, key=key)) if key else []
            for place, cycle in enumerate(cycles):
                for entry in cycle.entries:
                    if entry.workload.key == key and entry.result == PREEMPTING:
                        targets = {target.workload.key for target in entry.targets}
                        if targets == victims:
                            agreement = NEAR if back or place else SAME
                            return RepeatedKueueDecision(LOST_QUOTA, key, change, agreement)
                        answer = answer or f"evicts {', '.join(sorted(targets))}"
            answer = answer or "evicts nothing"
        recorded = f"evicts {', '.join(sorted(victims))}"
        return RepeatedKueueDecision(LOST_QUOTA, key or preemptor, change, "", recorded, answer)

    def _run(self, change: Change, back: int) -> KueueRun:
        """Kueue as many changes earlier."""
        listed = dict(self._listed)
        for kind, key, obj in list(self._recent)[len(self._recent) - back :][::-1]:
            listed[kind] = {**listed.get(kind, {})}
            if obj is None:
                listed[kind].pop(key, None)
            else:
                listed[kind][key] = obj
        # Pods take room of a topology alone.
        kinds = [kind for kind in listed if kind != Pod.__name__ or listed.get(Topology.__name__)]
        objects = Objects({kind: listed[kind].values() for kind in kinds if kind in KINDS})
        plain = {kind: list(manifests.values()) for kind, manifests in self._whole.items()}
        kueue = kueue_objects(objects, plain, self._configuration)
        kueue.workloads = [workload for workload in kueue.workloads if _condition(workload, FINISHED) is None]
        return KueueRun(KueueState(kueue), kueue.workloads, int(change.at) * SECOND, most_cycles=_MOST_CYCLES)


def _part(obj: Mapping[str, Any], name: str) -> str:
    return str(section(obj, "metadata").get(name) or "")


def _result_of(cycle: RecordedCycle, key: str) -> str:
    return next((entry.result for entry in cycle.entries if entry.workload.key == key), "")


def _is_decided(cycle: RecordedCycle, key: str) -> bool:
    return _result_of(cycle, key) in (ADMITTED, PREEMPTING)


def _trace(admission: Iterable[PodSetAdmission]) -> list[object]:
    return [
        (pod_set_admission.name, pod_set_admission.count, dict(pod_set_admission.flavors), pod_set_admission.topology)
        for pod_set_admission in admission
    ]


def _words(admission: Iterable[PodSetAdmission]) -> str:
    said = []
    for pod_set_admission in admission:
        flavors = ", ".join(sorted(set(pod_set_admission.flavors.values()))) or "no flavor"
        places = (
            f" in {', '.join('/'.join(values) for values, _ in pod_set_admission.topology.domains)}"
            if pod_set_admission.topology
            else ""
        )
        said.append(f"{pod_set_admission.count} of {pod_set_admission.name} in {flavors}{places}")
    return "; ".join(said)
