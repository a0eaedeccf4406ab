"""Snapshots in few words."""

from __future__ import annotations

from kwhatif.api.kinds import KINDS, Objects
from kwhatif.api.meta import Resource
from kwhatif.snapshot.format.model import Snapshot


def snapshot_of(*objects: Resource, covers: tuple[str, ...] = ()) -> Snapshot:
    """A snapshot of these objects, which also looked for kinds of which there may be none."""
    found = Objects()
    for obj in objects:
        found.add(obj)
    for kind in covers:
        found.extend(KINDS[kind], [])
    return Snapshot(objects=found, source="a test")
