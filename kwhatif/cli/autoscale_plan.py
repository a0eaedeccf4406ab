"""``kwhatif autoscale plan``: which nodes would cluster-autoscaler add or remove?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import (
    EngineOptions,
    Namespace,
    ReadingOptions,
    Snapshots,
    Tables,
    TablesOutput,
    argument,
    option,
)
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.errors import UsageError
from kwhatif.whatif.stages.inputs import Inputs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def plan(
    snapshot: Snapshots,
    groups: Annotated[
        str,
        option("--groups", metavar="FILE", help="The node groups and the autoscaler's flags: a NodeGroups document."),
    ],
    files: Annotated[
        list[str] | None,
        argument(metavar="FILE", help="Manifests: files, directories, or '-' for stdin. None: pods of the snapshot."),
    ] = None,
    namespace: Namespace = "default",
    scale_down: Annotated[
        bool, typer.Option("--scale-down", help="Also say which nodes are unneeded, and what keeps each other one.")
    ] = False,
    until_quiet: Annotated[
        bool,
        typer.Option("--until-quiet", help="Let scheduler and autoscaler take turns until nothing more happens."),
    ] = False,
    provision_time: Annotated[
        str,
        typer.Option("--provision-time", metavar="TIME", help="How long a new node takes to come up, such as 2m30s."),
    ] = "2m",
    orders: Annotated[
        int,
        typer.Option(
            "--orders",
            metavar="N",
            min=0,
            help="Look in N more orders of nodes and pods, to tell what the real one leaves to chance.",
        ),
    ] = 6,
    output: TablesOutput = Tables.table,
    *,
    reading: ReadingOptions,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Say what cluster-autoscaler 1.36 would do with pods that find no node, and with nodes that are hardly used.

    The scheduler goes first, with the pods of the manifests and those that wait in the snapshot. What it leaves without
    a node is what the autoscaler looks at: its options, the expander's choice, the plan, and why no group helps a pod.

    Exit codes: 0 every pod has a node or one comes for it, 1 some pod gets none, 2 usage or input error.
    """
    from kwhatif.golang.duration import SECOND, Duration
    from kwhatif.report.autoscale_text import autoscale_blocks
    from kwhatif.whatif.autoscale.question import Autoscale
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask

    check_stdin(*(files or ()), *snapshot, groups, engine.policy, *(edits.edits or ()))
    try:
        seconds = Duration.parse(provision_time) // SECOND
    except ValueError as error:
        raise UsageError(f"--provision-time: {error}") from None
    provision = seconds if until_quiet else None
    question = Autoscale(groups=groups, scale_down=scale_down, orders=orders, provision=provision)
    result = ask(question, Case(Inputs(snapshot, files or (), namespace, edits or None, reading), engine))
    finish(rendered(result, output, lambda: autoscale_blocks(result)), result.exit_code, result.notes)
