"""NodeVolumeLimits: a node can attach only so many volumes of a driver.

Upstream: plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.events import Event, Happening
from kwhatif.framework.interface import Plugin
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.plugins.attachable import attached_by_api, is_attachable, volumes_of

TOO_MANY = "node(s) exceed max volume count"

Named = tuple[str, str]
"""(driver, unique name) of a volume."""


@dataclass(slots=True, eq=False)
class Attached:
    """Which volumes are attached where, by the pods on each node and by VolumeAttachments.

    limits   driver -> int64[N], -1 where the node has none
    counts   driver -> int64[N] volumes in use, each once however many pods use it
    rows     volume -> rows of the nodes whose pods use it
    """

    limits: dict[str, Int64Array]
    by_api: list[set[Named]]
    by_pods: list[set[Named]]
    counts: dict[str, Int64Array] = field(default_factory=dict)
    rows: dict[Named, set[int]] = field(default_factory=dict)
    of_shape: dict[int, frozenset[Named]] = field(default_factory=dict)
    seen: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class NewVolumes:
    """The pod's own volumes, and what keeps them from being known at all."""

    volumes: frozenset[Named]
    problem: str
    attached: Attached


class NodeVolumeLimits(Plugin[NewVolumes, None]):
    name = "NodeVolumeLimits"
    requeue_on = MappingProxyType({Event.POD_DELETED: lambda waiting, happening: _had_volumes(happening)})
    reads = ("CSINode", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "VolumeAttachment")

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> NewVolumes | Skip:
        if not any(map(is_attachable, pod.shape.spec.volumes or ())):
            return SKIP
        attached = cluster.remember((self, "attached"), lambda: _attached(cluster))
        _follow(attached, cluster)
        volumes, problem = volumes_of(pod.pod, cluster.storage, new=True)
        return NewVolumes(volumes, problem, attached)

    def filter(self, pod: PodInfo, nodes: NodeView, state: NewVolumes | None) -> Iterator[Rejection]:
        if state is None:  # a profile may leave PreFilter out
            outcome = self.pre_filter(pod, nodes.cluster)
            if not isinstance(outcome, Skip):
                yield from self.filter(pod, nodes, outcome)
            return
        if state.problem:
            yield Rejection(np.ones(nodes.size, np.bool_), state.problem, unresolvable=True)
            return
        alive = np.ones(nodes.size, np.bool_)
        for driver in sorted({driver for driver, _ in state.volumes}):
            limit = state.attached.limits.get(driver)
            if limit is None:
                continue
            limit = nodes.of(limit)
            mine = [volume for volume in state.volumes if volume[0] == driver]
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


def _use(nodes: NodeView, attached: Attached, driver: str, mine: list[Named]) -> tuple[Int64Array, Int64Array]:
    """int64[n] volumes in use on each node of the view, and int64[n] volumes the pod would add."""
    moved = nodes.moved_pods()
    if moved is None:
        size = len(nodes.cluster)
        used = attached.counts.get(driver, np.zeros(size, np.int64))
        fresh = np.full(size, len(mine), np.int64)
        for volume in mine:
            fresh[list(attached.rows.get(volume, ()))] -= 1
        return nodes.of(used), nodes.of(fresh)
    used, fresh = np.zeros(nodes.size, np.int64), np.zeros(nodes.size, np.int64)
    for place in range(nodes.size):
        row = nodes.row(place)
        held = _held(moved(place), attached, nodes.cluster)
        here = {volume for volume in held if volume[0] == driver}
        by_api = {volume for volume in attached.by_api[row] if volume[0] == driver}
        used[place] = len(here | by_api)
        fresh[place] = sum(volume not in here for volume in mine)
    return used, fresh


def _attached(cluster: Cluster) -> Attached:
    columns, storage = cluster.columns, cluster.storage
    limits: dict[str, Int64Array] = {}
    for row, name in enumerate(columns.names):
        csi_node = storage.csi_nodes.get(name)
        for driver in (csi_node.spec.drivers if csi_node else None) or ():
            if driver.allocatable is not None and driver.allocatable.count is not None:
                column = limits.setdefault(driver.name, np.full(len(columns), -1, np.int64))
                column[row] = driver.allocatable.count
    by_api = attached_by_api(storage, columns.names)
    attached = Attached(limits, by_api, [set() for _ in columns.names])
    for row in range(len(columns)):
        _recount(attached, cluster, row)
    attached.seen = len(cluster.journal)
    return attached


def _follow(attached: Attached, cluster: Cluster) -> None:
    for row in set(cluster.journal[attached.seen :]):
        _recount(attached, cluster, row)
    attached.seen = len(cluster.journal)


def _recount(attached: Attached, cluster: Cluster, row: int) -> None:
    held = _held((info.shape for info in cluster.pods_on[row]), attached, cluster, row)
    for volume in attached.by_pods[row] - held:
        attached.rows[volume].discard(row)
    for volume in held - attached.by_pods[row]:
        attached.rows.setdefault(volume, set()).add(row)
    attached.by_pods[row] = held
    drivers = {driver for driver, _ in held | attached.by_api[row]} | set(attached.counts)
    for driver in drivers:
        counts = attached.counts.setdefault(driver, np.zeros(len(cluster), np.int64))
        counts[row] = sum(volume[0] == driver for volume in held | attached.by_api[row])


def _held(shapes: Iterable[PodShape], attached: Attached, cluster: Cluster, row: int | None = None) -> set[Named]:
    """The volumes that pods of these shapes use."""
    held: set[Named] = set()
    for shape in shapes:
        if shape.spec.volumes:
            known = attached.of_shape.get(shape.index)
            if known is None:
                known, _ = volumes_of(cluster.shapes.example(shape), cluster.storage, new=False)
                attached.of_shape[shape.index] = known
            held |= known
    return held


def _had_volumes(happening: Happening) -> bool:
    return happening.pod is not None and any(map(is_attachable, happening.pod.shape.spec.volumes or ()))
