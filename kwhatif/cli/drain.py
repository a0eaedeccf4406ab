"""``kwhatif drain``: what would draining nodes do?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterOptions
from kwhatif.cli.completion import complete_node
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import (
    EngineOptions,
    Everything,
    Namespace,
    ReadingOptions,
    ScalingOptions,
    Tables,
    TablesOutput,
    argument,
    option,
)
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.cli.reports import ReportFiles, is_mapped, reports_of, written
from kwhatif.whatif.stages.inputs import Inputs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def drain(
    nodes: Annotated[
        list[str],
        argument(
            metavar="NODE|SELECTOR",
            help="The nodes, in this order: names, or label selectors such as 'pool=batch'.",
            autocompletion=complete_node,
        ),
    ],
    ignore_daemonsets: Annotated[
        bool, typer.Option("--ignore-daemonsets", help="Leave DaemonSet pods where they are.")
    ] = False,
    delete_emptydir_data: Annotated[
        bool, typer.Option("--delete-emptydir-data", help="Go on even if pods lose the data of emptyDir volumes.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Go on even if there are pods that no controller recreates.")
    ] = False,
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
    report: ReportFiles = None,
    everything: Everything = False,
    output: TablesOutput = Tables.table,
    *,
    cluster: ClusterOptions,
    reading: ReadingOptions,
    engine: EngineOptions,
    edits: EditOptions,
    scaling: ScalingOptions,
) -> None:
    """Drain nodes as kubectl does: cordon them all, then evict their pods as far as disruption budgets allow.

    Recreated pods are placed at once, and assumed to become ready where they land; then budgets allow more. Pods of
    manifests, and those that what-if edits leave without a node, are placed before.

    Exit codes: 0 all nodes are drained and every pod finds a node, 1 not so, 2 usage or input error.
    """
    from kwhatif.report.drain_text import drain_blocks
    from kwhatif.whatif.drain.question import Drain
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask

    files, reports = filename or [], reports_of(report)
    source = cluster.required()
    check_stdin(*files, source, *(scaling.autoscale or ()), engine.policy, *(edits.edits or ()))
    question = Drain(nodes, ignore_daemonsets, delete_emptydir_data, force)
    mapped = is_mapped(reports)
    asked = Inputs(source, files, namespace, edits or None, reading, mapped=mapped, **scaling.inputs)
    result = ask(question, Case(asked, engine))
    written(reports, result, lambda: drain_blocks(result))
    text = rendered(result, output, lambda: drain_blocks(result), everything=everything)
    finish(text, result.exit_code, result.notes)
