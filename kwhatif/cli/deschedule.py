"""``kwhatif deschedule``: what would the descheduler evict, and what follows?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, Renamed, expand_groups
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.deschedule.options import SCHEDULER_POLICY, DescheduleOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def deschedule(
    *,
    options: DescheduleOptions,
    answer: AnswerOptions,
    scenario: Annotated[AutoscaledFlags, Excluding("namespace", "verb", "at"), Renamed(policy=SCHEDULER_POLICY)],
) -> None:
    """Run the descheduler's next cycle, decision for decision as release 0.35, and follow whom it evicts.

    Evicted pods are made again by their controllers and placed by the scheduler; then it is told whether they find a
    node, whether nodes are in better balance, and whether the next cycle evicts the same pods again.

    Exit codes: 0 the answer is good, 1 it is not: an evicted pod finds no node, or is evicted there again, 2 usage
    or input error.
    """
    from kwhatif.commands.deschedule.run import Deschedule
    from kwhatif.commands.deschedule.text import deschedule_blocks

    question = Deschedule(**vars(options))
    result = scenario.ask(question, (), options.descheduler_policy, *options.metrics, with_map=answer.is_mapped)
    answer.finish(result, lambda everything: deschedule_blocks(result))
