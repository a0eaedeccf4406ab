"""The kinds that an API server serves and the types of their fields, by minor.

``kubernetes.json`` is made by ``.ci/kubernetes_types.py`` from the OpenAPI documents that Kubernetes publishes: 1.29 to
1.36, generally available versions and those betas that are served by default. A value that does not hold in all minors
is listed as ``[[first, last, value], ...]``. A field's type is spelt

    string, bytes, time, microtime, quantity, int-or-string, int32, int64, bool, float64, any
    core.v1.PodSpec     a type of the table
    []T, {}T            a list, a map with text keys
    []<a,b>T, []<*>T    a list whose items are told apart by these fields, or by their values
    *T                  a field that holds a pointer: left out where it was not given, written even if it is zero
    !T, !*T             a field that Go always writes: empty as "", 0, {} or null

All others are left out when they are empty. How a field is written is what Go's sources of the newest minor say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class FieldType:
    """One type: ``shape`` is ``list``, ``map``, ``struct`` or ``scalar``; of the first two, ``item`` is what they hold.
    A struct is ``granular`` where its parts have owners of their own against the rule of its type.

    ``keys`` tell the items of a list apart, ``("*",)`` by their values; a list without is replaced as a whole. Of a
    field, ``written`` says that Go always writes it, and ``pointer`` that it can tell nothing from zero.
    """

    shape: str
    name: str = ""
    item: FieldType | None = None
    keys: tuple[str, ...] = ()
    written: bool = False
    pointer: bool = False

    @classmethod
    def parse(cls, text: str) -> FieldType:
        written, text = text.startswith("!"), text.removeprefix("!")
        pointer, text = text.startswith("*"), text.removeprefix("*")
        if text.startswith("{}"):
            return cls("map", item=cls.parse(text[2:]), written=written, pointer=pointer)
        if text.startswith("[]"):
            rest, keys = text[2:], ""
            if rest.startswith("<"):
                keys, _, rest = rest[1:].partition(">")
            told = tuple(keys.split(",")) if keys else ()
            return cls("list", item=cls.parse(rest), keys=told, written=written, pointer=pointer)
        return cls("struct" if "." in text else "scalar", text, written=written, pointer=pointer)

    @property
    def go(self) -> str:
        """The type as Go's decoder spells it: ``[]v1.Container``, ``int32``."""
        match self.shape:
            case "list":
                return f"[]{self.item.go}" if self.item else "[]"
            case "map":
                return f"map[string]{self.item.go}" if self.item else "map"
            case "struct":
                return ".".join(self.name.split(".")[-2:])
        return _GO.get(self.name, self.name)


_GO = {"bytes": "[]uint8", "quantity": "resource.Quantity", "time": "v1.Time", "microtime": "v1.MicroTime"}


@dataclass(frozen=True, slots=True)
class Served:
    """A kind that can be created: its type, the plural in its address, and whether it lives in namespaces."""

    type: str
    plural: str
    namespaced: bool


class Types:
    """All that one minor knows."""

    def __init__(self, minor: str) -> None:
        self.minor = minor
        self._place = _table()["minors"].index(minor)
        self._fields: dict[str, Mapping[str, FieldType]] = {}

    def served(self, api_version: str, kind: str) -> Served | None:
        """The kind; None if this minor does not serve it in that version."""
        found = self._held(_table()["kinds"].get(f"{api_version} {kind}"))
        return None if found is None else Served(*found)

    def fields(self, name: str) -> Mapping[str, FieldType]:
        """The fields of a type by name."""
        fields = self._fields.get(name)
        if fields is None:
            told = {field: self._held(value) for field, value in _table()["types"].get(name, {}).items()}
            fields = self._fields[name] = {f: FieldType.parse(text) for f, text in told.items() if text is not None}
        return fields

    @cached_property
    def versions(self) -> Mapping[str, tuple[str, ...]]:
        """Kind -> the API versions that serve it."""
        found: dict[str, list[str]] = {}
        for key, value in _table()["kinds"].items():
            version, kind = key.split(" ")
            if self._held(value) is not None:
                found.setdefault(kind, []).append(version)
        return {kind: tuple(versions) for kind, versions in found.items()}

    @cached_property
    def groups(self) -> frozenset[str]:
        """Kubernetes' own API groups, those included that no minor of the table serves any more."""
        known = (version.rpartition("/")[0] for versions in self.versions.values() for version in versions)
        return frozenset(known) | {"extensions"}

    def _held(self, value: Any) -> Any:
        """What holds in this minor of a value of the table."""
        if not isinstance(value, list) or not isinstance(value[0], list):
            return value
        minors = _table()["minors"]
        return next((v for first, last, v in value if minors.index(first) <= self._place <= minors.index(last)), None)


@lru_cache(maxsize=8)
def types_of(minor: str) -> Types:
    """What a minor knows. One that the table lacks is taken for its nearest neighbour."""
    minors = _table()["minors"]
    if minor not in minors:
        minor = minors[-1] if _number(minor) > _number(minors[-1]) else minors[0]
    return Types(minor)


def newest_types() -> Types:
    """What the newest minor knows."""
    return types_of(_table()["minors"][-1])


def served_in(api_version: str, kind: str) -> tuple[str, ...]:
    """The minors that serve a kind in a version."""
    return tuple(minor for minor in _table()["minors"] if types_of(minor).served(api_version, kind) is not None)


def known_in(name: str, field: str) -> tuple[str, ...]:
    """The minors in which a type has a field."""
    return tuple(minor for minor in _table()["minors"] if field in types_of(minor).fields(name))


def spanned(minors: Sequence[str]) -> str:
    """``1.34 to 1.36``, ``1.36``; the minors are in order."""
    return minors[0] if len(minors) == 1 else f"{minors[0]} to {minors[-1]}"


def _number(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split(".")))


@lru_cache(maxsize=1)
def _table() -> Any:
    return msgspec.json.decode(files(__package__).joinpath("kubernetes.json").read_bytes())
