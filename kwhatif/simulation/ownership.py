"""The workload of a pod: its controller, or that one's own controller, as a replica set's deployment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.api.meta import OwnerReference
from kwhatif.api.objects import part_of
from kwhatif.api.workloads_and_storage import ReplicaSet
from kwhatif.results.gate import Subject
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.objects import controller_of, name_of, namespace_of

TEMPLATE_HASH = "pod-template-hash"


class Owners:
    """The controllers between pods and workloads, of all namespaces or of some."""

    def __init__(self, snapshot: Snapshot, namespaces: Collection[str] | None = None) -> None:
        self._above: dict[tuple[str, str, str], Subject] = {}
        for one in snapshot.objects.list_all(ReplicaSet):
            owner = one.controller
            if owner is not None and (namespaces is None or one.namespace in namespaces):
                self._above["ReplicaSet", one.namespace, one.name] = _subject(owner, one.namespace)
        for kind in ("ReplicaSet", "Job"):
            for obj in snapshot.whole.get(kind, ()):
                if namespaces is None or namespace_of(obj) in namespaces:
                    self._put(obj)

    def _put(self, obj: Object) -> None:
        owner: Mapping[str, Any] = controller_of(obj)
        if owner:
            above = Subject(
                kind=str(part_of(owner, "kind")), namespace=namespace_of(obj), name=str(part_of(owner, "name"))
            )
            self._above[str(part_of(obj, "kind")), namespace_of(obj), name_of(obj)] = above

    def workload_of(self, pod: Pod) -> Subject:
        """The workload at the top; a pod without a controller is its own."""
        owner = pod.controller
        if owner is None:
            return Subject(kind="Pod", namespace=pod.namespace, name=pod.name)
        kind, name = owner.kind or "", owner.name or ""
        above = self._above.get((kind, pod.namespace, name))
        if above is not None:
            return above
        suffix = (pod.metadata.labels or {}).get(TEMPLATE_HASH)
        if kind == "ReplicaSet" and suffix and name.endswith(f"-{suffix}"):
            # A deployment names its replica sets so, and no other controller gives pods this label.
            return Subject(kind="Deployment", namespace=pod.namespace, name=name.removesuffix(f"-{suffix}"))
        return _subject(owner, pod.namespace)


def _subject(owner: OwnerReference, namespace: str) -> Subject:
    return Subject(kind=owner.kind or "", namespace=namespace, name=owner.name or "")
