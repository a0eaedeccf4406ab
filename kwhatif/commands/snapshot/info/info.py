"""Summarizes a snapshot: nodes by pool and zone, requested and free resources, pending pods, devices, and what is
missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from kwhatif.api.core import FINISHED, Node, Pod
from kwhatif.api.devices import ResourceSlice
from kwhatif.api.kinds import LASTING
from kwhatif.api.times import format_time, parse_time
from kwhatif.cluster.claim_store import DeviceId
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.commands.snapshot.info.result import (
    ClassUse,
    DeviceUse,
    InfoResult,
    Missing,
    NodeGroup,
    NodeUse,
    PendingReason,
    ResourceUse,
)
from kwhatif.devices.inventory import Inventory
from kwhatif.devices.selectors import selection_of
from kwhatif.simulation.cluster_map import ClusterObservation, build_map
from kwhatif.simulation.node_pools import (
    RequestSums,
    allocatable_of,
    pods_by_node,
    pool_of,
    resource_order_of,
    zone_of,
)
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features

MOST_REASONS = 10


class _Row(msgspec.Struct, frozen=True):
    node: Node
    pool: str
    zone: str
    ready: bool
    cordoned: bool
    pods: int
    allocatable: dict[str, int]
    requested: Counter[str]

    @property
    def is_open(self) -> bool:
        return self.ready and not self.cordoned


def info(
    snapshot: Snapshot,
    features: Features,
    now: datetime,
    *,
    by: str = "",
    nodes: bool = False,
    devices: Callable[[Snapshot], Sequence[DeviceUse]] | None = None,
    mapped: bool = False,
) -> InfoResult:
    """The snapshot in numbers. ``by`` is the label that says the pool, ``nodes`` asks for each node by itself.

    ``devices`` counts the devices of the snapshot's resource slices, if given. ``mapped``: with a map.
    """
    # A server is asked this again and again about a cluster that stays.
    objects, kinds = snapshot.objects, ("Node", "Pod")
    share = objects.share((_Contents, features, by), kinds, lambda: _Contents.of(snapshot, features, by))
    rows = share.rows
    groups: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        groups.setdefault((row.pool, row.zone), []).append(row)
    taken = snapshot.taken_at
    result = InfoResult(
        source=snapshot.source,
        kubernetes_version=snapshot.kubernetes_version,
        taken_at=taken,
        age_seconds=int((now - parse_time(taken)).total_seconds()) if taken else None,
        as_of=format_time(now.timestamp()) if taken else None,
        redacted=snapshot.redacted,
        edits=tuple(snapshot.edits),
        scheduler=_scheduler(snapshot),
        objects=snapshot.counts(),
        groups=tuple(_group(*key, groups[key]) for key in sorted(groups)),
        resources=_resources(rows),
        closed_nodes=sum(not row.is_open for row in rows),
        phases=share.phases,
        pending=share.pending,
        classes=share.classes,
        missing=_missing(snapshot),
        devices=tuple(devices(snapshot)) if devices else (),
        nodes=tuple(_node(row) for row in rows) if nodes else (),
    )
    if not mapped:
        return result
    cluster_map = objects.share((build_map, features, by), kinds, lambda: build_map({"now": share.observe()}, by))
    return result.with_context(cluster_map=cluster_map)


class _Contents(msgspec.Struct, frozen=True):
    """What the nodes and pods of a snapshot come to: a row a node, by name, and what unfinished pods ask for."""

    rows: Sequence[_Row]
    asked: Mapping[str, tuple[str, Mapping[str, int]]]
    phases: dict[str, int]
    pending: tuple[PendingReason, ...]
    classes: tuple[ClassUse, ...]

    @classmethod
    def of(cls, snapshot: Snapshot, features: Features, by: str) -> _Contents:
        pods, requests = snapshot.objects.list_all(Pod), RequestSums(features)
        fields = {pod.key: (pod.spec.node_name or "", requests.requests_of(pod)) for pod in pods if not pod.is_finished}
        rows = _rows(snapshot.objects.list_all(Node), pods, fields, by)
        return cls(rows, fields, _phases(pods), _pending(pods), _classes(pods))

    def observe(self) -> ClusterObservation:
        with_pods = {id(amounts): {**amounts, "pods": 1} for _, amounts in self.asked.values()}
        places = {pod: (node, with_pods[id(amounts)]) for pod, (node, amounts) in self.asked.items()}
        return ClusterObservation([(row.node, row.allocatable) for row in self.rows], places)


def _rows(
    nodes: Sequence[Node], pods: Sequence[Pod], asked: Mapping[str, tuple[str, Mapping[str, int]]], by: str
) -> list[_Row]:
    there = pods_by_node(pods)
    rows = []
    for node in sorted(nodes, key=lambda node: node.name):
        requested: Counter[str] = Counter()
        mine = there.get(node.name, ())
        for pod in mine:
            for name, amount in asked[pod.key][1].items():
                requested[name] += amount
        requested["pods"] = len(mine)
        allocatable = allocatable_of(node)
        ready, cordoned = node.is_ready, bool(node.spec.unschedulable)
        rows.append(_Row(node, pool_of(node, by), zone_of(node), ready, cordoned, len(mine), allocatable, requested))
    return rows


def _group(pool: str, zone: str, rows: Sequence[_Row]) -> NodeGroup:
    return NodeGroup(
        pool=pool,
        zone=zone,
        nodes=len(rows),
        ready=sum(row.ready for row in rows),
        cordoned=sum(row.cordoned for row in rows),
        pods=sum(row.pods for row in rows),
        resources=_resources(rows),
    )


def _resources(rows: Sequence[_Row]) -> tuple[ResourceUse, ...]:
    """Resources that some node has or some pod on it asks for."""
    names = {name for row in rows for amounts in (row.allocatable, row.requested) for name in amounts}
    uses = []
    for name in sorted(names, key=resource_order_of):
        free = {row.node.name: _free(row, name) for row in rows if row.is_open}
        largest = max(free.values(), default=0)
        uses.append(
            ResourceUse(
                resource=name,
                allocatable=sum(row.allocatable.get(name, 0) for row in rows),
                requested=sum(row.requested[name] for row in rows),
                free=sum(free.values()),
                largest_free=largest,
                on=next((node for node, amount in free.items() if amount == largest and largest), ""),
            )
        )
    return tuple(use for use in uses if use.allocatable or use.requested)


def _free(row: _Row, resource: str) -> int:
    """An over-committed node has nothing free; it takes nothing from the others."""
    return max(row.allocatable.get(resource, 0) - row.requested[resource], 0)


def _node(row: _Row) -> NodeUse:
    there = {name for amounts in (row.allocatable, row.requested) for name, amount in amounts.items() if amount}
    names = sorted(there - {"pods"}, key=resource_order_of)
    return NodeUse(
        node=row.node.name,
        pool=row.pool,
        zone=row.zone,
        ready=row.ready,
        cordoned=row.cordoned,
        pods=row.pods,
        most_pods=row.allocatable["pods"],
        resources={name: (row.requested[name], row.allocatable.get(name, 0)) for name in names},
        taints=tuple(taint.text for taint in row.node.spec.taints or ()),
    )


def _phases(pods: Iterable[Pod]) -> dict[str, int]:
    """Pods by phase; those that wait for a node apart from those that have one and have not started yet."""
    counts = Counter(_phase(pod) for pod in pods)
    return dict(sorted(counts.items()))


def _phase(pod: Pod) -> str:
    phase = pod.status.phase or ""
    if phase in FINISHED:
        return phase
    if pod.metadata.deletion_timestamp:
        return "Terminating"
    if not pod.spec.node_name:
        return "Pending"
    return "Starting" if phase in ("", "Pending") else phase


def _pending(pods: Iterable[Pod]) -> tuple[PendingReason, ...]:
    """Reasons of the pods that wait for a node, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for pod in pods:
        if _phase(pod) == "Pending":
            said = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
            counts[(said.reason or "", said.message or "") if said else ("", "")] += 1
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    reasons = [PendingReason(reason=r, message=m, pods=number) for (r, m), number in most[:MOST_REASONS]]
    rest = sum(number for _, number in most[MOST_REASONS:])
    if rest:
        reasons.append(PendingReason(reason="", message=f"{len(most) - MOST_REASONS} other messages", pods=rest))
    return tuple(reasons)


def _classes(pods: Iterable[Pod]) -> tuple[ClassUse, ...]:
    """The highest priority first."""
    counts = Counter(
        (-(pod.spec.priority or 0), pod.spec.priority_class_name or "") for pod in pods if not pod.is_finished
    )
    return tuple(
        ClassUse(priority_class=name, priority=-negated, pods=number)
        for (negated, name), number in sorted(counts.items())
    )


def _scheduler(snapshot: Snapshot) -> str:
    """What is known of the cluster's own scheduler, in words."""
    scheduler = snapshot.scheduler
    if scheduler is None:
        return ""
    parts = [scheduler.image or ""]
    parts.append("its configuration" if scheduler.configuration is not None else "")
    parts.append(f"{len(scheduler.feature_gates)} feature gates" if scheduler.feature_gates else "")
    said = ", ".join(part for part in parts if part)
    return f"{said} (from {scheduler.source})" if scheduler.source else said


def _missing(snapshot: Snapshot) -> Missing:
    there = snapshot.covered_kinds() | set(snapshot.unreadable)
    return Missing(
        kinds=tuple(sorted({kind.name for kind in LASTING} - there)),
        unreadable=dict(sorted(snapshot.unreadable.items())),
        inconsistencies=tuple(snapshot.inconsistencies),
        dropped=tuple(snapshot.dropped),
        ignored=dict(sorted(snapshot.ignored.items())),
    )


NO_CLASS = ""
"""The class of devices that no class lets in."""


def device_uses(snapshot: Snapshot, features: Features) -> Sequence[DeviceUse]:
    """A row per driver and class, by name. A device that several classes let in counts for each of them.

    Devices of outdated generations of their pool do not count; those of incomplete pools do.
    """
    if not snapshot.objects.list_all(ResourceSlice):
        return ()
    cluster = Cluster(snapshot.objects.list_all(Node), ShapeTable(features), snapshot.objects)
    inventory, devices = Inventory.for_cluster(cluster), cluster.devices
    current: dict[DeviceId, int] = {}
    for unit in inventory.units:
        other = current.get(unit.id)
        if other is None or inventory.units[other].slice.spec.pool.generation < unit.slice.spec.pool.generation:
            current[unit.id] = unit.number
    newest: dict[tuple[str, str], int] = {}
    for resource_slice in devices.slices:
        id_ = resource_slice.spec.driver, resource_slice.spec.pool.name
        newest[id_] = max(newest.get(id_, 0), resource_slice.spec.pool.generation)
    numbers = [n for id_, n in current.items() if inventory.units[n].slice.spec.pool.generation == newest[id_[:2]]]
    members: dict[tuple[str, str], list[int]] = {}
    classless = set(numbers)
    for name, own in devices.classes.items():
        if all(selector.cel for selector in own.spec.selectors or ()):
            passes = selection_of(inventory, name, own.spec.selectors, None).passes
            for number in numbers:
                if passes[number]:
                    members.setdefault((inventory.units[number].id[0], name), []).append(number)
                    classless.discard(number)
    for number in sorted(classless):
        members.setdefault((inventory.units[number].id[0], NO_CLASS), []).append(number)
    return tuple(
        DeviceUse(
            driver=driver,
            device_class=name,
            nodes=len({row for number in some for row in inventory.rows_of[number]}),
            devices=len(some),
            allocated=sum(bool(devices.users(inventory.units[number].id)) for number in some),
        )
        for (driver, name), some in sorted(members.items())
    )
