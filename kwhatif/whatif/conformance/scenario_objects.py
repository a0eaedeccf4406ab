"""The objects of a scenario, of whichever scheduler or autoscaler it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.errors import InputError
from kwhatif.snapshot.load import decode_objects
from kwhatif.snapshot.read.documents import Document, Origin
from kwhatif.snapshot.read.items import inside, items_of, plain_of, resource_of


def read_objects(stored: Sequence[msgspec.Raw]) -> Objects:
    """What the API server stores, as Structs. Raises InputError."""
    try:
        return decode_objects(stored)
    except InputError as error:
        raise inside(error, "", "$.objects") from None


def plain_objects(stored: Sequence[msgspec.Raw]) -> dict[str, list[dict[str, Any]]]:
    """The same as plain values, by kind: controllers and autoscalers look at fields that scheduling never reads.

    Raises InputError.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    nowhere = Origin("")
    for i, raw in enumerate(stored):
        for item in items_of(Document(nowhere, raw)):
            try:
                resource_of(item, Resource)
                plain = plain_of(item, checked=True)
            except InputError as error:
                raise inside(error, "", f"$.objects[{i}]") from None
            found.setdefault(item.kind, []).append(plain)
    return found
