"""The snapshot: the objects of a cluster, their source and time; its own file format, and a ``v1 List`` as kubectl
prints it.

    {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot",
     "metadata": {"source": ..., "takenAt": ..., "kubernetesVersion": ..., "unreadable": {...}},
     "objects": {"Node": [...], "Pod": [...], ...}}

The schema of the format is ``schemas/cluster-snapshot.schema.json``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import msgspec

from kwhatif.api.decode import convert, decode_json, describe_value, step
from kwhatif.api.field_types import check
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, Objects, kind_named
from kwhatif.api.meta import Resource
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.times import check_times, parse_time
from kwhatif.errors import InputError, UnreadError
from kwhatif.snapshot.format.atomic_files import compress_file, draft_of
from kwhatif.snapshot.format.autoscaler_info import AutoscalerInfo
from kwhatif.snapshot.format.descheduler_info import DeschedulerInfo
from kwhatif.snapshot.read.files import STDIN
from kwhatif.snapshot.read.objects import Document, check_name, decoded_list, inside

API_VERSION = "kwhatif.dev/v1"
KIND = "ClusterSnapshot"
_GROUP = API_VERSION.partition("/")[0]

_AT_ONCE = 1000


class SchedulerInfo(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """The cluster's own scheduler: its KubeSchedulerConfiguration as plain values, and where that was found."""

    image: str | None = None
    feature_gates: dict[str, bool] | None = None
    configuration: dict[str, Any] | None = None
    source: str | None = None


@dataclass
class Snapshot:
    """What is known of a cluster.

    ``taken_at`` is an RFC 3339 time. ``unreadable`` maps a kind that could not be read, or not in full, to the reason,
    ``ignored`` a kind that is not read, or a sort of file in a dump, to how many there were. ``whole`` has the
    objects of some kinds as plain values: what controllers and the API server read of them is more than scheduling
    does. ``as_read`` has what files hold of other kinds, by kind, namespace and name: a change is judged by all fields
    of what is there. It is never written.

    ``resource_versions`` maps a kind to the version of the list it was read from, ``inconsistencies`` says what changed
    while the lists were read, ``dropped`` names the fields of pod templates that were left out ("env"), ``redacted``
    tells whether the names are made up, ``edits`` what was changed by what-if edits, in words. ``scheduler``,
    ``autoscaler`` and ``descheduler`` are what is known of the cluster's own. ``age`` is only that of one of a live
    cluster, in seconds, when a question was asked.
    """

    objects: Objects = field(default_factory=Objects)
    whole: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    as_read: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict, repr=False)
    source: str = ""
    kubernetes_version: str | None = None
    taken_at: str | None = None
    unreadable: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    resource_versions: dict[str, str] = field(default_factory=dict)
    inconsistencies: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    redacted: bool = False
    edits: list[str] = field(default_factory=list)
    scheduler: SchedulerInfo | None = None
    autoscaler: AutoscalerInfo | None = None
    descheduler: DeschedulerInfo | None = None
    age: int | None = None

    def copy(self) -> Snapshot:
        """The same objects in lists of their own."""
        whole = {kind: list(listed) for kind, listed in self.whole.items()}
        return dataclasses.replace(self, objects=self.objects.copy(), whole=whole)

    def covered_kinds(self) -> frozenset[str]:
        """The kinds that were read, whether or not there were objects."""
        return self.objects.known_kinds() | self.whole.keys()

    def by_kind(self) -> dict[str, list[Any]]:
        """All objects, the kinds in the order of their names; those that are kept as plain values so."""
        return dict(sorted((self.objects.by_kind() | self.whole).items()))

    def counts(self) -> dict[str, int]:
        """How many objects there are of each kind that was read."""
        return {kind: len(objects) for kind, objects in self.by_kind().items()}

    def metadata(self) -> Metadata:
        """Everything but the objects, as a file has it; empty fields are left out."""
        fields = {name: getattr(self, name) or None for name in Metadata.__struct_fields__}
        return Metadata(**fields | {"taken_at": self.taken_at})


class Metadata(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    source: str | None = None
    taken_at: str | None = None
    kubernetes_version: str | None = None
    unreadable: dict[str, str] | None = None
    resource_versions: dict[str, str] | None = None
    inconsistencies: list[str] | None = None
    dropped: list[str] | None = None
    redacted: bool | None = None
    edits: list[str] | None = None
    scheduler: SchedulerInfo | None = None
    autoscaler: AutoscalerInfo | None = None
    descheduler: DeschedulerInfo | None = None


class _JsonEnvelope(msgspec.Struct):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    objects: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class _ValueEnvelope(msgspec.Struct):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    objects: dict[str, Any] = msgspec.field(default_factory=dict)


def is_snapshot(document: Document, api_version: str, kind: str) -> bool:
    """Whether a document is in our own format, by its head. Raises InputError if only a later version could read it."""
    if not api_version.startswith(f"{_GROUP}/") or kind != KIND:
        return False
    if api_version != API_VERSION:
        problem = f'expected "{API_VERSION}", found {describe_value(api_version)}'
        raise InputError(problem, source=document.source, place="$.apiVersion")
    return True


def read_envelope(value: msgspec.Raw | Any) -> Snapshot:
    """A snapshot from its own format, as raw JSON or plain Python values. Raises InputError with a place."""
    raw = isinstance(value, msgspec.Raw)
    envelope = decode_json(value, _JsonEnvelope) if raw else convert(value, _ValueEnvelope)
    metadata = envelope.metadata
    if metadata.taken_at is not None:
        _check_time(metadata.taken_at)
    fields = {name: getattr(metadata, name) for name in Metadata.__struct_fields__}
    snapshot = Snapshot(**{name: value for name, value in fields.items() if value is not None})
    for kind, listed in envelope.objects.items():
        try:
            if kind in KINDS:
                snapshot.objects.extend(KINDS[kind], _objects(listed, kind))
            if kind in KEPT_WHOLE:
                snapshot.whole[kind] = _whole(listed, kind)
            elif kind not in KINDS:
                snapshot.ignored[kind] = len(decoded_list(listed, msgspec.Raw if raw else dict[str, Any]))
        except InputError as error:
            raise inside(error, "", "$.objects" + step(kind)) from None
    return snapshot


def _objects(listed: Any, kind: str) -> list[Resource]:
    objects = decoded_list(listed, KINDS[kind])
    for i, obj in enumerate(objects):
        try:
            check_name(obj)
            check_times(obj)
        except InputError as error:
            raise inside(error, "", f"$[{i}]") from None
        if obj.kind not in (None, kind_named(kind).kind):
            raise InputError(
                f'expected "{kind_named(kind).kind}", found {describe_value(obj.kind)}', place=f"$[{i}].kind"
            )
    return objects


def _whole(listed: Any, kind: str) -> list[dict[str, Any]]:
    objects = decoded_list(listed, dict[str, Any])
    for i, (obj, common) in enumerate(zip(objects, decoded_list(listed, Resource), strict=True)):
        group = KEPT_WHOLE[kind]
        try:
            check_name(common)
            check(obj, group, kind)
        except InputError as error:
            raise inside(error, "", f"$[{i}]") from None
        obj["kind"], obj["apiVersion"] = kind, obj.get("apiVersion") or (f"{group}/v1" if group else "v1")
    return objects


def _check_time(text: str) -> None:
    try:
        parse_time(text)
    except ValueError as error:
        raise InputError(str(error), place="$.metadata.takenAt") from None


def write_snapshot(snapshot: Snapshot, path: str, *, private_directory: bool = False) -> None:
    """Write a snapshot in its own format, packed if the name ends in ``.gz`` or ``.zst``; ``-`` is standard output.

    The same snapshot gives the same bytes. The file appears complete or not at all, and only its owner can read it;
    with ``private_directory`` it is also refused where others may write to its directory. Raises InputError if it
    cannot be written.
    """
    write_chunks(_chunks(snapshot), path, private_directory=private_directory)


def write_chunks(chunks: Iterable[bytes], path: str, *, private_directory: bool = False) -> None:
    """Write a text that comes in pieces as ``write_snapshot`` does. Raises InputError if it cannot be written."""
    try:
        with _open_output(path, private_directory) as file, compress_file(file, path) as packer:
            for chunk in chunks:
                packer.write(chunk)
    except BrokenPipeError as error:
        raise UnreadError(str(error)) from None
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}", source="standard output" if path == STDIN else path
        ) from None


@contextlib.contextmanager
def _open_output(path: str, private_directory: bool) -> Iterator[IO[bytes]]:
    if path == STDIN:
        yield sys.stdout.buffer
        sys.stdout.flush()
    else:
        with draft_of(path, private=True, private_directory=private_directory) as file:
            yield file


def _chunks(snapshot: Snapshot) -> Iterator[bytes]:
    """The text of a snapshot, in pieces, since as a whole it would take as much memory as the objects."""
    encode = msgspec.json.Encoder(enc_hook=plain_quantity).encode
    head = encode({"apiVersion": API_VERSION, "kind": KIND, "metadata": snapshot.metadata()})
    yield head.removesuffix(b"}") + b',"objects":{'
    for number, (kind, objects) in enumerate(snapshot.by_kind().items()):
        yield (b"," if number else b"") + encode(kind) + b":["
        for start in range(0, len(objects), _AT_ONCE):
            yield (b"," if start else b"") + encode(objects[start : start + _AT_ONCE])[1:-1]
        yield b"]"
    yield b"}}\n"


# What others name comes before them, so that objects can be created in this order.
_FIRST = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "PersistentVolume", "Node")
_LAST = ("Pod",)


def write_list(snapshot: Snapshot, path: str) -> None:
    """Write the objects as a List in JSON, packed and private as ``write_snapshot`` has it.

    Raises InputError if it cannot be written.
    """
    write_chunks(_list_chunks(snapshot), path)


def list_losses(snapshot: Snapshot) -> list[str]:
    """The fields of a snapshot that a List has no place for, by their names."""
    lost = [name for name in msgspec.to_builtins(snapshot.metadata()) if name not in ("source", "resourceVersions")]
    return lost + [f"that there is no {kind}" for kind, objects in snapshot.by_kind().items() if not objects]


def _list_chunks(snapshot: Snapshot) -> Iterator[bytes]:
    by_kind = snapshot.by_kind()
    ranks = {kind: rank for rank, kind in enumerate(_FIRST)} | dict.fromkeys(_LAST, len(by_kind) + len(_FIRST))
    encode = msgspec.json.Encoder(enc_hook=plain_quantity).encode
    yield b'{"apiVersion":"v1","kind":"List","metadata":{},"items":['
    between = b"\n"
    for kind in sorted(by_kind, key=lambda kind: (ranks.get(kind, len(_FIRST)), kind)):
        row = kind_named(kind)
        usual = row.api_version()
        for obj in by_kind[kind]:
            plain = obj if isinstance(obj, dict) else msgspec.to_builtins(obj, enc_hook=plain_quantity)
            yield between + encode({**plain, "apiVersion": plain.get("apiVersion") or usual, "kind": row.kind})
            between = b",\n"
    yield b"\n]}\n"
