"""Take pods off their nodes, to be scheduled again in the order they started."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.api.core import Pod, PodStatus
from kwhatif.cluster.cluster import FINISHED
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.session import Asked, pending_pods


@dataclass(frozen=True)
class Replayed:
    """Pods that wait for a node now, in the order in which to schedule them; so many others ``stay`` where they are."""

    pods: Sequence[Asked] = ()
    stay: int = 0


def replay(
    snapshot: Snapshot, wanted: Callable[[Pod], bool], known: Callable[[str], bool]
) -> tuple[Snapshot, Replayed]:
    """The snapshot with the pods that are ``wanted`` off their nodes; the one given stays as it is.

    Pods stay where they are if they are finished or on their way out, static, of a daemon set, or of a scheduler that
    is not ``known`` by name.
    """
    off: list[Pod] = []
    stay = 0
    pods: list[Pod] = []
    for pod in snapshot.objects.of(Pod):
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
    return again, Replayed(asked, stay)


def _stays(pod: Pod, known: Callable[[str], bool]) -> bool:
    owner = pod.controller
    return (
        (pod.status.phase or "") in FINISHED
        or bool(pod.metadata.deletion_timestamp)
        or pod.is_mirror
        or (owner is not None and owner.kind in ("DaemonSet", "Node"))
        or not known(pod.spec.scheduler_name or "default-scheduler")
    )
