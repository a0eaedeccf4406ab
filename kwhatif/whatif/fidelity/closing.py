"""How a gap is closed: what to ask the cluster for what the snapshot lacks."""

from __future__ import annotations

import contextlib

from kwhatif.api.field_types import types_of
from kwhatif.api.kinds import GROUPS, Kind, kind_named
from kwhatif.errors import UsageError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import DEFAULT_MINOR, minor_of


def closed_by(snapshot: Snapshot, *kinds: str) -> tuple[str, ...]:
    """The commands whose output, read besides the snapshot, tells of all objects of these kinds.

    They ask for the list itself, which says of what kind it is even if it is empty; ``kubectl get KIND`` makes of it
    one that does not. None for a kind that not every cluster of this minor serves, that no snapshot holds, or that
    could not be read: a list beside the snapshot would not undo that.
    """
    minor = DEFAULT_MINOR
    with contextlib.suppress(UsageError):
        minor = minor_of(snapshot.kubernetes_version or minor)
    wanted = (kind for kind in kinds if kind in GROUPS and kind not in snapshot.unreadable)
    versions = ((kind, _version(kind, minor)) for kind in map(kind_named, wanted))
    return tuple(f"kubectl get --raw {kind.path(version)}" for kind, version in versions if version)


def _version(kind: Kind, minor: str) -> str:
    """The best version in which a minor serves a kind; nothing if there is none that is always on."""
    if len(kind.versions) == 1:
        return kind.versions[0]
    served = types_of(minor)
    return next((each for each in kind.versions if served.served(kind.api_version(each), kind.name) is not None), "")
