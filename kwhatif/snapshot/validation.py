"""Reads snapshots for validation: everything that can be read of files, and every error in the rest.

Objects are decoded first; only one that does not decode is validated by the schema, which finds all its misfits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from kwhatif.api.decode import decode_json, describe_value, step
from kwhatif.api.field_types import checked_type
from kwhatif.api.json_schema import drop_nulls, find_schema_errors, validator
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, NAMESPACED, Objects, kind_named, kind_of
from kwhatif.api.meta import Resource
from kwhatif.api.times import check_times
from kwhatif.errors import InputError
from kwhatif.results.snapshot_check import Finding
from kwhatif.snapshot.collector import describe_conflict
from kwhatif.snapshot.foreign.exports import convert_internal_list, is_kwok_patch, simulator_export
from kwhatif.snapshot.foreign.layouts import texts_of, tree_of
from kwhatif.snapshot.format.documents import cluster_snapshot_schema
from kwhatif.snapshot.format.model import API_VERSION, KIND, Snapshot, read_envelope
from kwhatif.snapshot.read.files import display_path, once
from kwhatif.snapshot.read.objects import (
    Document,
    Item,
    check_name,
    decode,
    decoded_list,
    head_of,
    items_of,
    put_in_namespace,
    read_documents,
)

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_MOST_PROBLEMS = 10_000
"""After this many problems, the rest of a file's documents is skipped."""

_MOST_EXPLAINED = 1000
"""Validation by schema is slow: beyond this number of problems only the first of each object is reported."""


class Place(msgspec.Struct, frozen=True):
    """The place of an object: the file or document, and the path in it."""

    source: str
    path: str

    def __str__(self) -> str:
        return f"{self.source}: {self.path}"


class ValidatedSnapshot(msgspec.Struct):
    """What could be read. Of objects that appear twice the last is in ``snapshot``; ``whole`` ones are only counted.

    ``places`` are by kind, namespace and name, ``at`` are those in the lists of ``snapshot``; ``misread`` are the
    objects with a name that could not be read. The rule of a problem is ``syntax`` or ``schema``. ``dumped`` are those
    of the dump that is being read, of which the first count.
    """

    snapshot: Snapshot = msgspec.field(default_factory=Snapshot)
    problems: list[Finding] = []
    places: dict[tuple[str, str, str], Place] = {}
    at: dict[tuple[str, str, str], int] = {}
    misread: set[tuple[str, str, str]] = set()
    dumped: set[tuple[str, str, str]] | None = None

    def add(self, rule: str, name: str, place: Place, text: str) -> None:
        """Note an error of an object."""
        finding = Finding(level="error", rule=rule, object=name, source=place.source, place=place.path, message=text)
        self.problems.append(finding)

    def take(self, kind: str, obj: Resource, place: Place) -> None:
        """Keep an object; it replaces an earlier one of its name."""
        if kind in NAMESPACED:
            put_in_namespace(obj, "default")
        key = (kind, obj.namespace, obj.name)
        if self.dumped is not None and key in self.dumped:
            return
        if self.dumped is not None:
            self.dumped.add(key)
        first = self.places.get(key)
        self.places[key] = place
        if kind not in KINDS:
            return
        listed = self.snapshot.objects.list_kind(kind)
        if first is None:
            self.at[key] = len(listed)
            self.snapshot.objects.add(obj)
        elif listed[self.at[key]] != obj:
            listed[self.at[key]] = obj
            self.snapshot.inconsistencies.append(describe_conflict(key, str(place), str(first)))


def read_for_validation(paths: Sequence[str]) -> ValidatedSnapshot:
    """Read snapshots and manifests as ``load_snapshot`` does, but go on after errors.

    Raises InputError only for files that cannot be opened or decompressed.
    """
    validated = ValidatedSnapshot()
    for path in once(paths):
        tree = tree_of(path)
        validated.dumped = set() if tree else None
        for text, head in texts_of(path, tree):
            try:
                documents = read_documents(text)
                if not documents:
                    raise InputError("holds no objects: it is empty")
            except InputError as error:
                validated.add("syntax", "", Place(text.name, error.place or "$"), error.problem)
                continue
            for document in map(convert_internal_list, documents):
                if len(validated.problems) >= _MOST_PROBLEMS:
                    place = Place(document.source, "$")
                    validated.add("syntax", "", place, "not looked at: too much is wrong before it")
                    break
                _Reader(validated, document, head).read()
    validated.snapshot.source = validated.snapshot.source or ", ".join(map(display_path, paths))
    return validated


class _Reader:
    """Reads one document."""

    def __init__(self, validated: ValidatedSnapshot, document: Document, head: tuple[str, str]) -> None:
        self._found, self._document, self._head = validated, document, head

    def read(self) -> None:
        document = self._document
        try:
            api_version, kind = head_of(document, self._head)
            if kind == KIND and api_version.partition("/")[0] == API_VERSION.partition("/")[0]:
                self._snapshot()
            else:
                for item in self._items(api_version or kind):
                    row = kind_of(item.api_version, item.kind)
                    kind = f"{item.kind}.{item.api_version}" if item.kind in KINDS else item.kind
                    kind = row.name if row is not None and row.struct is not None else kind
                    self._one(kind, item.value, Place(item.source, item.place))
        except InputError as error:
            self._problem("", Place(error.source or document.source, error.place or "$"), error.problem)

    def _items(self, head: str) -> Iterator[Item]:
        export = None if head else simulator_export(self._document)
        if export is None and not head and self._found.dumped is not None:
            # What is no object of Kubernetes may well stand in a dump.
            return
        for item in export.items() if export else items_of(self._document, self._head):
            if not is_kwok_patch(item.api_version, item.kind):
                yield item

    def _problem(self, name: str, place: Place, text: str) -> None:
        self._found.add("schema", name, place, text)

    def _snapshot(self) -> None:
        parts = _parts(self._document.value, "$")
        lists = _parts(parts.pop("objects", {}), "$.objects")
        envelope: dict[str, Any] = {"objects": {}}
        for key, value in parts.items():
            try:
                envelope[key] = drop_nulls(_plain(value))
            except InputError as error:
                place = Place(self._document.source, f"${step(key)}")
                self._problem("", _inside(place, error.place), error.problem)
        self._metadata(envelope)
        for kind, listed in lists.items():
            self._list(kind, listed)

    def _metadata(self, envelope: dict[str, Any]) -> None:
        misfits = list(_misfits(envelope, ""))
        for place, text in misfits:
            self._problem("", Place(self._document.source, place), text)
        try:
            read = read_envelope(envelope)
        except InputError as error:
            if not misfits:
                self._problem("", Place(self._document.source, error.place), error.problem)
            return
        read.objects = Objects()
        mine, read.source = self._found.snapshot, self._found.snapshot.source or read.source
        if not mine.taken_at and not mine.unreadable and not mine.inconsistencies:
            read.objects = mine.objects
            self._found.snapshot = read

    def _list(self, kind: str, listed: Any) -> None:
        path = "$.objects" + step(kind)
        source = self._document.source
        struct = KINDS.get(kind, Resource)
        if kind in KINDS:
            self._found.snapshot.objects.extend(struct, [])
        try:
            good = decoded_list(listed, struct)
            if kind in KEPT_WHOLE:
                decoded_list(listed, checked_type(KEPT_WHOLE[kind], kind))
        except InputError:
            good = None
        if good is not None:
            for i, obj in enumerate(good):
                self._check_object(kind, obj, Place(source, f"{path}[{i}]"))
            return
        try:
            elements = decoded_list(listed, msgspec.Raw if isinstance(listed, msgspec.Raw) else Any)
        except InputError as error:
            self._problem("", Place(source, path + error.place.removeprefix("$")), error.problem)
            return
        for i, element in enumerate(elements):
            self._one(kind, element, Place(source, f"{path}[{i}]"))

    def _one(self, kind: str, value: Any, place: Place) -> None:
        try:
            obj = decode(value, KINDS.get(kind, Resource))
            if kind in KEPT_WHOLE:
                decode(value, checked_type(KEPT_WHOLE[kind], kind))
        except InputError as error:
            plain = _soundly_plain(value)
            first = (error.place or "$", error.problem)
            thorough = plain is not None and len(self._found.problems) < _MOST_EXPLAINED
            misfits = (list(_misfits(plain, kind)) if thorough else []) or [first]
            namespace, name = _names_in(plain)
            self._found.misread.add((kind, namespace or ("default" if kind in NAMESPACED else ""), name))
            called = f"{kind} {namespace}/{name}" if namespace and name else f"{kind} {name}".strip()
            for where, text in misfits:
                self._problem(called, _inside(place, where), text)
            return
        self._check_object(kind, obj, place)

    def _check_object(self, kind: str, obj: Resource, place: Place) -> None:
        try:
            check_name(obj)
            check_times(obj)
        except InputError as error:
            self._problem(kind, _inside(place, error.place), error.problem)
            return
        if (kind in KINDS or kind in KEPT_WHOLE) and obj.kind not in (None, kind_named(kind).kind):
            text = f'expected "{kind_named(kind).kind}", found {describe_value(obj.kind)}'
            self._problem(_name(kind, obj), _inside(place, "$.kind"), text)
            return
        self._found.take(kind, obj, place)


def _inside(place: Place, path: str) -> Place:
    return Place(place.source, place.path + path.removeprefix("$"))


def _name(kind: str, obj: Resource) -> str:
    return f"{kind} {obj.namespace}/{obj.name}" if obj.namespace else f"{kind} {obj.name}"


def _names_in(plain: Any) -> tuple[str, str]:
    """Namespace and name of an object that is not sound, as far as it has them."""
    metadata = plain.get("metadata") if isinstance(plain, dict) else None
    parts = [metadata.get(key) if isinstance(metadata, dict) else None for key in ("namespace", "name")]
    namespace, name = (part if isinstance(part, str) else "" for part in parts)
    return namespace, name


def _parts(value: Any, place: str) -> dict[str, Any]:
    """The fields of an object, not yet decoded where they were raw. Raises InputError."""
    try:
        raw = isinstance(value, msgspec.Raw)
        return dict(decode(value if value is not None else {}, dict[str, msgspec.Raw] if raw else dict[str, Any]))
    except InputError as error:
        raise InputError(error.problem, place=place + error.place.removeprefix("$")) from None


def _plain(value: Any) -> Any:
    """Raw JSON as plain values. Raises InputError for numbers that are none here."""
    return decode_json(value, Any) if isinstance(value, msgspec.Raw) else value


def _soundly_plain(value: Any) -> Any:
    """As ``_plain`` without nulls; None if that fails."""
    try:
        return drop_nulls(_plain(value))
    except InputError:
        return None


# --- the schema


def _misfits(value: Any, kind: str) -> Iterator[tuple[str, str]]:
    """Place and text of all schema errors: of an object of a kind, or (no kind) of the envelope."""
    return find_schema_errors(value, _validator(kind))


@cache
def _validator(kind: str) -> Validator:
    schema = cluster_snapshot_schema()
    if kind:
        listed = schema["properties"]["objects"]["properties"].get(kind)
        schema = {**(listed["items"] if listed else {"$ref": "#/$defs/Named"}), "$defs": schema["$defs"]}
    return validator(schema)
