"""How the API server reads a manifest that is created or replaced: strictly, as kubectl asks it to.

The first value that does not fit its type ends the reading; without one, all unknown fields are told together.
Upstream: sigs.k8s.io/json (strict decoding), encoding/json of Go, apimachinery/pkg/runtime/serializer/json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kwhatif.api.field_types import FieldType, Types, known_in
from kwhatif.api.mismatch import described, step
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.golang.base64_text import misread_base64
from kwhatif.golang.strict_json import word_for
from kwhatif.golang.timestamps import MICROSECONDS, SECONDS, misread_time

_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_LAYOUTS = {"time": SECONDS, "microtime": MICROSECONDS}
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}

# Structs that Go embeds: fields of theirs stand in the outer object, but a decoder's message names the struct.
_EMBEDDED = {
    "networking.v1.IngressRule": {"http": "IngressRuleValue"},
    "core.v1.Probe": dict.fromkeys(("exec", "httpGet", "tcpSocket", "grpc"), "ProbeHandler"),
}
_PLAIN_STRUCTS = {
    "core.v1.Volume": ("name", "VolumeSource"),
    "core.v1.EphemeralContainer": ("targetContainerName", "EphemeralContainerCommon"),
}


class Misfit(Exception):
    """A value that does not fit its type, in Go's words; in ours, ``place`` says where, and what stands there."""

    def __init__(self, text: str, path: str, value: Any) -> None:
        super().__init__(text)
        self.place = f"$.{path}: found {described(value)}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A field that the minor does not have; ``minors`` do."""

    path: str
    minors: tuple[str, ...] = ()


def unknown_fields(value: Any, name: str, types: Types) -> list[Unknown]:
    """The fields that the type ``name`` does not have, in their order. Raises Misfit."""
    return list(_struct(value, name, types, "", (name.rpartition(".")[2],)))


def _struct(value: dict[str, Any], name: str, types: Types, path: str, go: tuple[str, ...]) -> Iterator[Unknown]:
    """``go`` is the innermost struct's name and the path to it as Go's messages have it."""
    fields = types.fields(name)
    embedded = _embedded(name)
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            yield Unknown(f"{path}{key}", known_in(name, key))
        elif item is not None:
            inner = (go[0], *go[1:], *embedded(key), key)
            yield from _value(item, field, types, f"{path}{key}", inner)


def _embedded(name: str) -> Any:
    if name in _PLAIN_STRUCTS:
        own, struct = _PLAIN_STRUCTS[name]
        return lambda key: () if key == own else (struct,)
    told = _EMBEDDED.get(name, {})
    return lambda key: (told[key],) if key in told else ()


def _value(value: Any, type_: FieldType, types: Types, path: str, go: tuple[str, ...]) -> Iterator[Unknown]:
    match type_.shape:
        case "struct":
            if not isinstance(value, dict):
                raise _misfit(value, type_, go, path)
            yield from _struct(value, type_.name, types, f"{path}.", (type_.name.rpartition(".")[2], *go[1:]))
        case "list":
            if not isinstance(value, list):
                raise _misfit(value, type_, go, path)
            assert type_.item is not None
            for i, item in enumerate(value):
                if item is not None:
                    yield from _value(item, type_.item, types, f"{path}[{i}]", go)
        case "map":
            if not isinstance(value, dict):
                raise _misfit(value, type_, go, path)
            assert type_.item is not None
            for key, item in value.items():
                if item is not None:
                    yield from _value(item, type_.item, types, path + step(key), go)
        case _:
            _scalar(value, type_, go, path)


def _scalar(value: Any, type_: FieldType, go: tuple[str, ...], path: str) -> None:
    match type_.name:
        case "any":
            return
        case "string" | "bytes":
            fits = isinstance(value, str)
            if type_.name == "bytes" and fits and (wrong := misread_base64(value)):
                raise Misfit(wrong, path, value)
        case "bool":
            fits = isinstance(value, bool)
        case "int32" | "int64":
            fits = isinstance(value, int) and not isinstance(value, bool)
            most = _RANGES[type_.name]
            if (fits and not -most <= value < most) or (isinstance(value, float) and not fits):
                raise _misfit(value, type_, go, path, digits=True)
        case "float64":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case "int-or-string":
            if isinstance(value, str):
                return
            _scalar(value, FieldType("scalar", "int32"), go, path)
            return
        case _:
            wrong = unreadable(value, type_.name)
            if wrong:
                raise Misfit(wrong, path, value)
            return
    if not fits:
        raise _misfit(value, type_, go, path)


def unreadable(value: Any, name: str) -> str | None:
    """What a type that reads its own text (a quantity, a time) says of a value that is none."""
    if name == "quantity":
        try:
            Quantity.from_json(value)
        except QuantityError:
            return _NO_QUANTITY
    if name in _LAYOUTS:
        if not isinstance(value, str):
            return f"json: cannot unmarshal {word_for(value)} into Go value of type string"
        return misread_time(value, _LAYOUTS[name])
    return None


def _misfit(value: Any, type_: FieldType, go: tuple[str, ...], path: str, *, digits: bool = False) -> Misfit:
    found = f"number {json.dumps(value)}" if digits else word_for(value)
    text = f"json: cannot unmarshal {found} into Go struct field {'.'.join(go)} of type {type_.go}"
    return Misfit(text, path, value)
