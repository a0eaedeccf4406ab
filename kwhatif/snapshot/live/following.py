"""One kind of objects, followed: its list, then every change as a watch tells it, without a break if possible.

A watch that ends goes on from the last version it told. If that is forgotten (410) the kind is listed again, and what
differs is told as if a watch had: what happened in between is lost.

Upstream: Reflector in k8s.io/client-go/tools/cache/reflector.go.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import Kind
from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import ClusterError, InputError
from kwhatif.snapshot.live import asker
from kwhatif.snapshot.live.asker import Asker, Gone, Refused, Stopped
from kwhatif.snapshot.live.discovery import Discovery
from kwhatif.snapshot.live.listing import Listing, ListReader
from kwhatif.snapshot.live.pruning import prune_object
from kwhatif.snapshot.live.scheduler_events import pruned_event
from kwhatif.snapshot.read.items import check_name

WATCHED = 300
"""After so many seconds, and up to as many more, the server ends a watch, so that none hangs for ever."""

SILENCE = 150.0
"""So many seconds without a word, when bookmarks come about every minute, and a connection is taken to be dead."""

_DEFINITION = "CustomResourceDefinition"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_EVENT_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED"})


class Tape(Protocol):
    """Where it is written down. ``kind`` is an API path such as ``apps/v1/replicasets``, ``text`` JSON."""

    def list(self, kind: str, text: bytes) -> None: ...

    def event(self, kind: str, type: str, text: bytes) -> None: ...

    def missing(self, kind: str, since: float, why: str, *, until: float | None = None, lost: bool = True) -> None: ...

    def now(self) -> float: ...

    def bound(self) -> None: ...


_NONE_OF_IT = b'{"metadata":{"resourceVersion":"0"},"items":[]}'


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Failure(msgspec.Struct):
    code: int = 0
    message: str = ""


class Expired(Exception):
    """The version that a watch was to go on from has been forgotten."""


@dataclass
class Following:
    """The way of one kind. ``refused`` is why it cannot be read at all, ``broken`` why it is not followed right now.

    ``known`` has version, uid and whether there is a node of every object, by namespace and name. ``_since`` is when
    the kind was last in step.
    """

    kind: Kind
    asker: Asker
    lists: ListReader
    served: Discovery
    tape: Tape
    refused: str = ""
    missing: bool = False
    broken: str = ""
    dropped: set[str] = field(default_factory=set)
    known: dict[tuple[str, str], tuple[str, str, bool]] = field(default_factory=dict)
    _form: Kind = field(init=False)
    _version: str = ""
    _at: str = ""
    _since: float = 0.0
    _expired: bool = False
    _failures: int = 0
    _definitions: int = 0

    def __post_init__(self) -> None:
        self._form, self._version = self.kind, self.kind.versions[0]

    @property
    def path(self) -> str:
        return f"{self._form.api_version(self._version)}/{self.kind.plural}"

    def begin(self) -> None:
        """List the kind and write that down. Raises ClusterError and InputError as a dump does."""
        listing = self.lists.read(self.kind)
        self.refused, self.missing = listing.unreadable, listing.missing
        self._form, self._version = listing.form or self._form, listing.version or self._version
        self.dropped |= listing.dropped
        if listing.unreadable:
            if self.kind.rare and listing.missing:
                # Where it is not served, there are none.
                self.tape.list(self.path, _NONE_OF_IT)
            elif not listing.missing:
                self.tape.missing(self.path, self.tape.now(), listing.unreadable)
            return
        texts = []
        for key, version, uid, node, text in self._entries(listing):
            self.known[key] = (version, uid, node)
            texts.append(text)
        head = msgspec.json.encode({"resourceVersion": listing.resource_version})
        self.tape.list(self.path, b'{"metadata":%b,"items":[%b]}' % (head, b",".join(texts)))
        self._at, self._since = listing.resource_version, self.tape.now()

    def follow(self) -> None:
        """Write down every change until all is stopped; whatever goes wrong meanwhile is tried again."""
        while not self.asker.stop.is_set():
            try:
                if self.missing:
                    self._look_again()
                elif self._expired:
                    self._list_again()
                else:
                    self._watch()
            except Stopped:
                return
            except (Expired, Gone):
                self._expired = True
                self._break("the version to go on from was forgotten (410)")
            except Refused as refused:
                self._break(f"forbidden ({refused.reason})" if refused.status == 403 else refused.reason)
            except (ClusterError, InputError) as error:
                self._break(str(error))
            except Exception as error:
                # A mistake of ours. The other kinds go on, and this one says that it does not.
                self._break(f"internal error: {type(error).__name__}: {error}")

    def _look_again(self) -> None:
        """A kind that is not served may be after a while: its objects are then told as if a watch had."""
        self._definitions = self.served.wait(self._definitions)
        if self.asker.stop.is_set():
            raise Stopped
        listing = self.lists.read(self.kind)
        if listing.missing:
            return
        if listing.unreadable:
            # It stays so: what may not be read when it is first asked for is not followed.
            self.refused, self.missing = listing.unreadable, False
            self.tape.missing(self.path, self.tape.now(), listing.unreadable)
            raise Stopped
        if not self.kind.rare:
            self.tape.list(self.path, _NONE_OF_IT)
        self._form, self._version = listing.form or self._form, listing.version or self._version
        self.refused, self.missing = "", False
        self.dropped |= listing.dropped
        for key, version, uid, node, text in self._entries(listing):
            self._tell("ADDED", _Meta(key[1], key[0], uid, version), (text, node))
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
        told = False
        what = f"watch of {self.kind.plural}"
        for line in self.asker.watch(self._form.path(self._version), params, SILENCE, what=what):
            if self.asker.stop.is_set():
                raise Stopped
            if self.broken:
                self._mend(lost=False)
            if line:
                told = True
                self._take(line)
            self._since = self.tape.now()
        if not told:
            self._pause()

    def _take(self, line: bytes) -> None:
        """What one line of a watch tells."""
        event = decode_json(line, _Event)
        if event.type == "ERROR":
            failure = decode_json(event.object, _Failure)
            if failure.code == 410:
                raise Expired
            raise ClusterError(f"watch of {self.kind.plural}: {failure.code}: {failure.message}")
        meta = decode_json(event.object, _Head).metadata
        if event.type in _EVENT_TYPES:
            try:
                pruned = self._pruned(event.object, meta.resource_version)
            except InputError as error:
                # It would come again for ever.
                now = self.tape.now()
                self.tape.missing(self.path, now, f"an object that cannot be read: {error}", until=now)
                self.asker.tell(f"{self.kind.plural}: an object that cannot be read: {error}")
            else:
                self._tell(event.type, meta, pruned)
        if meta.resource_version:
            self._at = meta.resource_version
        self._failures = 0

    def _tell(self, type_: str, meta: _Meta, pruned: tuple[bytes, bool] | None) -> None:
        """Write down a change, and remember what is there now."""
        if pruned is None:
            return
        text, node = pruned
        key = (meta.namespace, meta.name)
        if self.kind.idle:
            # The old ones of a list are nobody's business, so none are missed in another.
            pass
        elif type_ == "DELETED":
            self.known.pop(key, None)
        else:
            before = self.known.get(key)
            if node and before is not None and not before[2] and before[1] == meta.uid:
                self.tape.bound()
            self.known[key] = (meta.resource_version, meta.uid, node)
        self.tape.event(self.path, type_, text)
        if self.kind.name == _DEFINITION:
            self.served.changed()

    def _pruned(self, raw: msgspec.Raw, version: str) -> tuple[bytes, bool] | None:
        """The text of an object without what nobody reads, and whether it is a pod with a node."""
        if self.kind.idle:
            text = pruned_event(raw)
            return None if text is None else (text, False)
        if self.kind.whole:
            whole = self.lists.whole(decode_json(raw, dict[str, Any]), self._form, self._version, self.dropped)
            return _text(whole, version), False
        assert self.kind.struct is not None
        obj = decode_json(raw, self.kind.struct)
        check_name(obj)
        prune_object(obj)
        return _text(obj, version), isinstance(obj, Pod) and bool(obj.spec.node_name)

    # --- what goes wrong

    def _break(self, why: str) -> None:
        """Say that the kind is not followed since the last time something was told, and wait."""
        if self.asker.stop.is_set():
            return
        if not self.broken:
            self.tape.missing(self.path, self._since, why)
            self.asker.tell(f"{self.kind.plural}: {why}; trying again")
        self.broken = why
        self._pause()

    def _pause(self) -> None:
        """Twice as long each time, until something is told again."""
        asker.wait(self.asker.stop, min(_FIRST_PAUSE * 2.0**self._failures, _LONGEST_PAUSE))
        self._failures = min(self._failures + 1, 16)

    def _mend(self, *, lost: bool) -> None:
        """Say that the kind is followed again, and whether something was lost meanwhile."""
        self.tape.missing(self.path, self._since, self.broken, until=self.tape.now(), lost=lost)
        self.broken = ""

    def _list_again(self) -> None:
        """Tell what differs from what was known as if a watch had told it."""
        listing = self.lists.read(self.kind)
        if listing.unreadable:
            raise ClusterError(listing.unreadable)
        there = set()
        for key, version, uid, node, text in self._entries(listing):
            there.add(key)
            before = self.known.get(key)
            if before is not None and before[1] != uid:
                # Gone before the new one came, so not of a later version.
                self._tell_gone(key, version)
                before = None
            if before is None or before[0] != version:
                meta = _Meta(key[1], key[0], uid, version)
                self._tell("ADDED" if before is None else "MODIFIED", meta, (text, node))
        for key in [key for key in self.known if key not in there]:
            self._tell_gone(key, listing.resource_version)
        self._at = listing.resource_version
        self._expired = False
        self._mend(lost=True)

    def _tell_gone(self, key: tuple[str, str], version: str) -> None:
        uid = self.known[key][1]
        meta = {"namespace": key[0], "name": key[1], "uid": uid, "resourceVersion": version}
        text = msgspec.json.encode({"metadata": {name: value for name, value in meta.items() if value}})
        self._tell("DELETED", _Meta(key[1], key[0], uid, version), (text, False))

    def _entries(self, listing: Listing) -> Iterator[tuple[tuple[str, str], str, str, bool, bytes]]:
        """Key, version, uid, whether it is a pod with a node, and text of each object; old Events are left out."""
        if self.kind.idle:
            return
        if self.kind.whole:
            for whole, version in zip(listing.whole, listing.versions, strict=True):
                meta = whole["metadata"]
                key = (meta.get("namespace") or "", meta.get("name") or "")
                yield key, version, meta.get("uid") or "", False, _text(whole, version)
            return
        for obj, version in zip(listing.objects, listing.versions, strict=True):
            node = isinstance(obj, Pod) and bool(obj.spec.node_name)
            yield (obj.namespace, obj.name), version, obj.metadata.uid or "", node, _text(obj, version)


_encode: Callable[[Any], bytes] = msgspec.json.Encoder(enc_hook=plain_quantity).encode


def _text(obj: Any, version: str) -> bytes:
    """An object as JSON with its version, which no Struct has: there metadata comes first, and has at least a name."""
    if isinstance(obj, dict):
        obj["metadata"]["resourceVersion"] = version
        return _encode(obj)
    told = b'"metadata":{"resourceVersion":%b,' % msgspec.json.encode(version)
    return _encode(obj).replace(b'"metadata":{', told, 1)
