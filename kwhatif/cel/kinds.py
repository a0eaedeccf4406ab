"""Types of expressions, as far as they decide which overloads come into question.

Upstream: github.com/google/cel-go/checker (types.go, format.go).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ANY",
    "BOOL",
    "BYTES",
    "CIDR",
    "DOUBLE",
    "DURATION",
    "DYN",
    "INT",
    "IP",
    "NULL",
    "QUANTITY",
    "SEMVER",
    "STRING",
    "TIMESTAMP",
    "TYPE",
    "UINT",
    "A",
    "B",
    "Kind",
    "fits",
    "join",
    "list_of",
    "map_of",
    "optional_of",
]


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


DYN, ANY, NULL = Kind("dyn"), Kind("any"), Kind("null_type")
BOOL, INT, UINT, DOUBLE = Kind("bool"), Kind("int"), Kind("uint"), Kind("double")
STRING, BYTES, TYPE = Kind("string"), Kind("bytes"), Kind("type")
TIMESTAMP, DURATION = Kind("google.protobuf.Timestamp"), Kind("google.protobuf.Duration")
QUANTITY, SEMVER = Kind("kubernetes.Quantity"), Kind("kubernetes.Semver")
IP, CIDR = Kind("net.IP"), Kind("net.CIDR")
A, B = Kind("A", free=True), Kind("B", free=True)


def list_of(item: Kind) -> Kind:
    return Kind("list", (item,))


def map_of(key: Kind, value: Kind) -> Kind:
    return Kind("map", (key, value))


def optional_of(value: Kind) -> Kind:
    return Kind("optional_type", (value,))


def fits(have: Kind, want: Kind, bound: dict[str, Kind]) -> bool:
    """Whether a value of one type may stand where another is wanted; ``bound`` are the free types settled so far."""
    if want.free:
        settled = bound.get(want.name)
        if settled is None or (settled.loose and not have.loose):
            bound[want.name] = have
            return True
        return have.loose or fits(have, settled, bound)
    if have.loose or want.loose:
        return True
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
