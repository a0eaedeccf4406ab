"""``kwhatif outage``: what happens when nodes, zones or pools are gone?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.completion import complete_node
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.fleet_options import FleetFlags
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import ManifestFlags, Namespace, Tables, TablesOutput, option
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
def outage(
    each: Annotated[
        list[str] | None,
        option(
            "--each",
            "--all",
            metavar="nodes,zones,pools",
            help="All of these, one after the other. Default, if nothing else is asked about: all three.",
        ),
    ] = None,
    node: Annotated[
        list[str] | None,
        option(
            "--node",
            metavar="NODE|SELECTOR",
            help="One node, or each that a selector selects (repeatable).",
            autocompletion=complete_node,
        ),
    ] = None,
    zone: Annotated[list[str] | None, option("--zone", metavar="ZONE", help="One zone (repeatable).")] = None,
    pool: Annotated[list[str] | None, option("--pool", metavar="POOL", help="One pool (repeatable).")] = None,
    by: Annotated[
        list[str] | None,
        option("--by", metavar="LABEL", help="What has the same value of a node's label, such as a rack (repeatable)."),
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Every two nodes together.")] = False,
    most_pairs: Annotated[
        int, typer.Option("--most-pairs", metavar="N", min=1, help="Of more pairs so many, drawn by --seed.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which pairs are drawn.")] = 0,
    unreachable: Annotated[
        bool,
        typer.Option(
            "--unreachable",
            help="The nodes stop answering and stay in the cluster, so that pods of StatefulSets are not made again.",
        ),
    ] = False,
    survive: Annotated[
        list[str] | None,
        option(
            "--survive",
            metavar="node,zone,...",
            help="Exit with 1 unless failures of these kinds are survived: node, zone, pool, pair, or a --by label.",
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        option(
            "--require",
            metavar="back,replicas,...",
            help="What surviving takes: all pods come back (back; the default), no workload loses all replicas even "
            "for a while (replicas), no StatefulSet or gang its quorum (quorum), no budget too many pods (budgets).",
        ),
    ] = None,
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
    everything: Annotated[
        bool, typer.Option("--all-rows", help="Show every row. Default: tables from 20 rows on are told in groups.")
    ] = False,
    output: TablesOutput = Tables.table,
    report: ReportFiles = None,
    *,
    fleet: FleetFlags,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
) -> None:
    """Take away nodes, zones or pools, one after the other, and tell what becomes of the pods that ran there.

    They fail at once: nobody drains them, and no disruption budget is asked. Controllers make their pods again, which
    look for other nodes and may evict others.

    Exit codes: 0 the answer is good, 1 it is not: a failure that --survive names is not survived, 2 usage or input
    error.
    """
    from kwhatif.commands.outage.failures import FailureSelection
    from kwhatif.commands.outage.run import Outage
    from kwhatif.commands.outage.text import outage_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    files, reports = filename or [], reports_of(report)
    source = cluster.require_source()
    check_stdin(*files, source, engine.policy, *(edits.edits or ()))
    wanted = FailureSelection(
        each=_words(each),
        nodes=tuple(node or ()),
        zones=tuple(zone or ()),
        pools=tuple(pool or ()),
        by=tuple(by or ()),
        pairs=pairs,
        most_pairs=most_pairs,
        seed=seed,
    )
    need: Any = _words(require) or ("back",)
    question = Outage(wanted, _words(survive), need, unreachable, fleet.back, fleet.rows)
    asked = Inputs(source, files, namespace, edits or None, reading, with_map=is_mapped(reports))
    result = ask(question, Scenario(asked, engine))
    write_result_reports(reports, result, lambda: outage_blocks(result))
    text = render_result(result, output, lambda: outage_blocks(result), everything=everything)
    finish(text, result.exit_code, result.notes)


def _words(given: list[str] | None) -> tuple[str, ...]:
    """What is given in one option or in several, with commas between."""
    return tuple(dict.fromkeys(word for text in given or () for word in text.split(",") if word))
