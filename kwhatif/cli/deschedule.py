"""``kwhatif deschedule``: what would the descheduler evict, and what follows?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import (
    Everything,
    ManifestFlags,
    Tables,
    TablesOutput,
    option,
    seconds,
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
from kwhatif.simulation.inputs import AutoscalingOptions, Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def deschedule(
    policy: Annotated[
        str,
        option(
            "--policy",
            metavar="FILE",
            help="The DeschedulerPolicy (descheduler/v1alpha2), a ConfigMap with one, or values of the descheduler's "
            "Helm chart; '-' for stdin. Default: the cluster's own if the snapshot has it.",
        ),
    ] = "",
    cycles: Annotated[
        int, typer.Option("--cycles", metavar="N", min=1, help="Follow so many cycles; the next one is looked at, too.")
    ] = 1,
    until_quiet: Annotated[
        bool,
        typer.Option("--until-quiet", help="Follow cycles until one evicts nobody, or what happened begins anew."),
    ] = False,
    interval: Annotated[
        str, typer.Option("--interval", metavar="DURATION", help="The time from one cycle to the next.")
    ] = "5m",
    metrics: Annotated[
        list[str] | None,
        option(
            "--metrics",
            metavar="FILE",
            help="What was measured: NodeMetrics and PodMetrics of metrics.k8s.io, or Prometheus' answer to the query "
            "of the policy (repeatable).",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask no disruption budgets, as the descheduler's own --dry-run does not."),
    ] = False,
    scheduler_policy: Annotated[
        str | None,
        option(
            "--scheduler-policy",
            metavar="FILE",
            help="The configuration of the scheduler that places what is evicted; see --policy of 'place'.",
        ),
    ] = None,
    report: ReportFiles = None,
    everything: Everything = False,
    output: TablesOutput = Tables.table,
    *,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: Annotated[SchedulerOptions, Excluding("policy")],
    edits: EditOptions,
    scaling: AutoscalingOptions,
) -> None:
    """Run the descheduler's next cycle, decision for decision as release 0.35, and follow whom it evicts.

    Evicted pods are made again by their controllers and placed by the scheduler; then it is told whether they find a
    node, whether nodes are in better balance, and whether the next cycle evicts the same pods again.

    Exit codes: 0 the answer is good, 1 it is not: an evicted pod finds no node, or is evicted there again, 2 usage
    or input error.
    """
    from kwhatif.commands.deschedule.run import Deschedule
    from kwhatif.commands.deschedule.text import deschedule_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    source, reports = cluster.require_source(), reports_of(report)
    check_stdin(policy, *(metrics or ()), source, *(scaling.autoscale or ()), scheduler_policy, *(edits.edits or ()))
    question = Deschedule(policy, metrics or (), cycles, until_quiet, seconds(interval, "--interval"), dry_run)
    asked = Inputs(
        source,
        (),
        "default",
        edits or None,
        reading,
        with_map=is_mapped(reports),
        autoscale=scaling.autoscale,
        provision=scaling.provision_seconds,
    )
    result = ask(question, Scenario(asked, replace(engine, policy=scheduler_policy)))
    write_result_reports(reports, result, lambda: deschedule_blocks(result))
    text = render_result(result, output, lambda: deschedule_blocks(result), everything=everything)
    finish(text, result.exit_code, result.notes)
