"""``kwhatif drain``: what would draining nodes do?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.completion import complete_node
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import ManifestsBefore, argument
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.drain.options import DrainOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def drain(
    nodes: Annotated[
        list[str],
        argument(
            metavar="NODE|SELECTOR",
            help="The nodes, in this order: names, or label selectors such as 'pool=batch'.",
            autocompletion=complete_node,
        ),
    ],
    filename: ManifestsBefore = None,
    *,
    options: DrainOptions,
    answer: AnswerOptions,
    scenario: Annotated[AutoscaledFlags, Excluding("verb", "at")],
) -> None:
    """Drain nodes as kubectl does: cordon them all, then evict their pods as far as disruption budgets allow.

    Recreated pods are placed at once, and assumed to become ready where they land; then budgets allow more. Pods of
    manifests, and those that what-if edits leave without a node, are placed before.

    Exit codes: 0 the answer is good, 1 it is not: a node is not drained, or a pod finds no node, 2 usage or input
    error.
    """
    from kwhatif.commands.drain.run import Drain
    from kwhatif.commands.drain.text import drain_blocks

    result = scenario.ask(Drain(nodes=nodes, **vars(options)), filename or (), with_map=answer.is_mapped)
    answer.finish(result, lambda everything: drain_blocks(result))
