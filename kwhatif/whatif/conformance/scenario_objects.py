"""The objects of a scenario, of whichever scheduler or autoscaler it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kwhatif.api.kinds import Objects
from kwhatif.errors import InputError
from kwhatif.snapshot.load import decode_objects
from kwhatif.snapshot.read.items import decode, inside


def read_objects(stored: Sequence[msgspec.Raw]) -> Objects:
    """What the API server stores, as Structs. Raises InputError."""
    try:
        return decode_objects(stored)
    except InputError as error:
        raise inside(error, "", "$.objects") from None


def plain_objects(stored: Sequence[msgspec.Raw]) -> dict[str, list[dict[str, Any]]]:
    """The same as plain values, by kind: controllers and autoscalers look at fields that scheduling never reads."""
    found: dict[str, list[dict[str, Any]]] = {}
    for raw in stored:
        plain = decode(raw, dict[str, Any])
        found.setdefault(plain["kind"], []).append(plain)
    return found
