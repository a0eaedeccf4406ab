"""``backtest`` of a recording as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kwhatif.progress import tracked
from kwhatif.results.backtest import BacktestResult
from kwhatif.snapshot.foreign.recording import Recording
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.account import Account
from kwhatif.whatif.backtest.ask_again import ask_again
from kwhatif.whatif.backtest.decisions import decisions
from kwhatif.whatif.backtest.missing import note_missing
from kwhatif.whatif.backtest.recorded_cluster import RecordedCluster
from kwhatif.whatif.backtest.searches import Searches
from kwhatif.whatif.backtest.states_around import Replay
from kwhatif.whatif.fidelity.assess import Basis
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question


@dataclass(frozen=True)
class Backtest(Question[BacktestResult]):
    """Does what was recorded come out again? The snapshot of the case is what the ``recording`` begins with."""

    recording: Recording
    need: float = 0

    def needs_pods(self, case: Case) -> bool:
        return False

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[BacktestResult]:
        (case,) = cases
        recording, session = self.recording, case.session
        note_missing(recording, notes)
        later = [each for each in recording.changes if each.kind.struct and each.version > recording.begins]
        replay = Replay(RecordedCluster(session), later)
        searches, account = Searches(replay.cluster), Account()
        judged = partial(judge.verdict, nodes=len(session.cluster), strangers=judge.strangers(session.setup))
        for decision in tracked(decisions(recording), "Asking again for", "decisions"):
            asked = ask_again(replay, searches, decision)
            account.add(decision, asked, partial(judged, decision, between=replay.between(decision)))
        return Answer([Basis(session)], partial(account.result, searches, self.need))
