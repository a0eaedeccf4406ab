"""``kwhatif chances``: how likely is it that these pods go where they may go?"""

from __future__ import annotations

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.fleet_options import FleetFlags
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import ManifestFiles, ManifestFlags, Namespace
from kwhatif.cli.output import check_stdin
from kwhatif.commands.chances.options import ChancesOptions
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def chances(
    files: ManifestFiles,
    namespace: Namespace = "default",
    *,
    options: ChancesOptions,
    answer: AnswerOptions,
    fleet: FleetFlags,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
) -> None:
    """Place pods many times, each time leaving to chance what kube-scheduler leaves to it, and count what happens.

    That is which of several best nodes is taken, in what order the pods of several workloads arrive, and, above 100
    nodes, where a search for nodes begins and which of them its workers find.

    Exit codes: 0 the answer is good, 1 it is not: in a trial a pod finds no node, 2 usage or input error.
    """
    from kwhatif.commands.chances.run import Chances
    from kwhatif.commands.chances.text import chances_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    source = cluster.require_source()
    check_stdin(*files, source, engine.policy, *(edits.edits or ()))
    question = Chances(**vars(options), executor=fleet.back, rows=fleet.rows)
    asked = Inputs(source, files, namespace, edits or None, reading, with_map=answer.is_mapped)
    result = ask(question, Scenario(asked, engine))
    answer.finish(result, lambda everything: chances_blocks(result, everything=everything))
