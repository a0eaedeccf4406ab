"""One decision asked again: in the state guessed best, by other searches of it, and in the states around."""

from __future__ import annotations

from dataclasses import dataclass

from kwhatif.scheduling.attempt import Attempt
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.decisions import Decision
from kwhatif.whatif.backtest.searches import Searches
from kwhatif.whatif.backtest.states_around import Moment, Order, Replay

NEAR, SEARCH = "near", "search"


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


def ask_again(replay: Replay, searches: Searches, decision: Decision) -> Asked:
    """The decision in all states that it may have been made in, until one agrees."""
    asked = Asked(why="the pod does not wait in any state it can have been decided in")
    for moment in replay.moments(decision):
        with replay.state(decision, moment) as pod:
            if pod is None:
                continue
            cluster = replay.cluster
            if not cluster.decides_about(pod):
                return Asked(why="the pod is for another scheduler")
            attempt = cluster.ask(pod)
            asked.states += 1
            found = judge.agreement(decision, attempt, cluster.names)
            if asked.guess is None:
                cluster.was(attempt)
                asked.guess, asked.answer = attempt, judge.answer_in_words(attempt, cluster.names)
                if not found and searches.lead_to(decision, attempt):
                    found = SEARCH
        asked.text |= not attempt.placed and attempt.message == decision.text
        found = found or _by_chance(replay, decision, moment, attempt)
        if found:
            asked.agreement = found if asked.states == 1 else NEAR
            break
    return asked


def _by_chance(replay: Replay, decision: Decision, moment: Moment, attempt: Attempt) -> str:
    """``TIE`` if it is the answer when pods and nodes that are equal are looked at in another order."""
    for order in Order if judge.chance_may_tell(decision, attempt) else ():
        with replay.state(decision, moment, order=order) as pod:
            assert pod is not None
            if judge.is_equally_good(decision, replay.cluster.ask(pod)):
                return judge.TIE
    return ""
