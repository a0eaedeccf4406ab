"""How ``--explain POD`` ends a command, and the command that does so: the one that was given, with that option.

The pod is explained in the state in which the command's run tried it.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.output import FORMATS, program

if TYPE_CHECKING:
    from kwhatif.simulation.question import Question
    from kwhatif.simulation.scenario import Scenario

_FOR_OUTPUT = ("-o", "--output", "--report", "--color", "--write-snapshot")
"""Options about what is printed and written, with a value; those without are below."""

_ALONE = ("--all", "--exit-zero")


def command() -> str:
    """The command as it was given, without what is about its output."""
    words: list[str] = []
    given = iter(sys.argv[1:])
    for word in given:
        name = word.partition("=")[0]
        if name in _FOR_OUTPUT:
            if name == word:
                next(given, None)
        elif word not in _ALONE and not (word.startswith("-o") and not word.startswith("--")):
            words.append(word)
    return shlex.join([*program().split(), *words])


def explain_run(run: Question[Any], case: Scenario, words: Sequence[str], answer: AnswerOptions) -> NoReturn:
    """Ask, print the explanation, write its reports and end. Raises UsageError for a format it does not have."""
    from kwhatif.commands.explain.run import ExplainRun
    from kwhatif.commands.explain.text import explain_blocks
    from kwhatif.errors import UsageError
    from kwhatif.simulation.pipeline import ask

    if answer.output not in ("table", "wide", "json", "yaml", "markdown"):
        raise UsageError(f"-o {answer.output} is not for --explain: table, wide, json, yaml and markdown are")
    for name in {name for name, _ in answer.reports}.difference(FORMATS):
        raise UsageError(f"--report {name}=FILE is not for --explain: {', '.join(FORMATS)} are")
    plain = AnswerOptions(answer.report, answer.everything, answer.output)
    result = ask(ExplainRun(run, words), case)
    plain.finish(result, lambda everything: explain_blocks(result, everything=answer.everything))
