"""Parses equal texts of YAML once.

Files of a repository are read for what they deploy, for values that Flux substitutes and for their objects; a gate
reads two revisions, most files of which are equal.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.yaml_reader import YamlDocument, read_yaml

_MOST_BYTES = 64 * bounds.MIB


class _Memory(msgspec.Struct):
    """What texts hold that were read, as ``marshal`` writes it: whoever reads one again gets values of his own."""

    documents: dict[tuple[bytes, bool], bytes] = {}
    size: int = 0


_memory: ContextVar[_Memory | None] = ContextVar("_memory", default=None)


@contextmanager
def remember_yaml() -> Iterator[None]:
    """A context in which equal texts are parsed once."""
    if _memory.get() is not None:
        yield
        return
    token = _memory.set(_Memory())
    try:
        yield
    finally:
        _memory.reset(token)


def read_yaml_once(
    data: bytes, source: str, duplicates: list[str] | None, broken: list[InputError] | None, as_kustomize: bool
) -> list[YamlDocument]:
    """As ``read_yaml``."""
    memory = _memory.get()
    if memory is None:
        return list(read_yaml(data, source, duplicates, broken, as_kustomize))
    known = memory.documents.get((data, as_kustomize))
    if known is not None:
        return [YamlDocument(*fields) for fields in marshal.loads(known)]
    before = len(duplicates or ()), len(broken or ())
    documents = list(read_yaml(data, source, duplicates, broken, as_kustomize))
    # What is wrong with a text is said of each file that has it.
    is_sound = before == (len(duplicates or ()), len(broken or ()))
    if is_sound and memory.size + len(data) <= _MOST_BYTES:
        kept = marshal.dumps(
            [(document.number, document.line, document.value, document.item_lines) for document in documents]
        )
        memory.documents[data, as_kustomize] = kept
        memory.size += len(data) + len(kept)
    return documents
