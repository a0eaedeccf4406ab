"""Why a JSON value does not fit a type: the exact place, what was found there and what was expected.

The decoder that reads whole clusters stops at the first misfit and says little. This walks the same value
once more, slowly, and reads null as Go does: as if the field were absent, or as the zero value in a list
or a map.
Upstream: the rules of Go's encoding/json as sigs.k8s.io/json applies them.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from msgspec import inspect

from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.errors import InputError

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SHOWN = 60


def as_go_reads(value: object, type_: Any) -> object:
    """``value`` without its nulls, ready to become a ``type_``. Raises InputError at the first misfit."""
    return _fit(value, _type_info(type_), "$")


def step(key: str) -> str:
    """One step of a place: ``.name``, or ``["example.com/name"]`` for a key that is no plain word."""
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{_quoted(key)}]"


def place_of(part: object, value: object) -> str:
    """Where in a value this very object stands, ``$`` if nowhere."""
    rest = [("$", value)]
    while rest:
        place, here = rest.pop()
        if here is part:
            return place
        if isinstance(here, dict):
            rest += [(place + step(key), item) for key, item in here.items()]
        elif isinstance(here, list):
            rest += [(f"{place}[{i}]", item) for i, item in enumerate(here)]
    return "$"


def described(value: object) -> str:
    """A value in a message, on one line: ``"abc"``, ``the number 5``, ``a list``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            digits = "too long to show" if isinstance(value, int) and value.bit_length() > 200 else value
            return f"the number {digits}"
        case str():
            return _quoted(value)
        case list():
            return "a list"
        case dict():
            return "an object"
    return f"a {type(value).__name__}"


@lru_cache(maxsize=256)
def _type_info(type_: Any) -> inspect.Type:
    return inspect.type_info(type_)


def _quoted(text: str) -> str:
    if len(text) > _SHOWN:
        text = text[: _SHOWN - 1] + "…"
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _misfit(expected: str, value: object, place: str) -> InputError:
    return InputError(f"expected {expected}, found {described(value)}", place=place)


def _fit(value: object, want: inspect.Type, place: str) -> object:
    match want:
        case inspect.Metadata():
            return _fit(value, want.type, place)
        case inspect.UnionType():
            return _fit_union(value, want, place)
        case inspect.StructType():
            return _fit_struct(value, want, place)
        case inspect.DictType():
            return _fit_dict(value, want, place)
        case inspect.ListType():
            if not isinstance(value, list):
                raise _misfit("a list", value, place)
            return [_fit_element(item, want.item_type, f"{place}[{i}]") for i, item in enumerate(value)]
        case inspect.StrType():
            if not isinstance(value, str):
                raise _misfit("a string", value, place)
        case inspect.BoolType():
            if not isinstance(value, bool):
                raise _misfit("true or false", value, place)
        case inspect.IntType():
            _check_int(value, want, place)
        case inspect.FloatType():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _misfit("a number", value, place)
        case inspect.CustomType(cls=cls) if cls is Quantity:
            try:
                Quantity.from_json(value)
            except QuantityError:
                raise _misfit('a quantity such as "500m" or "1Gi"', value, place) from None
    return value


def _fit_union(value: object, want: inspect.UnionType, place: str) -> object:
    choices = [choice for choice in want.types if not isinstance(choice, inspect.NoneType)]
    if value is None and len(choices) < len(want.types):
        return None
    misfits = []
    for choice in choices:
        try:
            return _fit(value, choice, place)
        except InputError as misfit:
            misfits.append(misfit)
    if len(misfits) == 1:
        raise misfits[0]
    expected = " or ".join(misfit.problem.removeprefix("expected ").split(", found ")[0] for misfit in misfits)
    raise _misfit(expected, value, place)


def _fit_struct(value: object, want: inspect.StructType, place: str) -> object:
    if not isinstance(value, dict):
        raise _misfit("an object", value, place)
    fitting = {}
    for field in want.fields:
        item = value.get(field.encode_name)
        if item is not None:
            fitting[field.encode_name] = _fit(item, field.type, place + step(field.encode_name))
        elif field.required:
            raise InputError(f"the field {field.encode_name} is missing", place=place)
    return fitting


def _fit_dict(value: object, want: inspect.DictType, place: str) -> object:
    if not isinstance(value, dict):
        raise _misfit("an object", value, place)
    fitting = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _misfit("a string as key", key, place)
        fitting[key] = _fit_element(item, want.value_type, place + step(key))
    return fitting


def _fit_element(value: object, want: inspect.Type, place: str) -> object:
    """An element of a list or map, where null is the zero value of the type."""
    return _zero(want) if value is None else _fit(value, want, place)


def _zero(want: inspect.Type) -> object:
    match want:
        case inspect.StructType() | inspect.DictType():
            return {}
        case inspect.ListType():
            return []
        case inspect.StrType():
            return ""
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            return 0
    return None


def _check_int(value: object, want: inspect.IntType, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _misfit("an integer", value, place)
    if (want.ge is not None and value < want.ge) or (want.le is not None and value > want.le):
        raise _misfit(f"an integer {in_range(want.ge, want.le)}", value, place)


def in_range(least: int | None, most: int | None) -> str:
    """``from 1 to 5``, ``of at least 1``."""
    if most is None:
        return f"of at least {least}"
    return f"of at most {most}" if least is None else f"from {least} to {most}"
