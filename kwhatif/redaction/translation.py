"""The translation: which pseudonym stands for which name. It is private, and needed to reveal an answer.

A pseudonym's code is a stem and decimal digits: ``w25``, ``w5``, ``w75``. Codes of one stem are ordered by their
digits, read as a fraction, and between two fractions there is always another one. So a word that turns up later gets a
code between those of its neighbours, and no code ever changes. No code ends in 0: nothing would fit between 5 and 50.
The schema of the file is ``schemas/translation.schema.json``.
"""

from __future__ import annotations

import copy
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from kwhatif.api.decode import describe_value, step
from kwhatif.api.document_numbers import Serial
from kwhatif.api.json_schema import decode_strictly
from kwhatif.errors import InputError
from kwhatif.snapshot.format.atomic_files import draft_of
from kwhatif.snapshot.read.files import read_paths

_ROOM = 10
"""The least distance between the codes of neighbours that are assigned at the same time."""


def between(low: str, high: str | None, count: int, width: int) -> list[str]:
    """``count`` codes strictly between two (``""``: from the start, None: to the end), of ``width`` digits or more.

    What comes before the first or after the last stays close to it, since more may come on the same side.
    """
    width = max(width, len(low), len(high or ""))
    while True:
        first = int(low.ljust(width, "0"))
        last = int(high.ljust(width, "0")) if high is not None else 10**width
        if last - first >= _ROOM * (count + 1):
            break
        # Where others are already, more may come, too.
        width += 3 if low or high is not None else 1
    near = 2 * _ROOM * (count + 1)
    if low and high is None:
        last = min(last, first + near)
    elif high is not None and not low:
        first = max(first, last - near)
    numbers = (first + (last - first) * (i + 1) // (count + 1) for i in range(count))
    return [str(number + (number % 10 == 0)).zfill(width) for number in numbers]


@dataclass
class OrderedCodes:
    """Words and their codes, in the same order.

    ``kept`` words stay as they are. There is one stem before each of them and one after the last: every code with the
    stem sorts between its two kept words. ``codes`` are those assigned so far.
    """

    kept: Sequence[str]
    stems: Sequence[str]
    width: int
    codes: dict[str, str] = field(default_factory=dict)
    _wanted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._as_they_are = frozenset(self.kept)

    def code(self, word: str) -> str:
        """The code of a word. One without a code is noted for ``settle``; until then its code is empty."""
        if word in self._as_they_are:
            return word
        code = self.codes.get(word)
        if code is None:
            self._wanted.add(word)
            return ""
        return code

    def settle(self) -> bool:
        """Assign codes to all noted words; returns whether there were any."""
        if not self._wanted:
            return False
        by_gap: dict[int, list[str]] = {}
        for word in sorted(self._wanted):
            by_gap.setdefault(self._gap(word), []).append(word)
        there: dict[int, list[str]] = {}
        for word in sorted(self.codes):
            there.setdefault(self._gap(word), []).append(word)
        for gap, words in by_gap.items():
            self._fill(self.stems[gap], words, there.get(gap, []))
        self._wanted.clear()
        return True

    def _gap(self, word: str) -> int:
        return bisect_left(self.kept, word)

    def _fill(self, stem: str, words: Sequence[str], there: Sequence[str]) -> None:
        """Codes for sorted new words among sorted old ones: those between the same two share the space."""
        by_place: dict[int, list[str]] = {}
        for word in words:
            by_place.setdefault(bisect_left(there, word), []).append(word)
        for place, new in by_place.items():
            low = self._digits(stem, there[place - 1]) if place else ""
            high = self._digits(stem, there[place]) if place < len(there) else None
            for word, digits in zip(new, between(low, high, len(new), self.width), strict=True):
                self.codes[word] = stem + digits

    def _digits(self, stem: str, word: str) -> str:
        return self.codes[word].removeprefix(stem)

    def faults(self) -> Iterable[tuple[str, str]]:
        """Words whose codes cannot be right, with what is wrong about them."""
        by_gap: dict[int, list[str]] = {}
        for word in sorted(self.codes):
            gap = self._gap(word)
            by_gap.setdefault(gap, []).append(word)
            if not re.fullmatch(re.escape(self.stems[gap]) + "[0-9]*[1-9]", self.codes[word]):
                yield word, f'expected "{self.stems[gap]}" and digits, the last of them not 0'
        for words in by_gap.values():
            for one, other in pairwise(words):
                if self.codes[one] >= self.codes[other]:
                    yield other, f'expected a code after "{self.codes[one]}"'


class NumberedCodes(msgspec.Struct):
    """Values whose order does not matter, and the numbers that stand for them: 1, 2, 3 as they come."""

    numbers: dict[str, int] = {}

    def number(self, value: str) -> int:
        return self.numbers.setdefault(value, len(self.numbers) + 1)


KIND = "Translation"


def _words() -> OrderedCodes:
    return OrderedCodes(
        ("default", "false", "kube", "lease", "node", "public", "system", "true"),
        ("b", "e", "h", "l", "m", "o", "r", "t", "w"),
        width=3,
    )


def _resources() -> OrderedCodes:
    return OrderedCodes(
        ("attachable", "cpu", "ephemeral", "hugepages", "memory", "pods", "storage"),
        ("ab", "bx", "dx", "fx", "kx", "nx", "rx", "vx"),
        width=3,
    )


def _nodes() -> OrderedCodes:
    return OrderedCodes((), ("node-",), width=4)


def _pools() -> OrderedCodes:
    return OrderedCodes((), ("pool-",), width=4)


class Translation(msgspec.Struct):
    """Pseudonyms by what they stand for; it only ever grows.

    ``words`` are the parts of names, ``resources`` those of resource names; ``nodes`` and ``pools`` (of devices) are
    whole names. ``numeric`` are the label keys whose values are compared as numbers (Gt and Lt), so that their numbers
    stay.
    """

    words: OrderedCodes = msgspec.field(default_factory=_words)
    resources: OrderedCodes = msgspec.field(default_factory=_resources)
    nodes: OrderedCodes = msgspec.field(default_factory=_nodes)
    pools: OrderedCodes = msgspec.field(default_factory=_pools)
    uids: NumberedCodes = msgspec.field(default_factory=NumberedCodes)
    addresses: NumberedCodes = msgspec.field(default_factory=NumberedCodes)
    numeric: set[str] = set()

    @property
    def empty(self) -> bool:
        return not (self.words.codes or self.resources.codes or self.nodes.codes or self.pools.codes)

    @property
    def size(self) -> int:
        """How many pseudonyms there are."""
        ordered = (self.words, self.resources, self.nodes, self.pools)
        numbered = (self.uids, self.addresses)
        return sum(len(part.codes) for part in ordered) + sum(len(part.numbers) for part in numbered)

    def copy(self) -> Translation:
        return copy.deepcopy(self)

    def settle(self) -> bool:
        """Assign pseudonyms to all noted names; returns whether there were any."""
        settled = [part.settle() for part in (self.words, self.resources, self.nodes, self.pools)]
        return any(settled)


def _like(stem: str) -> Meta:
    """A pattern for readers of the schema: digits after ``stem``. ``OrderedCodes`` checks the stem itself."""
    return Meta(extra_json_schema={"pattern": f"^{stem}[0-9]*[1-9]$"})


_Codes = dict[str, Annotated[str, _like("[a-z]{1,2}")]]
_Numbers = dict[str, Serial]


class File(msgspec.Struct, rename="camel", kw_only=True):
    """A translation as its file has it."""

    api_version: Literal["kwhatif.dev/v1"] = "kwhatif.dev/v1"
    kind: Literal["Translation"] = "Translation"
    words: Annotated[_Codes, Meta(description="Parts of names; the codes are in the order of the words.")] = {}
    resources: Annotated[_Codes, Meta(description="Parts of the names of resources, likewise.")] = {}
    nodes: Annotated[
        dict[str, Annotated[str, _like("node-")]], Meta(description="Whole names of nodes, likewise.")
    ] = {}
    pools: Annotated[
        dict[str, Annotated[str, _like("pool-")]], Meta(description="Whole names of pools of devices, likewise.")
    ] = {}
    uids: Annotated[_Numbers, Meta(description="Unique identifiers by number.")] = {}
    addresses: Annotated[_Numbers, Meta(description="IP addresses of host ports by number.")] = {}
    numeric_keys: Annotated[
        list[str],
        Meta(description="Keys of labels whose values are compared as numbers (Gt, Lt): their numbers stay."),
    ] = []


def read_translation(path: str) -> Translation:
    """A translation from its file. Raises InputError with a place."""
    (text,) = read_paths([path])
    try:
        file = decode_strictly(text.data, File)
        translation = Translation(
            uids=NumberedCodes(file.uids), addresses=NumberedCodes(file.addresses), numeric=set(file.numeric_keys)
        )
        for name in ("words", "resources", "nodes", "pools"):
            part: OrderedCodes = getattr(translation, name)
            part.codes.update(getattr(file, name))
            for word, problem in part.faults():
                value = describe_value(part.codes[word])
                raise InputError(f"{problem}, found {value}", place=f"$.{name}{step(word)}")
        for name, numbered in (("uids", translation.uids), ("addresses", translation.addresses)):
            if sorted(numbered.numbers.values()) != list(range(1, len(numbered.numbers) + 1)):
                raise InputError(f"expected the numbers 1 to {len(numbered.numbers)}, each once", place=f"$.{name}")
    except InputError as error:
        raise error.with_source(text.name) from None
    return translation


def write_translation(translation: Translation, path: str) -> None:
    """Write a translation to a file that only its owner can read; it appears complete or not at all.

    Raises InputError if it cannot be written.
    """
    file = File(
        words=dict(sorted(translation.words.codes.items())),
        resources=dict(sorted(translation.resources.codes.items())),
        nodes=dict(sorted(translation.nodes.codes.items())),
        pools=dict(sorted(translation.pools.codes.items())),
        uids=translation.uids.numbers,
        addresses=translation.addresses.numbers,
        numeric_keys=sorted(translation.numeric),
    )
    try:
        with draft_of(path, private=True) as opened:
            opened.write(msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=path) from None


def readable_by_others(path: str) -> bool:
    """Whether others than its owner may read a file."""
    return bool(os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH))
