"""What-if edits of a cluster as a document.

    apiVersion: kwhatif.dev/v1
    kind: ClusterEdits
    edits:
    - cordon: worker-3
    - addNodes: {count: 3, like: worker-1, in: {zone: eu-west-1b}}
    - scale: {kind: Deployment, namespace: shop, name: web, replicas: 10}

The schema of the format is ``schemas/cluster-edits.schema.json``. The options of the command line are read by the
same rules: each is one edit, which stands at an option instead of in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.json_schema import strictly
from kwhatif.errors import InputError
from kwhatif.snapshot.format.own_documents import own_document
from kwhatif.snapshot.read.documents import Document, read_documents
from kwhatif.snapshot.read.files import called, read_paths
from kwhatif.whatif.edits.all_kinds import KINDS
from kwhatif.whatif.edits.kind import Given, Part

KIND = "ClusterEdits"

Edit = msgspec.defstruct(
    "Edit",
    [(kind.field, kind.type | None, None) for kind in KINDS],
    bases=(Part,),
    kw_only=True,
    namespace={"__doc__": "One edit: exactly one of these."},
)


class _Envelope(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    edits: list[dict[str, Any]]
    metadata: Any = None


def read_edits(paths: Sequence[str]) -> list[Given]:
    """The edits of documents, in their order. Raises InputError."""
    given: list[Given] = []
    for text in read_paths(paths, max_bytes=bounds.SETTINGS_BYTES):
        documents = read_documents(text)
        if not documents:
            raise InputError(f"holds no {KIND}: it is empty", source=called(text.name))
        for document in documents:
            given += _edits_of(document, document.source if len(documents) > 1 else text.name)
    return given


def _edits_of(document: Document, source: str) -> Iterator[Given]:
    for i, edit in enumerate(own_document(document, KIND, _Envelope, source).edits):
        yield read_edit(edit, source, f"$.edits[{i}]")


def read_edit(value: Mapping[str, Any], source: str, place: str = "") -> Given:
    """An edit from plain values. Raises InputError; with a ``place`` in a file the error has one, too."""
    try:
        return _read(value, source, place)
    except InputError as error:
        inside = place + error.place.removeprefix("$") if place else ""
        raise InputError(error.problem, source=source, place=inside) from None


def _read(value: Mapping[str, Any], source: str, place: str) -> Given:
    told = {key: item for key, item in value.items() if item is not None}
    edit = strictly(told, Edit)
    if len(told) != 1:
        choices = ", ".join(kind.encoded for kind in KINDS)
        raise InputError(f"expected exactly one of {choices}, found {', '.join(told) or 'none'}", place="$")
    (kind,) = (kind for kind in KINDS if kind.encoded in told)
    what = getattr(edit, kind.field)
    try:
        kind.check(what)
    except InputError as error:
        raise InputError(error.problem, place=f"$.{kind.encoded}{error.place}") from None
    return Given(kind, what, source, place)
