"""What documents of our own that people write share, and the JSON Schema of the snapshot format.

They have ``apiVersion`` and ``kind``, and unknown fields are errors. The schema
(``schemas/cluster-snapshot.schema.json``) is made from the Structs.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kwhatif import bounds
from kwhatif.api.decode import describe_value
from kwhatif.api.json_schema import components, convert_strictly, document_schema
from kwhatif.api.kinds import KINDS
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import API_VERSION, KIND, Metadata
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import Document, decode, head_of, read_documents

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
    head = dict(zip(("apiVersion", "kind"), head_of(document), strict=True))
    for field, wanted in (("apiVersion", API_VERSION), ("kind", kind)):
        if head[field] != wanted:
            problem = f'expected "{wanted}", found {describe_value(head[field]) if head[field] else "none"}'
            raise InputError(problem, source=source, place=f"$.{field}")
    try:
        return convert_strictly(decode(document.value, dict[str, Any]), type_)
    except InputError as error:
        raise error.with_source(source) from None


_NAMED = {
    "type": "object",
    "required": ["metadata"],
    "properties": {
        "metadata": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "minLength": 1}},
        }
    },
}


def cluster_snapshot_schema() -> dict[str, Any]:
    """The schema as plain Python values. Fields that scheduling does not read are allowed everywhere."""
    (metadata, *kinds), definitions = components(Metadata, *KINDS.values())
    lists = {
        kind: {"type": ["array", "null"], "items": {"allOf": [of_kind, {"$ref": "#/$defs/Named"}]}}
        for kind, of_kind in zip(KINDS, kinds, strict=True)
    }
    return document_schema(
        "cluster-snapshot",
        API_VERSION,
        KIND,
        "The objects of a cluster that scheduling reads, by kind.",
        {
            "metadata": metadata,
            "objects": {
                "type": "object",
                "properties": dict(sorted(lists.items())),
                "additionalProperties": {"type": ["array", "null"], "items": {"type": "object"}},
            },
        },
        required=("apiVersion", "kind", "objects"),
        definitions={"Named": _NAMED, **definitions},
        closed=False,
    )
