"""``kwhatif expand``: what would the API server and the controllers make of these manifests?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import Excluding, Only, expand_groups
from kwhatif.cli.options import Everything, ManifestFiles, Namespace, RequestFlags, Tables
from kwhatif.cli.output import check_stdin, finish, render_result
from kwhatif.simulation.inputs import Inputs, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.results.expand import ExpandResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def expand(
    files: ManifestFiles,
    namespace: Namespace = "default",
    output: Annotated[
        Tables, typer.Option("-o", "--output", help="The format to print; yaml is the pods and claims alone.")
    ] = Tables.table,
    everything: Everything = False,
    *,
    cluster: ClusterFlags,
    engine: Annotated[SchedulerOptions, Only("strict")],
    reading: Annotated[RequestFlags, Excluding("at")],
    edits: EditOptions,
) -> None:
    """Show the pods that come of manifests, and all that was filled in, changed or refused on the way.

    Exit codes: 0 the answer is good, 1 it is not: something is refused or gets stuck, 2 usage or input error.
    """
    from kwhatif.commands.expand.run import Expand
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    source = cluster.find_source()
    check_stdin(*files, source, *(edits.edits or ()))
    inputs = Inputs(source, files, namespace, edits or None, reading.with_rules_file())
    result = ask(Expand(), Scenario(inputs, engine))
    finish(_render(result, output, everything), result.exit_code, result.notes)


def _render(result: ExpandResult, output: Tables, everything: bool) -> str:
    if output is Tables.yaml:
        from kwhatif.render.formats import as_documents

        return as_documents([*(pod.object for pod in result.pods), *result.claims])
    from kwhatif.commands.expand.text import expand_blocks

    return render_result(result, output, lambda: expand_blocks(result), everything=everything)
