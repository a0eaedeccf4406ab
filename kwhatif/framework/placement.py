"""Placements: sets of nodes that a group of pods is tried on, and the assignments in one.

Upstream: kube-scheduler/framework/interface.go (Placement, PodGroupAssignments).
"""

from __future__ import annotations

import msgspec

from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray


class Placement(msgspec.Struct, frozen=True, eq=False):
    """Some nodes that a group is tried on: intp[n] rows in the scheduler's order. The whole cluster has no name."""

    name: str
    rows: IntpArray


class PodGroupAssignments(msgspec.Struct, frozen=True, eq=False):
    """A placement, and the members of a group that would get nodes there."""

    group: GroupKey
    placement: Placement
    pods: tuple[PodInfo, ...]
