"""Function declarations: overloads with their types, results and costs.

Upstream: github.com/google/cel-go/checker (types.go, format.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from math import ceil
from typing import Any

import msgspec

from kwhatif.cel.values import OverBudget


class Kind(msgspec.Struct, frozen=True):
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
    texts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            texts.append("")
        else:
            texts[-1] += letter
    return texts if text else []


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


def substitute_kinds(kind: Kind, bound: dict[str, Kind]) -> Kind:
    """A type with its free parts filled in."""
    if kind.free:
        return bound.get(kind.name, DYN)
    return Kind(kind.name, tuple(substitute_kinds(param, bound) for param in kind.params)) if kind.params else kind


def join(kinds: list[Kind]) -> Kind | None:
    """The type of a list of values of these types: dyn if one is; None if they differ."""
    if not kinds:
        return DYN
    first = next((kind for kind in kinds if not kind.loose), kinds[0])
    if any(not fits(kind, first, {}) for kind in kinds):
        return None
    return DYN if any(kind.loose for kind in kinds) else first


Cost = Callable[..., int]


def size_of(value: Any) -> int:
    """How large a value counts when it is charged for: characters, elements, or 1."""
    return len(value) if isinstance(value, str | bytes | list | dict) else 1


def one(*args: object) -> int:
    return 1


def per_character(*args: object) -> int:
    """A tenth of the first argument's length."""
    return ceil(size_of(args[0]) / 10)


def twice_per_character(*args: object) -> int:
    return ceil(size_of(args[0]) / 5)


def runs_over(*args: object) -> int:
    """One for each element."""
    return size_of(args[0])


def regex_cost(*args: object) -> int:
    """Length of the text times length of the pattern, each scaled down."""
    return ceil((1 + size_of(args[0])) / 10) * ceil(size_of(args[1]) / 4)


MOST_WEIGHT = 1_000_000


def weight(*values: object) -> int:
    """How many characters and elements there are in values, however often one list stands in another.

    Raises OverBudget beyond ``MOST_WEIGHT``: what walks such values would take forever.
    """
    total, rest = 0, list(values)
    while rest:
        value = rest.pop()
        total += len(value) if isinstance(value, str | bytes) else 1
        if isinstance(value, dict):
            rest += value.values()
        elif isinstance(value, list):
            rest += value
        if total > MOST_WEIGHT:
            raise OverBudget
    return total


class Overload(msgspec.Struct, frozen=True):
    """``params`` begin with the receiver where it is a ``member``.

    ``cost`` is charged before ``run``, and so is ``room``: the elements and characters that it walks or makes beyond
    what upstream charges for. It keeps lists that hold each other from taking all the memory there is.
    """

    params: tuple[Kind, ...]
    result: Kind
    run: Callable[..., Any]
    member: bool
    cost: Cost
    room: Cost | None


Table = dict[str, list[Overload]]
"""Function -> its overloads."""

_SIGNATURE = re.compile(
    r"""(?: (?P<of> string | bytes | dyn | [a-z]+\(.*?\) | [A-Z]\w* ) \. )?
        (?P<name> [^()]+ ) \( (?P<params> .* ) \)\ ->\ (?P<result> .+ )""",
    re.VERBOSE,
)


def define(
    signature: str, run: Callable[..., Any], cost: Cost = one, room: Cost | None = None, **types: str
) -> Iterator[tuple[str, Overload]]:
    """Overloads by the function's name.

    A signature is written ``string.indexOf(string, int) -> int`` for a member and ``size(string) -> int`` for none.
    ``types`` are words in it that stand for one type after the other: ``T="int uint"``.
    """
    for word, choices in types.items():
        for choice in choices.split():
            yield from define(re.sub(rf"\b{word}\b", choice, signature), run, cost, room)
        return
    match = _SIGNATURE.fullmatch(signature)
    assert match, signature
    params = ([match["of"]] if match["of"] else []) + parts(match["params"])
    overload = Overload(tuple(map(kind_of, params)), kind_of(match["result"]), run, bool(match["of"]), cost, room)
    yield match["name"], overload


def merge_definitions(*definitions: Iterator[tuple[str, Overload]]) -> Table:
    """All of them as one table."""
    table: Table = {}
    for name, overload in (definition for some in definitions for definition in some):
        table.setdefault(name, []).append(overload)
    return table
