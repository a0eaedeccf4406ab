"""Types of expressions, as far as they decide which overloads come into question.

Upstream: github.com/google/cel-go/checker (types.go, format.go).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Kind:
    """A type and its parameters; a ``free`` one stands for any type, but the same one throughout a signature."""

    name: str
    params: tuple[Kind, ...] = ()
    free: bool = False

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    @property
    def loose(self) -> bool:
        """Whether the true type shows only at run time."""
        return self.name in ("dyn", "any")

    @property
    def nullable(self) -> bool:
        """Whether null may stand for a value: for those of types that are no part of the language itself."""
        return "." in self.name or self.name == "optional_type"


DYN, ANY, NULL = Kind("dyn"), Kind("any"), Kind("null_type")
BOOL, INT, STRING, TYPE = Kind("bool"), Kind("int"), Kind("string"), Kind("type")
QUANTITY = Kind("kubernetes.Quantity")

_NAMED = {
    "A": Kind("A", free=True),
    "B": Kind("B", free=True),
    "optional": Kind("optional_type"),
    "Timestamp": Kind("google.protobuf.Timestamp"),
    "Duration": Kind("google.protobuf.Duration"),
    "Quantity": QUANTITY,
    "Semver": Kind("kubernetes.Semver"),
    "URL": Kind("kubernetes.URL"),
    "Format": Kind("kubernetes.NamedFormat"),
    "IP": Kind("net.IP"),
    "CIDR": Kind("net.CIDR"),
}
"""Types whose names in signatures are shorter than they are."""


@cache
def kind_of(text: str) -> Kind:
    """The type that is written like this: ``int``, ``Quantity``, ``map(A, optional(B))``; A and B are free."""
    name, _, rest = text.strip().partition("(")
    kind = _NAMED.get(name, Kind(name))
    return Kind(kind.name, tuple(map(kind_of, parts(rest.removesuffix(")"))))) if rest else kind


def parts(text: str) -> list[str]:
    """What stands between the commas that are in no parentheses."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found if text else []


def list_of(item: Kind) -> Kind:
    return Kind("list", (item,))


def map_of(key: Kind, value: Kind) -> Kind:
    return Kind("map", (key, value))


def optional_of(value: Kind) -> Kind:
    return Kind("optional_type", (value,))


def fits(have: Kind, want: Kind, bound: dict[str, Kind]) -> bool:
    """Whether a value of one type may stand where another is wanted; ``bound`` are the free types settled so far."""
    if want.free:
        before = bound.setdefault(want.name, have)
        if have.loose:
            bound[want.name] = have
        return have.loose or before.loose or fits(have, before, bound)
    if have.loose or want.loose:
        return True
    if NULL in (have, want):
        return have == want or (want if have == NULL else have).nullable
    if have.name != want.name or len(have.params) != len(want.params):
        return False
    return all(fits(mine, theirs, bound) for mine, theirs in zip(have.params, want.params, strict=True))


def settled(kind: Kind, bound: dict[str, Kind]) -> Kind:
    """A type with its free parts filled in."""
    if kind.free:
        return bound.get(kind.name, DYN)
    return Kind(kind.name, tuple(settled(param, bound) for param in kind.params)) if kind.params else kind


def join(kinds: list[Kind]) -> Kind | None:
    """The type of a list of values of these types: dyn if one is; None if they differ."""
    if not kinds:
        return DYN
    first = next((kind for kind in kinds if not kind.loose), kinds[0])
    if any(not fits(kind, first, {}) for kind in kinds):
        return None
    return DYN if any(kind.loose for kind in kinds) else first
