"""The options for what-if edits of the cluster, for every command that takes a snapshot.

def place(snapshot: Snapshots, *, edits: EditOptions) -> None:
    cluster = read_edited(snapshot, edits, notes)
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Annotated, Any

import typer

__all__ = ["EditOptions"]


def _option(name: str, metavar: str, help_: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, show_default=False)


Several = list[str] | None


@dataclass(frozen=True)
class EditOptions:
    """What if the cluster were another one? Files first, then the options, in this order."""

    edits: Annotated[Several, _option("--edits", "FILE", "What-if edits of a ClusterEdits document (repeatable).")] = (
        None
    )
    add_nodes: Annotated[
        Several,
        _option(
            "--add-nodes", "N", "What if there were N more nodes like --like? Also N,like=NODE,zone=Z (repeatable)."
        ),
    ] = None
    like: Annotated[str | None, _option("--like", "NODE", "The node that those of --add-nodes are like.")] = None
    in_: Annotated[
        Several, _option("--in", "LABEL=VALUE", "Where those of --add-nodes are: zone=..., or any label (repeatable).")
    ] = None
    amounts: Annotated[
        Several,
        _option("--set", "NODES.allocatable.RESOURCE=AMOUNT", "What if nodes had more or less of it? (repeatable)"),
    ] = None
    label: Annotated[
        Several, _option("--label", "NODES=KEY=VALUE", "What if nodes had this label? KEY- takes it away (repeatable).")
    ] = None
    taint: Annotated[
        Several,
        _option(
            "--taint", "NODES=KEY=VALUE:EFFECT", "What if nodes had this taint? KEY:EFFECT- removes it (repeatable)."
        ),
    ] = None
    cordon: Annotated[
        Several, _option("--cordon", "NODES", "What if nodes, by name or label selector, were cordoned? (repeatable)")
    ] = None
    uncordon: Annotated[Several, _option("--uncordon", "NODES", "What if they were not? (repeatable)")] = None
    remove_node: Annotated[
        Several,
        _option("--remove-node", "NODES", "What if nodes were gone, their pods to go elsewhere? (repeatable)"),
    ] = None
    scale: Annotated[
        Several,
        _option("--scale", "KIND/[NAMESPACE/]NAME=N", "What if a workload had N pods? (repeatable)"),
    ] = None
    delete: Annotated[
        Several,
        _option("--delete", "PODS", "What if pods, by [NAMESPACE/]NAME or label selector, were deleted? (repeatable)"),
    ] = None

    @property
    def none(self) -> bool:
        """Whether nothing is to be edited."""
        return not any(astuple(self))
