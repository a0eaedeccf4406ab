"""``kwhatif gate``: may this change go into the cluster?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.explain_during_run import command, explain_run
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import Explained, argument, option
from kwhatif.cli.output import HTML, all_gaps_are_shown, page, screen
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.gate.options import GateOptions
from kwhatif.simulation.flag import Flag

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Formats(StrEnum):
    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"
    junit = "junit"
    sarif = "sarif"
    github = "github"
    gitlab = "gitlab"
    tap = "tap"


@dataclass(frozen=True)
class GateAnswerOptions(AnswerOptions):
    """Findings are told in formats of other tools, too."""

    report_formats: ClassVar[Sequence[str]] = (HTML, *(each for each in Formats if each is not Formats.wide))

    report: Annotated[
        list[str] | None,
        option(
            "--report",
            metavar="FORMAT=FILE",
            help="Also write a report to a file, in any format of -o, or html, a page to look at (repeatable).",
        ),
    ] = None
    output: Annotated[
        str,
        Flag(
            "--output",
            short="-o",
            variable="KWHATIF_OUTPUT",
            type=Formats,
            shows_default=True,
            help="The format to print.",
        ),
    ] = Formats.table

    def render(self, result: Any, blocks: Callable[[bool], list[Block]]) -> str:
        from kwhatif.commands.gate.formats.formats import FORMATS
        from kwhatif.commands.gate.formats.table import gate_table

        if self.output not in (Formats.table, Formats.wide):
            return FORMATS[self.output](result)
        # Readers of a log have no terminal to ask again from.
        everything = self.everything or self.output == Formats.wide or screen().width is None
        return gate_table(result, screen(), everything=everything, gaps=all_gaps_are_shown())

    def render_report(self, result: Any, name: str, blocks: Callable[[bool], list[Block]]) -> str:
        from kwhatif.commands.gate.formats.formats import FORMATS

        return page(result) if name == HTML else FORMATS[name](result)


@app.command()
@expand_groups
def gate(
    files: Annotated[
        list[str],
        argument(
            metavar="DIR|FILE", help="Manifests as they are to be: directories, files, REVISION:PATH of git, or '-'."
        ),
    ],
    explain: Explained = None,
    *,
    options: GateOptions,
    answer: GateAnswerOptions,
    scenario: AutoscaledFlags,
) -> None:
    """Judge a change before it is merged: roll it out on paper, and let rules look at what comes of it.

    Options count more than KWHATIF_* variables, and those more than the rules file. KWHATIF_POLICY stands for --policy.

    Exit codes: 0 the answer is good, 1 it is not: a rule of level error finds something, 2 usage or input error.
    """
    from kwhatif.commands.gate.run import Gate
    from kwhatif.simulation.pipeline import ask

    policy = scenario.scheduler.policy or os.environ.get("KWHATIF_POLICY")
    scenario = replace(scenario, scheduler=replace(scenario.scheduler, policy=policy))
    question = Gate(**vars(options))
    source = scenario.cluster.find_source(question.named_cluster)
    inputs = scenario.inputs(files, *(options.base or ()), options.config, source=source, with_map=answer.is_mapped)
    case = question.build_scenario(inputs, scenario.scheduler)
    if explain:
        explain_run(question, case, explain, answer)
    result = ask(question, case).with_context(command=command())
    answer.finish(result, lambda everything: [])
