"""The options of ``kwhatif chances``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwhatif.simulation.flag import Flag

ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class ChancesOptions:
    """How many trials are made, and what is counted in each."""

    trials: Annotated[
        int, Flag("--trials", metavar="N", least=1, shows_default=True, help="So many trials at most.")
    ] = 1000
    precision: Annotated[
        float | None,
        Flag(
            "--precision",
            metavar="P",
            help="Stop once no interval reaches further than P to either side, such as 0.02. Default: all trials.",
        ),
    ] = None
    seed: Annotated[
        int, Flag("--seed", metavar="N", shows_default=True, help="The same seed gives the same answer.")
    ] = 0
    max_skew: Annotated[
        int,
        Flag(
            "--skew",
            metavar="K",
            least=0,
            shows_default=True,
            help="What more than K pods of difference is, is skewed.",
        ),
    ] = 1
    topology_key: Annotated[
        str,
        Flag(
            "--topology-key",
            metavar="LABEL",
            shows_default=True,
            help="The label of nodes that tells places apart.",
        ),
    ] = ZONE
