"""``kwhatif snapshot info``: what is in a snapshot, and what is missing?"""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import Everything, Tables, TablesOutput, argument, option
from kwhatif.cli.output import ReportFiles, finish, is_mapped, render_result, reports_of, write_result_reports
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Notes

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def info(
    files: Annotated[
        list[str] | None,
        argument(metavar="FILE", help="A snapshot, or files and directories as kubectl prints them; as --snapshot."),
    ] = None,
    by: Annotated[
        str,
        option(
            "--by",
            metavar="LABEL",
            help="The label that says which pool a node is of. Default: those of well-known providers, or the role.",
        ),
    ] = "",
    nodes: Annotated[bool, typer.Option("--nodes", help="List each node, too.")] = False,
    usage: Annotated[
        list[str] | None,
        option(
            "--usage",
            metavar="FILE",
            help="Also show what pods use, as rightsize reads it. Default: what the snapshot holds (repeatable).",
        ),
    ] = None,
    report: ReportFiles = None,
    output: TablesOutput = Tables.table,
    everything: Everything = False,
    *,
    cluster: Annotated[ClusterFlags, Excluding("snapshot")],
    edits: EditOptions,
) -> None:
    """Show what is in a snapshot: nodes by pool and zone, what is free, who waits, how old it is, what is missing.

    Exit codes: 0 good, 2 usage or input error.
    """
    from kwhatif.api.core import Node
    from kwhatif.cli.output import check_stdin
    from kwhatif.clock import read_clock
    from kwhatif.commands.rightsize.usage_summary import add_usage
    from kwhatif.commands.snapshot.info.info import device_uses
    from kwhatif.commands.snapshot.info.info import info as ask
    from kwhatif.commands.snapshot.info.text import info_blocks
    from kwhatif.simulation.cluster_files import snapshot_of, with_edits
    from kwhatif.versions import features_of

    reports = reports_of(report)
    source = dataclasses.replace(cluster, snapshot=files or ()).require_source()
    check_stdin(source, *(usage or ()), *(edits.edits or ()))
    notes = Notes()
    snapshot = with_edits(snapshot_of(source, notes), edits or None, notes).snapshot
    known = snapshot.objects.list_all(Node)
    if by and known and not any(by in (node.metadata.labels or {}) for node in known):
        raise UsageError(f"--by {by}: no node has this label")
    features = features_of()
    result = ask(
        snapshot,
        features,
        cluster.now or read_clock(),
        by=by,
        nodes=nodes,
        devices=lambda given: device_uses(given, features),
        mapped=is_mapped(reports),
    )
    result = add_usage(result, snapshot, usage or (), features, None, notes, by)
    result = result.with_context(notes=tuple(notes))
    write_result_reports(reports, result, lambda: info_blocks(result))
    text = render_result(result, output, lambda: info_blocks(result), everything=everything)
    finish(text, result.exit_code, notes)
