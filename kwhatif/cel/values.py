"""Values without a Python type of their own, the names of types, and the errors of expressions.

bool, int, double, string, bytes, null, list and map are bool, int, float, str, bytes, None, list and dict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface

import msgspec

from kwhatif.api.quantity import Quantity


class CompileError(Exception):
    """An expression that cannot be run; its text points at the place, as cel-go's issues do."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        line = text.count("\n", 0, at)
        start = text.rfind("\n", 0, at) + 1
        source = text[start:].partition("\n")[0]
        dots = "." * (at - start)
        super().__init__(f"ERROR: <input>:{line + 1}:{at - start + 1}: {problem}\n | {source}\n | {dots}^")
        self.problem = problem


class Fault(Exception):
    """An error value: ``&&`` and ``||`` get over one where the other side decides. ``str`` is cel-go's text."""


class OverBudget(Exception):
    """The expression cost more than it may; nothing gets over that."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


Address = IPv4Address | IPv6Address
Network = IPv4Interface | IPv6Interface


class UInt(int):
    """An unsigned integer of 64 bits."""


class Domains(dict[str, Mapping[str, object]]):
    """Attributes or capacities by domain. A domain that is not there has an empty map when it is looked up."""


class Lazy(dict[str, object]):
    """A map whose values are worked out when they are looked up, each once: ``{name: how}``."""

    def __init__(self, how: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(dict.fromkeys(how))
        self._how = dict(how)

    def __getitem__(self, key: str) -> object:
        if key in self._how:
            self[key] = self._how[key]()
            del self._how[key]
        return super().__getitem__(key)


class Struct(dict[str, object]):
    """A message made in an expression: ``name{field: value}``."""

    def __init__(self, name: str, fields: Mapping[str, object]) -> None:
        super().__init__(fields)
        self.name = name


class Optional(msgspec.Struct, frozen=True):
    """``value``, or nothing."""

    value: object = None
    there: bool = True


class TypeValue(msgspec.Struct, frozen=True):
    """A type as a value."""

    name: str


class Timestamp(msgspec.Struct, frozen=True, order=True):
    """Nanoseconds since 1970."""

    nanos: int

    @classmethod
    def from_nanos(cls, nanos: int) -> Timestamp:
        """Raises Fault for a moment that is not in the years 1 to 9999."""
        if not -62_135_596_800 <= nanos // 10**9 < 253_402_300_800:
            raise Fault("timestamp overflow")
        return cls(nanos)


class Duration(msgspec.Struct, frozen=True, order=True):
    nanos: int


class NamedFormat(msgspec.Struct, frozen=True):
    """A rule for texts by its name: ``dns1123Label``."""

    name: str


class Url(msgspec.Struct, frozen=True):
    """A URL in its parts; ``host`` has the port, ``path`` is escaped."""

    scheme: str
    host: str
    path: str
    query: str


_NUMBER = re.compile(r"[0-9]*")
_WORD = re.compile(r"[0-9A-Za-z-]*")


class Semver(msgspec.Struct, frozen=True):
    """A semantic version without its build; ``pre`` are the parts of its pre-release. Upstream: blang/semver."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> Semver:
        """Raises Fault."""
        if not text:
            raise Fault("Version string empty")
        parts = text.split(".", 2)
        if len(parts) != 3:
            raise Fault("No Major.Minor.Patch elements found")
        rest, plus, build = parts[2].partition("+")
        patch, dash, pre = rest.partition("-")
        numbers = [
            _number(part, what) for part, what in zip((*parts[:2], patch), ("major", "minor", "patch"), strict=True)
        ]
        words = tuple(pre.split(".")) if dash else ()
        for word in words:
            _check(word, "Prerelease is empty", "prerelease")
            if word.isdigit():
                if len(word) > 1 and word[0] == "0":
                    raise Fault(f'Numeric PreRelease version must not contain leading zeroes "{word}"')
                _parse_unsigned(word)
        for word in build.split(".") if plus else ():
            _check(word, "Build meta data is empty", "build meta data")
        return cls(numbers[0], numbers[1], numbers[2], words)

    @property
    def rank(self) -> tuple[object, ...]:
        """Sorts as versions do: a pre-release comes before its release, numbers before words."""
        words = [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in self.pre]
        return self.major, self.minor, self.patch, not self.pre, words


def _number(text: str, what: str) -> int:
    if not text or not _NUMBER.fullmatch(text):
        raise Fault(f'Invalid character(s) found in {what} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise Fault(f'{what.capitalize()} number must not contain leading zeroes "{text}"')
    return _parse_unsigned(text)


def _parse_unsigned(text: str) -> int:
    if len(text) > 20 or int(text) >= 2**64:
        raise Fault(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _check(word: str, empty: str, what: str) -> None:
    if not word:
        raise Fault(empty)
    if not _WORD.fullmatch(word):
        raise Fault(f'Invalid character(s) found in {what} "{word}"')


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Domains: "map",
    Lazy: "map",
    Struct: "map",
    Optional: "optional_type",
    TypeValue: "type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    NamedFormat: "kubernetes.NamedFormat",
    Url: "kubernetes.URL",
    IPv4Address: "net.IP",
    IPv6Address: "net.IP",
    IPv4Interface: "net.CIDR",
    IPv6Interface: "net.CIDR",
}


TYPE_NAMES = frozenset(_NAMES.values())


def name_of(value: object) -> str:
    """The name of a value's type."""
    return _NAMES[type(value)]
