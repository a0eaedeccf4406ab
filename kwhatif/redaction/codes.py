"""Pseudonyms: codes that are in the same order as the words they stand for, and that leave room for words to come.

A code is a stem and decimal digits: ``w25``, ``w5``, ``w75``. Codes of one stem are in the order of their digits, read
as a fraction, and between two fractions there is always another one. So a word that turns up later gets a code
between those of its neighbours, and no code ever changes. No code ends in 0: nothing would fit between 5 and 50.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_ROOM = 10
"""Between neighbours that get their codes at the same time lie at least so many numbers of that length."""


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
class Ordered:
    """Words and their codes, in the same order.

    ``kept`` words stay as they are. There is one stem before each of them and one after the last: every code with the
    stem comes after the kept word before it and before the next. ``codes`` is what was given out so far.
    """

    kept: Sequence[str]
    stems: Sequence[str]
    width: int
    codes: dict[str, str] = field(default_factory=dict)
    _wanted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._as_they_are = frozenset(self.kept)

    def code(self, word: str) -> str:
        """The code of a word. One that has none yet is put down for ``settle``; until then it is empty."""
        if word in self._as_they_are:
            return word
        found = self.codes.get(word)
        if found is None:
            self._wanted.add(word)
            return ""
        return found

    def settle(self) -> bool:
        """Give codes to all words that have asked for one; whether there were any."""
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
        """Codes for sorted new words among sorted old ones: those between the same two share the room."""
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


@dataclass
class Numbered:
    """Values whose order nobody asks about, and the numbers that stand for them: 1, 2, 3 as they come."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, value: str) -> int:
        return self.numbers.setdefault(value, len(self.numbers) + 1)
