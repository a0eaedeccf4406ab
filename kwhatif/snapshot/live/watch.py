"""Follows one kind: its list, then every change by watches, relisting only when a version has expired.

A watch that ends is continued from its last version. If that has expired (410) the kind is listed again, and
differences are recorded as if a watch had sent them: changes in between are lost.

Upstream: Reflector in k8s.io/client-go/tools/cache/reflector.go.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from kwhatif import bounds
from kwhatif.api.core import Pod
from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import Kind
from kwhatif.api.objects import part_of
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.times import check_times
from kwhatif.errors import ClusterError, InputError
from kwhatif.golang.parsing import parse_int
from kwhatif.snapshot.live import requests as asker
from kwhatif.snapshot.live.listing import Listing, ListReader
from kwhatif.snapshot.live.pruning import prune_event, prune_object
from kwhatif.snapshot.live.requests import Cancelled, Discovery, ListExpired, RequestRefused, RetryingClient
from kwhatif.snapshot.read.objects import check_name

WATCHED = 300
"""The seconds, and up to as many more, after which the server ends a watch, so that none hangs forever."""

SILENCE = 150.0
"""Seconds of silence after which a connection is assumed to be dead; bookmarks come about every minute."""

_DEFINITION = "CustomResourceDefinition"
_NO_NUMBER = "its resourceVersion is no number"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_EVENT_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED"})


class RecordingSink(Protocol):
    """The output. ``kind`` is an API path such as ``apps/v1/replicasets``, ``text`` JSON."""

    def list(self, kind: str, text: bytes) -> None: ...

    def event(self, kind: str, type: str, text: bytes) -> None: ...

    def missing(self, kind: str, since: float, why: str, *, until: float | None = None, lost: bool = True) -> None: ...

    def now(self) -> float: ...

    def count_bound_pod(self) -> None: ...


_NONE_OF_IT = b'{"metadata":{"resourceVersion":"0"},"items":[]}'


class _WatchedMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct):
    metadata: _WatchedMeta = msgspec.field(default_factory=_WatchedMeta)


class _WatchEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Failure(msgspec.Struct):
    code: int = 0
    message: str = ""


class Expired(Exception):
    """The version that a watch should continue from has expired."""


@dataclass
class KindWatch:
    """Follows one kind. ``refused`` is why it cannot be read at all, ``broken`` why it is not followed at present.

    ``known`` has version, uid and whether there is a node of every object, by namespace and name. ``_since`` is when
    the kind was last followed without a gap.
    """

    kind: Kind
    asker: RetryingClient
    lists: ListReader
    served: Discovery
    tape: RecordingSink
    refused: str = ""
    missing: bool = False
    broken: str = ""
    dropped: set[str] = field(default_factory=set)
    left_out: int = 0
    """How many objects could not be read, and are not in the recording."""
    known: dict[tuple[str, str], tuple[str, str, bool]] = field(default_factory=dict)
    _form: Kind = field(init=False)
    _version: str = ""
    _at: str = ""
    _since: float = 0.0
    _expired: bool = False
    _failures: int = 0
    _known_size: int = 0
    _definitions: int = 0

    def __post_init__(self) -> None:
        self._form, self._version = self.kind, self.kind.versions[0]

    @property
    def path(self) -> str:
        return f"{self._form.api_version(self._version)}/{self.kind.plural}"

    def begin(self) -> None:
        """List the kind and record the list. Raises ClusterError and InputError as a dump does."""
        listing = self.lists.read(self.kind)
        self.refused, self.missing = listing.unreadable, listing.missing
        self._form, self._version = listing.form or self._form, listing.version or self._version
        self.dropped |= listing.dropped
        if not listing.unreadable and parse_int(listing.resource_version) is None:
            # No recording with such a list could be read: there is no telling what was before and what after it.
            listing.unreadable = self.refused = _NO_NUMBER
        if listing.unreadable:
            if self.kind.rare and listing.missing:
                # Where it is not served, there are none.
                self.tape.list(self.path, _NONE_OF_IT)
            elif not listing.missing:
                self.tape.missing(self.path, self.tape.now(), listing.unreadable)
            return
        texts = []
        for key, version, uid, node, text in self._entries(listing):
            self._remember(key, version, uid, node)
            texts.append(text)
        head = msgspec.json.encode({"resourceVersion": listing.resource_version})
        self.tape.list(self.path, b'{"metadata":%b,"items":[%b]}' % (head, b",".join(texts)))
        self._at, self._since = listing.resource_version, self.tape.now()

    def follow(self) -> None:
        """Record every change until all is stopped; errors meanwhile are retried."""
        while not self.asker.stop.is_set():
            try:
                if self.missing:
                    self._look_again()
                elif self._expired:
                    self._list_again()
                else:
                    self._watch()
            except Cancelled:
                return
            except (Expired, ListExpired):
                self._expired = True
                self._begin_gap("the version to go on from was forgotten (410)")
            except RequestRefused as refused:
                self._begin_gap(f"forbidden ({refused.reason})" if refused.status == 403 else refused.reason)
            except (ClusterError, InputError) as error:
                self._begin_gap(str(error))
            except Exception as error:
                # A mistake of ours. The other kinds go on, and this one says that it does not.
                self._begin_gap(f"internal error: {type(error).__name__}: {error}")

    def _look_again(self) -> None:
        """A kind that is not served may be later: its objects are then recorded as if a watch had sent them."""
        self._definitions = self.served.wait(self._definitions)
        if self.asker.stop.is_set():
            raise Cancelled
        listing = self.lists.read(self.kind)
        if listing.missing:
            return
        if listing.unreadable:
            # It stays so: what may not be read when it is first asked for is not followed.
            self.refused, self.missing = listing.unreadable, False
            self.tape.missing(self.path, self.tape.now(), listing.unreadable)
            raise Cancelled
        if not self.kind.rare:
            self.tape.list(self.path, _NONE_OF_IT)
        self._form, self._version = listing.form or self._form, listing.version or self._version
        self.refused, self.missing = "", False
        self.dropped |= listing.dropped
        for key, version, uid, node, text in self._entries(listing):
            self._record_event("ADDED", _WatchedMeta(key[1], key[0], uid, version), (text, node))
        self._at, self._since = listing.resource_version, self.tape.now()
        self.asker.tell(f"{self.kind.plural}: served by now; followed from here on")

    # --- the watch

    def _watch(self) -> None:
        """One watch, from the last version on to its end."""
        params: dict[str, str | int] = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._at,
            "timeoutSeconds": WATCHED + random.randrange(WATCHED),  # so that not all end at once
        }
        noted = False
        what = f"watch of {self.kind.plural}"
        for line in self.asker.watch(self._form.path(self._version), params, SILENCE, what=what):
            if self.asker.stop.is_set():
                raise Cancelled
            if self.broken:
                self._end_gap(lost=False)
            if line:
                try:
                    self._take(line)
                    noted = True
                except InputError as error:
                    # It would come again forever.
                    self._leave_out(str(error))
            self._since = self.tape.now()
        if not noted:
            self._pause()

    def _take(self, line: bytes) -> None:
        """Handle one line of a watch."""
        event = decode_json(line, _WatchEvent)
        if event.type == "ERROR":
            failure = decode_json(event.object, _Failure)
            if failure.code == 410:
                raise Expired
            raise ClusterError(f"watch of {self.kind.plural}: {failure.code}: {failure.message}")
        meta = decode_json(event.object, _Head).metadata
        if parse_int(meta.resource_version) is None:
            raise InputError(_NO_NUMBER)
        if event.type in _EVENT_TYPES:
            try:
                self._check_room(meta)
                pruned = self._prune(event.object, meta.resource_version)
            except InputError as error:
                self._leave_out(str(error))
            else:
                self._record_event(event.type, meta, pruned)
        self._at = meta.resource_version
        self._failures = 0

    def _check_room(self, meta: _WatchedMeta) -> None:
        """The number of known objects of a kind is bounded, however long it is followed. Raises InputError
        beyond that.
        """
        key = (meta.namespace, meta.name)
        if len(self.known) >= bounds.OBJECTS and key not in self.known:
            raise InputError(f"there are more than {bounds.OBJECTS:,} of them")
        if self._known_size + _size_of(key, (meta.resource_version, meta.uid, False)) > bounds.RECORDER_BYTES:
            raise InputError(f"names and uids are longer than {bounds.RECORDER_BYTES:,} characters together")

    def _remember(self, key: tuple[str, str], version: str, uid: str, node: bool) -> None:
        self._forget(key)
        self.known[key] = entry = (version, uid, node)
        self._known_size += _size_of(key, entry)

    def _forget(self, key: tuple[str, str]) -> None:
        if (entry := self.known.pop(key, None)) is not None:
            self._known_size -= _size_of(key, entry)

    def _leave_out(self, why: str) -> None:
        """Count an object that cannot be read, and report it the more seldom the more there are."""
        self.left_out += 1
        if self.left_out & (self.left_out - 1) == 0:
            now, note = self.tape.now(), f"{self.left_out_note}, the last: {why}"
            self.tape.missing(self.path, now, note, until=now)
            self.asker.tell(f"{self.kind.plural}: {note}")

    @property
    def left_out_note(self) -> str:
        return f"objects that cannot be read were left out: {self.left_out:,}"

    def _record_event(self, type_: str, meta: _WatchedMeta, pruned: tuple[bytes, bool] | None) -> None:
        """Record a change, and update the known objects."""
        if pruned is None:
            return
        text, node = pruned
        key = (meta.namespace, meta.name)
        if self.kind.idle:
            # Old Events of a list are not recorded, so none are missed in another.
            pass
        elif type_ == "DELETED":
            self._forget(key)
        else:
            before = self.known.get(key)
            if node and before is not None and not before[2] and before[1] == meta.uid:
                self.tape.count_bound_pod()
            self._remember(key, meta.resource_version, meta.uid, node)
        self.tape.event(self.path, type_, text)
        if self.kind.name == _DEFINITION:
            self.served.invalidate()

    def _prune(self, raw: msgspec.Raw, version: str) -> tuple[bytes, bool] | None:
        """The text of an object without what is not read, and whether it is a pod with a node."""
        if self.kind.idle:
            text = prune_event(raw)
            return None if text is None else (text, False)
        if self.kind.whole:
            whole = self.lists.whole(decode_json(raw, dict[str, Any]), self._form, self._version, self.dropped)
            return _text(whole, version), False
        assert self.kind.struct is not None
        obj = decode_json(raw, self.kind.struct)
        check_name(obj)
        check_times(obj)
        prune_object(obj)
        return _text(obj, version), isinstance(obj, Pod) and bool(obj.spec.node_name)

    # --- what goes wrong

    def _begin_gap(self, why: str) -> None:
        """Record that the kind is not followed since its last event, and wait."""
        if self.asker.stop.is_set():
            return
        if not self.broken:
            self.tape.missing(self.path, self._since, why)
            self.asker.tell(f"{self.kind.plural}: {why}; trying again")
        self.broken = why
        self._pause()

    def _pause(self) -> None:
        """Twice as long each time, until there is an event again."""
        asker.wait(self.asker.stop, min(_FIRST_PAUSE * 2.0**self._failures, _LONGEST_PAUSE))
        self._failures = min(self._failures + 1, 16)

    def _end_gap(self, *, lost: bool) -> None:
        """Record that the kind is followed again, and whether changes were lost meanwhile."""
        self.tape.missing(self.path, self._since, self.broken, until=self.tape.now(), lost=lost)
        self.broken = ""

    def _list_again(self) -> None:
        """Record the differences to the known objects as if a watch had sent them."""
        listing = self.lists.read(self.kind)
        if listing.unreadable:
            raise ClusterError(listing.unreadable)
        if parse_int(listing.resource_version) is None:
            raise ClusterError(_NO_NUMBER)
        there = set()
        for key, version, uid, node, text in self._entries(listing):
            there.add(key)
            before = self.known.get(key)
            if before is not None and before[1] != uid:
                # Gone before the new one came, so not of a later version.
                self._record_deletion(key, version)
                before = None
            if before is None or before[0] != version:
                meta = _WatchedMeta(key[1], key[0], uid, version)
                self._record_event("ADDED" if before is None else "MODIFIED", meta, (text, node))
        for key in [key for key in self.known if key not in there]:
            self._record_deletion(key, listing.resource_version)
        self._at = listing.resource_version
        self._expired = False
        self._end_gap(lost=True)

    def _record_deletion(self, key: tuple[str, str], version: str) -> None:
        uid = self.known[key][1]
        meta = {"namespace": key[0], "name": key[1], "uid": uid, "resourceVersion": version}
        text = msgspec.json.encode({"metadata": {name: value for name, value in meta.items() if value}})
        self._record_event("DELETED", _WatchedMeta(key[1], key[0], uid, version), (text, False))

    def _entries(self, listing: Listing) -> Iterator[tuple[tuple[str, str], str, str, bool, bytes]]:
        """Key, version, uid, whether it is a pod with a node, and text of each object; old Events are left out."""
        if self.kind.idle:
            return
        objects: Sequence[Any] = listing.whole if self.kind.whole else listing.objects
        for obj, version in zip(objects, listing.versions, strict=True):
            node = isinstance(obj, Pod) and bool(obj.spec.node_name)
            if isinstance(obj, dict):
                name, namespace, uid = (part_of(obj, "metadata").get(key) or "" for key in ("name", "namespace", "uid"))
                meta = _WatchedMeta(name, namespace, uid, version)
            else:
                meta = _WatchedMeta(obj.name, obj.namespace, obj.metadata.uid or "", version)
            try:
                if parse_int(version) is None:
                    raise InputError(_NO_NUMBER)
                self._check_room(meta)
            except InputError as error:
                self._leave_out(str(error))
            else:
                yield (meta.namespace, meta.name), version, meta.uid, node, _text(obj, version)


def _size_of(key: tuple[str, str], entry: tuple[str, str, bool]) -> int:
    return len(key[0]) + len(key[1]) + len(entry[0]) + len(entry[1])


_encode: Callable[[Any], bytes] = msgspec.json.Encoder(enc_hook=plain_quantity).encode


def _text(obj: Any, version: str) -> bytes:
    """An object as JSON with its version, which no Struct has: there metadata comes first, and has at least a name."""
    if isinstance(obj, dict):
        part_of(obj, "metadata")["resourceVersion"] = version
        return _encode(obj)
    version_text = b'"metadata":{"resourceVersion":%b,' % msgspec.json.encode(version)
    return _encode(obj).replace(b'"metadata":{', version_text, 1)
