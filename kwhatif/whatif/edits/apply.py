"""What if the cluster were another one? Edits are made on a copy of the snapshot, one after the other.

What controllers do about them is done, too: pods of nodes that are gone are made again, daemon sets serve new nodes.
Pods that wait for a node in the end are those to ask about.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.edits.draft import Draft
from kwhatif.whatif.edits.edited import Edited
from kwhatif.whatif.edits.kind import Given

__all__ = ["Edited", "edited"]


def edited(snapshot: Snapshot, given: Sequence[Given]) -> Edited:
    """The snapshot after these edits; the one given stays as it is, as do the objects in it.

    Raises InputError for an edit that cannot be made, such as one of a node that is not there.
    """
    covered = snapshot.covered()
    if not given:
        return Edited(snapshot, covered)
    draft = Draft(snapshot)
    texts = [_made(draft, each) for each in given]
    draft.snapshot.edits = [*snapshot.edits, *texts]
    return Edited(
        draft.snapshot,
        covered,
        tuple(draft.asked.values()),
        tuple(draft.failed),
        tuple(draft.notes),
        draft.moves_pods,
        tuple(draft.doubts),
    )


def _made(draft: Draft, given: Given) -> str:
    """Make one edit. Returns it in words."""
    try:
        return given.kind.apply(draft, given.what, given.origin)
    except InputError as error:
        if error.source:
            raise
        raise given.error(error.problem, error.place) from None
