"""The cluster that is asked about: read from files, and edited."""

from __future__ import annotations

from datetime import UTC, datetime

from kwhatif.api.core import Node
from kwhatif.errors import UsageError
from kwhatif.results.amounts import lasted
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_snapshot
from kwhatif.whatif.edits.edited import Edited
from kwhatif.whatif.stages.inputs import Edits, Inputs, Source
from kwhatif.whatif.stages.notes import Notes


def loaded(inputs: Inputs, notes: Notes) -> Edited:
    """The cluster as it is. Notes how old it is."""
    given = inputs.snapshot
    if not given and inputs.edits is not None:
        raise UsageError("what-if edits are of a cluster: name it with --snapshot")
    snapshot = snapshot_of(given, notes)
    if snapshot.taken_at:
        now = inputs.now or datetime.now(UTC)
        if callable(given):
            snapshot.age = max(0, _seconds_since(snapshot.taken_at, now))
        else:
            notes.note(age(snapshot.taken_at, now))
    if given and not snapshot.objects.of(Node):
        notes.warn(f"{snapshot.source}: holds no nodes")
    return Edited(snapshot, snapshot.covered())


def snapshot_of(source: Source, notes: Notes) -> Snapshot:
    """The cluster that is meant; an empty one if none is."""
    if callable(source):
        return source(notes)
    return source.copy() if isinstance(source, Snapshot) else load_snapshot(source) if source else Snapshot()


def with_edits(snapshot: Snapshot, edits: Edits | None, notes: Notes) -> Edited:
    """A snapshot after what-if edits. Notes what controllers did about them."""
    if edits is None:
        return Edited(snapshot, snapshot.covered())
    from kwhatif.whatif.edits.apply import edited
    from kwhatif.whatif.edits.document import read_edits

    names = {node.name for node in snapshot.objects.of(Node)}
    result = edited(snapshot, [*read_edits(edits.edits or ()), *edits.given(names)])
    for text in result.notes:
        notes.note(text)
    return result


def age(taken_at: str, now: datetime) -> str:
    """``the snapshot is 3 days old``."""
    seconds = _seconds_since(taken_at, now)
    if seconds < 0:
        return f"the snapshot is of {taken_at}, which is still to come"
    return f"the snapshot is {lasted(seconds)} old"


def _seconds_since(taken_at: str, now: datetime) -> int:
    return int((now - datetime.fromisoformat(taken_at)).total_seconds())
