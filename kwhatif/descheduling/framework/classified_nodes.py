"""The classification of nodes by LowNodeUtilization and HighNodeUtilization, as values for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Thresholds = Mapping[str, float]
"""Resource -> percent."""


@dataclass(frozen=True, slots=True)
class NodeUse:
    """``usage``: cpu in millicores, others in units. Only nodes of a class (``underutilized``, ...) are listed."""

    category: str
    usage: Mapping[str, int]
    percent: Mapping[str, float]


@dataclass
class Utilization:
    """One run. ``thresholds`` are those of deviations: ``average``, ``low``, ``high``.

    ``to_move`` is the room on the destinations, None where it came to no eviction; ``stopped`` says why it did not.
    """

    profile: str
    plugin: str
    nodes: Mapping[str, NodeUse] = field(default_factory=dict)
    thresholds: Mapping[str, Thresholds] | None = None
    to_move: Mapping[str, int] | None = None
    stopped: str = ""
