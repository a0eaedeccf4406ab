"""The kinds that an API server serves and the types of their fields, by minor, and a check of plain objects against
them.

``kubernetes.json`` is made by ``.ci/kubernetes_types.py`` from the OpenAPI documents that Kubernetes publishes: 1.29 to
1.36, generally available versions and those betas that are served by default. A value that does not hold in all minors
is listed as ``[[first, last, value], ...]``. A field's type is spelt

    string, bytes, time, microtime, quantity, int-or-string, int32, int64, bool, float64, any
    core.v1.PodSpec     a type of the table
    []T, {}T            a list, a map with text keys
    []<a,b>T, []<*>T    a list whose items are identified by these fields, or by their values
    *T                  a field that holds a pointer: omitted where it was not given, written even if it is zero
    !T, !*T             a field that Go always writes: empty as "", 0, {} or null

All others are omitted when they are empty. How a field is written is what Go's sources of the newest minor say.

An object is checked by decoding it into a Struct with all fields of its kind, which is then dropped: that takes
microseconds. Upstream: encoding/json of Go, which takes a null field as absent, and null in a list or a map as an empty
item.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from kwhatif.api.decode import convert, fits
from kwhatif.api.meta import Int32, Int64, ObjectMeta, Resource
from kwhatif.api.quantity import Quantity
from kwhatif.api.timestamps import Timestamp
from kwhatif.errors import InputError


class FieldType(msgspec.Struct, frozen=True):
    """One type: ``shape`` is ``list``, ``map``, ``struct`` or ``scalar``; of the first two, ``item`` is the type of the
    elements.

    ``keys`` identify the items of a list, ``("*",)`` by their values; a list without is atomic. Of a field, ``written``
    says that Go always writes it, and ``pointer`` that it distinguishes nothing from zero.
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
            key_names = tuple(keys.split(",")) if keys else ()
            return cls("list", item=cls.parse(rest), keys=key_names, written=written, pointer=pointer)
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


class ApiResource(msgspec.Struct, frozen=True):
    """A kind that can be created: its type, the plural in its address, and whether it lives in namespaces."""

    type: str
    plural: str
    namespaced: bool


class Types:
    """All that one minor knows, with what it knows only behind ``gates`` that are on."""

    def __init__(self, minor: str, gates: frozenset[str] = frozenset()) -> None:
        self.minor = minor
        known = (
            _read_gated_types()[gate]
            for gate in sorted(gates)
            if minor in _read_gated_types().get(gate, {}).get("minors", ())
        )
        self._behind_gates = tuple(known)
        self._place = _table()["minors"].index(minor)
        self._fields: dict[str, Mapping[str, FieldType]] = {}

    def api_resource_of(self, api_version: str, kind: str) -> ApiResource | None:
        """The kind; None if this minor does not serve it in that version."""
        key = f"{api_version} {kind}"
        versions = self._value_in_minor(_table()["kinds"].get(key))
        for gated in self._behind_gates:
            versions = gated["kinds"].get(key) or versions
        return None if versions is None else ApiResource(*versions)

    def fields(self, name: str) -> Mapping[str, FieldType]:
        """The fields of a type by name."""
        fields = self._fields.get(name)
        if fields is None:
            values = {field: self._value_in_minor(value) for field, value in _table()["types"].get(name, {}).items()}
            for gated in self._behind_gates:
                values |= gated["types"].get(name, {})
            fields = self._fields[name] = {f: FieldType.parse(text) for f, text in values.items() if text is not None}
        return fields

    @cached_property
    def versions(self) -> Mapping[str, tuple[str, ...]]:
        """Kind -> the API versions that serve it."""
        by_kind: dict[str, list[str]] = {}
        for key, value in _table()["kinds"].items():
            version, kind = key.split(" ")
            if self._value_in_minor(value) is not None:
                by_kind.setdefault(kind, []).append(version)
        for gated in self._behind_gates:
            for key in gated["kinds"]:
                version, kind = key.split(" ")
                by_kind.setdefault(kind, []).append(version)
        return {kind: tuple(versions) for kind, versions in by_kind.items()}

    @cached_property
    def groups(self) -> frozenset[str]:
        """Kubernetes' own API groups, those included that no minor of the table serves any more."""
        known = (version.rpartition("/")[0] for versions in self.versions.values() for version in versions)
        return frozenset(known) | {"extensions"}

    def _value_in_minor(self, value: Any) -> Any:
        """What holds in this minor of a value of the table."""
        if not isinstance(value, list) or not isinstance(value[0], list):
            return value
        minors = _table()["minors"]
        return next((v for first, last, v in value if minors.index(first) <= self._place <= minors.index(last)), None)


@lru_cache(maxsize=8)
def types_of(minor: str, gates: frozenset[str] = frozenset()) -> Types:
    """The types of a minor with these gates on. For a minor that the table lacks, those of its nearest neighbour."""
    minors = _table()["minors"]
    if minor not in minors:
        minor = minors[-1] if _number(minor) > _number(minors[-1]) else minors[0]
    return Types(minor, gates)


def newest_types() -> Types:
    """What the newest minor knows."""
    return types_of(_table()["minors"][-1])


def served_in(api_version: str, kind: str) -> tuple[str, ...]:
    """The minors that serve a kind in a version."""
    return tuple(
        minor for minor in _table()["minors"] if types_of(minor).api_resource_of(api_version, kind) is not None
    )


def known_in(name: str, field: str) -> tuple[str, ...]:
    """The minors in which a type has a field."""
    return tuple(minor for minor in _table()["minors"] if field in types_of(minor).fields(name))


def format_minor_range(minors: Sequence[str]) -> str:
    """``1.34 to 1.36``, ``1.36``; the minors are in order."""
    return minors[0] if len(minors) == 1 else f"{minors[0]} to {minors[-1]}"


def _number(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split(".")))


@lru_cache(maxsize=1)
def _read_gated_types() -> Any:
    """Kinds and types that are known only with a feature gate that is off by default."""
    return msgspec.json.decode(files(__package__).joinpath("gated_kinds.json").read_bytes())


@lru_cache(maxsize=1)
def _table() -> Any:
    return msgspec.json.decode(files(__package__).joinpath("kubernetes.json").read_bytes())


_SCALARS: dict[str, Any] = {
    **dict.fromkeys(("string", "bytes"), str),
    **dict.fromkeys(("time", "microtime"), Timestamp),
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
        type_: type[Resource] = _define_struct(name, newest_types(), Resource)
        # msgspec keeps caches on a Struct when it is first used, which two threads must not fill at once.
        fits({}, type_)
    return type_


_building = threading.Lock()


def _type_name(group: str, kind: str) -> str:
    """What the table calls a kind's type; nothing if it lacks it."""
    types = newest_types()
    for version in reversed(types.versions.get(kind, ())):
        served = types.api_resource_of(version, kind)
        if served is not None and version.rpartition("/")[0] == group:
            return served.type
    return ""


_made: dict[str, Any] = {}
"""The Structs by the names of their types. One that is within itself is any object there."""


def _struct(name: str, types: Types) -> Any:
    if name not in _made:
        _made[name] = dict[str, Any]
        _made[name] = _define_struct(name, types, ObjectMeta if name == _METADATA else msgspec.Struct)
    return _made[name]


def _define_struct(name: str, types: Types, base: type[msgspec.Struct]) -> Any:
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
