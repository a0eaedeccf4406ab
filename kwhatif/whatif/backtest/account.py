"""What becomes of all decisions that are asked about, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kwhatif.results.backtest import Agreement, BacktestResult, Disagreement
from kwhatif.results.parts import Fidelity
from kwhatif.scheduling.attempt import Attempt
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.ask_again import NEAR, SEARCH, Asked
from kwhatif.whatif.backtest.decisions import Decision
from kwhatif.whatif.backtest.searches import Searches


@dataclass
class Account:
    """Counts of agreements by sort of decision; for each disagreement a row."""

    counts: dict[str, Counter[str]] = field(
        default_factory=lambda: {what: Counter() for what in ("bound", "refused", "preempted")}
    )
    left_out: Counter[str] = field(default_factory=Counter)
    differing: list[Disagreement] = field(default_factory=list)
    texts: dict[str, bool] = field(default_factory=dict)
    states: int = 0

    def add(self, decision: Decision, asked: Asked, verdict: Callable[[Attempt], tuple[str, str]]) -> None:
        """A decision that was asked about; the ``verdict`` on the best guess is asked for if nothing agrees."""
        self.states += asked.states
        if asked.guess is None:
            self.left_out[asked.why] += 1
            return
        self.counts[decision.what][asked.agreement] += 1
        if decision.text:
            self.texts[decision.text] = self.texts.get(decision.text, True) and asked.text
        if asked.agreement:
            return
        why, evidence = verdict(asked.guess)
        self.differing.append(
            Disagreement(
                pod=decision.key,
                what=decision.what,
                version=decision.before,
                recorded=judge.in_words(decision),
                answer=asked.answer,
                verdict=why,
                evidence=evidence,
                states=asked.states,
            )
        )

    def result(self, searches: Searches, need: float, fidelity: Fidelity) -> BacktestResult:
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
                for what, count in self.counts.items()
            ),
            texts=len(self.texts),
            texts_agreeing=sum(self.texts.values()),
            disagreements=tuple(self.differing),
            left_out=dict(sorted(self.left_out.items())),
            states=self.states,
            reach=sum(searches.reach) / len(searches.reach) if searches.reach else None,
            need=need,
            fidelity=fidelity,
        )
