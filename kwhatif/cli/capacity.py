"""``kwhatif capacity``: how many more of a pod or a release fit?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    AutoscalingFlags,
    Everything,
    ManifestFiles,
    ManifestFlags,
    Namespace,
    Tables,
    TablesOutput,
    option,
)
from kwhatif.cli.output import (
    ReportFiles,
    check_stdin,
    finish,
    is_mapped,
    render_result,
    reports_of,
    write_result_reports,
)
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def capacity(
    files: ManifestFiles,
    namespace: Namespace = "default",
    pod: Annotated[
        bool,
        typer.Option("--pod", help="Count pods of the one workload of the manifests one by one."),
    ] = False,
    release: Annotated[
        bool,
        option("--release", hidden=True, help="Count whole releases, which is what is done anyway."),
    ] = False,
    at_least: Annotated[
        int, typer.Option("--at-least", metavar="N", min=0, help="Exit with 1 if fewer than N fit.")
    ] = 1,
    limit: Annotated[int | None, option("--limit", metavar="N", min=0, help="Stop counting at N.")] = None,
    report: ReportFiles = None,
    everything: Everything = False,
    output: TablesOutput = Tables.table,
    *,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
    scaling: AutoscalingFlags,
) -> None:
    """Count how many more of a pod, or of a release, fit beside what runs: per node, in all, and what ends it.

    What is counted is all pods of the manifests together, or with --pod those of one workload one by one. Nobody is
    evicted for them.

    Exit codes: 0 as many fit as --at-least says, 1 fewer do, 2 usage or input error.
    """
    from kwhatif.commands.capacity.run import Capacity
    from kwhatif.commands.capacity.text import capacity_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    reports = reports_of(report)
    source = cluster.require_source()
    check_stdin(*files, source, *(scaling.autoscale or ()), engine.policy, *(edits.edits or ()))
    question = Capacity(single=pod and not release, at_least=at_least, limit=limit)
    mapped = is_mapped(reports)
    asked = Inputs(source, files, namespace, edits or None, reading, with_map=mapped, **scaling.inputs)
    result = ask(question, Scenario(asked, engine))
    write_result_reports(reports, result, lambda: capacity_blocks(result))
    text = render_result(result, output, lambda: capacity_blocks(result), everything=everything)
    finish(text, result.exit_code, result.notes)
