"""The options of ``kwhatif place``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwhatif.commands.common_options import Seed
from kwhatif.simulation.flag import Flag


@dataclass(frozen=True)
class PlaceOptions:
    """Which pods are placed, whether over time, and what is written."""

    with_pending: Annotated[bool, Flag("--with-pending", help="Also place the snapshot's own pending pods.")] = False
    timeline: Annotated[
        bool, Flag("--timeline", help="Simulate the queue over time, with retries, and print the timeline.")
    ] = False
    recreate: Annotated[
        bool,
        Flag("--no-recreate", negated=True, help="With --timeline: controllers do not recreate evicted pods."),
    ] = True
    write_snapshot: Annotated[
        str,
        Flag(
            "--write-snapshot",
            metavar="OUT",
            help="Write the cluster afterwards, to ask further; packed if it ends in .gz or .zst.",
        ),
    ] = ""
    seed: Seed = None
