"""Lists of one kind from an API server, in pages, decoded as they come so that only what is read is held in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.decode import decode_json, decode_list, describe_value
from kwhatif.api.field_types import check
from kwhatif.api.kinds import Kind
from kwhatif.api.meta import Resource
from kwhatif.api.objects import part_of
from kwhatif.api.times import check_times
from kwhatif.errors import InputError
from kwhatif.snapshot.live.pruning import prune_object, prune_whole
from kwhatif.snapshot.live.requests import ListExpired, RequestRefused, RetryingClient
from kwhatif.snapshot.read.objects import check_name, inside

RESTARTS = 3
"""How often a list is restarted in pages; then it is requested as a whole, which cannot expire on the way."""

CUT_SHORT = 3
"""How often a page is requested again that was incomplete, or no JSON at all."""

Progress = Callable[[str, int, int | None], None]
"""Called with the kind, how many objects were read so far, and of how many, if the server says."""


class Listing(msgspec.Struct):
    """The list of one kind. ``missing``: no version that can be read is served.

    ``form`` and ``version`` say where it was read, ``versions`` are the resource versions of its objects.
    """

    kind: str
    form: Kind | None = None
    version: str = ""
    resource_version: str = ""
    versions: list[str] = []
    objects: list[Resource] = []
    whole: list[dict[str, Any]] = []
    dropped: set[str] = set()
    repeated: list[str] = []
    unreadable: str = ""
    missing: bool = False

    def __len__(self) -> int:
        return max(len(self.objects), len(self.whole))


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _ObjectMeta(msgspec.Struct, rename="camel"):
    resource_version: str | None = None


class _Head(msgspec.Struct):
    metadata: _ObjectMeta = msgspec.field(default_factory=_ObjectMeta)


_NONE = msgspec.Raw()


class _Page(msgspec.Struct):
    kind: str | None = None
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: msgspec.Raw = _NONE


class ListReader(msgspec.Struct, frozen=True):
    """Reads lists from one server. ``served`` says whether it has a version of a group (group, version)."""

    asker: RetryingClient
    served: Callable[[str, str], bool]
    page_size: int
    keep_templates: bool = False
    progress: Progress = lambda kind, count, total: None

    def read(self, kind: Kind) -> Listing:
        """All objects of a kind, from the best version that is served.

        Raises ClusterError, and InputError for an object that is not what it should be.
        """
        forms = [(form, version) for form in kind.forms for version in form.versions]
        for form, version in forms:
            if not self.served(form.group, version):
                continue
            try:
                return self._version(form, version)
            except RequestRefused as refused:
                if refused.status == 403:
                    return Listing(kind.name, unreadable=f"forbidden ({refused.reason})")
        tried = ", ".join(form.api_version(version) for form, version in forms)
        return Listing(kind.name, unreadable=f"the cluster does not serve it (404: {tried})", missing=True)

    def _version(self, kind: Kind, version: str) -> Listing:
        for _ in range(RESTARTS):
            try:
                return self._in_pages(kind, version, self.page_size)
            except ListExpired:
                self.asker.tell(f"list of {kind.plural}: expired before it was read (410); reading it again")
        try:
            return self._in_pages(kind, version, 0)
        except ListExpired:
            raise self.asker.build_protocol_error(f"list of {kind.plural}", "expires before it is read (410)") from None

    def _in_pages(self, kind: Kind, version: str, size: int) -> Listing:
        """One list from its beginning. Raises ListExpired if its version expires on the way."""
        what = f"list of {kind.plural}"
        listing, token, seen, empty = Listing(kind.name, kind, version), "", {""}, 0
        while True:
            params: dict[str, str | int] = {"limit": size} if size else {}
            if token:
                params["continue"] = token
            page = self._page(kind, version, params)
            before = len(listing)
            listing.resource_version = page.metadata.resource_version or listing.resource_version
            self._take(page.items, kind, version, listing)
            remaining = page.metadata.remaining_item_count
            self.progress(kind.name, len(listing), None if remaining is None else len(listing) + remaining)
            following = page.metadata.continue_ or ""
            if not following:
                return _without_repetitions(listing)
            if following in seen:
                again = "the same page again" if following == token else "one that was there before"
                raise self.asker.build_protocol_error(what, f"the next page is {again}")
            empty = empty + 1 if len(listing) == before else 0
            if empty == bounds.EMPTY_PAGES:
                raise self.asker.build_protocol_error(
                    what, f"{empty} pages in a row hold nothing, and more are said to follow"
                )
            if len(listing) > bounds.OBJECTS:
                raise self.asker.build_protocol_error(what, f"holds more than {bounds.OBJECTS:,} objects")
            seen.add(following)
            token = following

    def _page(self, kind: Kind, version: str, params: dict[str, str | int]) -> _Page:
        what = f"list of {kind.plural}"
        for attempt in range(CUT_SHORT):
            body = self.asker.get(kind.path(version), params, what=what)
            try:
                page = decode_json(body, _Page)
            except InputError as error:
                # An answer without a length that was cut looks like a complete one.
                if attempt + 1 < CUT_SHORT:
                    continue
                place = f"{error.place}: " if error.place.startswith("$") else ""
                raise self.asker.build_protocol_error(
                    what, f"{place}{error.problem}, found in what the server answers"
                ) from None
            if page.kind != f"{kind.kind}List":
                raise self.asker.build_protocol_error(
                    what, f"expected a {kind.kind}List, found kind {describe_value(page.kind or '')}"
                )
            if page.items is _NONE:
                raise self.asker.build_protocol_error(what, f"a {page.kind} without items")
            return page
        raise AssertionError("the last attempt either returns or raises")

    def _take(self, items: msgspec.Raw, kind: Kind, version: str, listing: Listing) -> None:
        first = len(listing)
        try:
            if kind.struct:
                objects = decode_list(items, kind.struct)
                for obj in objects:
                    check_name(obj)
                    check_times(obj)
                    prune_object(obj)
                listing.objects += objects
            if kind.whole:
                for i, plain in enumerate(decode_list(items, dict[str, Any])):
                    try:
                        listing.whole.append(self.whole(plain, kind, version, listing.dropped))
                    except InputError as error:
                        raise inside(error, "", f"$[{i}]") from None
            listing.versions += [head.metadata.resource_version or "" for head in decode_list(items, _Head)]
        except InputError as error:
            raise inside(error, f"list of {kind.plural} (from object {first})", "$.items") from None

    def whole(self, obj: dict[str, Any], kind: Kind, version: str, dropped: set[str]) -> dict[str, Any]:
        """An object as plain values, without what is not read. Raises InputError."""
        check(obj, kind.group, kind.kind)
        whole = {"apiVersion": kind.api_version(version), "kind": kind.kind, **obj}
        prune_whole(whole, kind.name, dropped, keep_templates=self.keep_templates)
        return whole


def _without_repetitions(listing: Listing) -> Listing:
    """A list that begins at one version and goes on at another may have an object twice: the later one counts."""
    keys = [(obj.namespace, obj.name) for obj in listing.objects] or [_key(whole) for whole in listing.whole]
    last = {key: i for i, key in enumerate(keys)}
    if len(last) < len(keys):
        listing.repeated = sorted({"/".join(filter(None, k)) for i, k in enumerate(keys) if last[k] != i})
        kept = sorted(last.values())
        listing.objects = [listing.objects[i] for i in kept] if listing.objects else []
        listing.whole = [listing.whole[i] for i in kept] if listing.whole else []
        listing.versions = [listing.versions[i] for i in kept]
    return listing


def _key(whole: dict[str, Any]) -> tuple[str, str]:
    metadata = part_of(whole, "metadata")
    return metadata.get("namespace") or "", metadata.get("name") or ""
