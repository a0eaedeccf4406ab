"""``kwhatif sweep``: which scheduler policy is best?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import (
    ManifestFlags,
    Namespace,
    Replay,
    Tables,
    TablesOutput,
    argument,
    option,
)
from kwhatif.cli.output import ReportFiles, check_stdin, finish, render_result, reports_of, write_result_reports
from kwhatif.commands.common_options import FleetOptions
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def sweep(
    files: Annotated[list[str] | None, argument(metavar="FILE", help="Manifests with pods to schedule.")] = None,
    space: Annotated[
        str | None, option("--space", metavar="FILE", help="A SweepSpace: the settings to try, and how to choose.")
    ] = None,
    against_snapshot: Annotated[
        list[str] | None,
        option(
            "--against-snapshot",
            metavar="FILE",
            help="Another cluster to try every policy on; measures are then the means of all (repeatable).",
        ),
    ] = None,
    replay: Replay = None,
    objective: Annotated[
        list[str] | None,
        option(
            "--objective",
            metavar="MEASURE[=WEIGHT]",
            help="What the best policies are chosen by (repeatable). "
            "Default: pending=100, evictions=10, and cost=1 with --prices, else nodesInUse=1.",
        ),
    ] = None,
    search: Annotated[
        int, typer.Option("--search", metavar="N", min=0, help="Try so many more policies around the best.")
    ] = 0,
    seed: Annotated[
        int | None, option("--seed", metavar="N", min=0, help="For a sample that is random, and for --search.")
    ] = None,
    probe: Annotated[
        list[str] | None,
        option("--probe", metavar="FILE", help="A manifest with one pod: for how many of it would there be room then?"),
    ] = None,
    prices: Annotated[
        str | None,
        option("--prices", metavar="FILE", help="An InstanceTypes catalogue, or a table of instance types' prices."),
    ] = None,
    write: Annotated[
        str | None,
        option("--write", metavar="FILE", help="Write the best policy as a KubeSchedulerConfiguration."),
    ] = None,
    namespace: Namespace = "default",
    everything: Annotated[
        bool, typer.Option("--all", help="Show all policies and settings. Default: the front, and what matters most.")
    ] = False,
    output: TablesOutput = Tables.table,
    report: ReportFiles = None,
    *,
    fleet: FleetOptions,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: Annotated[SchedulerOptions, Excluding("call_extenders")],
    edits: EditOptions,
) -> None:
    """Try many scheduler policies on the same pods: which are best, and which settings matter.

    Each differs from today's policy in the settings of a SweepSpace document; of equal nodes each takes the one that
    one worker of that version does. Shown are the policies that no other beats by every objective. docs/sweep.md
    explains the measures.

    Exit codes: 0 policies were compared, 2 usage or input error.
    """
    from kwhatif.commands.sweep.measures import read_prices
    from kwhatif.commands.sweep.run import Sweep
    from kwhatif.commands.sweep.space_document import read_space
    from kwhatif.commands.sweep.text import sweep_blocks
    from kwhatif.simulation.pipeline import ask

    if space is None:
        raise UsageError("name the settings to try: --space FILE, a SweepSpace document")
    if write == "-":
        raise UsageError("--write -: standard output is for the answer; name a file")
    source, others, probes = cluster.require_source(), against_snapshot or [], probe or []
    reports = reports_of(report)
    check_stdin(*(files or ()), source, *others, *probes, space, prices, engine.policy, *(edits.edits or ()))
    question = Sweep(
        space=read_space(space),
        snapshots=[source, *([each] for each in others)],
        files=files or [],
        replay=replay or (),
        seed=seed,
        search=search,
        objectives=objective or (),
        probe=probes,
        prices=None if prices is None else read_prices(prices),
        write=write or "",
        executor=fleet.executor,
        rows=fleet.rows,
    )
    inputs = Inputs(namespace=namespace, edits=edits or None, manifest_options=reading)
    result = ask(question, *question.cases(inputs, engine))
    wide = everything or output is Tables.wide
    write_result_reports(reports, result, lambda: sweep_blocks(result, wide=True))
    text = render_result(result, output, lambda: sweep_blocks(result, wide=wide), everything=wide)
    finish(text, result.exit_code, result.notes)
