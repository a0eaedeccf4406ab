"""``kwhatif expand``: what would the API server and the controllers make of these manifests?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster_options import ClusterOptions
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.options import Everything, ManifestFiles, Namespace, SendingOptions, Strict, Tables
from kwhatif.cli.output import check_stdin, finish, rendered
from kwhatif.whatif.stages.inputs import Engine, Inputs

if TYPE_CHECKING:
    from kwhatif.results.expand import ExpandResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def expand(
    files: ManifestFiles,
    namespace: Namespace = "default",
    output: Annotated[
        Tables, typer.Option("-o", "--output", help="The format to print; yaml is the pods and claims alone.")
    ] = Tables.table,
    everything: Everything = False,
    *,
    cluster: ClusterOptions,
    strict: Strict = False,
    reading: SendingOptions,
    edits: EditOptions,
) -> None:
    """Show the pods that come of manifests, and all that was filled in, changed or refused on the way.

    Exit codes: 0 everything is admitted, 1 something is refused or gets stuck, 2 usage or input error.
    """
    from kwhatif.whatif.expand.question import Expand
    from kwhatif.whatif.stages.question import Case
    from kwhatif.whatif.stages.sequence import ask

    source = cluster.given()
    check_stdin(*files, source, *(edits.edits or ()))
    result = ask(Expand(), Case(Inputs(source, files, namespace, edits or None, reading), Engine(strict=strict)))
    finish(_rendered(result, output, everything), result.exit_code, result.notes)


def _rendered(result: ExpandResult, output: Tables, everything: bool) -> str:
    if output is Tables.yaml:
        from kwhatif.report.structured import as_documents

        return as_documents([*(pod.object for pod in result.pods), *result.claims])
    from kwhatif.report.expand_text import expand_blocks

    return rendered(result, output, lambda: expand_blocks(result), everything=everything)
