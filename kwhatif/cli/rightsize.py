"""``kwhatif rightsize``: what if requests were what pods really use?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.rightsize.options import RightsizeOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def rightsize(
    *,
    options: RightsizeOptions,
    answer: AnswerOptions,
    scenario: Annotated[AutoscaledFlags, Excluding("verb", "at")],
) -> None:
    """Say what would come of requests that follow from usage: who waits, which nodes go, for how much, and what binds.

    Before and after are compared at rest: everybody who can has a node, and what autoscalers take away is gone.

    Exit codes: 0 the answer is good, 1 it is not: more pods are without a node than today, 2 usage or input error.
    """
    from kwhatif.commands.rightsize.run import Rightsize
    from kwhatif.commands.rightsize.text import rightsize_blocks

    question = Rightsize(**vars(options))
    others = [*options.usage, options.sizing, options.prices]
    result = scenario.ask(question, (), *others, with_map=answer.is_mapped)
    answer.finish(result, lambda everything: rightsize_blocks(result))
