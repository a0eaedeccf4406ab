"""What upstream leaves to chance: the order of its maps, and of equals in a sort that keeps no order.

Domains of a topology, NodePools and candidates for disruption are gone through as Go's maps have them. Equally good
domains: nextDomainTopologySpread and nextDomainAffinity in pkg/controllers/provisioning/scheduling/topologygroup.go;
NodeClaims with equally many pods: addToInflightNode in scheduler.go there, by sort.Slice, which moves equals from
thirteen on; candidates of equal cost and the turns of NodePools: consolidation.go and singlenodeconsolidation.go in
pkg/controllers/disruption.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

STABLE = 12
"""So many items Go's sort.Slice sorts by insertion, which keeps the order of equals."""


class MapOrder:
    """One order for a run: by name, or one that is drawn. ``mattered`` says whether there ever was a choice."""

    def __init__(self, drawn: Random | None = None) -> None:
        self._drawn = drawn
        self._ranks: dict[str, float] = {}
        self.mattered = False

    def arrange(self, equals: Iterable[str]) -> list[str]:
        """Names that are equally good, in the order in which they are met."""
        found = sorted(equals)
        self.mattered |= len(found) > 1
        return found if self._drawn is None else sorted(found, key=self.rank)

    def rank(self, name: str) -> float:
        """Where a name stands among others that are equal; all at one place, if they keep their order."""
        if self._drawn is None:
            return 0.0
        if name not in self._ranks:
            self._ranks[name] = self._drawn.random()
        return self._ranks[name]
