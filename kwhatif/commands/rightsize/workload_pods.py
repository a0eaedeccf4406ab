"""The pods of each workload, and the workload of a pod that no longer exists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from kwhatif.api.core import Container, Pod, PodSpec
from kwhatif.api.kinds import TEMPLATES
from kwhatif.api.objects import part_of, section
from kwhatif.simulation.ownership import Owners
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.usage.book import KnownPod

_RANDOM = re.compile(r"(.+)-[a-z0-9]{5}")
"""What a controller calls its pods: its own name, and five letters that it draws."""
_NUMBERED = re.compile(r"(.+)-\d+")
_HASHED = re.compile(r"(.+)-[a-z0-9]{1,10}")


class Workload(msgspec.Struct):
    """A workload with its unfinished pods. ``name`` is ``Kind/namespace/name``; labels are those of its first pod."""

    name: str
    kind: str
    namespace: str
    pods: list[Pod] = []
    template: dict[str, Any] | None = None

    @property
    def labels(self) -> dict[str, str]:
        return self.pods[0].metadata.labels or {}

    @property
    def containers(self) -> Sequence[Container]:
        """Those that run as long as the pod does: containers and sidecars."""
        return sized_containers(self.pods[0].spec)


def sized_containers(spec: PodSpec) -> list[Container]:
    """Containers, and init containers that go on running beside them."""
    sidecars = [
        init_container for init_container in spec.init_containers or () if init_container.restart_policy == "Always"
    ]
    return [*(spec.containers or ()), *sidecars]


class WorkloadPods:
    """The workloads of a cluster, by name; and a directory of pods for readers of usage."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._owners = Owners(snapshot)
        self.workloads: dict[str, Workload] = {}
        self.of_pod: dict[str, str] = {}
        self._bases: dict[tuple[str, str], str] = {}
        self._containers: dict[str, tuple[str, ...]] = {}
        for pod in snapshot.objects.list_all(Pod):
            self._add(pod)
        for kind in TEMPLATES:
            for obj in snapshot.whole.get(kind, ()):
                self._know(kind, obj)

    def _add(self, pod: Pod) -> None:
        subject = self._owners.workload_of(pod)
        name = f"{subject.kind}/{subject.namespace}/{subject.name}"
        self.of_pod[pod.key] = name
        owner = pod.controller
        if owner is not None:
            self._bases.setdefault((pod.namespace, owner.name or ""), name)
            self._bases.setdefault((pod.namespace, subject.name), name)
        names = tuple(sized_container.name for sized_container in sized_containers(pod.spec))
        if name not in self._containers:
            self._containers[name] = names
        if pod.is_finished or pod.metadata.deletion_timestamp:
            return
        if name not in self.workloads:
            self.workloads[name] = Workload(name, subject.kind, subject.namespace)
        self.workloads[name].pods.append(pod)

    def _know(self, kind: str, obj: dict[str, Any]) -> None:
        metadata = part_of(obj, "metadata")
        workload = self.workloads.get(f"{kind}/{metadata.get('namespace') or 'default'}/{part_of(metadata, 'name')}")
        if workload is not None:
            part: Any = obj
            for step in TEMPLATES[kind]:
                part = part.get(step) or {}
            workload.template = section(part, "template").get("spec")

    def find_pod(self, namespace: str, pod: str) -> KnownPod | None:
        """What the cluster knows of a pod by its name: it runs, or its workload does."""
        name = self.of_pod.get(f"{namespace}/{pod}")
        if name is not None:
            return KnownPod(name, self._containers[name], present=True)
        for base in _bases_of(pod):
            workload = self._bases.get((namespace, base))
            if workload is not None:
                return KnownPod(workload, self._containers[workload], present=False)
        return None

    def in_order(self) -> Iterator[Workload]:
        """All workloads with pods, by name."""
        for name in sorted(self.workloads):
            yield self.workloads[name]


def _bases_of(pod: str) -> Iterable[str]:
    """Names that the controller of a pod may have: a set's, and a deployment's above a replica set that is gone."""
    numbered = _NUMBERED.fullmatch(pod)
    if numbered:
        yield numbered[1]
    drawn = _RANDOM.fullmatch(pod)
    if drawn:
        yield drawn[1]
        hashed = _HASHED.fullmatch(drawn[1])
        if hashed:
            yield hashed[1]
