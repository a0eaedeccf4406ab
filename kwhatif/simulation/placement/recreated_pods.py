"""Replacements of evicted pods by their controllers, for drains, upgrades and the descheduler.

When that happens, and when a pod is gone for good, is up to the caller that evicts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import FINISHED
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outcome import Cause
from kwhatif.scheduling.attempt import MAX_FAILURES
from kwhatif.scheduling.controllers import REPLACED_ON_EVICTION, Replacements
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Run
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
    """Replaces pods, under names that are not ``taken``, and has each replacement tried at once; they are added to
    ``asked``.
    """

    session: Session
    run: PlacementRun
    taken: Callable[[str], bool]
    asked: list[PodToSchedule] = field(default_factory=list)
    evicted: dict[str, PodInfo] = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()
    _victims: int = 0
    _replacements: Replacements = field(init=False)

    def __post_init__(self) -> None:
        self._replacements = Replacements(taken=self.taken)

    def make_again(self, pod: Pod) -> AttemptedPod | None:
        """The placement of the replacement; None if no controller makes one, or the pod had finished."""
        if (pod.status.phase or "") in FINISHED:
            return None
        again = self._replacements.replacement_of(pod)
        if again is None:
            return None
        asked = PodToSchedule(again, self.session.snapshot.source, owner=owner_of(pod))
        self.asked.append(asked)
        return self.run.take(asked, told_later=True)

    def evict(self, info: PodInfo) -> None:
        """A pod has to leave its node."""
        self.evicted[info.uid] = info

    def take_victims(self) -> Iterator[PodInfo]:
        """The pods that others took the place of since this was last asked, but for those that had been evicted."""
        while self._victims < len(self.run.evicted):
            victim = self.run.evicted[self._victims]
            self._victims += 1
            if victim.uid not in self.evicted:
                self.run.lose_node(victim)
                yield victim

    def retry(self, waiting: Callable[[], Sequence[AttemptedPod]], replace_victims: Callable[[], None]) -> None:
        """Try those ``waiting`` for a node once more, and have victims recreated, until no pod would move.

        Nodes that autoscalers add are there at once. Where that does not end, it is left at ``MAX_FAILURES`` rounds.
        """
        run, before = self.run, self._progress
        for _ in range(MAX_FAILURES):
            earlier, before = before, self._progress
            run.retry_all(waiting())
            replace_victims()
            run.help()
            replace_victims()
            if self._progress == before:
                self.unsettled = ()
                return
        # Those who evict in one round do not in the next, in which their victims' replacements find the room again.
        moving = [run.preemptors[victim.uid] for victim in run.evicted[earlier[0] :]]
        self.unsettled = tuple(dict.fromkeys(moving))

    @property
    def _progress(self) -> tuple[int, int, int]:
        """How many pods were evicted, recreated and placed so far."""
        return len(self.run.evicted), len(self.asked), sum(each.good for each in self.run.placements)

    def run_of(self, waiting: Sequence[AttemptedPod], causes: Mapping[str, Cause]) -> Run:
        """The run so far. Those ``waiting`` were evicted, unless ``causes`` (by their keys) say otherwise."""
        origins, run = PodOrigins.of(self.session.snapshot), self.run
        placements = [taken.placement for taken in waiting]
        pods = {taken.asked.pod.key: taken.asked.pod for taken in waiting}
        known: dict[str, Cause] = {key: causes.get(key, "evicted") for key in pods}
        victims = [(info, run.preemptors[info.uid]) for info in run.evicted if info.uid not in self.evicted]
        return Run(
            self.session,
            self.asked,
            tuple(run.placements),
            evicted=[info.key for info in self.evicted.values()],
            pending=origins.pending(placements, pods, known),
            victims=origins.victims([*((info, None) for info in self.evicted.values()), *victims]),
            unsettled=self.unsettled,
        )
