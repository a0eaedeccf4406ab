"""Reading a request: what does not fit the types of its fields is no such object at all.

Upstream: apimachinery/pkg/runtime/serializer/json and encoding/json; the answer to a misfit is a 400.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.admission.answer import Cause, Object, Refused
from kwhatif.admission.read_fields import SHAPES
from kwhatif.admission.resources import known_kind
from kwhatif.api.decode import convert
from kwhatif.errors import InputError

_TEXTS = frozenset({"accessModes", "matchLabelKeys", "mismatchLabelKeys", "namespaces", "scopes", "values"})


def misshapen(obj: Object) -> Refused | None:
    """A refusal if a field has a value of a type that it cannot have."""
    shape = SHAPES.get(known_kind(obj))
    if shape is None:
        return None
    try:
        convert(obj, shape)
    except InputError as error:
        kind, version = obj["kind"], str(obj.get("apiVersion") or "").rpartition("/")[2]
        field = error.place.removeprefix("$.")
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {field}: {error.problem}'
        return Refused(400, "BadRequest", message, (Cause(field, error.problem),))
    return None


def fill_empty_items(obj: Object) -> None:
    """A null in a list is an empty item, as in Go: an empty text where texts are listed, else an empty object."""
    encoded = msgspec.json.encode(obj)
    if b"[null" in encoded or b",null" in encoded:
        _fill_items(obj, "")


def _fill_items(value: Any, key: str) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            _fill_items(item, name)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            if item is None:
                value[i] = "" if key in _TEXTS else {}
            else:
                _fill_items(item, key)
