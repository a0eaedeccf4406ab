"""``kwhatif capacity``: how many more of a pod or a release fit?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import AutoscalingFlags, ManifestFiles, Namespace, ScalingFlags, option
from kwhatif.cli.output import check_stdin
from kwhatif.commands.capacity.options import CapacityOptions
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def capacity(
    files: ManifestFiles,
    namespace: Namespace = "default",
    release: Annotated[
        bool,
        option("--release", hidden=True, help="Count whole releases, which is what is done anyway."),
    ] = False,
    *,
    options: CapacityOptions,
    answer: AnswerOptions,
    cluster: ClusterFlags,
    reading: ScalingFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
    scaling: AutoscalingFlags,
) -> None:
    """Count how many more of a pod, or of a release, fit beside what runs: per node, in all, and what ends it.

    What is counted is all pods of the manifests together, or with --pod those of one workload one by one. Nobody is
    evicted for them.

    Exit codes: 0 the answer is good, 1 it is not: fewer fit than --at-least says, 2 usage or input error.
    """
    from kwhatif.commands.capacity.run import Capacity
    from kwhatif.commands.capacity.text import capacity_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    source = cluster.require_source()
    check_stdin(*files, source, *(scaling.autoscale or ()), engine.policy, *(edits.edits or ()))
    question = Capacity(**{**vars(options), "pod": options.pod and not release})
    asked = Inputs(source, files, namespace, edits or None, reading, with_map=answer.is_mapped, **scaling.inputs)
    result = ask(question, Scenario(asked, engine))
    answer.finish(result, lambda everything: capacity_blocks(result))
