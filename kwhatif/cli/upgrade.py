"""``kwhatif upgrade``: what would replacing the nodes of a pool do, and would it end?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.upgrade.options import UpgradeOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def upgrade(
    *,
    options: UpgradeOptions,
    answer: AnswerOptions,
    scenario: Annotated[AutoscaledFlags, Excluding("namespace", "verb", "at")],
) -> None:
    """Replace the nodes of a pool in simulated time, as the service that runs it would.

    Nodes are cordoned and drained as far as disruption budgets allow; pods take their grace period to go, are made
    again, find a node or wait for one, and become ready. What is in the way is named.

    Exit codes: 0 the answer is good, 1 it is not: a node is not replaced, not in time or by force, or a pod has no
    node, 2 usage or input error.
    """
    from kwhatif.commands.upgrade.run import Upgrade
    from kwhatif.commands.upgrade.text import upgrade_blocks

    question = Upgrade(**vars(options), provision_seconds=scenario.autoscaling.provision_seconds)
    result = scenario.ask(question, (), options.prices, with_map=answer.is_mapped)
    answer.finish(result, lambda everything: upgrade_blocks(result))
