"""What can happen to a cluster that may let a waiting pod fit, and which waiting pods it concerns.

A plugin says in ``requeue_on`` which happenings it cares about, and for each a question about one waiting pod:
could this happening change my answer? Upstream: EventsToRegister and QueueingHintFn of each plugin, and
pkg/scheduler/framework/events.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from kwhatif.cluster.shapes import PodInfo

if TYPE_CHECKING:
    from kwhatif.cluster.cluster import Cluster


class Event(StrEnum):
    POD_ADDED = "AssignedPodAdd"
    POD_DELETED = "AssignedPodDelete"
    VOLUME_CHANGED = "PersistentVolumeUpdate"
    CLAIM_CHANGED = "PersistentVolumeClaimUpdate"
    DEVICES_FREED = "ResourceClaimDeallocated"
    DEVICE_CLAIM_CHANGED = "ResourceClaimUpdate"


@dataclass(frozen=True, slots=True)
class Happening:
    """An event and the pod it is about; for a claim, its namespace and name. An ``unbound`` pod was only nominated."""

    event: Event
    cluster: Cluster
    pod: PodInfo | None = None
    claim: tuple[str, str] | None = None
    unbound: bool = False

    @property
    def concerns_neighbours(self) -> bool:
        """Whether the pod counts for those who look at other pods in a topology."""
        return not self.unbound or self.cluster.shapes.features.lost_nominations_concern_affinity


Hint = Callable[[PodInfo, Happening], bool]
"""Whether a happening might let a waiting pod fit."""


def always(waiting: PodInfo, happening: Happening) -> bool:
    """Any such happening might."""
    return True


EVERYTHING: Mapping[Event, Hint] = dict.fromkeys(Event, always)
"""For plugins that do not say: whatever happens, the pod is tried again."""
