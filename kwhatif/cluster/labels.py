"""Labels of pods as dictionary-encoded columns, and an index of selectors.

``LabelColumns`` says which pods a selector selects, as a mask computed from codes and not pod by pod. ``SelectorIndex``
says which of many selectors select a pod, without a look at those that need another value.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Generic, TypeVar

import numpy as np

from kwhatif.api.selectors import Requirement, Selector
from kwhatif.cluster.types import BoolArray, IntpArray

T = TypeVar("T")
_Pairs = list[tuple[Selector, T]]
_IndexEntry = dict[tuple[str, str], _Pairs[T]]


_CHOICES = 8
"""The most required labels of a selector that are compared for its file; any will do."""


class GrowingColumn:
    """A dictionary-encoded column that grows: -1 stands for no value."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._codes = array("q")

    def __len__(self) -> int:
        return len(self._codes)

    def fork(self) -> GrowingColumn:
        twin = GrowingColumn()
        twin._index, twin._codes = dict(self._index), self._codes[:]
        return twin

    def append(self, value: str | None) -> None:
        self._codes.append(-1 if value is None else self._index.setdefault(value, len(self._index)))

    def pad(self, size: int) -> None:
        """Have so many places; the new ones have no value."""
        self._codes.frombytes(b"\xff" * (self._codes.itemsize * (size - len(self._codes))))

    def present(self, first: int = 0) -> BoolArray:
        """bool[T - first]: which places have a value at all."""
        return self._since(first) >= 0

    def among(self, values: Collection[str], first: int = 0) -> BoolArray:
        """bool[T - first]: which places have one of these values."""
        codes = self._since(first)
        wanted = [code for value in values if (code := self._index.get(value)) is not None]
        mask: BoolArray = codes == wanted[0] if len(wanted) == 1 else np.isin(codes, np.array(wanted, np.intp))
        return mask

    def _since(self, first: int) -> IntpArray:
        # The array cannot grow while this view of it is alive: it must not leave the class.
        return np.frombuffer(self._codes, np.int64)[first:] if self._codes else np.zeros(0, np.intp)


class LabelColumns:
    """The labels of a growing number of shapes; a key is coded when a selector first asks for it."""

    def __init__(self) -> None:
        self._size = 0
        # By key: the places that have the key, with the value, which are not coded yet.
        self._new: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self._columns: dict[str, GrowingColumn] = {}

    def fork(self) -> LabelColumns:
        twin = LabelColumns()
        twin._size = self._size
        twin._new.update((key, places[:]) for key, places in self._new.items())
        twin._columns = {key: column.fork() for key, column in self._columns.items()}
        return twin

    def append(self, labels: Mapping[str, str]) -> None:
        for key, value in labels.items():
            self._new[key].append((self._size, value))
        self._size += 1

    def matching(self, selector: Selector, first: int = 0) -> BoolArray:
        """bool[T - first]: which label sets, from the one numbered ``first`` on, a label selector selects."""
        mask = np.full(self._size - first, not selector.nothing, np.bool_)
        for requirement in selector.requirements:
            mask &= self._having(requirement, first)
        return mask

    def _having(self, requirement: Requirement, first: int) -> BoolArray:
        key, column = requirement.key, self._columns.setdefault(requirement.key, GrowingColumn())
        for place, value in self._new.pop(key, ()):
            column.pad(place)
            column.append(value)
        column.pad(self._size)
        match requirement.operator:
            case "In":
                return column.among(requirement.values, first)
            case "NotIn":
                return ~column.among(requirement.values, first)
            case "Exists":
                return column.present(first)
            case "DoesNotExist":
                return ~column.present(first)
        raise ValueError(f"label selectors have no operator {requirement.operator}")


class SelectorIndex(Generic[T]):
    """Items with a selector each, found by the labels they select.

    A selector is filed under the values of one label that it requires, the one with the fewest others; few require
    none.
    """

    def __init__(self) -> None:
        # By namespace, None for those that mean all of them: by label, and the few without one.
        self._shelves: dict[str | None, tuple[_IndexEntry[T], _Pairs[T]]] = {}

    def fork(self) -> SelectorIndex[T]:
        """An independent copy with the same items."""
        twin: SelectorIndex[T] = SelectorIndex()
        for namespace, (filed, others) in self._shelves.items():
            twin._shelves[namespace] = {label: shelf[:] for label, shelf in filed.items()}, others[:]
        return twin

    def add(self, selector: Selector, namespaces: Collection[str] | None, item: T) -> None:
        """``namespaces`` are those of the pods it selects; None for all of them."""
        if selector.nothing:
            return
        for namespace in [None] if namespaces is None else namespaces:
            filed, others = self._shelves.setdefault(namespace, ({}, []))
            insisting = islice((r for r in selector.requirements if r.operator == "In"), _CHOICES)
            choices = [[filed.setdefault((r.key, value), []) for value in dict.fromkeys(r.values)] for r in insisting]
            fewest = min(choices, key=lambda lists: sum(map(len, lists)), default=[others])
            for shelf in fewest:
                shelf.append((selector, item))

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> list[T]:
        """The items whose selectors select a pod, in no particular order."""
        items = []
        for home in (namespace, None):
            if (shelf := self._shelves.get(home)) is not None:
                filed, others = shelf
                pairs = [*others, *(pair for label in labels.items() for pair in filed.get(label, ()))]
                items += [thing for selector, thing in pairs if selector.matches(labels)]
        return items
