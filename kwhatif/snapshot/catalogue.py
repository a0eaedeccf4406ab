"""The kinds that a snapshot of a live cluster holds, and where the API server serves them.

What is read (``dump``), what has to be allowed (``rbac``) and what the documentation lists all come from here.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOGUE", "KindSource", "source_of"]


@dataclass(frozen=True, slots=True)
class KindSource:
    """One kind: its group, the versions in which it can be read (the best first) and its plural.

    A ``rare`` kind is not served by most clusters: where it is not, there is nothing to tell.
    """

    kind: str
    group: str
    versions: tuple[str, ...]
    plural: str
    rare: bool = False

    def path(self, version: str) -> str:
        """Where all objects of the kind are listed."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return f"{root}/{self.plural}"


_DEVICES = ("v1", "v1beta2", "v1beta1")

# What takes longest comes first, since several kinds are read at a time.
CATALOGUE: tuple[KindSource, ...] = (
    KindSource("Pod", "", ("v1",), "pods"),
    KindSource("Node", "", ("v1",), "nodes"),
    KindSource("ReplicaSet", "apps", ("v1",), "replicasets"),
    KindSource("PersistentVolume", "", ("v1",), "persistentvolumes"),
    KindSource("PersistentVolumeClaim", "", ("v1",), "persistentvolumeclaims"),
    KindSource("VolumeAttachment", "storage.k8s.io", ("v1",), "volumeattachments"),
    KindSource("Job", "batch", ("v1",), "jobs"),
    KindSource("Service", "", ("v1",), "services"),
    KindSource("Deployment", "apps", ("v1",), "deployments"),
    KindSource("StatefulSet", "apps", ("v1",), "statefulsets"),
    KindSource("DaemonSet", "apps", ("v1",), "daemonsets"),
    KindSource("ReplicationController", "", ("v1",), "replicationcontrollers"),
    KindSource("CronJob", "batch", ("v1", "v1beta1"), "cronjobs"),
    KindSource("Namespace", "", ("v1",), "namespaces"),
    KindSource("CSINode", "storage.k8s.io", ("v1",), "csinodes"),
    KindSource("CSIDriver", "storage.k8s.io", ("v1",), "csidrivers"),
    KindSource("CSIStorageCapacity", "storage.k8s.io", ("v1", "v1beta1"), "csistoragecapacities"),
    KindSource("StorageClass", "storage.k8s.io", ("v1",), "storageclasses"),
    KindSource("PodDisruptionBudget", "policy", ("v1", "v1beta1"), "poddisruptionbudgets"),
    KindSource("PriorityClass", "scheduling.k8s.io", ("v1",), "priorityclasses"),
    KindSource("RuntimeClass", "node.k8s.io", ("v1", "v1beta1"), "runtimeclasses"),
    KindSource("LimitRange", "", ("v1",), "limitranges"),
    KindSource("ResourceQuota", "", ("v1",), "resourcequotas"),
    KindSource("ResourceClaim", "resource.k8s.io", _DEVICES, "resourceclaims"),
    KindSource("ResourceClaimTemplate", "resource.k8s.io", _DEVICES, "resourceclaimtemplates"),
    KindSource("ResourceSlice", "resource.k8s.io", _DEVICES, "resourceslices"),
    KindSource("DeviceClass", "resource.k8s.io", _DEVICES, "deviceclasses"),
    KindSource("DeviceTaintRule", "resource.k8s.io", ("v1beta2", "v1alpha3"), "devicetaintrules", rare=True),
    KindSource("Workload", "scheduling.k8s.io", ("v1alpha2", "v1alpha1"), "workloads", rare=True),
    KindSource("PodGroup", "scheduling.k8s.io", ("v1alpha2",), "podgroups", rare=True),
)

_BY_KIND = {source.kind: source for source in CATALOGUE}


def source_of(kind: str) -> KindSource:
    """Where a kind of the catalogue is served."""
    return _BY_KIND[kind]
