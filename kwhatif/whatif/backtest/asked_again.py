"""One decision asked again: in the state guessed best, by other searches of it, and in the states around."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kwhatif.scheduling.attempt import Attempt
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.decisions import Decision
from kwhatif.whatif.backtest.states_around import Moment, Order, Replay

NEAR, SEARCH = "near", "search"
SEARCHES = 8
"""So many searches are tried that come by a node."""
MEASURED = 50
"""For so many decisions is found out which nodes all searches together may lead to."""


@dataclass
class Asked:
    """What came of asking: the answer to the best ``guess``, how the nearest state agrees, and whether the text does.

    ``why`` nothing could be asked, if so.
    """

    guess: Attempt | None = None
    answer: str = ""
    agreement: str = ""
    text: bool = False
    states: int = 0
    why: str = ""


@dataclass
class Asker:
    """Asks about the decisions of a recording, one after the other.

    Above 100 nodes the scheduler looks at a part of them, from where the last search ended. That is followed from
    decision to decision; where it is not known, searches that begin elsewhere are tried. ``reach`` has the share of the
    nodes that pass which some such search leads to, for the first decisions that took one.
    """

    replay: Replay
    reach: list[float] = field(default_factory=list)

    def ask(self, decision: Decision) -> Asked:
        asked = Asked(why="the pod does not wait in any state it can have been decided in")
        for moment in self.replay.moments(decision):
            with self.replay.state(decision, moment) as pod:
                if pod is None:
                    continue
                cluster = self.replay.cluster
                attempt = cluster.ask(pod)
                asked.states += 1
                found = judge.agreement(decision, attempt, cluster.names)
                if asked.guess is None:
                    cluster.was(attempt)
                    asked.guess, asked.answer = attempt, judge.answer_in_words(attempt, cluster.names)
                    found = found or self._by_another_search(decision, attempt)
            asked.text |= not attempt.placed and attempt.message == decision.text
            found = found or self._by_chance(decision, moment, attempt)
            if found:
                asked.agreement = found if asked.states == 1 else NEAR
                break
        return asked

    def _by_chance(self, decision: Decision, moment: Moment, attempt: Attempt) -> str:
        """``TIE`` if it is the answer when pods and nodes that are equal are looked at in another order."""
        for order in Order if judge.chance_may_tell(decision, attempt) else ():
            with self.replay.state(decision, moment, order=order) as pod:
                assert pod is not None
                if judge.is_equally_good(decision, self.replay.cluster.ask(pod)):
                    return judge.TIE
        return ""

    def _by_another_search(self, decision: Decision, attempt: Attempt) -> str:
        """``SEARCH`` if a search that begins elsewhere leads to the recorded node; the next begins where it ends."""
        cluster = self.replay.cluster
        pod, size = attempt.pod.pod, len(cluster.names)
        row = cluster.session.cluster.columns.row(decision.node) if decision.node else None
        if row is None or not attempt.placed or attempt.evaluated >= size:
            return ""
        for begin in _beginnings(row, attempt.evaluated, size):
            other = cluster.ask(pod, begin)
            if judge.agreement(decision, other, cluster.names):
                cluster.was(other, begin)
                if len(self.reach) < MEASURED:
                    self.reach.append(self._reach(decision, size, attempt.evaluated))
                return SEARCH
        return ""

    def _reach(self, decision: Decision, size: int, step: int) -> float:
        cluster = self.replay.cluster
        pod = cluster.pod(decision.name)
        assert pod is not None
        answers = [cluster.ask(pod, begin) for begin in range(0, size, max(step // SEARCHES, 1))]
        passing = {row for answer in answers for row in answer.sampled.tolist()}
        return len({row for answer in answers for row in answer.best.tolist()}) / len(passing)


def _beginnings(row: int, looked: int, size: int) -> Iterator[int]:
    """Rows where a search may begin that looks at so many nodes, one row among them, from near to far."""
    for part in range(SEARCHES):
        yield (row - looked * part // SEARCHES) % size
