"""Which failures ``kwhatif outage`` asks about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from kwhatif.simulation.flag import Flag, split_words


@dataclass(frozen=True, kw_only=True)
class FailureOptions:
    """Which failures are asked about: each node, zone or pool (``failures``); nodes by name or selector, a failure
    each, zones and pools by name; what has each value of a label ``by`` its key; and ``pairs`` of nodes, a sample drawn
    by ``seed`` if there are more than ``most_pairs``.
    """

    failures: Annotated[
        Sequence[str],
        Flag(
            "--each",
            positional=True,
            parse=split_words,
            metavar="nodes,zones,pools",
            help="All of these, one after the other. Default, if no other failure is named: all three.",
        ),
    ] = ()
    nodes: Annotated[
        Sequence[str],
        Flag(
            "--node",
            metavar="NODE|SELECTOR",
            completion="node",
            help="One node, or each that a selector selects (repeatable).",
        ),
    ] = ()
    zones: Annotated[Sequence[str], Flag("--zone", metavar="ZONE", help="One zone (repeatable).")] = ()
    pools: Annotated[
        Sequence[str],
        Flag("--pool", metavar="POOL|SELECTOR", help="One pool, or all nodes that a selector selects (repeatable)."),
    ] = ()
    by: Annotated[
        Sequence[str],
        Flag("--by", metavar="LABEL", help="Nodes with the same value of this label, such as a rack (repeatable)."),
    ] = ()
    pairs: Annotated[bool, Flag("--pairs", help="Every two nodes together.")] = False
    most_pairs: Annotated[
        int,
        Flag("--most-pairs", metavar="N", least=1, shows_default=True, help="Try at most N pairs, drawn by --seed."),
    ] = 1000
    seed: Annotated[int, Flag("--seed", metavar="N", shows_default=True, help="Which pairs are drawn.")] = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked about."""
        return not (self.failures or self.nodes or self.zones or self.pools or self.by or self.pairs)
