"""Replays pods of the snapshot: they are taken off their nodes and scheduled again, in the order they started."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod, PodStatus
from kwhatif.errors import UsageError
from kwhatif.results.base import Result
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.session import PodToSchedule, pending_pods
from kwhatif.snapshot.format.model import Snapshot


class ReplayedPods(msgspec.Struct, frozen=True):
    """Pods that wait for a node now, in the order in which to schedule them; ``stay`` counts those that keep their
    nodes.
    """

    pods: Sequence[PodToSchedule] = ()
    stay: int = 0


def replay(
    snapshot: Snapshot, is_selected: Callable[[Pod], bool], has_profile: Callable[[str], bool]
) -> tuple[Snapshot, ReplayedPods]:
    """The snapshot with the pods of which ``is_selected`` is true off their nodes; the one given stays as it is.

    Pods stay where they are if they are finished or on their way out, static, of a daemon set, or of a scheduler that
    has no profile.
    """
    off: list[Pod] = []
    stay = 0
    pods: list[Pod] = []
    for pod in snapshot.objects.list_all(Pod):
        if not pod.spec.node_name or not is_selected(pod):
            pods.append(pod)
        elif _stays(pod, has_profile):
            stay += 1
            pods.append(pod)
        else:
            status = PodStatus(phase="Pending", resource_claim_statuses=pod.status.resource_claim_statuses)
            waiting = replace(pod, spec=replace(pod.spec, node_name=None), status=status)
            off.append(pod)
            pods.append(waiting)
    objects = snapshot.objects.copy()
    objects.put(Pod, pods)
    again = dataclasses.replace(snapshot, objects=objects)
    off.sort(key=lambda pod: (pod.status.start_time or pod.metadata.creation_timestamp or "", pod.key))
    place = {pod.key: number for number, pod in enumerate(off)}
    asked = sorted(
        (item for item in pending_pods(again) if item.pod.key in place), key=lambda item: place[item.pod.key]
    )
    return again, ReplayedPods(asked, stay)


def _stays(pod: Pod, has_profile: Callable[[str], bool]) -> bool:
    owner = pod.controller
    return (
        pod.is_finished
        or bool(pod.metadata.deletion_timestamp)
        or pod.is_mirror
        or (owner is not None and owner.kind in ("DaemonSet", "Node"))
        or not has_profile(pod.spec.scheduler_name or "default-scheduler")
    )


R_co = TypeVar("R_co", bound=Result, covariant=True)

_NAMESPACE = "namespace="


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplayScenario(PreparedScenario):
    """One of the scenarios that are compared; ``replayed`` are the pods taken off its nodes."""

    replayed: ReplayedPods = field(default_factory=ReplayedPods)


class ReplayQuestion(Question[R_co]):
    """A question about ReplayScenarios. ``replayed`` selects pods: ``pending``, those of a ``namespace=NAME``, or
    ``all``.
    """

    replay: Sequence[str]

    def check(self, scenario: Scenario) -> None:
        for word in self.replay:
            if word not in ("pending", "all") and (word == _NAMESPACE or not word.startswith(_NAMESPACE)):
                raise UsageError(f"--replay {word}: expected pending, namespace=NAME or all")

    def expand(self, scenario: LoadedScenario, scenarios: Sequence[LoadedScenario]) -> ReplayScenario:
        """Take the replayed pods off their nodes, and expand the manifests.

        Raises UsageError for a namespace that has no pods: an empty answer must not pass for a good one.
        """
        there = {
            pod.namespace for loaded_scenario in scenarios for pod in loaded_scenario.snapshot.objects.list_all(Pod)
        }
        for name in sorted(self._namespaces - there):
            raise UsageError(f"--replay namespace={name}: the snapshot has no pods in it")
        names = [
            {profile.scheduler_name for profile in loaded_scenario.setup.configuration.profiles}
            for loaded_scenario in scenarios
        ]
        known = set.intersection(*names)
        snapshot, replayed = replay(scenario.snapshot, self._runs_again, known.__contains__)
        # A copy of its own for each scenario, which adds objects of its manifests to it.
        scenario = scenario.with_snapshot(snapshot)
        prepared = super().expand(scenario, scenarios)
        return ReplayScenario.from_loaded(
            scenario,
            prepared.expanded,
            expand_again=prepared.expand_again,
            before_change=prepared.before_change,
            replayed=replayed,
        )

    def select_pods(self, scenario: PreparedScenario) -> Sequence[PodToSchedule]:
        replayed = {item.pod.key for item in cast("ReplayScenario", scenario).replayed.pods}
        asked = [item for item in super().select_pods(scenario) if item.pod.key not in replayed]
        given = {*replayed, *(item.pod.key for item in asked)}
        waiting = filter(self._is_pending, pending_pods(scenario.snapshot))
        return [*asked, *(item for item in waiting if item.pod.key not in given)]

    @property
    def _namespaces(self) -> set[str]:
        return {word.removeprefix(_NAMESPACE) for word in self.replay if word.startswith(_NAMESPACE)}

    def _runs_again(self, pod: Pod) -> bool:
        return "all" in self.replay or pod.namespace in self._namespaces

    def _is_pending(self, item: PodToSchedule) -> bool:
        return "pending" in self.replay or self._runs_again(item.pod)
