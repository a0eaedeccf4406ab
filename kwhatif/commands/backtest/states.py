"""Makes each recorded decision again, in the state in which it was made, as far as that is known.

The best guess at that state is tried first. If the answer differs, so are the states around it that the scheduler can
have seen: it learns of changes a little late, and of its own earlier decisions a little early, since a pod counts as
placed before its binding is written. Where the start of the search is unknown, searches of a part of the nodes that
begin elsewhere are tried, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from kwhatif.commands.backtest import decisions as judge
from kwhatif.commands.backtest.decisions import Decision
from kwhatif.commands.backtest.recorded_cluster import RecordedCluster
from kwhatif.scheduling.attempt import Attempt
from kwhatif.snapshot.read.objects import resource_of
from kwhatif.snapshot.recording import Change

MAX_DISTANCE = 48
"""How many changes before and after the best guess are tried."""

AHEAD = 16
"""How many unwritten decisions of its own the scheduler may know."""

_OVERTAKEN = 64
"""Among how many of its next decisions those are looked for that it knew of."""

_LAST_START = "2262-01-01T00:00:00Z"
"""Later than that of any pod that has started, and representable in nanoseconds."""

Step = tuple[Change, Resource | None]

_DECODED = 4096
"""How many objects are kept decoded, since the replay goes back and forth over the same ones."""


class DecodedChanges:
    """Changes in the order in which they were made, each decoded when it is looked at: all at once take much memory."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = changes
        self._decoded = lru_cache(_DECODED)(self._read)

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, place: int) -> Step:
        change = self.changes[place]
        return change, None if change.deleted else self._decoded(place)

    def _read(self, place: int) -> Resource:
        change = self.changes[place]
        assert change.kind.struct is not None
        return resource_of(change.item, change.kind.struct)


class VictimOrder(Enum):
    """Where the recorded victims stand among pods that are equally important: last, or just before those which have a
    budget in common with them. Those whose eviction no Event would tell of come before them.

    Preemption spares pods in their order, but first those whose eviction a budget that is used up does not allow.
    """

    last = "last"
    budgets_behind = "budgets behind"


class CandidateState(msgspec.Struct, frozen=True):
    """A state that a decision may have been made in.

    ``place`` is the number of changes made, ``ahead`` that of the scheduler's decisions which were not yet written.
    """

    place: int
    ahead: int


class Replay:
    """A recording and a position in it, which moves forward and back."""

    def __init__(self, cluster: RecordedCluster, changes: Sequence[Change]) -> None:
        self.cluster = cluster
        self.place = 0
        self._steps = DecodedChanges(changes)
        self._versions = [change.version for change in changes]
        self._undo: list[int | Resource | None] = []
        """What each change made another one: the place of that change, or what was there at first."""
        self._told_at: dict[tuple[str, tuple[str, str]], int] = {}
        self._own = self._own_decisions()

    def position_of(self, version: int) -> int:
        """The number of changes up to a version."""
        return bisect_right(self._versions, version)

    def seek(self, place: int) -> None:
        """Apply changes, or revert them, until the given number is applied."""
        while self.place < place:
            change, obj = self._steps[self.place]
            before = self.cluster.apply(change.kind.name, change.key, obj)
            key = change.kind.name, change.key
            self._undo.append(self._told_at.get(key, before))
            self._told_at[key] = self.place
            self.place += 1
        while self.place > place:
            self.place -= 1
            change = self._steps.changes[self.place]
            was, key = self._undo.pop(), (change.kind.name, change.key)
            if isinstance(was, int):
                self._told_at[key] = was
                was = self._steps[was][1]
            else:
                del self._told_at[key]
            self.cluster.apply(change.kind.name, change.key, was)

    def between(self, decision: Decision) -> list[Change]:
        """The changes made while it can have been decided."""
        first, last = self.position_of(decision.after), self.position_of(decision.before - 1)
        return list(self._steps.changes[first:last])

    @contextmanager
    def state(
        self, decision: Decision, moment: CandidateState, *, order: VictimOrder | None = None
    ) -> Iterator[Pod | None]:
        """A context with the cluster in a state: yields the pod; None if it does not wait there, or so many decisions
        are not ahead. Of pods that are equally important, the recorded victims are in this ``order``.
        """
        self.seek(moment.place)
        ahead = self._ahead(moment, decision)
        pod = self.cluster.pod(decision.name)
        if len(ahead) < moment.ahead or pod is None or pod.metadata.uid != decision.uid or pod.spec.node_name:
            yield None
            return
        otherwise = [*ahead, *(() if order is None else self._in_favour(decision, order))]
        before = [self.cluster.apply("Pod", (state.namespace, state.name), state) for state in otherwise]
        try:
            yield pod
        finally:
            for place, old in reversed(list(zip(otherwise, before, strict=True))):
                self.cluster.apply("Pod", (place.namespace, place.name), old)

    def _in_favour(self, decision: Decision, order: VictimOrder) -> Iterator[Pod]:
        """The pods of the nominated node with other start times, so that those that are equal are in this order.

        Starts are whole seconds, so nothing but ties is decided by this. Pods that have not started are equal, too.
        """
        pods = self.cluster.pods_on(decision.nominated)
        victims = [pod for pod in pods if pod.key in decision.victims]
        alike = self.cluster.with_budgets_of(victims, pods) if order is VictimOrder.budgets_behind else []
        behind = {pod.key for pod in alike}
        for pod in pods:
            if pod.key in decision.victims:
                place = 2
            elif pod.key in behind:
                place = 3
            else:
                place = int(pod.metadata.deletion_timestamp is not None or pod.key in decision.perhaps)
            if started := pod.status.start_time or (_LAST_START if place < 2 else ""):
                start = f"{started.removesuffix('Z')}.{place:09}Z"
                yield replace(pod, status=replace(pod.status, start_time=start))

    def moments(self, decision: Decision) -> Iterator[CandidateState]:
        """The states it can have been decided in, the best guess first, and then from near to far."""
        first, last = self.position_of(decision.after), self.position_of(decision.before - 1)
        guess = min(max(self.position_of(decision.around), first), last)
        for distance in range(MAX_DISTANCE + 1):
            for place in dict.fromkeys((guess - distance, guess + distance)):
                if first <= place <= last:
                    for ahead in sorted(range(AHEAD + 1), key=lambda ahead: abs(ahead - len(decision.known))):
                        yield CandidateState(place, ahead)

    def _ahead(self, moment: CandidateState, decision: Decision) -> list[Pod]:
        """The next that were decided, those ``known`` first, without the one that is asked about."""
        if not moment.ahead:
            return []
        places, pods = self._own
        start = bisect_right(places, moment.place - 1)
        known = [pod for pod in pods[start : start + _OVERTAKEN] if pod.metadata.uid in decision.known]
        left = {decision.uid, *(pod.metadata.uid for pod in known)}
        nearest = pods[start : start + moment.ahead + len(left)]
        return [*known, *(pod for pod in nearest if pod.metadata.uid not in left)][: moment.ahead]

    def _own_decisions(self) -> tuple[list[int], list[Pod]]:
        """The places of changes which the scheduler knew of before: pods that got a node, or one nominated."""
        places: list[int] = []
        pods: list[Pod] = []
        homes: dict[str, tuple[str | None, str | None]] = {}
        for place, change in enumerate(self._steps.changes):
            obj = None if change.deleted or change.kind.struct is not Pod else self._steps[place][1]
            if isinstance(obj, Pod):
                uid = obj.metadata.uid or obj.key
                home = obj.spec.node_name, obj.status.nominated_node_name
                if any(new and new != before for new, before in zip(home, homes.get(uid, home), strict=True)):
                    places.append(place)
                    pods.append(obj)
                homes[uid] = home
        return places, pods


SEARCHES = 8
"""How many searches that visit a node are tried."""
MEASURED = 50
"""The most decisions for which the nodes that all searches together may lead to are worked out."""


class SearchTracker(msgspec.Struct):
    """Above 100 nodes the scheduler visits a part of them, from where the last search ended. The cluster follows that
    from decision to decision; where it is not known, searches that begin elsewhere are tried.

    ``reach`` has the share of the feasible nodes that some search leads to, for the first decisions that took one.
    """

    cluster: RecordedCluster
    reach: list[float] = []

    def reproduce(self, decision: Decision, attempt: Attempt) -> bool:
        """Whether a search that begins elsewhere than this one leads to the recorded node; the next begins where it
        ends.
        """
        cluster, pod = self.cluster, attempt.pod.pod
        row, size = cluster.session.cluster.columns.row(decision.node), len(cluster.names)
        if row is None or not attempt.is_placed or attempt.evaluated >= size:
            return False
        for begin in _beginnings(row, attempt.evaluated, size):
            other = cluster.ask(pod, begin)
            if judge.agreement(decision, other, cluster.names):
                cluster.follow_search(other)
                if len(self.reach) < MEASURED:
                    answers = [
                        cluster.ask(pod, start) for start in range(0, size, max(attempt.evaluated // SEARCHES, 1))
                    ]
                    passing = {row for answer in answers for row in answer.sampled.tolist()}
                    self.reach.append(len({row for answer in answers for row in answer.best.tolist()}) / len(passing))
                return True
        return False


def _beginnings(row: int, looked: int, size: int) -> Iterator[int]:
    """Rows where a search of a given length may begin that visits one row, from near to far."""
    for part in range(SEARCHES):
        yield (row - looked * part // SEARCHES) % size


NEAR, SEARCH = "near", "search"


class RepeatedDecision(msgspec.Struct):
    """The outcome: the answer to the best ``guess``, how the nearest state agrees, and whether the text does.

    ``why`` no answer was possible, if so.
    """

    guess: Attempt | None = None
    answer: str = ""
    agreement: str = ""
    text: bool = False
    states: int = 0
    why: str = ""


def ask_again(replay: Replay, searches: SearchTracker, decision: Decision) -> RepeatedDecision:
    """Make the decision in all states that it may have been made in, until one agrees."""
    repeated = RepeatedDecision(why="the pod does not wait in any state it can have been decided in")
    for moment in replay.moments(decision):
        with replay.state(decision, moment) as pod:
            if pod is None:
                continue
            cluster = replay.cluster
            if not cluster.decides_about(pod):
                return RepeatedDecision(why="the pod is for another scheduler")
            attempt = cluster.ask(pod)
            repeated.states += 1
            agreement = judge.agreement(decision, attempt, cluster.names)
            if repeated.guess is None:
                cluster.follow_search(attempt)
                repeated.guess, repeated.answer = attempt, judge.describe_answer(attempt, cluster.names)
                if not agreement and searches.reproduce(decision, attempt):
                    agreement = SEARCH
        repeated.text |= not attempt.is_placed and attempt.message == decision.text
        agreement = agreement or _by_chance(replay, decision, moment, attempt)
        if agreement:
            repeated.agreement = agreement if repeated.states == 1 else NEAR
            break
    return repeated


def _by_chance(replay: Replay, decision: Decision, moment: CandidateState, attempt: Attempt) -> str:
    """``TIE`` if it is the answer when pods and nodes that are equal are looked at in another order."""
    for order in VictimOrder if judge.is_order_dependent(decision, attempt) else ():
        with replay.state(decision, moment, order=order) as pod:
            assert pod is not None
            if judge.is_equally_good(decision, replay.cluster.ask(pod)):
                return judge.TIE
    return ""
