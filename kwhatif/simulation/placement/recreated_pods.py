"""Pods that controllers make in the place of evicted ones: the same for drains, upgrades and the descheduler.

When that happens, and when a pod is gone for good, is up to who evicts it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import FINISHED
from kwhatif.scheduling.controllers import REPLACED_ON_EVICTION, Replacements
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.session import PodToSchedule, Session


def owner_of(pod: Pod) -> str:
    """``ReplicaSet shop/web-7``; nothing for a pod without a controller."""
    owner = pod.controller
    return f"{owner.kind} {pod.namespace}/{owner.name}" if owner is not None else ""


def is_made_at_once(pod: Pod) -> bool:
    """Whether its controller replaces a pod as soon as it is terminating, not only when it is gone."""
    return pod.controller is not None and pod.controller.kind in REPLACED_ON_EVICTION


@dataclass
class RecreatedPods:
    """Makes pods again, by names that are not ``taken``, and has each tried at once; they are those ``asked`` about."""

    session: Session
    run: PlacementRun
    taken: Callable[[str], bool]
    asked: list[PodToSchedule] = field(default_factory=list)
    _replacements: Replacements = field(init=False)

    def __post_init__(self) -> None:
        self._replacements = Replacements(taken=self.taken)

    def make_again(self, pod: Pod) -> AttemptedPod | None:
        """What becomes of the pod that comes in the place of this one; None if nobody makes one, or it had finished."""
        if (pod.status.phase or "") in FINISHED:
            return None
        again = self._replacements.replacement_of(pod)
        if again is None:
            return None
        asked = PodToSchedule(again, self.session.snapshot.source, owner=owner_of(pod))
        self.asked.append(asked)
        return self.run.take(asked, told_later=True)
