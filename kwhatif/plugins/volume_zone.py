"""VolumeZone: nodes have to match the zone and region labels of volumes.

Upstream: plugins/volumezone/volume_zone.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec
import numpy as np

from kwhatif.api.core import Node
from kwhatif.api.workloads_and_storage import PersistentVolume
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import storage_class_of
from kwhatif.cluster.types import BoolArray
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, Plugin, QueueingHint, always
from kwhatif.framework.signature import Signature, sign_volumes
from kwhatif.framework.status import SKIP, Rejection, Skip, Status
from kwhatif.plugins.shared.attachable_volumes import VOLUMES, is_own_claim

STABLE = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Topology labels of volumes -> the label that may stand in for them on nodes."""


class Topology(msgspec.Struct, frozen=True):
    claim: str
    volume: str
    key: str
    values: frozenset[str]


class Topologies(msgspec.Struct, frozen=True):
    wanted: tuple[Topology, ...]


class VolumeZone(Plugin[Topologies, None]):
    name = "VolumeZone"
    default = DefaultPlugin(150)
    depends_on_labels = False

    @property
    def queueing_hints(self) -> Mapping[ClusterEvent, QueueingHint]:
        claims: Mapping[ClusterEvent, QueueingHint] = {ClusterEvent.CLAIM_CHANGED: is_own_claim}
        return {
            ClusterEvent.VOLUME_CHANGED: always,
            **(claims if self.handle.features.volume_zone_hears_of_claims else {}),
        }

    dependencies = MappingProxyType(
        dict.fromkeys(("PersistentVolume", "PersistentVolumeClaim", "StorageClass"), VOLUMES)
    )

    def applies_to(self, pod: PodInfo) -> bool:
        return pod.shape.has_volumes

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_volumes(pod.shape)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Topologies | Skip | Status:
        storage = cluster.storage
        wanted: list[Topology] = []
        for volume in pod.shape.spec.volumes or ():
            source = volume.persistent_volume_claim
            if source is None:
                continue
            if not source.claim_name:
                return Status.unresolvable("PersistentVolumeClaim had no name")
            claim = storage.claims.get((pod.shape.namespace, source.claim_name))
            if claim is None:
                return Status.unresolvable(f'persistentvolumeclaim "{source.claim_name}" not found')
            if not claim.spec.volume_name:
                refusal = _unbound(storage_class_of(claim), cluster)
                if refusal is not None:
                    return refusal
                continue
            bound_volume = storage.volumes.get(claim.spec.volume_name)
            if bound_volume is None:
                return Status.unresolvable(f'persistentvolume "{claim.spec.volume_name}" not found')
            wanted += _topologies(claim.name, bound_volume)
        return Topologies(tuple(wanted)) if wanted else SKIP

    def filter(self, pod: PodInfo, nodes: NodeView, state: Topologies | None) -> Iterator[Rejection]:
        if state is None:  # a profile may leave PreFilter out
            outcome = self.pre_filter(pod, nodes.cluster)
            if isinstance(outcome, Status):
                matches = np.ones(nodes.size, np.bool_)
                if self.handle.features.volume_zones_have_one_name:
                    matches = nodes.take_rows(_anywhere(nodes.columns))
                yield from (Rejection(matches, reason, unresolvable=True) for reason in outcome.reasons)
            elif not isinstance(outcome, Skip):
                yield from self.filter(pod, nodes, outcome)
            return
        columns = nodes.columns
        anywhere = _anywhere(columns)
        by_one_name = self.handle.features.volume_zones_have_one_name
        wrong = [~_matching(topology, columns, by_one_name=by_one_name) for topology in state.wanted]
        yield Rejection(
            nodes.take_rows(anywhere & np.any(wrong, axis=0)),
            "node(s) had no available volume zone",
            unresolvable=True,
            detail=lambda place: "; ".join(
                _describe_conflict(topology, columns.nodes[nodes.row(place)])
                for topology, away in zip(state.wanted, wrong, strict=True)
                if away[nodes.row(place)]
            ),
        )


def _anywhere(columns: NodeColumns) -> BoolArray:
    """bool[N]: nodes with any zone or region label."""
    mask = np.zeros(len(columns), np.bool_)
    for key in STABLE:
        mask |= columns.label(key).present
    return mask


def _unbound(class_name: str, cluster: Cluster) -> Status | None:
    """The status for an unbound claim: none, if its volume is chosen with the node."""
    if not class_name:
        return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = cluster.storage.classes.get(class_name)
    if storage_class is None:
        return Status.unresolvable(f'storageclass.storage.k8s.io "{class_name}" not found')
    if storage_class.volume_binding_mode is None:
        return Status.unresolvable(f'VolumeBindingMode not set for StorageClass "{class_name}"')
    if storage_class.volume_binding_mode == "WaitForFirstConsumer":
        return None
    return Status.unresolvable("PersistentVolume had no name")


def _topologies(claim: str, volume: PersistentVolume) -> Iterator[Topology]:
    labels = volume.metadata.labels or {}
    for key in STABLE:
        if key in labels:
            values = [value.strip() for value in labels[key].split("__")]
            if all(values):
                yield Topology(claim, volume.name, key, frozenset(values))


def _describe_conflict(topology: Topology, node: Node) -> str:
    """Where a volume is that the node is not."""
    labels = node.metadata.labels or {}
    have = next(
        (f"{key}={labels[key]}" for key in (topology.key, STABLE[topology.key]) if key in labels), "no such label"
    )
    values = " or ".join(sorted(topology.values))
    return f"claim {topology.claim}: volume {topology.volume} is in {topology.key} {values}, node has {have}"


def _matching(topology: Topology, columns: NodeColumns, *, by_one_name: bool) -> BoolArray:
    """bool[N]: nodes whose label, or the stable one in its place, has one of the values."""
    own, stable = columns.label(topology.key), columns.label(STABLE[topology.key])
    by_own = own.broadcast([value in topology.values for value in own.values], False)
    by_stable = stable.broadcast([value in topology.values for value in stable.values], False)
    return np.where(own.present, by_own, False if by_one_name else by_stable)
