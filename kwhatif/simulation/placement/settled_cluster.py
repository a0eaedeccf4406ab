"""A cluster after a run to rest, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.results.place import Placement
from kwhatif.simulation.placement.run_outcome import RunOutcome
from kwhatif.simulation.session import Session


@dataclass(frozen=True, kw_only=True)
class SettledCluster:
    """The final state: the ``placements`` of a run as they are now, and those of replacements.

    ``left`` pods have no node; the pods (keys) that are ``at_home`` had to leave and run elsewhere.
    """

    session: Session
    placements: tuple[Placement, ...]
    run_outcome: RunOutcome
    replacements: tuple[Placement, ...] = ()
    left: tuple[Pod, ...] = ()
    at_home: Mapping[str, str] = field(default_factory=dict)
