"""What comes of what-if edits. Apart from them, as most commands make none and need not import how they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kwhatif.admission.answer import Doubts
from kwhatif.results.place import FailedCreate
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.session import Asked


@dataclass(frozen=True)
class Edited:
    """A snapshot after edits. ``asked`` are the pods of it that wait for a node because of them.

    ``covered`` are the kinds that the snapshot could be trusted to know before. ``notes`` say what controllers did
    about the edits, ``failed`` what they could not do, ``doubts`` what the API server may have done about them.
    ``moves_pods``: pods were removed or made, or might have been.
    """

    snapshot: Snapshot
    covered: frozenset[str]
    asked: tuple[Asked, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    notes: tuple[str, ...] = field(default=())
    moves_pods: bool = False
    doubts: Sequence[Doubts] = ()
