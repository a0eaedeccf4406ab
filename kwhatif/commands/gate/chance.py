"""Frequencies of failures over many randomised trials of a change, for rules that allow some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Trials
from kwhatif.commands.chances.options import ZONE
from kwhatif.commands.chances.result import Probability
from kwhatif.commands.chances.trials import Outcome
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Parameters
from kwhatif.commands.gate.units import Unit
from kwhatif.results.amounts import format_count


class TrialParameters(Parameters, frozen=True, kw_only=True):
    """The parameters of rules about trials: the tolerated frequency."""

    chance: Annotated[
        Annotated[float, Meta(ge=0, lt=1)] | None,
        Meta(
            description="What one run does not show counts if it happens in a larger share of trials than this, which "
            "leave to chance what kube-scheduler leaves to it. Without it there are no trials.",
        ),
    ] = None
    trials: Annotated[Trials, Meta(description="So many trials.")] = 200


def check_frequency(
    context: Context,
    given: TrialParameters,
    unit: Unit,
    happens: Callable[[Outcome, str], bool],
    topology_key: str = ZONE,
) -> Probability | None:
    """How often it happens to a workload, if that is too often and the rule has a limit."""
    if given.chance is None:
        return None
    outcomes = context.outcomes(topology_key, given.trials)
    told = Probability.from_counts(sum(happens(each, str(unit.subject)) for each in outcomes), len(outcomes))
    return told if told.share > given.chance else None


def in_trials(told: Probability) -> str:
    """``in 12.0% of 200 trials``."""
    return f"in {100 * told.share:.1f}% of {format_count(told.trials, 'trial')}"


def describe_frequency(told: Probability) -> str:
    """The same in a sentence's words, with the interval."""
    return (
        f"It does in {told} of {format_count(told.trials, 'trial')} that leave to chance what kube-scheduler leaves to "
        "it (in brackets: 95% interval)."
    )


def numbers_of(told: Probability, given: TrialParameters) -> dict[str, int | float | str]:
    """What was measured, and the threshold."""
    return {
        "share": told.share,
        "low": told.low,
        "high": told.high,
        "trials": told.trials,
        "chance": given.chance or 0.0,
    }
