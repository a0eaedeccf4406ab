"""The order of Go's maps and of equals in unstable sorts, which upstream leaves to chance.

It affects the domains of a topology, NodePools and candidates for disruption. Equally good domains:
nextDomainTopologySpread and nextDomainAffinity in pkg/controllers/provisioning/scheduling/topologygroup.go; NodeClaims
with equally many pods: addToInflightNode in scheduler.go there, by sort.Slice, which moves equals from thirteen items
on; candidates of equal cost and the order of NodePools: consolidation.go and singlenodeconsolidation.go in
pkg/controllers/disruption.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

GO_INSERTION_SORT_LENGTH = 12
"""Up to this length Go's sort.Slice sorts by insertion, which keeps the order of equals."""


class MapOrder:
    """One order for a run: by name, or random. ``mattered`` says whether there ever was a choice."""

    def __init__(self, drawn: Random | None = None) -> None:
        self._drawn = drawn
        self._ranks: dict[str, float] = {}
        self.mattered = False

    def arrange(self, equals: Iterable[str]) -> list[str]:
        """Equally good names in the order in which Go would visit them."""
        keys = sorted(equals)
        self.mattered |= len(keys) > 1
        return keys if self._drawn is None else sorted(keys, key=self.rank)

    def rank(self, name: str) -> float:
        """The place of a name among equals; the same for all if they keep their order."""
        if self._drawn is None:
            return 0.0
        if name not in self._ranks:
            self._ranks[name] = self._drawn.random()
        return self._ranks[name]
