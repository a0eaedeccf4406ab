"""What becomes of null in lists and maps, as Go reads it: an empty item.

Upstream: encoding/json of Go. A field that is null is a field that is not there.
"""

from __future__ import annotations

from typing import Any

from kwhatif.api.field_types import FieldType, Types

_EMPTY = {"string": "", "bytes": "", "quantity": "0", "bool": False, "int32": 0, "int64": 0}


def fill_nulls(value: Any, name: str, types: Types) -> None:
    """Fill in what is null in the lists and maps of an object of the type ``name``; its types are right."""
    fields = types.fields(name)
    for key, item in value.items():
        if item is not None and key in fields:
            _within(item, fields[key], types)


def _within(value: Any, type_: FieldType, types: Types) -> None:
    if type_.shape == "struct":
        fill_nulls(value, type_.name, types)
    elif type_.item is not None:
        empty = {} if type_.item.shape == "struct" else _EMPTY.get(type_.item.name)
        for place in range(len(value)) if isinstance(value, list) else list(value):
            if value[place] is None:
                value[place] = {} if empty == {} else empty
            else:
                _within(value[place], type_.item, types)
