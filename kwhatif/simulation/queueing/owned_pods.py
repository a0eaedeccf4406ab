"""Whose pods are whose: the Workload of a pod of the cluster, and the pod set that it belongs to.

Upstream: GetWorkloadNameForOwnerWithGVK and the pod group's labels of pkg/controller/jobs/pod/constants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kwhatif.api.core import Pod
from kwhatif.kueue.jobs.job_kinds import pod_group_of
from kwhatif.kueue.workload import Workload
from kwhatif.simulation.ownership import Owners
from kwhatif.snapshot.format.model import Snapshot

_WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
_SET_LABELS = (
    "kueue.x-k8s.io/podset",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "training.kubeflow.org/replica-type",
    "ray.io/group",
    "spark-role",
)


class WorkloadPods:
    """Finds the Workload of a pod: by an annotation, by who owns both, or by the name of its group."""

    def __init__(self, workloads: Iterable[Workload], snapshot: Snapshot) -> None:
        self._owners = Owners(snapshot)
        self._by_key: dict[str, Workload] = {}
        self._by_owner: dict[tuple[str, str, str], Workload] = {}
        for workload in workloads:
            self._by_key[workload.key] = workload
            for owner in workload.source.metadata.owner_references or ():
                self._by_owner[owner.kind or "", workload.namespace, owner.name or ""] = workload

    def find(self, pod: Pod) -> Workload | None:
        """None for a pod that Kueue does not manage."""
        if not self._by_key:
            return None
        metadata = pod.metadata
        for name in ((metadata.annotations or {}).get(_WORKLOAD_ANNOTATION), pod_group_of(pod)):
            if name and (found := self._by_key.get(f"{pod.namespace}/{name}")):
                return found
        owner, top = pod.controller, self._owners.workload_of(pod)
        for kind, name in (("Pod", pod.name), *([(owner.kind, owner.name)] if owner else ()), (top.kind, top.name)):
            if found := self._by_owner.get((kind or "", pod.namespace, name or "")):
                return found
        return None


def pod_set_of(labels: Mapping[str, str], names: Collection[str]) -> str:
    """The pod set of a pod with these labels; empty if they do not tell."""
    if len(names) == 1:
        return next(iter(names))
    values = (labels.get(label, "").lower() for label in _SET_LABELS)
    return next((value for value in values if value in names), "")
