"""Affinity terms of pods assumed in a group's cycle, which later members of the group do not see.

A snapshot lists the nodes with pods that have affinity terms when it is taken. Pods assumed in it later do not change
these lists, so the terms of a member are visible to those after it only where the node was listed already. Upstream:
AssumePod in pkg/scheduler/backend/cache/snapshot.go, and plugins/interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kwhatif.cluster.shapes import PodShape
from kwhatif.cluster.tally import Tally, TallySpec, Weighing
from kwhatif.cluster.types import BoolArray, Int64Array

_WITH_TERMS = TallySpec(("pods with affinity terms",), Weighing(of_template=lambda shape: int(bool(shape.terms))))
_WITH_ANTI_AFFINITY = TallySpec(
    ("pods with required anti-affinity",), Weighing(of_template=lambda shape: int(bool(shape.anti_affinity)))
)


class UnlistedTerms:
    """The pods, with the rows of their nodes, whose required anti-affinity (``anti``), or any of whose terms
    (``every``), are not visible.
    """

    def __init__(self) -> None:
        self.anti: list[tuple[PodShape, int]] = []
        self.every: list[tuple[PodShape, int]] = []
        self._listed: tuple[BoolArray, BoolArray] | None = None

    def begin(self, tally: Callable[[TallySpec], Tally]) -> None:
        """A snapshot is taken: note which nodes it lists, by the cluster's tallies."""
        self._listed = tally(_WITH_ANTI_AFFINITY).by_node > 0, tally(_WITH_TERMS).by_node > 0

    def end(self) -> None:
        """The next snapshot lists all nodes again."""
        self.anti, self.every, self._listed = [], [], None

    def assume(self, shape: PodShape, row: int) -> None:
        """A pod is assumed in the snapshot."""
        if self._listed is None:
            return
        with_anti, with_terms = self._listed
        if shape.anti_affinity and not with_anti[row]:
            self.anti.append((shape, row))
        if shape.terms and not with_terms[row]:
            self.every.append((shape, row))

    def forget(self, shape: PodShape, row: int) -> None:
        """Undo ``assume``."""
        for unlisted in (self.anti, self.every):
            if (shape, row) in unlisted:
                unlisted.remove((shape, row))


def count_unlisted(tally: Tally, unlisted: list[tuple[PodShape, int]]) -> Int64Array | None:
    """int64[D + 1]: what unlisted pods count in each domain of a tally of terms; None for nothing."""
    topology = tally.spec.topology
    if not unlisted or topology is None:
        return None
    counts = np.zeros(len(tally.by_domain), np.int64)
    weights = tally.weights
    for shape, row in unlisted:
        code = int(topology.codes[row])
        if code >= 0:
            counts[code] += weights[shape.index]
    return counts if counts.any() else None
