"""``kwhatif place``: where would these pods go?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.explain_during_run import command, explain_run
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import CallExtenderBind, Explained, argument, option
from kwhatif.cli.output import render_result
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.place.options import PlaceOptions
from kwhatif.results.amounts import format_count
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block
    from kwhatif.results.place import PlaceResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"
    name = "name"
    summary = "summary"


@dataclass(frozen=True)
class PlaceAnswerOptions(AnswerOptions):
    """Placements may be names alone, as ``kubectl -o name`` has them, or counts."""

    output: Annotated[
        str, Flag("--output", short="-o", type=Output, shows_default=True, help="The format to print.")
    ] = Output.table

    @property
    def is_detailed(self) -> bool:
        """Whether every plugin's score is told."""
        return self.output in (Output.wide, Output.json, Output.yaml) or bool(self.report)

    def render(self, result: Any, blocks: Callable[[bool], list[Block]]) -> str:
        from kwhatif.commands.place.text import names_of, place_blocks, summary_blocks

        match self.output:
            case Output.name:
                return names_of(result)
            case Output.summary:
                return render_result(result, self.output, lambda: summary_blocks(result), everything=self.everything)
            case Output.wide:
                return super().render(result, lambda everything: place_blocks(result, wide=True, everything=everything))
            case _:
                return super().render(result, blocks)

    def list_notes(self, result: Any) -> list[str]:
        return [*result.notes, *(_list_omissions(result) if self.output == Output.name else ())]


@dataclass(frozen=True, kw_only=True)
class PlaceFlags(AutoscaledFlags):
    """Manifests are sent as a client does, and extenders may be asked to bind."""

    reads_rules_file: ClassVar[bool] = True

    call_extender_bind: CallExtenderBind = False

    @property
    def scheduler_options(self) -> SchedulerOptions:
        return replace(self.scheduler, call_extender_bind=self.call_extender_bind)


@app.command()
@expand_groups
def place(
    files: Annotated[
        list[str] | None,
        argument(metavar="FILE", help="Manifests with the pods: files, directories, or '-' for stdin."),
    ] = None,
    filename: Annotated[
        list[str] | None, option("-f", "--filename", metavar="FILE", help="The same, as with kubectl.")
    ] = None,
    explain: Explained = None,
    *,
    options: PlaceOptions,
    answer: PlaceAnswerOptions,
    scenario: PlaceFlags,
) -> None:
    """Place pods on a cluster as kube-scheduler would, in its order: by priority, then as given.

    Exit codes: 0 the answer is good, 1 it is not: a pod finds no node, is refused or not created, or an update gets
    stuck, 2 usage or input error.
    """
    from kwhatif.commands.place.run import Place
    from kwhatif.commands.place.text import place_blocks
    from kwhatif.simulation.pipeline import ask

    case = scenario.build_scenario([*(files or ()), *(filename or ())], with_map=answer.is_mapped)
    question = Place(**vars(options), detailed=answer.is_detailed)
    if explain:
        explain_run(question, case, explain, answer)
    result = ask(question, case).with_context(command=command())
    answer.finish(result, lambda everything: place_blocks(result, everything=everything))


def _list_omissions(result: PlaceResult) -> Iterator[str]:
    """What has no place where only names are listed: gaps, and pods that never came to be."""
    for gap in result.fidelity.touching:
        yield f"warning: {gap}"
    for refusal in result.refusals:
        yield f"warning: {refusal.object} is refused: {refusal.message}"
    for failed in result.failed:
        yield f"warning: {failed.owner}: {format_count(failed.pods, 'pod')} not created: {failed.message}"
