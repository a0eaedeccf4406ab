"""``kwhatif drain``: what would draining nodes do?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.completion import complete_node
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import AutoscalingFlags, ManifestFlags, Namespace, argument, option
from kwhatif.cli.output import check_stdin
from kwhatif.commands.drain.options import DrainOptions
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

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
    filename: Annotated[
        list[str] | None,
        option(
            "-f",
            "--filename",
            metavar="FILE",
            help="Manifests whose pods are placed before: files, directories, or '-' for stdin (repeatable).",
        ),
    ] = None,
    namespace: Namespace = "default",
    *,
    options: DrainOptions,
    answer: AnswerOptions,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
    scaling: AutoscalingFlags,
) -> None:
    """Drain nodes as kubectl does: cordon them all, then evict their pods as far as disruption budgets allow.

    Recreated pods are placed at once, and assumed to become ready where they land; then budgets allow more. Pods of
    manifests, and those that what-if edits leave without a node, are placed before.

    Exit codes: 0 the answer is good, 1 it is not: a node is not drained, or a pod finds no node, 2 usage or input
    error.
    """
    from kwhatif.commands.drain.run import Drain
    from kwhatif.commands.drain.text import drain_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    files = filename or []
    source = cluster.require_source()
    check_stdin(*files, source, *(scaling.autoscale or ()), engine.policy, *(edits.edits or ()))
    question = Drain(nodes=nodes, **vars(options))
    asked = Inputs(source, files, namespace, edits or None, reading, with_map=answer.is_mapped, **scaling.inputs)
    result = ask(question, Scenario(asked, engine))
    answer.finish(result, lambda everything: drain_blocks(result))
