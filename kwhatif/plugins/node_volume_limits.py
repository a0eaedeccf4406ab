"""NodeVolumeLimits: how many volumes of a CSI driver a node can attach.

Upstream: plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec
import numpy as np

from kwhatif.api.workloads_and_storage import CSIDriver, CSINode
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, Dependency, EventOccurrence, Plugin
from kwhatif.framework.signature import Signature, sign_volumes
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.plugins.shared.attachable_volumes import (
    MIGRATED,
    PORTWORX,
    TOO_MANY,
    VOLUMES,
    Found,
    Named,
    attached_by_api,
    has_claims,
    is_attachable,
    migrates,
    of_known_volumes,
    volumes_of,
    with_claims_alone,
)
from kwhatif.versions import Features

_LONGEST_RESOURCE = 63

Sightings = dict[Named, BoolArray]
"""bool[N] for each volume: the nodes on which it counts for its driver."""


class AttachedVolumes(msgspec.Struct, eq=False):
    """Which volumes are attached where, by the pods on each node and by VolumeAttachments.

    limits     driver -> int64[N], -1 where the node has none
    there      driver -> bool[N], nodes that have it
    migrated   in-tree plugin -> bool[N], nodes where its volumes count for the driver that took over
    counts     driver -> int64[N] volumes in use, each once however many pods use it
    rows       volume -> rows of the nodes whose pods use it
    """

    limits: dict[str, Int64Array]
    there: dict[str, BoolArray]
    migrated: dict[str, BoolArray]
    drivers: Mapping[str, CSIDriver]
    by_api: list[set[Named]]
    by_pods: list[set[Named]]
    counts: dict[str, Int64Array] = {}
    rows: dict[Named, set[int]] = {}
    of_shape: dict[int, frozenset[Found]] = {}
    seen: int = 0

    def volumes_on(self, row: int, named: Iterable[Found]) -> set[Named]:
        """The volumes that count on one node."""
        return {(driver, name) for driver, name, plugin in named if not plugin or self.migrated[plugin][row]}


class NewVolumes(msgspec.Struct, frozen=True, eq=False):
    """The pod's own volumes, and the error if they cannot be resolved."""

    volumes: Sightings
    problem: str
    attached: AttachedVolumes


class NodeVolumeLimits(Plugin[NewVolumes, None]):
    name = "NodeVolumeLimits"
    default = DefaultPlugin(120)
    depends_on_labels = False
    events_to_register = MappingProxyType(
        {ClusterEvent.POD_DELETED: lambda waiting, happening: _had_volumes(happening)}
    )
    dependencies = MappingProxyType(
        {
            **dict.fromkeys(("CSINode", "PersistentVolume", "PersistentVolumeClaim", "StorageClass"), VOLUMES),
            "VolumeAttachment": Dependency("volumes that are attached but not used do not count", has_claims),
        }
    )

    def applies_to(self, pod: PodInfo) -> bool:
        return pod.shape.has_volumes

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_volumes(pod.shape)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> NewVolumes | Skip:
        if not any(map(is_attachable, pod.shape.spec.volumes or ())):
            return SKIP
        attached = _attached_volumes_of(cluster, self.handle.features)
        _follow(attached, cluster)
        claims_alone = self.handle.features.volume_limits_of_old
        own = with_claims_alone(pod.pod) if claims_alone else pod.pod
        volumes, problem = volumes_of(own, cluster.storage, new=not claims_alone)
        return NewVolumes(_sightings(volumes, attached, len(cluster)), problem, attached)

    @of_known_volumes
    def filter(self, pod: PodInfo, nodes: NodeView, state: NewVolumes) -> Iterator[Rejection]:
        alive = np.ones(nodes.size, np.bool_)
        drivers = sorted({driver for driver, _ in state.volumes})
        if self.handle.features.volume_limit_scaling:
            for driver in drivers:
                missing = alive & nodes.take_rows(self._lacking(driver, state, nodes.cluster))
                yield Rejection(missing, f"{driver} CSI driver is not installed on the node")
                alive &= ~missing
        for driver in drivers:
            limit = self._limit(driver, state, nodes.cluster)
            if limit is None:
                continue
            limit = nodes.take_rows(limit)
            mine = {volume: where for volume, where in state.volumes.items() if volume[0] == driver}
            used, fresh = _use(nodes, state.attached, driver, mine)

            def detail(
                place: int,
                driver: str = driver,
                used: Int64Array = used,
                fresh: Int64Array = fresh,
                limit: Int64Array = limit,
            ) -> str:
                return f"{driver}: {used[place]} volumes attached of {limit[place]}, {fresh[place]} more asked for"

            over = alive & (limit >= 0) & (fresh > 0) & (used + fresh > limit)
            yield Rejection(over, TOO_MANY, detail=detail)
            alive &= ~over

    def _lacking(self, driver: str, state: NewVolumes, cluster: Cluster) -> BoolArray:
        """bool[N]: nodes that lack a driver which the pod's volumes need there."""
        size, known = len(state.attached.by_pods), state.attached.drivers.get(driver)
        needed = np.zeros(size, np.bool_)
        opts_in = self.handle.features.csi_driver_opts_into_limit_scaling
        if (
            known is None
            or CSINode.__name__ in cluster.storage.unknown
            or (opts_in and not known.spec.prevent_pod_scheduling_if_missing)
        ):
            return needed
        for (name, _), where in state.volumes.items():
            if name == driver:
                needed |= where
        there = state.attached.there.get(driver)
        return needed if there is None else needed & ~there

    def _limit(self, driver: str, state: NewVolumes, cluster: Cluster) -> Int64Array | None:
        """int64[N]: the driver's limits in CSINode; older minors looked at allocatable resources first."""
        limit = state.attached.limits.get(driver)
        if not self.handle.features.attachable_volumes_limit:
            return limit
        column = _attachable(cluster, driver)
        return column if limit is None else np.where(limit >= 0, limit, column)


@cached_per_cluster
def _attachable(cluster: Cluster, driver: str) -> Int64Array:
    """int64[N]: the limit among each node's allocatable resources, -1 for none."""
    key = attach_limit_key(driver)
    allocatable = (node.status.allocatable or {} for node in cluster.columns.nodes)
    return np.array([resources[key].value() if key in resources else -1 for resources in allocatable], np.int64)


def attach_limit_key(driver: str) -> str:
    """The resource that a driver's limit went by (upstream: GetCSIAttachLimitKey in pkg/volume/util)."""
    key = f"attachable-volumes-csi-{driver}"
    if len(key) < _LONGEST_RESOURCE:
        return key
    digest = hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()
    return f"attachable-volumes-csi-{driver[:23]}{digest[:16]}"


def _sightings(volumes: Iterable[Found], attached: AttachedVolumes, size: int) -> Sightings:
    sightings: Sightings = {}
    for driver, name, plugin in volumes:
        where = attached.migrated[plugin] if plugin else np.ones(size, np.bool_)
        before = sightings.get((driver, name))
        sightings[driver, name] = where if before is None else before | where
    return sightings


def _use(nodes: NodeView, attached: AttachedVolumes, driver: str, volumes: Sightings) -> tuple[Int64Array, Int64Array]:
    """int64[n] volumes in use on each node of the view, and int64[n] volumes the pod would add."""
    moved = nodes.moved_pods()
    if moved is None:
        size = len(nodes.cluster)
        used = attached.counts.get(driver, np.zeros(size, np.int64))
        fresh = np.zeros(size, np.int64)
        for volume, where in volumes.items():
            fresh += where
            rows = list(attached.rows.get(volume, ()))
            fresh[rows] -= where[rows]
        return nodes.take_rows(used), nodes.take_rows(fresh)
    used, fresh = np.zeros(nodes.size, np.int64), np.zeros(nodes.size, np.int64)
    for place in range(nodes.size):
        row = nodes.row(place)
        held = _volumes_of_shapes(moved(place), attached, nodes.cluster, row)
        here = {volume for volume in held if volume[0] == driver}
        by_api = {volume for volume in attached.by_api[row] if volume[0] == driver}
        used[place] = len(here | by_api)
        fresh[place] = sum(bool(where[row]) and volume not in here for volume, where in volumes.items())
    return used, fresh


@cached_per_cluster
def _attached_volumes_of(cluster: Cluster, features: Features) -> AttachedVolumes:
    columns, storage = cluster.columns, cluster.storage
    limits: dict[str, Int64Array] = {}
    there: dict[str, BoolArray] = {}
    for row, name in enumerate(columns.names):
        csi_node = storage.csi_nodes.get(name)
        for driver in (csi_node.spec.drivers if csi_node else None) or ():
            there.setdefault(driver.name, np.zeros(len(columns), np.bool_))[row] = True
            if driver.allocatable is not None and driver.allocatable.count is not None:
                column = limits.setdefault(driver.name, np.full(len(columns), -1, np.int64))
                column[row] = driver.allocatable.count
    attachments_count = not features.volume_limits_of_old
    by_api = attached_by_api(storage, columns.names) if attachments_count else [set() for _ in columns.names]
    by_pods: list[set[Named]] = [set() for _ in columns.names]
    attached = AttachedVolumes(limits, there, _find_migrated_nodes(cluster, features), storage.drivers, by_api, by_pods)
    for row in range(len(columns)):
        _recount(attached, cluster, row)
    attached.seen = len(cluster.journal)
    return attached


def _find_migrated_nodes(cluster: Cluster, features: Features) -> dict[str, BoolArray]:
    """In-tree plugin -> bool[N], nodes where a driver took over (upstream: isCSIMigrationOn)."""
    csi_nodes = cluster.storage.csi_nodes
    here = np.array([name in csi_nodes for name in cluster.columns.names], np.bool_)
    if features.volume_limits_of_old:
        return {plugin: here & migrates(cluster, plugin) for plugin in MIGRATED}
    migrated = dict.fromkeys(MIGRATED, here)
    if features.portworx_migrates_by_annotation:
        listed = migrates(cluster, PORTWORX) if features.csi_migration_portworx else np.zeros_like(here)
        migrated[PORTWORX] = here & listed
    return migrated


def _follow(attached: AttachedVolumes, cluster: Cluster) -> None:
    for row in set(cluster.journal[attached.seen :]):
        _recount(attached, cluster, row)
    attached.seen = len(cluster.journal)


def _recount(attached: AttachedVolumes, cluster: Cluster, row: int) -> None:
    held = _volumes_of_shapes((info.shape for info in cluster.pods_on[row]), attached, cluster, row)
    for volume in attached.by_pods[row] - held:
        attached.rows[volume].discard(row)
    for volume in held - attached.by_pods[row]:
        attached.rows.setdefault(volume, set()).add(row)
    attached.by_pods[row] = held
    drivers = {driver for driver, _ in held | attached.by_api[row]} | set(attached.counts)
    for driver in drivers:
        counts = attached.counts.setdefault(driver, np.zeros(len(cluster), np.int64))
        counts[row] = sum(volume[0] == driver for volume in held | attached.by_api[row])


def _volumes_of_shapes(shapes: Iterable[PodShape], attached: AttachedVolumes, cluster: Cluster, row: int) -> set[Named]:
    """The volumes that pods of these shapes use on a node."""
    held: set[Named] = set()
    for shape in shapes:
        if shape.spec.volumes:
            known = attached.of_shape.get(shape.index)
            if known is None:
                pod = cluster.shapes.example(shape)
                if cluster.shapes.features.volume_limits_of_old:
                    pod = with_claims_alone(pod)
                known, _ = volumes_of(pod, cluster.storage, new=False)
                attached.of_shape[shape.index] = known
            held |= attached.volumes_on(row, known)
    return held


def _had_volumes(happening: EventOccurrence) -> bool:
    return happening.pod is not None and any(map(is_attachable, happening.pod.shape.spec.volumes or ()))
