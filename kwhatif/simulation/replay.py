"""Take pods off their nodes, to be scheduled again in the order they started.

Questions that schedule pods of the snapshot once more, besides those of manifests: ``--replay``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

from msgspec.structs import replace

from kwhatif.api.core import Pod, PodStatus
from kwhatif.cluster.cluster import FINISHED
from kwhatif.errors import UsageError
from kwhatif.results.base import Result
from kwhatif.simulation.expansion.expand import ExpandedManifests
from kwhatif.simulation.expansion.pods import expand_manifests
from kwhatif.simulation.question import Question, Scenario
from kwhatif.simulation.session import PodToSchedule, pending_pods
from kwhatif.snapshot.format.model import Snapshot


@dataclass(frozen=True)
class ReplayedPods:
    """Pods that wait for a node now, in the order in which to schedule them; so many others ``stay`` where they are."""

    pods: Sequence[PodToSchedule] = ()
    stay: int = 0


def replay(
    snapshot: Snapshot, wanted: Callable[[Pod], bool], known: Callable[[str], bool]
) -> tuple[Snapshot, ReplayedPods]:
    """The snapshot with the pods that are ``wanted`` off their nodes; the one given stays as it is.

    Pods stay where they are if they are finished or on their way out, static, of a daemon set, or of a scheduler that
    is not ``known`` by name.
    """
    off: list[Pod] = []
    stay = 0
    pods: list[Pod] = []
    for pod in snapshot.objects.list_all(Pod):
        if not pod.spec.node_name or not wanted(pod):
            pods.append(pod)
        elif _stays(pod, known):
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


def _stays(pod: Pod, known: Callable[[str], bool]) -> bool:
    owner = pod.controller
    return (
        (pod.status.phase or "") in FINISHED
        or bool(pod.metadata.deletion_timestamp)
        or pod.is_mirror
        or (owner is not None and owner.kind in ("DaemonSet", "Node"))
        or not known(pod.spec.scheduler_name or "default-scheduler")
    )


R_co = TypeVar("R_co", bound=Result, covariant=True)

_NAMESPACE = "namespace="


@dataclass(eq=False)
class ReplayScenario(Scenario):
    """One of the cases that are compared, which are ``all``; ``replayed`` are the pods taken off the nodes of this one.

    ``again`` expands its manifests once more, on the cluster as it was before anything of them was put there.
    """

    all: list[ReplayScenario] = field(default_factory=list)
    replayed: ReplayedPods = field(default_factory=ReplayedPods)
    again: Callable[[], ExpandedManifests] = field(init=False)

    @property
    def expand_again(self) -> Callable[[], ExpandedManifests]:
        """What becomes of the manifests, for one run. An update can be begun once: each run needs its own."""
        return self.again if self.expanded.rollouts else lambda: self.expanded


class ReplayQuestion(Question[R_co]):
    """Asked of ReplayCases. ``replayed`` says which pods: ``pending``, those of a ``namespace=NAME``, or ``all``."""

    replayed: Sequence[str]

    def check(self, case: Scenario) -> None:
        for word in self.replayed:
            if word not in ("pending", "all") and (word == _NAMESPACE or not word.startswith(_NAMESPACE)):
                raise UsageError(f"--replay {word}: expected pending, namespace=NAME or all")

    def expand(self, case: Scenario) -> None:
        """Take the pods that are replayed off their nodes, and find out what becomes of the manifests.

        Raises UsageError for a namespace that has no pods: an empty answer must not pass for a good one.
        """
        side = cast("ReplayScenario", case)
        there = {pod.namespace for each in side.all for pod in each.snapshot.objects.list_all(Pod)}
        for name in sorted(self._namespaces - there):
            raise UsageError(f"--replay namespace={name}: the snapshot has no pods in it")
        names = [{profile.scheduler_name for profile in each.setup.configuration.profiles} for each in side.all]
        known = set.intersection(*names)
        snapshot, side.replayed = replay(case.snapshot, self._runs_again, known.__contains__)
        # A copy of its own for each case, which adds objects of its manifests to it.
        case.edited = dataclasses.replace(case.edited, snapshot=snapshot)
        super().expand(case)
        before, reading, version = (
            snapshot.copy(),
            case.inputs.manifest_options,
            case.scheduler_options.kubernetes_version,
        )
        side.again = partial(expand_manifests, before, case.manifests, reading, version)

    def pods(self, case: Scenario) -> list[PodToSchedule]:
        replayed = {item.pod.key for item in cast("ReplayScenario", case).replayed.pods}
        asked = [item for item in super().pods(case) if item.pod.key not in replayed]
        given = {*replayed, *(item.pod.key for item in asked)}
        waiting = filter(self._is_pending, pending_pods(case.snapshot))
        return [*asked, *(item for item in waiting if item.pod.key not in given)]

    @property
    def _namespaces(self) -> set[str]:
        return {word.removeprefix(_NAMESPACE) for word in self.replayed if word.startswith(_NAMESPACE)}

    def _runs_again(self, pod: Pod) -> bool:
        return "all" in self.replayed or pod.namespace in self._namespaces

    def _is_pending(self, item: PodToSchedule) -> bool:
        return "pending" in self.replayed or self._runs_again(item.pod)
