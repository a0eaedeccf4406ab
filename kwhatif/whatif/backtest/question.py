"""``backtest`` as a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.api.core import Pod
from kwhatif.results.backtest import Agreement, BacktestResult, Disagreement
from kwhatif.scheduling.attempt import Attempt
from kwhatif.snapshot.foreign.recording import Recording
from kwhatif.snapshot.read.items import resource_of
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.decisions import Decision, decisions
from kwhatif.whatif.backtest.recorded_cluster import RecordedCluster
from kwhatif.whatif.backtest.states_around import Moment, Order, Replay
from kwhatif.whatif.fidelity.assess import assess
from kwhatif.whatif.session import Session
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question

NEAR = "near"


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
        read = [
            (change, resource_of(change.item, kind)) for change in recording.changes if (kind := change.kind.struct)
        ]
        pods = [(change, obj) for change, obj in read if isinstance(obj, Pod)]
        later = [(change, None if change.deleted else obj) for change, obj in read if change.version > recording.begins]
        replay = Replay(RecordedCluster(session), later)
        counts: dict[str, Counter[str]] = {what: Counter() for what in ("bound", "refused", "preempted")}
        left_out: Counter[str] = Counter()
        differing: list[Disagreement] = []
        texts: dict[str, bool] = {}
        states = 0
        strangers = _strangers(session)
        for decision in decisions(recording, pods):
            asked = _asked(replay, decision)
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
                    near=count[NEAR],
                )
                for what, count in counts.items()
            ),
            texts=len(texts),
            texts_agreeing=sum(texts.values()),
            disagreements=tuple(differing),
            left_out=dict(sorted(left_out.items())),
            states=states,
            need=self.need,
            fidelity=assess(session, (), ()),
        )


@dataclass
class _Asked:
    """What came of asking: the answer to the best ``guess``, how the nearest state agrees, and whether the text does.

    ``why`` nothing could be asked, if so.
    """

    guess: Attempt | None = None
    answer: str = ""
    agreement: str = ""
    text: bool = False
    states: int = 0
    why: str = ""


def _asked(replay: Replay, decision: Decision) -> _Asked:
    asked = _Asked(why="the pod does not wait in any state it can have been decided in")
    for moment in replay.moments(decision):
        with replay.state(decision, moment) as pod:
            if pod is None:
                continue
            attempt, names = replay.cluster.ask(pod), replay.cluster.names
            found = judge.agreement(decision, attempt, names)
            if asked.guess is None:
                asked.guess, asked.answer = attempt, judge.answer_in_words(attempt, names)
        asked.states += 1
        asked.text |= not attempt.placed and attempt.message == decision.text
        if not found and judge.chance_may_tell(decision, attempt):
            found = _by_chance(replay, decision, moment)
        if found:
            asked.agreement = found if asked.states == 1 else NEAR
            break
    return asked


def _by_chance(replay: Replay, decision: Decision, moment: Moment) -> str:
    """``TIE`` if it is the answer when pods and nodes that are equal are looked at in another order."""
    for order in Order:
        with replay.state(decision, moment, order=order) as pod:
            assert pod is not None
            if judge.is_equally_good(decision, replay.cluster.ask(pod)):
                return judge.TIE
    return ""


def _differing(decision: Decision, asked: _Asked, verdict: tuple[str, str]) -> Disagreement:
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
