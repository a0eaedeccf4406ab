"""Asks a command's question: the one way from its options to its result, for the command line, Python and others."""

from __future__ import annotations

from typing import Any, TypeVar

from kwhatif.bounds import work_to_do
from kwhatif.results.base import Result
from kwhatif.simulation import pipeline
from kwhatif.simulation.command import Command, Task
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario_options import ClusterOptions

R = TypeVar("R", bound=Result)


def choose(command: Command[Any]) -> Command[Any]:
    """The question that is asked: one that the options choose, or why the run of it put pods where it did."""
    chosen = command.choose()
    if not getattr(chosen, "explain", ()):
        return chosen
    from kwhatif.commands.explain.run import ExplainRun

    assert isinstance(chosen, Question)
    return ExplainRun(chosen, chosen.explain)  # type: ignore[attr-defined]


def ask(command: Command[R], options: ClusterOptions | None = None) -> R:
    """The answer to the question that the options choose, with its exit code and notes. ``options`` is what the command
    ``takes`` besides.

    Raises KwhatifError.
    """
    chosen = choose(command)
    if isinstance(chosen, Question):
        return pipeline.ask(chosen, *chosen.build_scenarios(options))  # type: ignore[no-any-return]
    assert isinstance(chosen, Task)
    notes = Notes()
    with work_to_do():
        result = chosen.answer(options, notes)
    return result.with_context(notes=tuple(notes))  # type: ignore[no-any-return]
