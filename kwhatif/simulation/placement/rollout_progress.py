"""Progress of a rolling update while new pods are placed: which of them find a node while the old ones are still there.

It continues whenever the situation of pods it waits for has changed: pods have left, or nodes have been added.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.admission.object_store import name_of
from kwhatif.admission.response import Object
from kwhatif.progress import track
from kwhatif.results.place import RolloutPlan
from kwhatif.simulation.expansion.expanded_manifests import Rollout
from kwhatif.simulation.expansion.pods import build_rollout_plan
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.session import PodToSchedule
from kwhatif.workloads.rollout_state import Step


class RolloutProgress:
    """How far an update has come. New pods are placed with the old ones still there, which leave before the next step.

    Pods of the workload that found a node before, in this run, are ready. A pod that found none is tried again whenever
    pods have left, and when nodes have come for it. The pods are added to those ``pods_to_schedule`` about.
    """

    def __init__(self, rollout: Rollout, run: PlacementRun, pods_to_schedule: list[PodToSchedule]) -> None:
        self.rollout, self._run, self._pods_to_schedule = rollout, run, pods_to_schedule
        self._attempted: dict[str, AttemptedPod] = {}
        self._made: dict[str, PodToSchedule] = {}
        self._simulation: ClusterSimulation | None = None
        self._plan = rollout.begin(self._is_ready, run.homes())

    def advance(self) -> bool:
        """Go on as far as it goes, each new pod in a scheduling cycle of its own; whether there was a step."""
        if self._plan.steps and not self._plan.remaining_work:
            return False
        before, run = len(self._plan.steps), self._run
        for step in track(self._plan, f"Rolling out {self.rollout.name}", "steps"):
            for claim in self.rollout.claims(step):
                run.claim(claim)
            for pod, item in self._create_pods(step):
                self._attempted[name_of(pod)] = attempted = run.take(item)
                _record_home(pod, _node_of(attempted))
            for name in step.removes:
                run.remove(self._key_of(name))
            for claim_key in self.rollout.delete_claims(step):
                run.session.cluster.storage.delete_claim(claim_key)
        for claim in self.rollout.claims():
            run.claim(claim)
        return len(self._plan.steps) > before

    def advance_in(self, simulation: ClusterSimulation) -> bool:
        """Go on by a step, of which new and old pods take the time that they take; whether there was one."""
        if self._simulation is None:
            self._simulation, pods = simulation, [item.pod for item in self._pods_to_schedule]
            self._plan.expect({pod.name for pod in pods if pod.namespace == self.rollout.namespace})
        step = next(self._plan, None)
        for claim in self.rollout.claims(step):
            simulation.claim(claim)
        if step is None:
            return False
        removes = [self._key_of(name) for name in sorted(step.removes)]
        uids = [simulation.uid_of(key) or self._run.uid_of(key) for key in removes]
        self._run.removed |= set(removes)
        for _, item in self._create_pods(step):
            # It may have the name of one that has to go.
            self._run.removed.discard(item.pod.key)
            simulation.take(item)
        for place, uid in enumerate(uids):
            if uid is not None:
                simulation.simulator.remove_after(uid, place * _BETWEEN)
        for claim_key in self.rollout.delete_claims(step):
            simulation.session.cluster.storage.delete_claim(claim_key)
        return True

    @property
    def plan(self) -> RolloutPlan:
        """What has come of it, in names and numbers."""
        rollout_plan = build_rollout_plan(self.rollout, self._plan)
        removed = set(map(self._key_of, self._plan.removed_pods))
        victims = [*self._run.evicted, *(self._simulation.evicted_since() if self._simulation else ())]
        lost = {victim.key for victim in victims} | (self._run.removed - removed)
        own = map(self._key_of, (*self._plan.kept_pods, *self._made))
        if lost.isdisjoint({*own, *removed}):
            return rollout_plan
        # Its controller's count of available pods knows nothing of evictions.
        return replace(rollout_plan, least_available=None)

    def _create_pods(self, step: Step) -> list[tuple[Object, PodToSchedule]]:
        pods = [(pod, self.rollout.pods_to_schedule(pod)) for pod in step.creates]
        self._pods_to_schedule += [item for _, item in pods]
        if creations := self._run.session.creations:
            creations.count(step.creates)
            for name in step.removes:
                creations.release(self.rollout.namespace, name)
        self._made |= {name_of(pod): item for pod, item in pods}
        return pods

    def _key_of(self, name: str) -> str:
        return f"{self.rollout.namespace}/{name}"

    def _is_ready(self, pod: Object) -> bool:
        """Whether a pod of the update has a node, or the one that was made in its place; the plan learns which."""
        if self._simulation is not None:
            # Not every pod is the update's: one that an edit left without a node arrived in this run, too.
            item = self._made.get(name_of(pod))
            uid = self._simulation.uid_of(self._key_of(name_of(pod))) if item is None else item.pod.identity
            return _record_home(pod, "" if uid is None else self._simulation.node_of_replacement(uid))
        attempted = self._attempted.get(name_of(pod))
        if attempted is None:
            return False
        if self._run.departed > attempted.departed:
            self._run.retry(attempted)
        if not attempted.placement.good:
            self._run.help()
        return _record_home(pod, _node_of(attempted))


_BETWEEN = 0.001
"""Seconds between the ends of two pods that leave together; which of them is the first is chance, here their names'."""


def plans_of(updates: Sequence[RolloutProgress]) -> tuple[RolloutPlan, ...]:
    """What has come of the updates of the question."""
    return tuple(update.plan for update in updates if not update.rollout.resumed)


def _node_of(attempted: AttemptedPod) -> str:
    return (attempted.placement.node or attempted.item.pod.spec.node_name or "") if attempted.placement.good else ""


def _record_home(pod: Object, home: str) -> bool:
    if home:
        pod["spec"] = {**pod["spec"], "nodeName": home}
    return bool(home)


def roll_out_all(
    rollouts: Sequence[Rollout], run: PlacementRun, pods_to_schedule: list[PodToSchedule]
) -> list[RolloutProgress]:
    """Go through updates one by one; one that waits goes on once another has made room for it."""
    rollout_progress: list[RolloutProgress] = []
    for rollout in rollouts:
        rollout_progress.append(RolloutProgress(rollout, run, pods_to_schedule))
        rollout_progress[-1].advance()
    while sum(progress.advance() for progress in rollout_progress):
        pass
    return rollout_progress
