"""A study as a value: one question, asked of many worlds that know nothing of each other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

Base = TypeVar("Base")
World = TypeVar("World", bound=msgspec.Struct)
Row = TypeVar("Row", bound=msgspec.Struct)


class Failed(msgspec.Struct, frozen=True):
    """A world that could not be asked, although it was tried twice: its place among the worlds, and the last error."""

    index: int
    error: str


@dataclass(frozen=True, eq=False)
class Study(Generic[Base, World, Row]):
    """Worlds and what is asked of each.

    ``base`` is what they have in common: any value that can be pickled. It is sent once to each worker, which must find
    it as it was after every world. ``worlds`` are small frozen Structs. ``ask`` is a function of a module, since
    workers find it by name; it answers with a ``row``, and the same for the same world. ``of`` stands for the base, as
    a digest or a name: rows that were kept are taken over where it is the same.
    """

    name: str
    base: Base
    worlds: Sequence[World]
    ask: Callable[[Base, World], Row]
    row: type[Row]
    of: str

    @cached_property
    def digest(self) -> str:
        """What tells this study from all others: 16 hexadecimal digits."""
        asked = f"{self.ask.__module__}.{self.ask.__qualname__}"
        told: list[Any] = [self.name, self.of, asked, self.row.__struct_fields__]
        digest = hashlib.sha256(msgspec.json.encode(told))
        for world in self.worlds:
            digest.update(msgspec.json.encode(world) + b"\n")
        return digest.hexdigest()[:16]
