"""Replicas of workloads under autoscalers of pods: the server stores the manifest's number, and the autoscaler changes
it to one between its bounds.

An unknown load is assumed to stay what it is. So an existing workload keeps its replicas, also where its manifest has
none or another number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kwhatif.admission.object_store import ObjectStore, name_of, namespace_of
from kwhatif.admission.response import Doubt, Doubts, Object
from kwhatif.api.objects import part_of, section
from kwhatif.results.amounts import format_count
from kwhatif.snapshot.load import Manifest
from kwhatif.workloads.objects import integer
from kwhatif.workloads.pod_autoscalers import (
    PodAutoscaler,
    Position,
    WorkloadKey,
    is_autoscaler,
    pod_autoscaler_of,
    pod_autoscalers_of,
)

_SCALED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
"""Kubernetes' own workloads with a number of replicas."""


class ScaledWorkload(msgspec.Struct, frozen=True):
    """A scaled workload: ``stored`` replicas as its manifest or the cluster has it, ``replicas`` in the end.

    ``origin`` is the manifest: its own, or that of its autoscaler. It had so many replicas ``before``, if it existed.
    """

    key: WorkloadKey
    origin: str
    autoscaler: PodAutoscaler
    stored: int
    replicas: int
    before: int = 0

    def __str__(self) -> str:
        kind, namespace, name = self.key
        return f"{kind} {namespace}/{name}"

    @property
    def bounds(self) -> str:
        """``HorizontalPodAutoscaler shop/web, 2 to 10``."""
        return f"{self.autoscaler}, {self.autoscaler.min_replicas} to {self.autoscaler.max_replicas}"

    @property
    def note(self) -> str:
        """The note, if the replicas are not those that are stored."""
        if self.stored == self.replicas:
            return ""
        return f"{self} counts with {format_count(self.replicas, 'replica')}, not {self.stored}: {self.bounds}"


class WorkloadScaling:
    """The replicas of workloads under the autoscalers of a cluster and of manifests.

    ``position`` asks for the replicas at a position between the lower and the upper bounds, or as they are stored; None
    for those under today's load.
    """

    def __init__(self, world: ObjectStore, position: Position, doubts: Doubts) -> None:
        self._world, self._position, self._doubts = world, position, doubts
        self.scaled: list[ScaledWorkload] = []

    def scale(self, obj: Object, origin: str, running: int | None = None) -> Object:
        """The workload with its scaled replicas; ``running`` are its former ones, if it existed."""
        autoscaler = self._autoscaler_of(obj)
        if autoscaler is None:
            return obj
        stored = integer(section(obj, "spec").get("replicas"), 1)
        before = stored if running is None or autoscaler.is_off(stored) else running
        if autoscaler.is_off(before):
            before = stored
        if self._position == "stored":
            replicas = stored
        elif self._position is not None:
            replicas = autoscaler.replicas_at(self._position, before)
        else:
            # What is beyond the upper bound is brought back to it, whatever the load is.
            replicas = autoscaler.replicas(max(before, stored) if stored > autoscaler.max_replicas else before)
        key = str(part_of(obj, "kind")), namespace_of(obj), name_of(obj)
        self.scaled.append(ScaledWorkload(key, origin, autoscaler, stored, replicas, running or 0))
        if replicas == stored and "replicas" in section(obj, "spec"):
            return obj
        return {**obj, "spec": {**section(obj, "spec"), "replicas": replicas}}

    def scale_stored(self, obj: Object, origin: str, running: int | None = None) -> Object:
        """The same of a workload of Kubernetes' own, which is stored that way."""
        if part_of(obj, "kind") not in _SCALED:
            return obj
        objects = self.scale(obj, origin, running)
        if objects is not obj:
            self._world.put(objects)
        return objects

    def targets(self, manifests: Sequence[Manifest]) -> Iterator[tuple[str, Object]]:
        """The workloads of the cluster that autoscalers of the manifests scale, and that no manifest changes, each with
        the manifest of its autoscaler.
        """
        given = {(manifest.obj.kind, manifest.obj.namespace, manifest.obj.name) for manifest in manifests}
        yielded: set[WorkloadKey] = set()
        for manifest in manifests:
            obj = self._world.get(manifest.obj.kind or "", manifest.obj.namespace, manifest.obj.name)
            autoscaler = pod_autoscaler_of(obj) if obj is not None and is_autoscaler(obj) else None
            if autoscaler is None or autoscaler.target in given:
                continue
            target = self._world.get(*autoscaler.target)
            if target is None or part_of(target, "kind") not in _SCALED or not autoscaler.scales(target):
                kind, namespace, name = autoscaler.target
                what = f"{autoscaler} scales {kind} {namespace}/{name}, which no manifest and no snapshot has"
                self._doubt(Doubt(what, "the pods that it would come to are in no answer"), autoscaler)
            elif autoscaler.target not in yielded:
                yielded.add(autoscaler.target)
                yield str(manifest.origin), target

    def _autoscaler_of(self, obj: Object) -> PodAutoscaler | None:
        """The autoscaler of a workload; None if it has none, or several, which controllers then ignore."""
        pod_autoscalers = pod_autoscalers_of(obj, self._world)
        if len(pod_autoscalers) > 1:
            names = " and ".join(str(pod_autoscaler) for pod_autoscaler in pod_autoscalers)
            what = f"{names} scale the same {part_of(obj, 'kind')} {namespace_of(obj)}/{name_of(obj)}"
            self._doubt(Doubt(what, "its replicas are taken to stay as they are stored"), pod_autoscalers[0])
        return pod_autoscalers[0] if len(pod_autoscalers) == 1 else None

    def _doubt(self, doubt: Doubt, autoscaler: PodAutoscaler) -> None:
        subject = autoscaler.kind, autoscaler.namespace, autoscaler.name
        self._doubts.setdefault(doubt, {})[subject] = None


def replicas_of(obj: Object | None) -> int | None:
    """The replicas that a workload of the cluster has; None if there is no such workload."""
    return None if obj is None else integer(section(obj, "spec").get("replicas"), 1)
