"""``kwhatif explain``: why does a pod go where it goes, or nowhere?"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.inputs import add_objects, check_stdin, note_unused_plugins, read_edited, read_setup
from kwhatif.cli.options import EngineOptions, InputOptions, PodFiles, PodWords, Snapshots
from kwhatif.cli.output import Notes, finish, rendered
from kwhatif.errors import UsageError

if TYPE_CHECKING:
    from kwhatif.results import ExplainResult

__all__ = ["Output", "app", "explain"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    text = "text"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


@app.command()
@grouped
def explain(
    snapshot: Snapshots,
    pods: PodWords = None,
    filename: PodFiles = None,
    namespace: Annotated[
        str | None,
        typer.Option("-n", "--namespace", metavar="NAME", help="The namespace of what names none.", show_default=False),
    ] = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="The format to print.")] = Output.text,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="Only this node: why (not) there?", show_default=False)
    ] = None,
    versus: Annotated[
        str | None,
        typer.Option(
            "--versus",
            metavar="NODE",
            help="Side by side with the node chosen, or with that of --node.",
            show_default=False,
        ),
    ] = None,
    no_fixes: Annotated[bool, typer.Option("--no-fixes", help="Do not look for changes that would help.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every node, however many there are.")] = False,
    *,
    inputs: InputOptions,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Show every node's verdict on a pod, the scores, the evictions, and the smallest changes that would help.

    Each pod is looked at by itself; one that runs already, as if it had not got its node yet.

    Exit codes: 0 all pods find a node, 1 a pod does not, 2 usage or input error.
    """
    from msgspec.structs import replace

    from kwhatif.cli.targets import one_of_each, targets
    from kwhatif.whatif.explain.explain import explain as ask
    from kwhatif.whatif.fidelity.assess import insist
    from kwhatif.whatif.session import Session

    words, given = list(pods or ()), list(filename or ())
    if not words and not given and edits.none:
        raise _nothing_to_explain()
    check_stdin(*words, *given, *snapshot, engine.policy, *(edits.edits or ()))
    notes = Notes()
    edited = read_edited(snapshot, edits, notes)
    cluster = edited.snapshot
    setup = read_setup(engine, notes, cluster)
    asked, expanded = targets(words, given, cluster, namespace, inputs)
    if not words and not given:
        asked = one_of_each(edited.asked)
        if not asked:
            raise _nothing_to_explain()
    unknown = add_objects(cluster, expanded, notes, ignore_unknown=inputs.ignore_unknown)
    session = Session(cluster, setup, detailed=True, covered=edited.covered)
    result = ask(session, asked, node=node or "", versus=versus or "", fixes=not no_fixes, others=unknown)
    result = replace(result, refusals=tuple(expanded.refusals), failed=(*edited.failed, *expanded.failed))
    note_unused_plugins(session, engine, notes)
    if engine.strict:
        insist(result.fidelity)
    finish(_rendered(result, output, everything), result.exit_code, notes)


def _nothing_to_explain() -> UsageError:
    return UsageError("name the pods to explain: manifests, or pods of the snapshot")


def _rendered(result: ExplainResult, output: Output, everything: bool) -> str:
    from kwhatif.report.explain_text import explain_blocks

    return rendered(result, output, lambda: explain_blocks(result, everything=everything))
