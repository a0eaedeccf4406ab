"""A snapshot that follows a cluster: the lines of a recording are applied to it as they come.

Objects of a kind stand in the order of their keys, in which an API server lists them, so that the snapshot is at any
moment the one that a dump would have found, object for object.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import Kind
from kwhatif.snapshot.format.model import KIND, Metadata, Snapshot
from kwhatif.snapshot.live.pruning import prune_object, prune_whole
from kwhatif.snapshot.recording import rfc3339
from kwhatif.snapshot.recording_lines import KIND_OF_PATH, Head, Line, ObjectMeta, RecordingReader, WatchGap


@dataclass
class FollowedCluster(RecordingReader[msgspec.Raw]):
    """The ``snapshot``, and how many ``changes`` it has seen. It ``is_complete`` once all lists are there.

    ``gaps`` has the kinds that are not followed at the moment, by their paths; ``failure`` is why nothing is.
    """

    snapshot: Snapshot = field(default_factory=Snapshot)
    changes: int = 0
    is_complete: bool = False
    failure: str = ""
    gaps: dict[str, WatchGap] = field(default_factory=dict)
    _at: float = 0.0
    _keys: dict[str, list[str]] = field(default_factory=dict)
    _left_out: dict[str, str] = field(default_factory=dict)

    @property
    def as_of(self) -> float:
        """The moment, in seconds, of which all is known: that of the last line, unless a kind is not followed."""
        return min([self._at, *(gap.since for gap in self.gaps.values())])

    def take_line(self, text: bytes) -> None:
        """Apply a line. Raises InputError for one that is none."""
        line = decode_json(text, Line[msgspec.Raw])
        self._at = max(self._at, line.at)
        self.take(line, text, 0)

    def on_annotation(self, line: Line[msgspec.Raw]) -> None:
        snapshot = self.snapshot
        if line.cluster is not None:
            self._take_metadata(line.cluster)
        if (gap := line.missing) is None:
            pass
        elif line.kind == KIND:
            self.failure = gap.why
        elif gap.until is None:
            if KIND_OF_PATH.get(line.kind) in self.kinds:
                self.gaps[line.kind] = gap
        elif gap.since == gap.until:
            self._left_out[line.kind] = gap.why
        else:
            self.gaps.pop(line.kind, None)
        snapshot.taken_at = rfc3339(self.as_of)
        snapshot.inconsistencies = [
            *(f"{kind} were not followed from {rfc3339(gap.since)} on: {gap.why}" for kind, gap in self.gaps.items()),
            *(f"{kind}: {why}" for kind, why in self._left_out.items()),
        ]

    def _take_metadata(self, metadata: Metadata) -> None:
        snapshot = self.snapshot
        snapshot.source, snapshot.kubernetes_version = metadata.source or "", metadata.kubernetes_version
        snapshot.scheduler, snapshot.autoscaler = metadata.scheduler, metadata.autoscaler
        snapshot.descheduler = metadata.descheduler
        if metadata.unreadable is not None:
            # What could not be read is known only once all lists are there.
            self.is_complete = True
            snapshot.unreadable, snapshot.dropped = metadata.unreadable, metadata.dropped or []

    def on_list(
        self, kind: Kind, version: int, line: Line[msgspec.Raw], items: Sequence[msgspec.Raw], number: int
    ) -> None:
        keyed = sorted(((_key(decode_json(raw, Head).metadata), raw) for raw in items), key=lambda entry: entry[0])
        self._keys[kind.name] = [key for key, _ in keyed]
        objects = [_decode(kind, raw) for _, raw in keyed]
        for form, listed in enumerate(self._lists(kind)):
            listed[:] = [forms[form] for forms in objects]
        self.changes += 1

    def on_event(
        self, kind: Kind, obj: msgspec.Raw, line: Line[msgspec.Raw], text: bytes, number: int, *, deleted: bool
    ) -> None:
        if kind.idle:
            return
        key, keys, lists = (
            _key(decode_json(obj, Head).metadata),
            self._keys.setdefault(kind.name, []),
            self._lists(kind),
        )
        place = bisect_left(keys, key)
        there = place < len(keys) and keys[place] == key
        if deleted:
            if not there:
                return
            del keys[place]
            for listed in lists:
                del listed[place]
        else:
            objects = _decode(kind, obj)
            if not there:
                keys.insert(place, key)
            for listed, new in zip(lists, objects, strict=True):
                listed[place : place + there] = [new]
        self.changes += 1

    def _lists(self, kind: Kind) -> list[list[Any]]:
        """Where the objects of a kind are kept: decoded, as plain values, or both."""
        lists: list[list[Any]] = []
        if kind.struct is not None:
            self.snapshot.objects.extend(kind.struct, [])
            lists.append(self.snapshot.objects.list_all(kind.struct))
        if kind.whole:
            lists.append(self.snapshot.whole.setdefault(kind.name, []))
        return lists


def _key(metadata: ObjectMeta) -> str:
    """As an object is called in the API server's store, below its kind."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def _decode(kind: Kind, raw: msgspec.Raw) -> list[Any]:
    """An object in the forms in which its kind is kept, without what a list of its kind would not say of it."""
    items: list[Any] = []
    if kind.struct is not None:
        obj = decode_json(raw, kind.struct)
        prune_object(obj)
        for name in ("api_version", "kind"):
            msgspec.structs.force_setattr(obj, name, None)
        items.append(obj)
    if kind.whole:
        whole = decode_json(raw, dict[str, Any])
        # Each line has the version of its object, a list only those of some.
        prune_whole(whole, kind.name, set(), keep_templates=True)
        items.append(whole)
    return items
