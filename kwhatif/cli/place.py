"""``kwhatif place``: where would these pods go?"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.inputs import add_objects, check_stdin, expanded_from, note_unused_plugins, read_edited, read_setup
from kwhatif.cli.options import CallExtenderBind, EngineOptions, InputOptions, Namespace, Seed, Snapshots
from kwhatif.cli.output import Notes, finish, rendered
from kwhatif.errors import UsageError

if TYPE_CHECKING:
    from kwhatif.results import PlaceResult

__all__ = ["Output", "app", "place"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"
    name = "name"


@app.command()
@grouped
def place(
    snapshot: Snapshots,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests with the pods: files, directories, or '-' for stdin.",
            show_default=False,
        ),
    ] = None,
    filename: Annotated[
        list[str] | None,
        typer.Option("-f", "--filename", metavar="FILE", help="The same, as kubectl has it.", show_default=False),
    ] = None,
    namespace: Namespace = "default",
    output: Annotated[Output, typer.Option("-o", "--output", help="The format to print.")] = Output.table,
    with_pending: Annotated[
        bool, typer.Option("--with-pending", help="Also place the snapshot's own pending pods.")
    ] = False,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="Simulate the queue over time, retries and all, and tell the story.")
    ] = False,
    no_recreate: Annotated[
        bool, typer.Option("--no-recreate", help="With --timeline: victims' controllers make no new pods.")
    ] = False,
    seed: Seed = None,
    call_extender_bind: CallExtenderBind = False,
    *,
    inputs: InputOptions,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Place pods on a cluster as kube-scheduler would, in its order: by priority, then as given.

    Exit codes: 0 all pods are placed, 1 a pod is not, 2 usage or input error.
    """
    from msgspec.structs import replace

    from kwhatif.whatif.fidelity.assess import insist
    from kwhatif.whatif.place.place import place as ask
    from kwhatif.whatif.place.timeline import simulate
    from kwhatif.whatif.session import Session, pending_pods

    paths = [*(files or ()), *(filename or ())]
    if not paths and not with_pending and edits.none:
        raise _nothing_to_place()
    if no_recreate and not timeline:
        raise UsageError("--no-recreate is about --timeline: without it nothing is recreated")
    check_stdin(*paths, *snapshot, engine.policy, *(edits.edits or ()))
    notes = Notes()
    edited = read_edited(snapshot, edits, notes)
    cluster = edited.snapshot
    setup = read_setup(engine, notes, cluster, bind_extenders=call_extender_bind)
    if not paths and not with_pending and not edited.moves_pods:
        raise _nothing_to_place()
    expanded = expanded_from(paths, namespace, cluster, inputs, pods_needed=not (with_pending or edited.moves_pods))
    asked = [*edited.asked, *expanded.pods]
    if timeline and expanded.rollouts:
        name = expanded.rollouts[0].name
        raise UsageError(f"{name} is in the cluster already: updates are planned step by step, not with --timeline")
    unknown = add_objects(cluster, expanded, notes, ignore_unknown=inputs.ignore_unknown)
    if with_pending:
        given = {item.pod.key for item in asked}
        asked += [item for item in pending_pods(cluster) if item.pod.key not in given]
    detailed = output in (Output.wide, Output.json, Output.yaml)
    session = Session(cluster, setup, seed=seed, detailed=detailed, covered=edited.covered)
    if timeline:
        result = simulate(session, asked, recreate=not no_recreate, others=unknown)
    else:
        result = ask(session, asked, rollouts=expanded.rollouts, others=unknown)
    result = replace(result, refusals=tuple(expanded.refusals), failed=(*edited.failed, *expanded.failed))
    note_unused_plugins(session, engine, notes)
    if engine.strict:
        insist(result.fidelity)
    finish(_rendered(result, output, notes), result.exit_code, notes)


def _nothing_to_place() -> UsageError:
    return UsageError("name the files with the pods to place, or ask for --with-pending")


def _rendered(result: PlaceResult, output: Output, notes: Notes) -> str:
    if output is Output.name:
        from kwhatif.report.fidelity_text import spelt
        from kwhatif.report.names import names_of

        for gap in result.fidelity.touching:
            notes.warn(spelt(gap))
        return names_of(result)
    from kwhatif.report.place_text import place_blocks

    return rendered(result, output, lambda: place_blocks(result, wide=output is Output.wide))
