"""What a function can be called with, what it gives, and what the call costs before it is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from kwhatif.cel.expression_types import Kind, kind_of, parts
from kwhatif.cel.faults import OverBudget

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

    Raises OverBudget beyond ``MOST_WEIGHT``: what walks such values would take for ever.
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


@dataclass(frozen=True, slots=True)
class Overload:
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
    found = _SIGNATURE.fullmatch(signature)
    assert found, signature
    params = ([found["of"]] if found["of"] else []) + parts(found["params"])
    overload = Overload(tuple(map(kind_of, params)), kind_of(found["result"]), run, bool(found["of"]), cost, room)
    yield found["name"], overload


def merged(*definitions: Iterator[tuple[str, Overload]]) -> Table:
    """All of them as one table."""
    table: Table = {}
    for name, overload in (each for some in definitions for each in some):
        table.setdefault(name, []).append(overload)
    return table
