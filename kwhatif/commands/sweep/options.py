"""Options of ``kwhatif sweep`` only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.commands.common_options import PricesFile, Replay
from kwhatif.simulation.flag import Flag, InputFile, OutputFile
from kwhatif.simulation.inputs import Files


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Which policies are tried, on what, and how the best is chosen.

    ``space`` is a SweepSpace document, a file or as plain values; ``other_snapshots`` are clusters as ``Inputs`` have
    them. ``objectives`` are words such as ``pending=10``.
    """

    space: Annotated[
        str | Mapping[str, Any],
        InputFile("--space", "A SweepSpace: the settings to try, and how to choose.", type=str, required=True),
    ] = ""
    other_snapshots: Annotated[
        Sequence[Any],
        Flag(
            "--against-snapshot",
            metavar="FILE",
            file="cluster",
            help="Another cluster to try every policy on; measures are then the means of all (repeatable).",
        ),
    ] = ()
    replay: Replay = ()
    objectives: Annotated[
        Sequence[str],
        Flag(
            "--objective",
            pairs=float,
            metavar="MEASURE[=WEIGHT]",
            help="What the best policies are chosen by (repeatable). "
            "Default: pending=100, evictions=10, and cost=1 with --prices, else nodesInUse=1.",
        ),
    ] = ()
    search: Annotated[
        int,
        Flag("--search", metavar="N", least=0, shows_default=True, help="Try N more policies around the best."),
    ] = 0
    seed: Annotated[
        int | None, Flag("--seed", metavar="N", least=0, help="For a sample that is random, and for --search.")
    ] = None
    probe: Annotated[
        Files,
        Flag(
            "--probe",
            metavar="FILE",
            file="manifests",
            help="A manifest with one pod: also count how many more of it fit.",
        ),
    ] = ()
    prices: PricesFile = ""
    write: Annotated[str, OutputFile("--write", "Write the best policy as a KubeSchedulerConfiguration.")] = ""
