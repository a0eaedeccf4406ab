"""Results of ``snapshot info``."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.results.base import Result, ResultStruct


class ResourceUse(ResultStruct, frozen=True, kw_only=True):
    """One resource on some nodes: cpu in millicores, all else in bytes or pieces.

    ``free`` and ``largest_free`` (on the node ``on``) leave out nodes that are cordoned or not ready.
    """

    resource: str
    allocatable: int
    requested: int
    free: int
    largest_free: int
    on: str = ""


class NodeGroup(ResultStruct, frozen=True, kw_only=True):
    """The nodes of one pool in one zone; either may be unknown, and is empty then."""

    pool: str
    zone: str
    nodes: int
    ready: int
    cordoned: int
    pods: int
    resources: tuple[ResourceUse, ...]


class NodeUse(ResultStruct, frozen=True, kw_only=True):
    """One node, and what its pods ask for by resource: (requested, allocatable)."""

    node: str
    pool: str
    zone: str
    ready: bool
    cordoned: bool
    pods: int
    most_pods: int
    resources: dict[str, tuple[int, int]]
    taints: tuple[str, ...] = ()


class PendingReason(ResultStruct, frozen=True, kw_only=True):
    """Why pods wait for a node, in the words of their own condition; empty where none says."""

    reason: str
    message: str
    pods: int


class ClassUse(ResultStruct, frozen=True, kw_only=True):
    """Pods of one PriorityClass (empty: of none) and priority that are not finished."""

    priority_class: str
    priority: int
    pods: int


class DeviceUse(ResultStruct, frozen=True, kw_only=True):
    """Devices of one driver and class: how many there are, on how many nodes, and how many are allocated."""

    driver: str
    device_class: str
    nodes: int
    devices: int
    allocated: int


class Missing(ResultStruct, frozen=True, kw_only=True):
    """What a snapshot lacks.

    ``kinds`` that it does not cover, ``unreadable`` ones with the reason, ``inconsistencies`` between its lists, fields
    ``dropped`` from pod templates, and kinds ``ignored`` since they are not read here, with their number.
    """

    kinds: tuple[str, ...] = ()
    unreadable: dict[str, str] = msgspec.field(default_factory=dict)
    inconsistencies: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    ignored: dict[str, int] = msgspec.field(default_factory=dict)


class PoolUsage(ResultStruct, frozen=True, kw_only=True):
    """What pods of a pool ask for, and what they use together for 90% of the time: millicores or bytes.

    ``used`` is null where it is unknown.
    """

    pool: str
    resource: str
    requested: int
    used: int | None


class Reserved(ResultStruct, frozen=True, kw_only=True):
    """What a workload's pods ask for, and what they use together for 90% of the time: millicores or bytes."""

    workload: str
    resource: str
    pods: int
    requested: int
    used: int


class InfoResult(Result, frozen=True, kw_only=True):
    """A snapshot in numbers. ``age_seconds`` is its age ``as_of`` a time, which is the clock's unless one is given.

    ``edits`` are what-if edits of the cluster, in words. ``usage`` and ``reserved``, those that reserve most for
    nothing, are there only where usage is known.
    """

    schema: ClassVar[str] = "snapshot-info"
    about: ClassVar[str] = "What is in a snapshot, by kwhatif snapshot info"
    view: ClassVar[str] = "snapshot.info.text:VIEW"

    kind: str = "SnapshotInfo"
    source: str
    kubernetes_version: str | None
    taken_at: str | None
    age_seconds: int | None
    as_of: str | None = None
    redacted: bool
    edits: tuple[str, ...] = ()
    scheduler: str
    objects: dict[str, int]
    groups: tuple[NodeGroup, ...]
    resources: tuple[ResourceUse, ...]
    closed_nodes: int
    phases: dict[str, int]
    pending: tuple[PendingReason, ...]
    classes: tuple[ClassUse, ...]
    missing: Missing
    devices: tuple[DeviceUse, ...] = ()
    nodes: tuple[NodeUse, ...] = ()
    usage: tuple[PoolUsage, ...] | msgspec.UnsetType = msgspec.UNSET
    reserved: tuple[Reserved, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def exit_code(self) -> int:
        return 0
