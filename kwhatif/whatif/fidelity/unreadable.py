"""What an answer lacks since a live cluster would not let a kind be read, or changed while it was read.

``assess.py`` tells of the kinds that plugins read; here are those that the API server and the controllers look up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kwhatif.api.kinds import TEMPLATES
from kwhatif.results.parts import Gap
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.session import Asked


def unreadable_gaps(snapshot: Snapshot, asked: Sequence[Asked]) -> Iterator[Gap]:
    """A gap for each kind that could not be read and that admission or the controllers needed for these pods."""

    def made_here(item: Asked) -> bool:
        return item.origin != snapshot.source

    needed: dict[str, tuple[Callable[[Asked], bool], str]] = {
        "LimitRange": (
            made_here,
            "limits and requests by default are not filled in, and nothing is refused for its size",
        ),
        "ResourceQuota": (made_here, "nothing is refused for being more than the quota"),
        "RuntimeClass": (lambda item: bool(item.pod.spec.runtime_class_name), "its overhead and nodes are left out"),
    }
    for kind, why in sorted(snapshot.unreadable.items()):
        touches, effect = needed.get(kind, (None, ""))
        if kind in TEMPLATES:
            touches, effect = _of(kind), "one that is in the cluster is taken to be new: its pods are there twice"
        if touches is not None:
            pods = tuple(item.pod.key for item in asked if touches(item))
            yield Gap(what=f"{kind} could not be read: {why}", effect=effect, pods=pods)
    for text in snapshot.inconsistencies:
        yield Gap(what=f"the cluster changed while it was read: {text}", effect="what has moved may count twice or not")


def _of(kind: str) -> Callable[[Asked], bool]:
    return lambda item: item.owner.startswith(f"{kind} ")
