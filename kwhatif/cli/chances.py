"""``kwhatif chances``: how likely is it that these pods go where they may go?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import ManifestFiles
from kwhatif.cli.scenario_options import ScenarioFlags
from kwhatif.commands.chances.options import ChancesOptions
from kwhatif.commands.common_options import FleetOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def chances(
    files: ManifestFiles,
    *,
    options: ChancesOptions,
    answer: AnswerOptions,
    fleet: FleetOptions,
    scenario: Annotated[ScenarioFlags, Excluding("verb", "at")],
) -> None:
    """Place pods many times, each time leaving to chance what kube-scheduler leaves to it, and count what happens.

    That is which of several best nodes is taken, in what order the pods of several workloads arrive, and, above 100
    nodes, where a search for nodes begins and which of them its workers find.

    Exit codes: 0 the answer is good, 1 it is not: in a trial a pod finds no node, 2 usage or input error.
    """
    from kwhatif.commands.chances.run import Chances
    from kwhatif.commands.chances.text import chances_blocks

    question = Chances(**vars(options), executor=fleet.executor, rows=fleet.rows)
    result = scenario.ask(question, files, with_map=answer.is_mapped)
    answer.finish(result, lambda everything: chances_blocks(result, everything=everything))
