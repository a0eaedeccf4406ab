"""``kwhatif chances``: how likely is it that these pods go where they may go?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.fleet_options import FleetFlags
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    Everything,
    ManifestFiles,
    ManifestFlags,
    Namespace,
    Tables,
    TablesOutput,
    option,
)
from kwhatif.cli.output import ReportFiles, check_stdin, finish, render_result, reports_of, write_result_reports
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def chances(
    files: ManifestFiles,
    namespace: Namespace = "default",
    trials: Annotated[int, typer.Option("--trials", metavar="N", min=1, help="So many trials at most.")] = 1000,
    precision: Annotated[
        float | None,
        option(
            "--precision",
            metavar="P",
            help="Stop once no interval reaches further than P to either side, such as 0.02. Default: all trials.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same answer.")] = 0,
    max_skew: Annotated[
        int, typer.Option("--skew", metavar="K", min=0, help="What more than K pods of difference is, is skewed.")
    ] = 1,
    topology_key: Annotated[
        str, typer.Option("--topology-key", metavar="LABEL", help="The label of nodes that tells places apart.")
    ] = "topology.kubernetes.io/zone",
    everything: Everything = False,
    output: TablesOutput = Tables.table,
    report: ReportFiles = None,
    *,
    fleet: FleetFlags,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
) -> None:
    """Place pods many times, each time leaving to chance what kube-scheduler leaves to it, and count what happens.

    That is which of several best nodes is taken, in what order the pods of several workloads arrive, and, above 100
    nodes, where a search for nodes begins and which of them its workers find.

    Exit codes: 0 every pod finds a node in every trial, 1 not so, 2 usage or input error.
    """
    from kwhatif.commands.chances.run import Chances
    from kwhatif.commands.chances.text import chances_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    source, reports = cluster.require_source(), reports_of(report)
    check_stdin(*files, source, engine.policy, *(edits.edits or ()))
    question = Chances(trials, seed, precision, max_skew, topology_key, fleet.back, fleet.rows)
    result = ask(question, Scenario(Inputs(source, files, namespace, edits or None, reading), engine))
    write_result_reports(reports, result, lambda: chances_blocks(result, everything=True))
    text = render_result(result, output, lambda: chances_blocks(result, everything=everything), everything=everything)
    finish(text, result.exit_code, result.notes)
