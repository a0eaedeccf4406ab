"""The options of ``kwhatif capacity``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwhatif.simulation.flag import Flag


@dataclass(frozen=True)
class CapacityOptions:
    """What is counted, and how far."""

    pod: Annotated[bool, Flag("--pod", help="Count pods of the one workload of the manifests one by one.")] = False
    at_least: Annotated[
        int, Flag("--at-least", metavar="N", least=0, shows_default=True, help="Exit with 1 if fewer than N fit.")
    ] = 1
    limit: Annotated[int | None, Flag("--limit", metavar="N", least=0, help="Stop counting at N.")] = None
