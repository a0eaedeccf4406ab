"""The decisions in a recording: bindings, and the scheduler's Events about pods without a node; and whether an answer
agrees with one, or why it may not.

Upstream: bind and handleSchedulingFailure in pkg/scheduler/schedule_one.go; prepareCandidate in
pkg/scheduler/framework/preemption/executor.go; NewRecorder in client-go/tools/events/event_broadcaster.go (the
component is the profile's schedulerName, the instance has the host as well); RecordEvent in
client-go/tools/leaderelection/resourcelock/leaselock.go.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.decode import decode_json
from kwhatif.api.events import Event
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo
from kwhatif.errors import InputError
from kwhatif.golang.parsing import parse_int
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.host_selection import Choice
from kwhatif.scheduling.preemption import Preemption
from kwhatif.scheduling.preemption_candidates import FIRST_BY_NAME
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.read.objects import inside, resource_of
from kwhatif.snapshot.recording import Change, Recording


def read_events(recording: Recording) -> Iterator[tuple[Change, Event, float | None]]:
    """All Events of a recording, and when they were, in seconds. Raises InputError with the line."""
    for change in recording.changes:
        if change.kind.name != "Event" or change.deleted:
            continue
        try:
            event = decode_json(change.raw, Event)
            time = event.time
        except InputError as error:
            raise inside(error, str(change.origin), change.place) from None
        except ValueError as error:
            raise inside(InputError(str(error)), str(change.origin), change.place) from None
        yield change, event, time


class Arrival(NamedTuple):
    """When a pod entered the queue, as a version, and its priority."""

    version: int
    priority: int


def order_bindings(written: Sequence[Decision], arrivals: Mapping[str, Arrival]) -> list[Decision]:
    """The bindings, given as they were ``written``, as they were decided, each with what the scheduler knew by then.

    Pods are decided one after the other, and bound side by side, so one binding may overtake another. What tells is the
    queue: it gives the pod of the higher priority first, and of two that are equal the one that came first. Upstream:
    bindingCycle in pkg/scheduler/schedule_one.go, Less of pkg/scheduler/framework/plugins/queuesort/priority_sort.go.

    ``arrivals`` (by uid) are of the pods that were queued once, and so popped in the queue's order: an earlier one goes
    first unless its priority is lower. Others count as decided when they were written.
    """
    ordered = list(_in_queue_order(written, arrivals))
    first = 0
    for place in range(len(ordered) - 1, -1, -1):
        decision = ordered[place]
        first = min(first, decision.before) if first else decision.before
        decision.around = first - 1
    late: list[Decision] = []
    for decision in ordered:
        late = [other for other in late if other.before > decision.around]
        decision.known = frozenset(other.uid for other in late)
        late.append(decision)
    return ordered


def _in_queue_order(written: Sequence[Decision], arrivals: Mapping[str, Arrival]) -> Iterator[Decision]:
    queues: dict[int, deque[Decision]] = {}
    for decision in sorted(
        (pod for pod in written if pod.uid in arrivals), key=lambda entry: arrivals[entry.uid].version
    ):
        queues.setdefault(arrivals[decision.uid].priority, deque()).append(decision)
    done: set[str] = set()
    for decision in written:
        if decision.uid in done:
            continue
        if (arrival := arrivals.get(decision.uid)) is not None:
            for priority in sorted((one for one in queues if one >= arrival.priority), reverse=True):
                queue = queues[priority]
                while queue and arrivals[queue[0].uid].version < arrival.version:
                    other = queue.popleft()
                    if other.uid not in done:
                        done.add(other.uid)
                        yield other
        done.add(decision.uid)
        yield decision


_PREEMPTED = re.compile(r"Preempted by pod (\S+) on node (\S+)")


class Decision(msgspec.Struct, eq=False):
    """A recorded cycle, and when it can have been.

    It was decided after ``after`` and before ``before``, which are versions; ``around`` is the best guess of the last
    version that the scheduler knew, besides its own decisions about the pods ``known`` (uids), which were written
    later. ``node`` is where the pod was bound; for one that was not, ``text`` is the reason, and ``nominated`` and
    ``victims`` (``namespace/name``) are its preemption; ``perhaps`` are pods that were preempted more than once, of
    which only the first Event names the preemptor. ``at`` is in seconds.
    """

    uid: str
    key: str
    at: float
    after: int
    before: int
    around: int
    known: frozenset[str] = frozenset()
    node: str = ""
    text: str = ""
    nominated: str = ""
    victims: tuple[str, ...] = ()
    perhaps: frozenset[str] = frozenset()

    @property
    def what(self) -> str:
        return "bound" if self.node else "preempted" if self.victims else "refused"

    @property
    def name(self) -> tuple[str, str]:
        """Namespace and name."""
        namespace, _, name = self.key.partition("/")
        return namespace, name


class PodVersion(msgspec.Struct, frozen=True):
    """What a change says about a pod: its identity, its scheduler, its priority, whether scheduling gates hold it, its
    node, whether the condition PodScheduled has that it was ``scheduled``, the text of its last refusal, and the node
    it is ``nominated`` to.
    """

    change: Change
    uid: str
    key: str
    scheduler_name: str
    is_mirror: bool
    priority: int
    is_gated: bool
    node: str
    is_scheduled: bool
    text: str
    nominated: str


_WRITTEN_LATE = 2.0
"""Seconds after an eviction in which what its cycle came to may be written."""


def decisions(recording: Recording, pods: Sequence[PodVersion]) -> list[Decision]:
    """All decisions after the recording's lists, as they were made one after the other, as far as that is known.

    ``pods`` are its `read_pod_versions`.

    Raises InputError for an object that is none.
    """
    refusals = list(_refusals(recording, pods))
    arrivals = _arrivals(recording, pods)
    for refused in refusals:
        arrivals.pop(refused.uid, None)
    taken = [*order_bindings(list(_bindings(recording, pods)), arrivals), *refusals]
    return sorted(taken, key=lambda decision: decision.around)


def _arrivals(recording: Recording, pods: Sequence[PodVersion]) -> dict[str, Arrival]:
    """When pods entered the queue, of those that came while it was recorded, without a node or a gate."""
    came: dict[str, PodVersion] = {}
    for pod in pods:
        came.setdefault(pod.uid, pod)
    return {
        uid: Arrival(pod.change.version, pod.priority)
        for uid, pod in came.items()
        if pod.change.version > recording.begins and not (pod.node or pod.is_gated)
    }


def read_pod_versions(recording: Recording) -> Iterator[PodVersion]:
    """All versions of pods after the recording's lists. Raises InputError for an object that is none."""
    for change in recording.changes:
        if change.kind.struct is Pod:
            pod = resource_of(change.item, Pod)
            scheduled = [one for one in pod.status.conditions or () if one.type == "PodScheduled"]
            refused = (one for one in scheduled if one.status == "False" and one.reason == "Unschedulable")
            yield PodVersion(
                change,
                pod.metadata.uid or pod.key,
                pod.key,
                pod.spec.scheduler_name or "default-scheduler",
                pod.is_mirror,
                pod.spec.priority or 0,
                bool(pod.spec.scheduling_gates),
                pod.spec.node_name or "",
                any(one.status == "True" for one in scheduled),
                next((one.message or "" for one in refused), ""),
                pod.status.nominated_node_name or "",
            )


def _bindings(recording: Recording, pods: Sequence[PodVersion]) -> Iterator[Decision]:
    """The pods that got a node. A pod that has one when it is first seen was bound by another scheduler, or unseen."""
    waiting: dict[str, int] = {}
    for pod in pods:
        change = pod.change
        if change.deleted or not pod.node:
            waiting[pod.uid] = change.version
        elif (seen := waiting.pop(pod.uid, None)) is not None and change.version > recording.begins:
            before = change.version
            yield Decision(pod.uid, pod.key, change.at, seen, before, before - 1, node=pod.node)


def _refusals(recording: Recording, pods: Sequence[PodVersion]) -> Iterator[Decision]:
    """The refusals, by Events and, since an Event that is counted up keeps its first text, by the pods' conditions."""
    refusals: dict[str, list[Decision]] = {}
    evictions: list[tuple[float, str, str, str]] = []
    again: set[str] = set()
    for change, event, time in read_events(recording):
        about = event.involved_object
        if about.kind != "Pod" or time is None:
            continue
        key = f"{about.namespace}/{about.name}"
        if event.series is not None:
            if event.reason == "Preempted":
                again.add(key)
            continue
        if event.reason == "FailedScheduling" and change.version > recording.begins:
            after = parse_int(about.resource_version) or 0
            around = min(max(recording.version_at(time), after), change.version - 1)
            decision = Decision(about.uid, key, time, after, change.version, around, text=event.message)
            refusals.setdefault(about.uid, []).append(decision)
        elif event.reason == "Preempted" and (match := _PREEMPTED.match(event.message)):
            evictions.append((time, key, match[1], match[2]))
    for decision in _by_conditions(recording, pods):
        refused = refusals.setdefault(decision.uid, [])
        same = [refusal for refusal in refused if _may_be_one(decision, refusal)]
        if not same:
            refused.append(decision)
        for refusal in same:
            refusal.nominated = refusal.nominated or decision.nominated
    perhaps = frozenset(again)
    for time, victim, preemptor, node in evictions:
        # Victims are evicted beside the cycle, and the first of them may be gone before what it came to is written.
        before = [
            decision
            for decision in refusals.get(preemptor, ())
            if decision.at <= time or (decision.nominated == node and decision.at <= time + _WRITTEN_LATE)
        ]
        if before:
            decision = max(before, key=lambda decision: decision.at)
            decision.nominated = node
            decision.victims = tuple(sorted({*decision.victims, victim}))
            decision.perhaps = perhaps
    for listed in refusals.values():
        yield from listed


def _may_be_one(first: Decision, second: Decision) -> bool:
    """Whether a condition and an Event may be of the same cycle."""
    return first.text == second.text and first.after <= second.before and second.after <= first.before


def _by_conditions(recording: Recording, pods: Sequence[PodVersion]) -> Iterator[Decision]:
    """A refusal whenever the text of a pod's PodScheduled condition becomes another; ``nominated`` where that does."""
    last: dict[str, tuple[int, str, str]] = {}
    for pod in pods:
        change, text = pod.change, pod.text
        seen, old, home = last.get(pod.uid, (0, "", ""))
        last[pod.uid] = change.version, text, pod.nominated
        if text and text != old and not change.deleted and seen and change.version > recording.begins:
            nominated = "" if pod.nominated == home else pod.nominated
            around = change.version - 1
            yield Decision(pod.uid, pod.key, change.at, seen, change.version, around, text=text, nominated=nominated)


SAME, FORETOLD, TIE = "same", "foretold", "tie"

MOVED = "the cluster moved"
SAMPLED = "a part of the nodes"
NOT_MODELLED = "not modelled"
UNEXPLAINED = "unexplained"


def agreement(decision: Decision, attempt: Attempt, names: Sequence[str]) -> str:
    """``SAME``, ``FORETOLD`` if it is that of several best nodes which the version's rule takes, ``TIE`` if chance
    decided between what was recorded and the answer, or nothing.
    """
    if decision.node:
        best = [names[row] for row in attempt.best]
        if decision.node not in best:
            return ""
        if len(best) == 1:
            return SAME
        if attempt.choice is not Choice.HEAP or attempt.row is None:
            return TIE
        return FORETOLD if names[attempt.row] == decision.node else TIE
    if attempt.is_placed or attempt.message != decision.text:
        return ""
    if not decision.victims:
        # Pods evicted without an Event, or terminating already, are not reported.
        return SAME
    same = attempt.nominated == decision.nominated and _are_victims(decision, attempt.victims_to_evict)
    return SAME if same else ""


def is_order_dependent(decision: Decision, attempt: Attempt) -> bool:
    """Whether it preempts, with the recorded text: then the order in which nodes and pods were visited may have
    decided.
    """
    return bool(decision.victims and attempt.nominated) and attempt.message == decision.text


def is_equally_good(decision: Decision, attempt: Attempt) -> bool:
    """Whether the recorded node and victims are a candidate that no criterion ranks behind the answer."""
    if attempt.diagnosis is None:
        return False
    for place, candidate in enumerate(Preemption().rank_candidates(attempt.pod, attempt.diagnosis)):
        unstarted = all(pod.start == NEVER_STARTED for pod in candidate.victims)
        if place and candidate.behind != FIRST_BY_NAME and not unstarted:
            return False
        if candidate.node == decision.nominated:
            return _are_victims(decision, candidate.victims)
    return False


def _are_victims(decision: Decision, victims: Sequence[PodInfo]) -> bool:
    """Whether these are the recorded victims, plus such as no Event would report.

    There is none about a pod that is terminating already, and a second one about the same pod names the first preemptor
    only. Upstream: prepareCandidateAsync of pkg/scheduler/framework/preemption/executor.go, recordToSink of
    client-go/tools/events/event_broadcaster.go.
    """
    seen = {pod.key for pod in victims if not (pod.shape.terminating or pod.key in decision.perhaps)}
    return seen <= set(decision.victims) <= {pod.key for pod in victims}


def describe_decision(decision: Decision) -> str:
    """What was recorded."""
    if decision.node:
        return f"bound to {decision.node}"
    evicting = f", evicting {', '.join(decision.victims)} from {decision.nominated}" if decision.victims else ""
    return f"refused: {decision.text}{evicting}"


def describe_answer(attempt: Attempt, names: Sequence[str]) -> str:
    """The answer in the same words."""
    if attempt.is_placed:
        return f"bound to {' or '.join(sorted(names[row] for row in attempt.best))}"
    victims = ", ".join(sorted(pod.key for pod in attempt.victims_to_evict))
    evicting = f", evicting {victims} from {attempt.nominated}" if victims else ""
    return f"refused: {attempt.message or (attempt.gated.message if attempt.gated else '')}{evicting}"


def find_unmodelled(setup: Setup) -> list[str]:
    """Parts of the scheduler that take part in the recorded decisions and are not modelled here."""
    plugins = [f"plugin {name}" for name in sorted(setup.skipped)]
    called = setup.extenders is not None
    return plugins + [f"extender {extender.url_prefix}" for extender in setup.configuration.extenders if not called]


def verdict(
    decision: Decision, attempt: Attempt, *, nodes: int, between: Sequence[Change], unmodelled: Sequence[str]
) -> tuple[str, str]:
    """Why no answer agrees, with the evidence.

    ``between`` are the changes made while it can have been decided, ``unmodelled`` the parts of which that is so.
    """
    if unmodelled:
        return NOT_MODELLED, ", ".join(unmodelled)
    if decision.node and attempt.is_placed and attempt.evaluated < nodes:
        return SAMPLED, f"{attempt.evaluated} of {nodes} nodes were looked at, and which ones is not recorded"
    others = [change for change in between if change.key != decision.name]
    if others:
        last = others[-1]
        did = "deleted" if last.deleted else "changed"
        what = "/".join(filter(None, last.key))
        many = f"{len(others)} changes" if len(others) > 1 else "a change"
        return MOVED, (
            f"{many} between versions {decision.after} and {decision.before}, the last of them "
            f"{last.kind.name} {what} {did} at {last.version}"
        )
    return UNEXPLAINED, f"nothing changed between versions {decision.after} and {decision.before}"
