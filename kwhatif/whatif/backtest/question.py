"""``backtest`` as a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.api.core import Pod
from kwhatif.results.backtest import Agreement, BacktestResult, Disagreement
from kwhatif.snapshot.foreign.recorded_moment import rfc3339
from kwhatif.snapshot.foreign.recording import Recording
from kwhatif.snapshot.read.items import resource_of
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.asked_again import NEAR, SEARCH, Asked, Asker
from kwhatif.whatif.backtest.decisions import Decision, decisions
from kwhatif.whatif.backtest.recorded_cluster import RecordedCluster
from kwhatif.whatif.backtest.states_around import Replay
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.session import Session
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question


@dataclass(frozen=True)
class Backtest(Question[BacktestResult]):
    """Does what was recorded come out again? The snapshot of the case is what the ``recording`` begins with."""

    recording: Recording
    need: float = 0

    def needs_pods(self, case: Case) -> bool:
        return False

    def answer(self, cases: Sequence[Case], notes: Notes) -> BacktestResult:
        (case,) = cases
        recording, session = self.recording, case.session
        if recording.cut:
            notes.warn(f"{recording.source}: the last line is not whole, and left out")
        for path, gap in [*recording.about.missing, *recording.about.open.items()]:
            until = f"to {rfc3339(gap.until)}" if gap.until is not None else "on"
            notes.warn(
                f"{recording.source}: changes of {path} are missing from {rfc3339(gap.since)} {until}: {gap.why}"
            )
        read = [
            (change, resource_of(change.item, kind)) for change in recording.changes if (kind := change.kind.struct)
        ]
        pods = [(change, obj) for change, obj in read if isinstance(obj, Pod)]
        later = [(change, None if change.deleted else obj) for change, obj in read if change.version > recording.begins]
        replay = Replay(RecordedCluster(session), later)
        asker = Asker(replay)
        counts: dict[str, Counter[str]] = {what: Counter() for what in ("bound", "refused", "preempted")}
        left_out: Counter[str] = Counter()
        differing: list[Disagreement] = []
        texts: dict[str, bool] = {}
        states = 0
        strangers = _strangers(session)
        for decision in decisions(recording, pods):
            asked = asker.ask(decision)
            states += asked.states
            if asked.guess is None:
                left_out[asked.why] += 1
                continue
            counts[decision.what][asked.agreement] += 1
            if decision.text:
                texts[decision.text] = texts.get(decision.text, True) and asked.text
            if not asked.agreement:
                verdict = judge.verdict(
                    decision, asked.guess, len(session.cluster), replay.between(decision), strangers
                )
                differing.append(_differing(decision, asked, verdict))
        return BacktestResult(
            agreement=tuple(
                Agreement(
                    what=what,
                    total=count.total(),
                    same=count[judge.SAME],
                    tied=count[judge.TIE],
                    searched=count[SEARCH],
                    near=count[NEAR],
                )
                for what, count in counts.items()
            ),
            texts=len(texts),
            texts_agreeing=sum(texts.values()),
            disagreements=tuple(differing),
            left_out=dict(sorted(left_out.items())),
            states=states,
            reach=sum(asker.reach) / len(asker.reach) if asker.reach else None,
            need=self.need,
            fidelity=assess(session, (), ()),
        )


def _differing(decision: Decision, asked: Asked, verdict: tuple[str, str]) -> Disagreement:
    return Disagreement(
        pod=decision.key,
        what=decision.what,
        version=decision.before,
        recorded=judge.in_words(decision),
        answer=asked.answer,
        verdict=verdict[0],
        evidence=verdict[1],
        states=asked.states,
    )


def _strangers(session: Session) -> list[str]:
    """What has a say in the recorded decisions and is not modelled here."""
    plugins = [f"plugin {name}" for name in sorted(session.setup.skipped)]
    called = session.setup.extenders is not None
    return plugins + [f"extender {each.url_prefix}" for each in session.setup.configuration.extenders if not called]
