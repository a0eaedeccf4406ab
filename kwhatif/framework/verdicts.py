"""Rejections folded into one verdict a node: the first plugin that rejects a node names it.

All reasons of that plugin count; the failure message is a histogram of them. Upstream:
pkg/scheduler/framework/types.go (Diagnosis, FitError, NodeToStatus).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.framework.status import Code, Rejection, Status


@dataclass(frozen=True, slots=True, eq=False)
class Blocker:
    """One reason of one plugin, and the nodes it was the first to reject.

    where     bool[n], the nodes the reason holds for
    counted   bool[n], those of them that no earlier plugin had rejected
    """

    plugin: str
    rejection: Rejection
    where: BoolArray
    counted: BoolArray


class Verdicts:
    """Verdicts over n nodes.

    first          intp[n]: index into ``plugins`` of the first to reject, -1 where none does
    unresolvable   bool[n]: evicting pods would not help
    failed         bool[n]: what the first plugin said is an error

    With ``all_reasons`` those of later plugins count as well, and the verdict is nobody's in particular.
    """

    def __init__(self, size: int, *, all_reasons: bool = False) -> None:
        self.all_reasons = all_reasons
        self.plugins: list[str] = []
        self.blockers: list[Blocker] = []
        self.first: IntpArray = np.full(size, -1, np.intp)
        self.unresolvable: BoolArray = np.zeros(size, np.bool_)
        self.failed: BoolArray = np.zeros(size, np.bool_)

    def take(self, plugin: str, rejections: Iterable[Rejection]) -> None:
        """Fold in what the next plugin in line says."""
        untouched = self.first < 0
        index = len(self.plugins)
        self.plugins.append(plugin)
        for rejection in rejections:
            if not rejection.where.any():
                continue
            fresh = rejection.where & untouched
            counted = rejection.where.copy() if self.all_reasons else fresh
            self.blockers.append(Blocker(plugin, rejection, rejection.where, counted))
            self.first[fresh] = index
            self.unresolvable |= counted & rejection.unresolvable
            if rejection.error:
                self.failed |= counted

    @property
    def passed(self) -> BoolArray:
        """bool[n]: nodes that no plugin rejects."""
        return self.first < 0

    def status(self, place: int) -> Status | None:
        """The verdict on one node; None if it passed."""
        index = self.first[place]
        if index < 0:
            return None
        reasons = tuple(b.rejection.reason for b in self.blockers if b.counted[place])
        code = Code.UNRESOLVABLE if self.unresolvable[place] else Code.UNSCHEDULABLE
        if self.failed[place]:
            code = Code.ERROR
        return Status(code, reasons, "" if self.all_reasons else self.plugins[index])

    def histogram(self) -> dict[str, int]:
        """Reason -> number of nodes."""
        counts: dict[str, int] = {}
        for blocker in self.blockers:
            found = int(np.count_nonzero(blocker.counted))
            if found:
                reason = blocker.rejection.reason
                counts[reason] = counts.get(reason, 0) + found
        return counts

    def forget(self, rows: IntpArray) -> None:
        """Take back the verdicts on nodes that nobody looked at; they then count as passed."""
        for blocker in self.blockers:
            blocker.counted[rows] = False
        self.first[rows] = -1
        self.unresolvable[rows] = False
        self.failed[rows] = False

    def overlay(self, rows: IntpArray, other: Verdicts) -> None:
        """Let ``other``'s verdicts, which are about ``rows``, take the place of ours there."""
        for blocker in self.blockers:
            blocker.counted[rows] = False
        size = len(self.first)
        for blocker in other.blockers:
            where, counted = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
            where[rows], counted[rows] = blocker.where, blocker.counted
            rejection = _spread(blocker.rejection, rows, where)
            self.blockers.append(Blocker(blocker.plugin, rejection, where, counted))
        shift = len(self.plugins)
        self.plugins.extend(other.plugins)
        self.first[rows] = np.where(other.first < 0, -1, other.first + shift)
        self.unresolvable[rows], self.failed[rows] = other.unresolvable, other.failed


def _spread(rejection: Rejection, rows: IntpArray, where: BoolArray) -> Rejection:
    """A rejection said of some rows, said of all nodes."""
    unresolvable = rejection.unresolvable
    if isinstance(unresolvable, np.ndarray):
        everywhere = np.zeros(len(where), np.bool_)
        everywhere[rows] = unresolvable
        unresolvable = everywhere
    detail, short = rejection.detail, rejection.short
    places = {int(row): place for place, row in enumerate(rows)}
    return Rejection(
        where,
        rejection.reason,
        unresolvable,
        None if detail is None else lambda row: detail(places[row]),
        None if short is None else lambda row: short(places[row]),
        rejection.error,
    )
