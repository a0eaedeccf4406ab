"""``kwhatif rightsize``: what if requests were what pods really use?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    Everything,
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
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import AutoscalingOptions, Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Forms(StrEnum):
    """What advice is written as."""

    patches = "patches"
    vpa = "vpa"


@app.command()
@expand_groups
def rightsize(
    usage: Annotated[
        list[str] | None,
        option(
            "--usage",
            metavar="FILE",
            help="What containers used: answers of Prometheus' API, kubectl top pods --containers, PodMetrics, "
            "VerticalPodAutoscalers; files, directories, '-' for stdin (repeatable). Default: what the snapshot holds.",
        ),
    ] = None,
    prometheus: Annotated[
        str, option("--prometheus", metavar="URL", help="Ask this Prometheus what containers used.")
    ] = "",
    prometheus_step: Annotated[
        int, typer.Option("--prometheus-step", metavar="SECONDS", min=1, help="How far samples are apart.")
    ] = 60,
    prometheus_timeout: Annotated[
        float, typer.Option("--prometheus-timeout", metavar="SECONDS", min=0.1, help="How long to wait for an answer.")
    ] = 60.0,
    prometheus_retries: Annotated[
        int, typer.Option("--prometheus-retries", metavar="N", min=0, help="How often to ask again.")
    ] = 2,
    prometheus_token_file: Annotated[
        str, option("--prometheus-token-file", metavar="FILE", help="A file with the bearer token for Prometheus.")
    ] = "",
    sizing: Annotated[
        str,
        option(
            "--sizing",
            metavar="FILE",
            help="A RightsizingPolicy: how requests follow from usage. Default: the 90th percentile of CPU, the peak "
            "of memory, 15% on top, from eight days, as VPA's recommender has it.",
        ),
    ] = "",
    prices: Annotated[
        str | None,
        option("--prices", metavar="FILE", help="An InstanceTypes catalogue, or a table of instance types' prices."),
    ] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Also say which few workloads bring most, and what each alone adds.")
    ] = False,
    most_steps: Annotated[
        int, typer.Option("--most-steps", metavar="N", min=1, max=100, help="With --steps: no more than N of them.")
    ] = 8,
    write: Annotated[
        str,
        option(
            "--write", metavar="DIR", help="Write what is advised: one file a workload, and edits.yaml for --edits."
        ),
    ] = "",
    write_as: Annotated[
        Forms, typer.Option("--write-as", help="What is written: strategic merge patches, or VerticalPodAutoscalers.")
    ] = Forms.patches,
    namespace: Namespace = "default",
    report: ReportFiles = None,
    everything: Everything = False,
    output: TablesOutput = Tables.table,
    *,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
    scaling: AutoscalingOptions,
) -> None:
    """Say what would come of requests that follow from usage: who waits, which nodes go, for how much, and what binds.

    Before and after are compared at rest: everybody who can has a node, and what autoscalers take away is gone.

    Exit codes: 0 the answer is good, 1 it is not: more pods are without a node than today, 2 usage or input error.
    """
    from kwhatif.commands.rightsize.policy_document import read_rightsizing_policy
    from kwhatif.commands.rightsize.run import Rightsize
    from kwhatif.commands.rightsize.text import rightsize_blocks
    from kwhatif.commands.rightsize.usage_sources import PrometheusOptions, UsageOptions
    from kwhatif.commands.sweep.measures import read_prices
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    reports = reports_of(report)
    source, files = cluster.require_source(), usage or []
    check_stdin(*files, source, *(scaling.autoscale or ()), sizing, prices, engine.policy, *(edits.edits or ()))
    if prometheus_token_file and not prometheus:
        raise UsageError("--prometheus-token-file is about --prometheus URL")
    asked = None
    if prometheus:
        asked = PrometheusOptions(
            prometheus, prometheus_step, prometheus_timeout, prometheus_retries, prometheus_token_file
        )
    question = Rightsize(
        usage=UsageOptions(files, asked),
        policy=read_rightsizing_policy(sizing) if sizing else None,
        prices=None if prices is None else read_prices(prices),
        steps=steps,
        most_steps=most_steps,
        write=write,
        written_as=write_as.value,
    )
    mapped = is_mapped(reports)
    inputs = Inputs(
        source,
        (),
        namespace,
        edits or None,
        reading,
        with_map=mapped,
        autoscale=scaling.autoscale,
        provision=scaling.provision_seconds,
    )
    result = ask(question, Scenario(inputs, engine))
    write_result_reports(reports, result, lambda: rightsize_blocks(result))
    text = render_result(result, output, lambda: rightsize_blocks(result), everything=everything)
    finish(text, result.exit_code, result.notes)
