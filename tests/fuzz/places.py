"""Every place where a kind may have a value, from the table of its fields, and objects with another value there."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.api.field_types import FieldType, Types

Path = tuple[str | int, ...]
Json = dict[str, Any]

_SCALARS = {
    "bool": True,
    "bytes": "eA==",
    "float64": 1.5,
    "int-or-string": 1,
    "int32": 1,
    "int64": 1,
    "quantity": "1",
    "time": "2026-01-01T00:00:00Z",
    "microtime": "2026-01-01T00:00:00.000000Z",
}
_KEY = "key"


def minimal(type_: FieldType, types: Types) -> Any:
    """A value of a type with as little in it as there may be."""
    match type_.shape:
        case "struct":
            fields = types.fields(type_.name)
            return {name: minimal(field, types) for name, field in fields.items() if field.written}
        case "list":
            return []
        case "map":
            return {}
    return _SCALARS.get(type_.name, "x")


def places_of(type_: FieldType, types: Types) -> Iterator[Path]:
    """The paths to all values of a type, what is inside one of its own kind left out."""
    yield from _places(type_, types, (), frozenset())


def _places(type_: FieldType, types: Types, path: Path, within: frozenset[str]) -> Iterator[Path]:
    if path:
        yield path
    if type_.shape == "struct" and type_.name not in within:
        for name, field in types.fields(type_.name).items():
            if (name, len(path)) not in (("apiVersion", 0), ("kind", 0)) and name != "managedFields":
                yield from _places(field, types, (*path, name), within | {type_.name})
    elif type_.item is not None:
        yield from _places(type_.item, types, (*path, 0 if type_.shape == "list" else _KEY), within)


def places_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths to all values that are there."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places_in(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from places_in(item, (*path, place))


def with_value(obj: Any, path: Sequence[str | int], value: Any, type_: FieldType, types: Types) -> Any:
    """A copy of an object with another value at a place; what is missing on the way there is made."""
    here = changed = copy.deepcopy(obj)
    for place, step in enumerate(path):
        inner = types.fields(type_.name).get(str(step)) if type_.shape == "struct" else type_.item
        type_ = inner or FieldType("scalar", "any")
        key: Any = next(iter(here)) if step == _KEY and isinstance(here, dict) and here else step
        if isinstance(here, list):
            here += [None] * (key + 1 - len(here))
        if place == len(path) - 1:
            here[key] = value
        elif not isinstance(here[key] if isinstance(here, list) else here.get(key), dict | list):
            made = minimal(type_, types)
            empty: Any = {} if isinstance(path[place + 1], str) else []
            here[key] = made if isinstance(made, dict | list) else empty
        here = here[key]
    return changed
