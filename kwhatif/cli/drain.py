"""``kwhatif drain``: what would draining nodes do?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.grouped import grouped
from kwhatif.cli.inputs import check_stdin, read_edited, read_setup
from kwhatif.cli.options import EngineOptions, Snapshots, Tables
from kwhatif.cli.output import Notes, finish, rendered
from kwhatif.errors import UsageError

if TYPE_CHECKING:
    from kwhatif.results import DrainResult

__all__ = ["app", "drain"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@grouped
def drain(
    nodes: Annotated[
        list[str],
        typer.Argument(
            metavar="NODE|SELECTOR",
            help="The nodes, in this order: names, or label selectors such as 'pool=batch'.",
            show_default=False,
        ),
    ],
    snapshot: Snapshots,
    ignore_daemonsets: Annotated[
        bool, typer.Option("--ignore-daemonsets", help="Leave pods of daemon sets where they are.")
    ] = False,
    delete_emptydir_data: Annotated[
        bool, typer.Option("--delete-emptydir-data", help="Go on even if pods with emptyDir volumes lose that data.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Go on even if there are pods that no controller makes again.")
    ] = False,
    output: Annotated[Tables, typer.Option("-o", "--output", help="The format to print.")] = Tables.table,
    *,
    engine: EngineOptions,
    edits: EditOptions,
) -> None:
    """Drain nodes as kubectl does: cordon them all, then evict their pods as far as disruption budgets allow.

    Pods made again are placed at once, and taken to become ready where they land; then budgets allow more.

    Exit codes: 0 all nodes are drained and every pod finds a node, 1 not so, 2 usage or input error.
    """
    from kwhatif.api.core import Node
    from kwhatif.snapshot.chosen import chosen_nodes
    from kwhatif.whatif.drain.drain import drain as ask
    from kwhatif.whatif.drain.filters import Filters
    from kwhatif.whatif.fidelity.assess import insist

    check_stdin(*snapshot, engine.policy, *(edits.edits or ()))
    notes = Notes()
    edited = read_edited(snapshot, edits, notes)
    setup = read_setup(engine, notes, edited.snapshot)
    if edited.moves_pods:
        raise UsageError(
            "what-if edits that move pods cannot be mixed with drain: their pods would have to be placed first"
        )
    cluster = edited.snapshot
    chosen = [node for text in nodes for node in chosen_nodes(text, cluster.objects.of(Node))]
    known = cluster.whole.get("DaemonSet")
    daemon_sets = None
    if known is not None:
        daemon_sets = {f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in known}
    filters = Filters(ignore_daemonsets, delete_emptydir_data, force, daemon_sets)
    result = ask(cluster, setup, chosen, filters)
    if engine.strict:
        insist(result.fidelity)
    finish(_rendered(result, output), result.exit_code, notes)


def _rendered(result: DrainResult, output: Tables) -> str:
    from kwhatif.report.drain_text import drain_blocks

    return rendered(result, output, lambda: drain_blocks(result))
