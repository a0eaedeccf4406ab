"""What a function can be called with, what it gives and what the call costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

from kwhatif.cel.kinds import Kind
from kwhatif.cel.operators import size_of

__all__ = ["Overload", "Table", "per_character", "regex_cost", "runs_over"]

Cost = Callable[..., int]


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


@dataclass(frozen=True, slots=True)
class Overload:
    """``params`` begin with the receiver where it is a ``member``."""

    params: tuple[Kind, ...]
    result: Kind
    run: Callable[..., Any]
    member: bool = False
    cost: Cost = one


Table = dict[str, list[Overload]]
"""Function -> its overloads."""
