"""``kwhatif expand``: what would the API server and the controllers make of these manifests?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, Only, expand_groups
from kwhatif.cli.options import ManifestFiles, RequestFlags, Tables
from kwhatif.cli.scenario_options import ScenarioFlags
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True)
class ExpandAnswerOptions(AnswerOptions):
    """In which format pods are printed."""

    output: Annotated[
        str,
        Flag(
            "--output",
            short="-o",
            type=Tables,
            shows_default=True,
            help="The format to print; yaml is the pods and claims alone.",
        ),
    ] = Tables.table

    def render(self, result: Any, blocks: Callable[[bool], list[Block]]) -> str:
        if self.output != Tables.yaml:
            return super().render(result, blocks)
        from kwhatif.render.formats import as_documents

        return as_documents([*(pod.object for pod in result.pods), *result.claims])


@dataclass(frozen=True, kw_only=True)
class ExpandFlags(ScenarioFlags):
    """No scheduler is asked, and the API server needs no cluster."""

    needs_cluster: ClassVar[bool] = False
    reads_rules_file: ClassVar[bool] = True

    manifest_options: Annotated[RequestFlags, Excluding("at")]
    scheduler: Annotated[SchedulerOptions, Only("strict")]


@app.command()
@expand_groups
def expand(
    files: ManifestFiles, *, answer: Annotated[ExpandAnswerOptions, Excluding("report")], scenario: ExpandFlags
) -> None:
    """Show the pods that come of manifests, and all that was filled in, changed or refused on the way.

    Exit codes: 0 the answer is good, 1 it is not: something is refused or gets stuck, 2 usage or input error.
    """
    from kwhatif.commands.expand.run import Expand
    from kwhatif.commands.expand.text import expand_blocks

    result = scenario.ask(Expand(), files)
    answer.finish(result, lambda everything: expand_blocks(result))
