"""Frequencies of failures over many randomised trials of a change, for rules that allow some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from kwhatif.api.document_numbers import Trials
from kwhatif.commands.chances.question import ZONE
from kwhatif.commands.chances.result import Probability
from kwhatif.commands.chances.trials import TrialOutcome
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
    trials: Annotated[Trials, Meta(description="Number of trials.")] = 200


def check_frequency(
    context: Context,
    parameters: TrialParameters,
    unit: Unit,
    happens: Callable[[TrialOutcome, str], bool],
    topology_key: str = ZONE,
) -> Probability | None:
    """How often it happens to a workload, if that is too often and the rule has a limit."""
    if parameters.chance is None:
        return None
    outcomes = context.outcomes(topology_key, parameters.trials)
    frequency = Probability.from_counts(sum(happens(outcome, str(unit.subject)) for outcome in outcomes), len(outcomes))
    return frequency if frequency.share > parameters.chance else None


def in_trials(probability: Probability) -> str:
    """``in 12.0% of 200 trials``."""
    return f"in {100 * probability.share:.1f}% of {format_count(probability.trials, 'trial')}"


def describe_frequency(probability: Probability) -> str:
    """The same in a sentence's words, with the interval."""
    return (
        f"It does in {probability} of {format_count(probability.trials, 'trial')} that leave to chance what "
        "kube-scheduler leaves to it (in brackets: 95% interval)."
    )


def numbers_of(probability: Probability, parameters: TrialParameters) -> dict[str, int | float | str]:
    """What was measured, and the threshold."""
    return {
        "share": probability.share,
        "low": probability.low,
        "high": probability.high,
        "trials": probability.trials,
        "chance": parameters.chance or 0.0,
    }
