"""Scenarios as the stages before the answer leave them."""

from __future__ import annotations

from typing import Any

from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.pipeline import STAGES, PipelineState, answer
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario import PreparedScenario, Scenario


def prepare(question: Question[Any], case: Scenario) -> PreparedScenario:
    """The case, ready to be scheduled on."""
    state = PipelineState(question, [case], Notes())
    for stage in STAGES[: STAGES.index(answer)]:
        state = stage(state)
    (prepared,) = state.prepared
    return prepared
