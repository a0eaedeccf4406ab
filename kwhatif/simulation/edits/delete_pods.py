"""Deletes pods; their controllers make them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from kwhatif.errors import InputError
from kwhatif.simulation.edits.kind import EditKind, Option
from kwhatif.simulation.edits.selection import chosen_pods, is_selector

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

Pods = Annotated[
    str,
    Meta(description="A pod as NAME or NAMESPACE/NAME, a label selector, or NAMESPACE/[SELECTOR] for one namespace."),
]


def _check(what: str) -> None:
    if not what.strip():
        raise InputError("expected a pod or a selector, found none")


def _apply(draft: Draft, what: str, origin: str) -> str:
    from kwhatif.simulation.edits.draft import RemovalCause, remove_pods

    pods = chosen_pods(what, draft.pods)
    draft.note_of(origin, remove_pods(draft, pods, RemovalCause.DELETED, origin))
    if is_selector(what):
        return f"delete pods {what} ({len(pods)})"
    return f"delete pod {pods[0].key}"


DELETE_PODS = EditKind("delete_pods", Pods, _apply, _check)
OPTION = Option.from_kind(
    "--delete", "PODS", "What if pods, by [NAMESPACE/]NAME or label selector, were deleted? (repeatable)", DELETE_PODS
)
