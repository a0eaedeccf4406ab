"""Which Struct decodes which kind, and the container that holds a cluster's objects by kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar, cast

from kwhatif.api import core, devices, others
from kwhatif.api.meta import Resource

__all__ = ["KEPT_WHOLE", "KINDS", "NAMESPACED", "Objects", "kept_whole", "struct_for"]

KINDS: dict[str, type[Resource]] = {
    struct.__name__: struct
    for struct in (
        core.Namespace,
        core.Node,
        core.Pod,
        core.Service,
        core.ReplicationController,
        others.ReplicaSet,
        others.StatefulSet,
        others.PodDisruptionBudget,
        others.PriorityClass,
        others.PersistentVolume,
        others.PersistentVolumeClaim,
        others.StorageClass,
        others.CSINode,
        others.CSIDriver,
        others.CSIStorageCapacity,
        others.VolumeAttachment,
        devices.ResourceClaim,
        devices.ResourceClaimTemplate,
        devices.ResourceSlice,
        devices.DeviceClass,
        devices.DeviceTaintRule,
    )
}
"""Kind -> Struct. A kind's API group is checked by ``struct_for``."""

GROUPS: dict[str, str] = {
    "Namespace": "",
    "Node": "",
    "Pod": "",
    "Service": "",
    "ReplicationController": "",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "PodDisruptionBudget": "policy",
    "PriorityClass": "scheduling.k8s.io",
    "PersistentVolume": "",
    "PersistentVolumeClaim": "",
    "StorageClass": "storage.k8s.io",
    "CSINode": "storage.k8s.io",
    "CSIDriver": "storage.k8s.io",
    "CSIStorageCapacity": "storage.k8s.io",
    "VolumeAttachment": "storage.k8s.io",
    "ResourceClaim": "resource.k8s.io",
    "ResourceClaimTemplate": "resource.k8s.io",
    "ResourceSlice": "resource.k8s.io",
    "DeviceClass": "resource.k8s.io",
    "DeviceTaintRule": "resource.k8s.io",
}

KEPT_WHOLE: dict[str, str] = {
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "ReplicationController": "",
    "Job": "batch",
    "CronJob": "batch",
    "LimitRange": "",
    "ResourceQuota": "",
    "RuntimeClass": "node.k8s.io",
    "Workload": "scheduling.k8s.io",
    "PodGroup": "scheduling.k8s.io",
}
"""Kind -> API group, of what the API server and the controllers read: more than scheduling does, or only they do."""

NAMESPACED = frozenset(
    {
        "Pod",
        "Service",
        "ReplicationController",
        "ReplicaSet",
        "StatefulSet",
        "PodDisruptionBudget",
        "PersistentVolumeClaim",
        "CSIStorageCapacity",
        "ResourceClaim",
        "ResourceClaimTemplate",
    }
)

T = TypeVar("T", bound=Resource)


def struct_for(api_version: str, kind: str) -> type[Resource] | None:
    """The Struct of ``apiVersion``/``kind``, or None for a kind that scheduling does not read."""
    group = api_version.rpartition("/")[0]
    return KINDS[kind] if GROUPS.get(kind) == group else None


def kept_whole(api_version: str, kind: str) -> bool:
    """Whether objects of this kind are kept as they are, besides being decoded or instead of it."""
    return KEPT_WHOLE.get(kind) == api_version.rpartition("/")[0]


class Objects:
    """A cluster's objects by kind, each list in the order given."""

    def __init__(self) -> None:
        self._by_kind: dict[str, list[Resource]] = {}

    def add(self, obj: Resource) -> None:
        self._by_kind.setdefault(type(obj).__name__, []).append(obj)

    def extend(self, kind: type[T], objs: list[T]) -> None:
        """Add objects of one kind; none at all still says that the kind was looked at."""
        self._by_kind.setdefault(kind.__name__, []).extend(objs)

    def of(self, kind: type[T]) -> list[T]:
        """All objects of one kind, in the order given."""
        return cast("list[T]", self._by_kind.get(kind.__name__, []))

    def covered(self) -> frozenset[str]:
        """The kinds that were looked at, whether or not there were objects."""
        return frozenset(self._by_kind)

    def __iter__(self) -> Iterator[Resource]:
        for objs in self._by_kind.values():
            yield from objs

    def __len__(self) -> int:
        return sum(map(len, self._by_kind.values()))
