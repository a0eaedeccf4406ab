"""VolumeRestrictions: disks that only one pod may mount, and claims of access mode ReadWriteOncePod.

Upstream: plugins/volumerestrictions/volume_restrictions.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
import numpy as np

from kwhatif.api.core import Volume
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.tally import Tally, TallySpec, Weighing
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, EventOccurrence, Handle, Plugin, QueueingHint, always
from kwhatif.framework.signature import Signature, sign_volumes
from kwhatif.framework.status import SKIP, Rejection, Skip, Status
from kwhatif.plugins.shared.attachable_volumes import VOLUMES

DISK_CONFLICT = "node(s) had no available disk"
ONE_POD_ONLY = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

ONE_POD_ONLY_BEFORE = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"


class Restrictions(msgspec.Struct, frozen=True, eq=False):
    """``disks``: pods by node whose disks conflict; ``exclusive``: claims for one pod only, ``held`` those in use."""

    disks: Tally | None
    exclusive: frozenset[str]
    held: tuple[str, ...]


class ClaimsInUse:
    """How often the pods on nodes name each claim, (namespace, name)."""

    def __init__(self, cluster: Cluster) -> None:
        self.uses: Counter[tuple[str, str]] = Counter()
        self._of_row: list[Counter[tuple[str, str]]] = [Counter() for _ in range(len(cluster))]
        for row in range(len(cluster)):
            self._recount(cluster, row)
        self._seen = len(cluster.journal)

    def follow(self, cluster: Cluster) -> None:
        """Update after pods were added or removed."""
        for row in set(cluster.journal[self._seen :]):
            self._recount(cluster, row)
        self._seen = len(cluster.journal)

    def _recount(self, cluster: Cluster, row: int) -> None:
        named = (
            (info.shape.namespace, name)
            for info in cluster.pods_on[row]
            if info.shape.spec.volumes
            for name in _claims_named(info.shape)
        )
        self.uses.subtract(self._of_row[row])
        self._of_row[row] = Counter(named)
        self.uses.update(self._of_row[row])


@cached_per_cluster
def _claims_in_use(cluster: Cluster) -> ClaimsInUse:
    return ClaimsInUse(cluster)


class VolumeRestrictions(Plugin[Restrictions, None]):
    name = "VolumeRestrictions"
    default = DefaultPlugin(90)
    depends_on_labels = False
    dependencies = MappingProxyType({"PersistentVolumeClaim": VOLUMES})

    @property
    def queueing_hints(self) -> Mapping[ClusterEvent, QueueingHint]:
        claims: Mapping[ClusterEvent, QueueingHint] = {ClusterEvent.CLAIM_CHANGED: always}
        return {
            ClusterEvent.POD_DELETED: _shares_volume,
            **(claims if self.handle.features.volume_restrictions_hears_of_claims else {}),
        }

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self.needs_pre_filter = handle.features.claims_for_one_pod

    def applies_to(self, pod: PodInfo) -> bool:
        return pod.shape.has_volumes

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_volumes(pod.shape)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Restrictions | Skip | Status:
        volumes = pod.shape.spec.volumes
        if not volumes:
            return SKIP
        if not self.handle.features.claims_for_one_pod:
            return _disks_alone(pod, cluster)
        exclusive = set()
        for volume in volumes:
            source = volume.persistent_volume_claim
            if source is None:
                continue
            claim = cluster.storage.claims.get((pod.shape.namespace, source.claim_name))
            if claim is None:
                return Status.unresolvable(f'persistentvolumeclaim "{source.claim_name}" not found')
            if "ReadWriteOncePod" in (claim.spec.access_modes or ()):
                exclusive.add(claim.name)
        disks = _disks_alone(pod, cluster)
        held: list[str] = []
        if exclusive:
            in_use = _claims_in_use(cluster)
            in_use.follow(cluster)
            held = sorted(name for name in exclusive if in_use.uses[pod.shape.namespace, name] > 0)
        if isinstance(disks, Skip) and not held:
            return SKIP
        clashing = None if isinstance(disks, Skip) else disks.disks
        return Restrictions(clashing, frozenset(exclusive), tuple(held))

    def filter(self, pod: PodInfo, nodes: NodeView, state: Restrictions | None) -> Iterator[Rejection]:
        if state is None:  # older minors can do without PreFilter
            alone = _disks_alone(pod, nodes.cluster)
            if isinstance(alone, Skip):
                return
            state = alone
        alive = np.ones(nodes.size, np.bool_)
        if state.disks is not None:
            clash = nodes.counts(state.disks) > 0
            yield Rejection(
                clash, DISK_CONFLICT, detail=lambda place: _clashes(pod.shape, nodes.cluster.pods_on[nodes.row(place)])
            )
            alive = ~clash
        uses = np.full(nodes.size, len(state.held), np.int64)
        if state.exclusive and nodes.moved_pods() is not None:
            shift = nodes.shift(nodes.cluster.tally(_moving(state.exclusive)))
            uses = uses if shift is None else uses + shift
        yield Rejection(
            alive & (uses > 0),
            ONE_POD_ONLY if self.handle.features.single_pod_claim_conflict_is_plural else ONE_POD_ONLY_BEFORE,
            detail=lambda place: f"claim {', '.join(state.held)} is ReadWriteOncePod and in use by another pod",
        )


def _disks_alone(pod: PodInfo, cluster: Cluster) -> Restrictions | Skip:
    """The restrictions of the pod's own disks, regardless of its claims."""
    disks = [volume for volume in pod.shape.spec.volumes or () if _is_exclusive_disk(volume)]
    return Restrictions(cluster.tally(_clashing(pod.shape, disks)), frozenset(), ()) if disks else SKIP


def _clashing(shape: PodShape, disks: Sequence[Volume]) -> TallySpec:
    """Counts pods that use one of the disks in a conflicting way."""

    def clashes(other: PodShape) -> int:
        return int(any(_clash(mine, its) for mine in disks for its in other.spec.volumes or ()))

    return TallySpec(("disks", shape.template), Weighing(of_template=clashes))


def _clashes(shape: PodShape, others: Sequence[PodInfo]) -> str:
    """Which disks are in use by which of the other pods."""
    return "; ".join(
        f"pod {other.key} uses the disk of volume {mine.name}"
        for mine in shape.spec.volumes or ()
        if _is_exclusive_disk(mine)
        for other in others
        if any(_clash(mine, its) for its in other.shape.spec.volumes or ())
    )


def _moving(exclusive: frozenset[str]) -> TallySpec:
    """Counts hypothetically moved pods by claim names alone, whatever their namespace, as upstream does."""
    named = Weighing(of_template=lambda other: sum(name in exclusive for name in _claims_named(other)))
    return TallySpec(("claims moved", exclusive), Weighing(), named)


def _claims_named(shape: PodShape) -> list[str]:
    sources = (volume.persistent_volume_claim for volume in shape.spec.volumes or ())
    return [source.claim_name for source in sources if source is not None]


def _is_exclusive_disk(volume: Volume) -> bool:
    sources = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.rbd, volume.iscsi)
    return any(source is not None for source in sources)


def _clash(volume: Volume, other: Volume) -> bool:
    """Whether two volumes are the same disk and may not both be mounted."""
    a, b = volume.gce_persistent_disk, other.gce_persistent_disk
    if a is not None and b is not None and a.pd_name == b.pd_name and not (a.read_only and b.read_only):
        return True
    a, b = volume.aws_elastic_block_store, other.aws_elastic_block_store
    if a is not None and b is not None and a.volume_id == b.volume_id:
        return True
    c, d = volume.iscsi, other.iscsi
    if c is not None and d is not None and c.iqn == d.iqn and not (c.read_only and d.read_only):
        return True
    e, f = volume.rbd, other.rbd
    return (
        e is not None
        and f is not None
        and bool(set(e.monitors or ()) & set(f.monitors or ()))
        and (e.pool, e.image) == (f.pool, f.image)
        and not (e.read_only and f.read_only)
    )


def _shares_volume(waiting: PodInfo, happening: EventOccurrence) -> bool:
    """Whether the pod that went used a disk or claim that the waiting one wants."""
    gone = happening.pod
    if gone is None or gone.shape.namespace != waiting.shape.namespace:
        return False
    mine, its = waiting.shape.spec.volumes or (), gone.shape.spec.volumes or ()
    if any(_clash(a, b) for a in mine if _is_exclusive_disk(a) for b in its):
        return True
    claims = {v.persistent_volume_claim.claim_name for v in mine if v.persistent_volume_claim is not None}
    return any(v.persistent_volume_claim is not None and v.persistent_volume_claim.claim_name in claims for v in its)
