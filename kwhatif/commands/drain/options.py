"""The options of ``kwhatif drain``; the flags are those of kubectl drain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwhatif.simulation.flag import Flag


@dataclass(frozen=True)
class DrainOptions:
    """Which pods may be evicted."""

    ignore_daemonsets: Annotated[bool, Flag("--ignore-daemonsets", help="Leave DaemonSet pods where they are.")] = False
    delete_emptydir_data: Annotated[
        bool, Flag("--delete-emptydir-data", help="Go on even if pods lose the data of emptyDir volumes.")
    ] = False
    force: Annotated[bool, Flag("--force", help="Go on even if there are pods that no controller recreates.")] = False
