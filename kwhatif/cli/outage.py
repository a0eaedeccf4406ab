"""``kwhatif outage``: what happens when nodes, zones or pools are gone?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import ManifestsBefore
from kwhatif.cli.scenario_options import ScenarioFlags
from kwhatif.commands.common_options import FleetOptions
from kwhatif.commands.outage.options import OutageOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def outage(
    filename: ManifestsBefore = None,
    *,
    options: OutageOptions,
    answer: AnswerOptions,
    fleet: FleetOptions,
    scenario: Annotated[ScenarioFlags, Excluding("verb", "at")],
) -> None:
    """Take away nodes, zones or pools, one after the other, and tell what becomes of the pods that ran there.

    They fail at once: nobody drains them, and no disruption budget is asked. Controllers make their pods again, which
    look for other nodes and may evict others.

    Exit codes: 0 the answer is good, 1 it is not: a failure is not survived, 2 usage or input error.
    """
    from kwhatif.commands.outage.run import Outage
    from kwhatif.commands.outage.text import outage_blocks

    question = Outage(**vars(options), executor=fleet.executor, rows=fleet.rows)
    result = scenario.ask(question, filename or (), with_map=answer.is_mapped)
    answer.finish(result, lambda everything: outage_blocks(result))
