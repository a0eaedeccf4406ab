"""An object of a kind with a secret in every field that may hold a text, by the table of all kinds' fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from kwhatif.api.field_types import FieldType, Types, newest_types
from kwhatif.api.kinds import READ_KINDS, Kind
from kwhatif.api.quantity import plain_quantity
from kwhatif.snapshot.live.listing import ListReader
from kwhatif.snapshot.live.requests import RetryingClient

Secret = Callable[[str], str]
"""The text for a place such as ``spec.containers[].image`` or, for the key of a map, ``spec.nodeSelector{}``."""

SCHEMAS = "spec.versions[].schema."
"""Where the schema of a definition is."""

_OTHERS: dict[str, Any] = {
    "bool": True,
    "float64": 1.5,
    "int32": 7,
    "int64": 7,
    "quantity": "7",
    "time": "2026-01-01T00:00:00Z",
    "microtime": "2026-01-01T00:00:00.000000Z",
}


def planted(kind: Kind, secret: Secret) -> dict[str, Any] | None:
    """The object; None if the newest minor does not serve the kind by default, so that nobody knows its fields."""
    types = newest_types()
    for version in kind.versions:
        served = types.api_resource_of(kind.api_version(version), kind.name)
        if served is not None:
            obj = _filled(FieldType("struct", served.type), types, secret, "", ())
            named = {"name": secret("metadata.name"), "namespace": secret("metadata.namespace")}
            head = {"apiVersion": kind.api_version(version), "kind": kind.name}
            return {**obj, **head, "metadata": obj["metadata"] | named}
    return None


def _filled(type_: FieldType, types: Types, secret: Secret, path: str, within: tuple[str, ...]) -> Any:
    if type_.item is not None and type_.shape == "list":
        return [_filled(type_.item, types, secret, f"{path}[]", within)]
    if type_.item is not None:
        return {secret(f"{path}{{}}"): _filled(type_.item, types, secret, f"{path}{{}}.value", within)}
    if type_.shape == "struct":
        if type_.name in within:
            return {}
        return {
            name: _filled(field, types, secret, f"{path}.{name}".removeprefix("."), (*within, type_.name))
            for name, field in types.fields(type_.name).items()
        }
    if type_.name == "any":
        return {"any": secret(f"{path}.any")}
    return _OTHERS.get(type_.name) or secret(path)


class _Lists:
    """A server with one object of one kind."""

    def __init__(self, kind: Kind, obj: dict[str, Any]) -> None:
        self._body = json.dumps({"kind": f"{kind.name}List", "items": [obj]}).encode()

    def get(self, *_: object, **__: object) -> bytes:
        return self._body


def _dumped(kind: Kind, obj: dict[str, Any]) -> str:
    """What a dump holds of an object, as JSON."""
    asker = cast("RetryingClient", _Lists(kind, obj))
    listing = ListReader(asker, lambda group, version: True, 500).read(kind)
    return msgspec.json.encode([listing.objects, listing.whole], enc_hook=plain_quantity).decode()


def left_in_dumps() -> Iterator[tuple[str, str]]:
    """Kind and place of each secret that is in a dump."""
    places: dict[str, str] = {}

    def secret(place: str) -> str:
        text = f"zqx{len(places)}zqx"
        places[text] = place
        return text

    for kind in READ_KINDS:
        obj = planted(kind, secret)
        if obj is not None:
            yield from ((kind.name, places[found]) for found in re.findall(r"zqx\d+zqx", _dumped(kind, obj)))


def texts_in_dumps() -> set[str]:
    """The names of the fields whose texts a dump keeps, but for the schemas of definitions."""
    kept = (place for _, place in left_in_dumps() if not place.startswith(SCHEMAS))
    return {place.rpartition(".")[2].rstrip("[]{}") for place in kept}
