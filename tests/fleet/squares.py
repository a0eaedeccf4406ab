"""A question that workers of other processes find by name, with accidents on request."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kwhatif.errors import UsageError
from kwhatif.fleet.study import Study


class Number(msgspec.Struct, frozen=True):
    value: int


class Square(msgspec.Struct, frozen=True):
    square: int
    digits: tuple[int, ...] = ()


@dataclass
class Base:
    """What happens at which numbers; ``marks`` is a directory where every try is noted."""

    marks: Path
    bad: frozenset[int] = frozenset()
    bad_once: frozenset[int] = frozenset()
    kills: frozenset[int] = frozenset()
    kills_once: frozenset[int] = frozenset()
    tried: list[int] = field(default_factory=list)


def square_of(base: Base, world: Number) -> Square:
    number = world.value
    base.tried.append(number)
    mark = base.marks / str(number)
    first = not mark.exists()
    mark.touch()
    if number in base.kills or (first and number in base.kills_once):
        os.kill(os.getpid(), signal.SIGKILL)
    if number in base.bad or (first and number in base.bad_once):
        raise UsageError(f"{number} is bad")
    return Square(number * number, tuple(map(int, str(number * number))))


def squares(base: Base, numbers: int = 40, of: str = "squares") -> Study[Base, Number, Square]:
    return Study("Squaring", base, [Number(value) for value in range(numbers)], square_of, Square, of)
