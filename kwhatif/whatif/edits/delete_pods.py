"""Delete pods; their controllers make them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from kwhatif.errors import InputError
from kwhatif.snapshot.chosen import chosen_pods, is_selector
from kwhatif.whatif.edits.kind import EditKind, Option

if TYPE_CHECKING:
    from kwhatif.whatif.edits.draft import Draft

Pods = Annotated[
    str,
    Meta(description="A pod as NAME or NAMESPACE/NAME, a label selector, or NAMESPACE/[SELECTOR] for one namespace."),
]


def _check(what: str) -> None:
    if not what.strip():
        raise InputError("expected a pod or a selector, found none")


def _apply(draft: Draft, what: str, origin: str) -> str:
    from kwhatif.whatif.edits.departures import Cause, depart

    pods = chosen_pods(what, draft.pods)
    draft.note_of(origin, depart(draft, pods, Cause.DELETED, origin))
    if is_selector(what):
        return f"delete pods {what} ({len(pods)})"
    return f"delete pod {pods[0].key}"


DELETE_PODS = EditKind("delete_pods", Pods, _apply, _check)
OPTION = Option.plain(
    "--delete", "PODS", "What if pods, by [NAMESPACE/]NAME or label selector, were deleted? (repeatable)", DELETE_PODS
)
