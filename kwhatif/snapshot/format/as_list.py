"""A snapshot as one ``v1 List``, the way ``kubectl get -o json`` prints several kinds."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kwhatif.api.kinds import kind_named
from kwhatif.api.quantity import plain_quantity
from kwhatif.snapshot.format.model import Snapshot, write_chunks

# What others name comes before them, so that objects can be created in this order.
_FIRST = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "PersistentVolume", "Node")
_LAST = ("Pod",)


def write_list(snapshot: Snapshot, path: str) -> None:
    """Write the objects as a List in JSON, packed and private as ``write_snapshot`` has it.

    Raises InputError if it cannot be written.
    """
    write_chunks(_chunks(snapshot), path)


def lost_in_list(snapshot: Snapshot) -> list[str]:
    """What a snapshot says and a List has no place for, by the names of its own format."""
    lost = [name for name in msgspec.to_builtins(snapshot.metadata()) if name not in ("source", "resourceVersions")]
    return lost + [f"that there is no {kind}" for kind, objects in snapshot.by_kind().items() if not objects]


def _chunks(snapshot: Snapshot) -> Iterator[bytes]:
    by_kind = snapshot.by_kind()
    ranks = {kind: rank for rank, kind in enumerate(_FIRST)} | dict.fromkeys(_LAST, len(by_kind) + len(_FIRST))
    encode = msgspec.json.Encoder(enc_hook=plain_quantity).encode
    yield b'{"apiVersion":"v1","kind":"List","metadata":{},"items":['
    between = b"\n"
    for kind in sorted(by_kind, key=lambda kind: (ranks.get(kind, len(_FIRST)), kind)):
        usual = kind_named(kind).api_version()
        for obj in by_kind[kind]:
            plain = obj if isinstance(obj, dict) else msgspec.to_builtins(obj, enc_hook=plain_quantity)
            yield between + encode({**plain, "apiVersion": plain.get("apiVersion") or usual, "kind": kind})
            between = b",\n"
    yield b"\n]}\n"
