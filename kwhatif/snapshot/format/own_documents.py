"""The formats of our own that people write, beside snapshots: what they have in common.

They say by ``apiVersion`` and ``kind`` what they are, and a field that nobody knows is a mistake.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kwhatif import bounds
from kwhatif.api.json_schema import strictly
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.read.documents import Document, read_documents
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.items import decode, head_of

T = TypeVar("T")


def read_only(path: str, kind: str, type_: type[T]) -> tuple[T, str]:
    """The one document of a file and what the file is called. Raises InputError with the place of a mistake."""
    texts = read_paths([path], max_bytes=bounds.SETTINGS_BYTES)
    documents = [(document, text.name) for text in texts for document in read_documents(text)]
    if len(documents) != 1:
        raise InputError(f"expected one {kind}, found {len(documents)} documents", source=path)
    (document, source), *_ = documents
    return own_document(document, kind, type_, source), source


def own_document(document: Document, kind: str, type_: type[T], source: str) -> T:
    """A document that has to be of this kind. Raises InputError with the place of a mistake."""
    found = dict(zip(("apiVersion", "kind"), head_of(document), strict=True))
    for field, wanted in (("apiVersion", API_VERSION), ("kind", kind)):
        if found[field] != wanted:
            problem = f'expected "{wanted}", found {described(found[field]) if found[field] else "none"}'
            raise InputError(problem, source=source, place=f"$.{field}")
    try:
        return strictly(decode(document.value, dict[str, Any]), type_)
    except InputError as error:
        raise error.at(source) from None
