"""Objects that are kept as plain values, checked field by field: Structs made of the table of all fields.

What the API server and the controllers read of such an object is more than any Struct of ours has. To decode it into
one with all its fields, and to throw that away, is the check; it takes microseconds.
Upstream: encoding/json of Go, to which a field that is null is not there, and null in a list or a map an empty item.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import msgspec

from kwhatif.api.decode import convert, fits
from kwhatif.api.field_types import FieldType, Types, newest_types
from kwhatif.api.meta import Int32, Int64, ObjectMeta, Resource
from kwhatif.api.quantity import Quantity
from kwhatif.errors import InputError

_SCALARS: dict[str, Any] = {
    **dict.fromkeys(("string", "bytes", "time", "microtime"), str),
    "int32": Int32,
    "int64": Int64,
    "int-or-string": Int32 | str,
    "float64": float,
    "bool": bool,
    "quantity": Quantity,
    "any": Any,
}
_METADATA = "meta.v1.ObjectMeta"


def check(obj: dict[str, Any], group: str, kind: str) -> None:
    """Raise InputError, with a place, if a field of an object has a value of a type that it cannot have.

    A null in a list or a map becomes what it stands for, an empty item.
    """
    _check(obj, checked_type(group, kind), _type_name(group, kind))


def check_part(value: Any, type_name: str, place: str) -> None:
    """The same of a value that stands at a place within an object, and is of a type of the table, or null."""
    try:
        _check(value, _type(FieldType.parse(type_name), newest_types()) | None, type_name)
    except InputError as error:
        raise InputError(error.problem, place=place + error.place.removeprefix("$")) from None


def _check(value: Any, type_: Any, name: str) -> None:
    if not fits(value, type_):
        convert(value, type_)
        if isinstance(value, dict) and name:
            fill_nulls(value, name, newest_types())


@cache
def checked_type(group: str, kind: str) -> type[Resource]:
    """A Struct with all fields of a kind, as the newest Kubernetes has them; of others, what all kinds have."""
    name = _type_name(group, kind)
    if not name:
        return Resource
    with _building:
        type_: type[Resource] = _defined(name, newest_types(), Resource)
        # What msgspec notes on a Struct when it is first used is not to be noted by two threads at once.
        fits({}, type_)
    return type_


_building = threading.Lock()


def _type_name(group: str, kind: str) -> str:
    """What the table calls a kind's type; nothing if it lacks it."""
    types = newest_types()
    for version in reversed(types.versions.get(kind, ())):
        served = types.served(version, kind)
        if served is not None and version.rpartition("/")[0] == group:
            return served.type
    return ""


_made: dict[str, Any] = {}
"""The Structs by the names of their types. One that is within itself is any object there."""


def _struct(name: str, types: Types) -> Any:
    if name not in _made:
        _made[name] = dict[str, Any]
        _made[name] = _defined(name, types, ObjectMeta if name == _METADATA else msgspec.Struct)
    return _made[name]


def _defined(name: str, types: Types, base: type[msgspec.Struct]) -> Any:
    """The Struct of a type. What its base has is the base's, but for metadata, of which there is more."""
    own = set(base.__struct_encode_fields__) - {"metadata"}
    fields = {key: type_ for key, type_ in types.fields(name).items() if key not in own}
    rename = {f"field{number}": key for number, key in enumerate(fields) if key != "metadata"}
    typed: list[Any] = [(field, _type(fields[key], types) | None, None) for field, key in rename.items()]
    if base is Resource:
        metadata = _struct(_METADATA, types)
        typed.append(("metadata", metadata, msgspec.field(default_factory=metadata)))
    elif "metadata" in fields:
        typed.append(("metadata", _type(fields["metadata"], types) | None, None))
    short = name.rpartition(".")[2]
    return msgspec.defstruct(short, typed, bases=(base,), rename=rename, frozen=True, gc=False, kw_only=True)


def _type(type_: FieldType, types: Types) -> Any:
    if type_.item is not None:
        item = _type(type_.item, types)
        return dict[str, item] if type_.shape == "map" else list[item]  # type: ignore[valid-type]  # made at run time
    return _struct(type_.name, types) if type_.shape == "struct" else _SCALARS[type_.name]


# --- null


_EMPTY = {"string": "", "bytes": "", "quantity": "0", "bool": False, "int32": 0, "int64": 0}


def fill_nulls(value: Any, name: str, types: Types) -> None:
    """Fill in what is null in the lists and maps of an object of the type ``name``, wherever its types are right."""
    fields = types.fields(name)
    for key, item in value.items() if isinstance(value, dict) else ():
        if item is not None and key in fields:
            _within(item, fields[key], types)


def _within(value: Any, type_: FieldType, types: Types) -> None:
    if type_.shape == "struct":
        fill_nulls(value, type_.name, types)
    elif type_.item is not None and isinstance(value, list | dict):
        empty = {} if type_.item.shape == "struct" else _EMPTY.get(type_.item.name)
        for place in range(len(value)) if isinstance(value, list) else list(value):
            if value[place] is None:
                value[place] = {} if empty == {} else empty
            else:
                _within(value[place], type_.item, types)
