"""Placements: sets of nodes that a group of pods is tried on, and the assignments in one.

Upstream: kube-scheduler/framework/interface.go (Placement, PodGroupAssignments).
"""

from __future__ import annotations

from dataclasses import dataclass

from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Some nodes that a group is tried on: intp[n] rows in the scheduler's order. The whole cluster has no name."""

    name: str
    rows: IntpArray


@dataclass(frozen=True, slots=True, eq=False)
class PodGroupAssignments:
    """A placement, and the members of a group that would get nodes there."""

    group: GroupKey
    placement: Placement
    pods: tuple[PodInfo, ...]
