"""From parsed YAML or JSON to Structs, as strictly as kube-scheduler reads its own configuration.

A value of the wrong type ends decoding; all unknown fields are collected. Both are reported in Go's words, which can be
searched for (upstream: sigs.k8s.io/json). What Go leaves out, the index in a list, is added in front as the place.
Objects are read in the order of their keys, as upstream does with YAML.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

from kwhatif.golang.config_struct import Kind, StructField, slots
from kwhatif.golang.formatting import go_number, go_quote
from kwhatif.golang.parsing import Duration

T = TypeVar("T", bound=msgspec.Struct)
_BITS = {"int32": 31, "int64": 63}
_MAX_FLOAT32 = 3.4028234663852886e38


class MismatchError(Exception):
    """A value that cannot become what its field is. ``place`` is a path such as ``profiles[0].plugins``."""

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = place, problem
        super().__init__(f"{place}: {problem}" if place else problem)


def decode(
    struct: type[T], document: Mapping[Any, Any], without: Collection[tuple[str, str]] = ()
) -> tuple[T, list[str]]:
    """Decode ``document`` as ``struct``; also every strictness error, in Go's words.

    ``without`` are (Struct, field) pairs that count as unknown. Raises MismatchError for a value of the wrong type.
    """
    reader = _Reader(without)
    value = reader.struct(struct, document, _Where())
    if reader.mismatch:
        raise reader.mismatch
    return value, reader.unknown


class _Where(msgspec.Struct, frozen=True):
    """``path`` is the place with indexes, ``struct`` and ``fields`` are how Go's errors name it."""

    path: str = ""
    struct: str = ""
    fields: tuple[str, ...] = ()

    def field(self, struct: str, slot: StructField) -> _Where:
        path = f"{self.path}.{slot.key}" if self.path else slot.key
        inlined = (slot.embedded,) if slot.embedded else ()
        return _Where(path, struct, (*self.fields, *inlined, slot.key))

    def index(self, index: int) -> _Where:
        return _Where(f"{self.path}[{index}]", self.struct, self.fields)

    def cannot(self, what: str, go: str) -> MismatchError:
        into = f"struct field {self.struct}.{'.'.join(self.fields)}" if self.fields else "value"
        return MismatchError(self.path, f"json: cannot unmarshal {what} into Go {into} of type {go}")


class _Reader(msgspec.Struct):
    without: Collection[tuple[str, str]] = ()
    unknown: list[str] = []
    mismatch: MismatchError | None = None

    def _wrong(self, error: MismatchError) -> None:
        """Remember the first mismatch: Go reads on, so that a later fatal error can take its place."""
        self.mismatch = self.mismatch or error

    def struct(self, struct: type[T], raw: Mapping[Any, Any], where: _Where) -> T:
        known = slots(struct)
        values: dict[str, Any] = {}
        for key, value in _in_order(raw, where.path):
            slot = known.get(key)
            if slot is None or (struct.__name__, key) in self.without:
                path = f"{where.path}.{key}" if where.path else key
                self.unknown.append(f"unknown field {go_quote(path)}")
            elif value is not None:
                values[slot.attribute] = self.value(slot.kind, value, where.field(struct.__name__, slot))
        return struct(**values)

    def value(self, kind: Kind, raw: Any, where: _Where) -> Any:
        match kind.tag:
            case "any":
                return plain(raw, where.path)
            case "duration":
                return _duration(raw, where)
            case "struct" if isinstance(raw, Mapping) and kind.struct:
                return self.struct(kind.struct, raw, where)
            case "list" | "tuple" if isinstance(raw, list | tuple) and kind.item:
                items = [self._item(kind.item, item, where.index(i)) for i, item in enumerate(raw)]
                return items if kind.tag == "list" else tuple(items)
            case "map" if isinstance(raw, Mapping):
                return {key: self._text(value, where) for key, value in _in_order(raw, where.path)}
            case "text":
                return self._text(raw, where, kind.go)
            case "bool" if isinstance(raw, bool):
                return raw
            case "int" if _is_number(raw):
                return self._integer(raw, kind.go, where)
            case "float" if _is_number(raw):
                if abs(_finite(raw, where)) <= _MAX_FLOAT32:
                    return float(raw)
                self._wrong(where.cannot(f"number {go_number(raw)}", kind.go))
                return 0.0
            case "bytes" if isinstance(raw, str):
                return self._bytes(raw, where)
        self._wrong(where.cannot(word_for(raw), kind.go))
        return _ZERO.get(kind.tag)

    def _item(self, kind: Kind, raw: Any, where: _Where) -> Any:
        """An element of a list; null leaves it empty."""
        if raw is None:
            return kind.struct() if kind.struct else _ZERO.get(kind.tag)
        return self.value(kind, raw, where)

    def _text(self, raw: Any, where: _Where, go: str = "string") -> str:
        if isinstance(raw, str) or raw is None:
            return raw or ""
        self._wrong(where.cannot(word_for(raw), go))
        return ""

    def _integer(self, raw: float, go: str, where: _Where) -> int:
        number = int(_finite(raw, where))
        if number != raw or not -(2 ** _BITS[go]) <= number < 2 ** _BITS[go]:
            self._wrong(where.cannot(f"number {go_number(raw)}", go))
        return number

    def _bytes(self, raw: str, where: _Where) -> bytes:
        try:
            return base64.b64decode(raw.replace("\r", "").replace("\n", ""), validate=True)
        except ValueError:
            self._wrong(MismatchError(where.path, "illegal base64 data"))
            return b""


_ZERO: dict[str, Any] = {
    "text": "",
    "bool": False,
    "int": 0,
    "float": 0.0,
    "bytes": b"",
    "tuple": (),
    "map": {},
}


def _is_number(raw: Any) -> bool:
    return isinstance(raw, int | float) and not isinstance(raw, bool)


def _finite(raw: float, where: _Where) -> float:
    if isinstance(raw, float) and not math.isfinite(raw):
        raise MismatchError(where.path, f"json: unsupported value: {go_number(raw)}")
    return raw


def _duration(raw: Any, where: _Where) -> Duration:
    if not isinstance(raw, str):
        raise where.cannot(word_for(raw), "string")
    try:
        return Duration.parse(raw)
    except ValueError as error:
        raise MismatchError(where.path, str(error)) from None


def word_for(raw: Any) -> str:
    """What Go's JSON errors call a value."""
    match raw:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case list() | tuple():
            return "array"
        case Mapping():
            return "object"
    return "string"


def plain(raw: Any, place: str = "") -> Any:
    """A copy of ``raw`` that JSON could hold: keys are strings, and sorted."""
    match raw:
        case Mapping():
            return {key: plain(value, place) for key, value in _in_order(raw, place)}
        case list() | tuple():
            return [plain(value, place) for value in raw]
        case None | bool() | int() | str():
            return raw
        case float():
            return _finite(raw, _Where(place))
    return str(raw)


def _in_order(raw: Mapping[Any, Any], place: str) -> list[tuple[str, Any]]:
    return sorted(((object_key(key, place), value) for key, value in raw.items()), key=lambda pair: pair[0])


def object_key(key: Any, place: str) -> str:
    """The name of a field: YAML's numbers and booleans become text, as upstream makes JSON of YAML."""
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int() | float():
            return go_number(key)
    raise MismatchError(place, f"unsupported map key: {key!r}")
