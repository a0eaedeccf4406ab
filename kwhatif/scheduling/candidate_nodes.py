"""Nodes where evicting pods would make room, and how one of them is chosen.

Upstream: pickOneNodeForPreemption in pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kwhatif.cluster.shapes import NEVER_STARTED
from kwhatif.cluster.types import AnyArray, BoolArray, Int64Array, IntpArray

PRIORITY_SHIFT = 2**31
"""Makes any priority positive."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Nodes that would do, c of them, in the order found.

    rows         intp[c]
    violations   int64[c], evictions that a budget does not allow
    top          int64[c], the highest priority among the victims
    priorities   int64[c], the sum of the victims' priorities, shifted to be positive
    count        int64[c], number of victims
    start        int64[c], the earliest start among the victims of highest priority
    gone         bool[c, P] and broken bool[c, P]: which of a node's pods have to go, and which break a budget
    """

    rows: IntpArray
    violations: Int64Array
    top: Int64Array
    priorities: Int64Array
    count: Int64Array
    start: Int64Array
    gone: BoolArray
    broken: BoolArray

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, places: IntpArray | BoolArray) -> Candidates:
        return Candidates(*(getattr(self, name)[places] for name in self.__slots__))

    def plus(self, other: Candidates) -> Candidates:
        """These candidates and then the others."""
        if not len(self) or not len(other):
            return self if len(self) else other
        width = max(self.gone.shape[1], other.gone.shape[1])
        return Candidates(
            *(np.concatenate([_widened(getattr(c, name), width) for c in (self, other)]) for name in self.__slots__)
        )


def _widened(array: AnyArray, width: int) -> AnyArray:
    return array if array.ndim == 1 else np.pad(array, ((0, 0), (0, width - array.shape[1])))


CRITERIA: tuple[tuple[str, Callable[[Candidates], Int64Array]], ...] = (
    ("fewest budget violations", lambda c: -c.violations),
    ("lowest highest priority", lambda c: -c.top),
    ("smallest sum of priorities", lambda c: -c.priorities),
    ("fewest victims", lambda c: -c.count),
    ("latest start of the most important", lambda c: c.start),
)
"""How a node is chosen, in this order; more is better (upstream: pickOneNodeForPreemption)."""

FIRST_BY_NAME = "first by name"


def choose(candidates: Candidates, name_rank: IntpArray) -> tuple[int, str]:
    """The place of the best candidate and the criterion that decided; the first by name among equals."""
    left = np.argsort(name_rank[candidates.rows])
    if len(left) == 1:
        return 0, "only candidate"
    for name, measure in CRITERIA:
        values = measure(candidates)[left]
        left = left[values == values.max()]
        if len(left) == 1:
            return int(left[0]), name
    if candidates.start[left[0]] == NEVER_STARTED:
        # Upstream takes the present moment instead, which is later for the node it looks at later.
        return int(left[-1]), CRITERIA[-1][0]
    return int(left[0]), FIRST_BY_NAME


def _none() -> Candidates:
    rows, number, flags = np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros((0, 0), np.bool_)
    return Candidates(rows, number, number, number, number, number, flags, flags)


NONE = _none()
