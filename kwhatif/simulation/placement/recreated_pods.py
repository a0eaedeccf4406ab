"""Replacements of evicted pods by their controllers, for drains, upgrades and the descheduler.

When that happens, and when a pod is gone for good, is up to the caller that evicts it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from kwhatif.api.core import Pod
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outcome import Cause
from kwhatif.scheduling.attempt import MAX_FAILURES
from kwhatif.scheduling.controllers import REPLACED_ON_EVICTION, Replacements
from kwhatif.simulation.expansion.unfinished_workloads import pods_made_anew
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.session import PodToSchedule


def owner_of(pod: Pod) -> str:
    """``ReplicaSet shop/web-7``; nothing for a pod without a controller."""
    owner = pod.controller
    return f"{owner.kind} {pod.namespace}/{owner.name}" if owner is not None else ""


def is_made_at_once(pod: Pod) -> bool:
    """Whether its controller replaces a pod as soon as it is terminating, not only when it is gone."""
    return pod.controller is not None and pod.controller.kind in REPLACED_ON_EVICTION


class RecreatedPods:
    """Replaces pods, under names that are not ``taken``, and has each replacement tried at once in its ``run``.

    Replacements are added to ``pods_to_schedule``; they are ``waiting`` until ``take_placed`` has told of their nodes.
    ``replacements`` are the last ones, by the uid of the pod that each stands for.
    """

    def __init__(self, run: PlacementRun, names: Collection[str] | None = None) -> None:
        self.session, self.run = run.session, run
        if names is None:
            names = self.session.snapshot.objects.keys_of("Pod")
        self._controllers = Replacements(taken=names.__contains__, renewed=pods_made_anew(self.session.snapshot))
        self.pods_to_schedule: list[PodToSchedule] = []
        self.waiting: list[AttemptedPod] = []
        self.replacements: dict[str, AttemptedPod] = {}
        self.evicted: dict[str, PodInfo] = {}
        self.unsettled: tuple[str, ...] = ()
        self._victims = 0

    def make_replacement(self, pod: Pod) -> AttemptedPod | None:
        """The placement of the replacement; None if no controller makes one, or the pod had finished."""
        if pod.is_finished:
            return None
        again = self._controllers.replacement_of(pod)
        if again is None:
            return None
        attempted = self.take(PodToSchedule(again, self.session.snapshot.source, owner=owner_of(pod)))
        self.pods_to_schedule.append(attempted.item)
        self.replacements[pod.identity] = attempted
        return attempted

    def take(self, item: PodToSchedule) -> AttemptedPod:
        """Try one more pod, which waits with the others if it finds no node."""
        attempted = self.run.take(item, defer_futile=True)
        self.waiting.append(attempted)
        return attempted

    @property
    def without_node(self) -> list[AttemptedPod]:
        """Those of the pods that have found no node so far."""
        return [pod for pod in self.waiting if not pod.placement.good]

    def take_placed(self) -> list[AttemptedPod]:
        """Those that have found a node since this was last asked; they wait no more."""
        placed, self.waiting = [pod for pod in self.waiting if pod.placement.good], self.without_node
        return placed

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
                self.waiting = [pod for pod in self.waiting if pod.item.pod.identity != victim.uid]
                yield victim

    def retry(self, replace_victims: Callable[[], None]) -> None:
        """Try those without a node again, and have victims recreated, until no pod would move.

        Nodes that autoscalers add are there at once. Where that does not end, it is left at ``MAX_FAILURES`` rounds.
        """
        run, before = self.run, self._progress
        for _ in range(MAX_FAILURES):
            earlier, before = before, self._progress
            run.retry_all(self.without_node)
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
        return (
            len(self.run.evicted),
            len(self.pods_to_schedule),
            sum(placement.good for placement in self.run.placements),
        )

    def run_of(self, causes: Mapping[str, Cause], beside: Collection[str] = ()) -> Run:
        """The run so far. Those without a node were evicted, unless ``causes`` (by their keys) say otherwise.

        Pods that were tried ``beside`` the others (keys) and have no cause count as none that wait.
        """
        origins, run = PodOrigins(self.session.snapshot), self.run
        counted = [pod for pod in self.waiting if pod.item.pod.key in causes or pod.item.pod.key not in beside]
        pods = {pod.item.pod.key: pod.item.pod for pod in counted}
        victims = [(info, run.preemptors[info.uid]) for info in run.evicted if info.uid not in self.evicted]
        return Run(
            self.session,
            self.pods_to_schedule,
            tuple(run.placements),
            evicted=[info.key for info in self.evicted.values()],
            pending=origins.pending(
                [pod.placement for pod in counted], pods, {key: causes.get(key, "evicted") for key in pods}
            ),
            victims=origins.victims([*((info, None) for info in self.evicted.values()), *victims]),
            unsettled=self.unsettled,
        )
