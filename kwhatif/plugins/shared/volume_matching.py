"""Matching of volumes and claims: the smallest free volume that fits, on all nodes at once; reasons in words; and the
score by capacity (gates StorageCapacityScoring and VolumeCapacityPriority).

Claims that differ in size only share an index, in which volumes are sorted by size and grouped by the nodes that reach
them; of a group only the smallest free volumes can be chosen. Upstream: component-helpers/storage/volume/pv_helpers.go
(FindMatchingVolume), plugins/volumebinding/scorer.go and Score in volume_binding.go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec
import numpy as np

from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import RequiredNodeAffinity, Selector
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.storage import Storage, storage_class_of
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.arithmetic import broken_linear, go_round
from kwhatif.framework.interface import MAX_SCORE
from kwhatif.plugins.shared.node_resources import UtilizationShapePoint
from kwhatif.plugins.shared.volume_reach import (
    Affinity,
    affinity_of,
    affinity_on,
    allowed_topologies_of,
    enough_capacity,
    largest_volume,
    provisions,
    reach,
    reachable,
    reported_capacity,
    topologies_admit,
)
from kwhatif.results.amounts import format_amount, format_some
from kwhatif.versions import Features


class FreeVolumeIndex:
    """K volumes in G groups, and which of them are free.

    numbers   intp[K + 1]  the volumes' numbers in ``Storage.listed``, the smallest volume first; the last is -1
    group     intp[K]      the group of each
    row       intp[E]      for each pair of a node and a group it reaches, by node: the node
    offer     intp[E]      ... and the group
    """

    def __init__(self, volumes: Sequence[PersistentVolume], cluster: Cluster) -> None:
        storage = cluster.storage
        ranked = sorted(volumes, key=lambda volume: (volume.storage, volume.name))
        self._nodes = len(cluster)
        self._sizes = [volume.storage for volume in ranked]
        self._rank = {volume.name: rank for rank, volume in enumerate(ranked)}
        self.numbers: IntpArray = np.array([storage.number[volume.name] for volume in ranked] + [-1], np.intp)
        groups: dict[Affinity | None, int] = {}
        codes = [groups.setdefault(affinity_of(volume), len(groups)) for volume in ranked]
        self.group: IntpArray = np.array(codes, np.intp)
        self._rank_of: IntpArray = np.full(max(self.numbers.max(), 0) + 1, -1, np.intp)
        self._rank_of[self.numbers[:-1]] = np.arange(len(ranked))
        self._groups = len(groups)
        rows = [reach(cluster, affinity) for affinity in groups]
        row = np.concatenate([*rows, np.zeros(0, np.intp)])
        order = np.argsort(row, kind="stable")
        self.row: IntpArray = row[order]
        reached = np.array([len(some) for some in rows], np.intp)
        self.offer: IntpArray = np.repeat(np.arange(len(rows)), reached)[order]
        self._starts: IntpArray = np.flatnonzero(np.diff(self.row, prepend=-1))
        self._free: BoolArray = np.array([volume.name not in storage.reserved for volume in ranked], np.bool_)
        self._seen = len(storage.changes)

    def follow(self, storage: Storage) -> None:
        """Update after volumes were reserved or released."""
        for name in storage.changes[self._seen :]:
            rank = self._rank.get(name)
            if rank is not None:
                self._free[rank] = name not in storage.reserved
        self._seen = len(storage.changes)

    def free(self, request: Quantity) -> list[int]:
        """The numbers of the free volumes that are large enough, the smallest first."""
        first = bisect_left(self._sizes, request)
        sizes: list[int] = self.numbers[first:-1][self._free[first:]].tolist()
        return sizes

    def best(self, request: Quantity, chosen: IntpArray) -> IntpArray:
        """intp[N]: the number of the smallest volume that each node may get, -1 for none.

        ``chosen`` is intp[C, N], the numbers of volumes that are not to be had on the node.
        """
        got = np.full(self._nodes, -1, np.intp)
        first = bisect_left(self._sizes, request)
        left: IntpArray = first + np.flatnonzero(self._free[first:])
        if not len(self.row) or not len(left):
            return got
        # The free volumes of each group, the smallest first, one group after the other.
        order = np.argsort(self.group[left], kind="stable")
        by_group = left[order]
        counts = np.bincount(self.group[left], minlength=self._groups)
        begins = np.cumsum(counts) - counts
        place = np.full(len(self._sizes), -1, np.intp)
        place[by_group] = np.arange(len(left)) - begins[self.group[by_group]]
        skipped = self._skip_taken(chosen, place)
        offers = begins[self.offer] + skipped
        picked = np.where(
            skipped < counts[self.offer], by_group[np.minimum(offers, len(left) - 1)], np.intp(len(self._sizes))
        )
        got[self.row[self._starts]] = self.numbers[np.minimum.reduceat(picked, self._starts)]
        return got

    def _skip_taken(self, chosen: IntpArray, place: IntpArray) -> IntpArray:
        """intp[E]: how many of a group's first free volumes are not to be had on the node.

        ``place`` is where each volume stands among the free ones of its group, -1 for one that is not free.
        """
        skipped = np.zeros(len(self.row), np.intp)
        if not len(chosen):
            return skipped
        ranks = np.where(chosen < len(self._rank_of), self._rank_of[np.clip(chosen, 0, len(self._rank_of) - 1)], -1)
        ranks[chosen < 0] = -1
        where, row = np.nonzero(ranks >= 0)
        rank = ranks[where, row]
        row, rank = row[place[rank] >= 0], rank[place[rank] >= 0]
        keys = self.row * self._groups + self.offer
        pair = np.searchsorted(keys, row * self._groups + self.group[rank])
        # Those of a pair in order, each once: the first of them that leaves a gap ends what is skipped.
        pair, at = np.divmod(np.unique(pair * len(self._sizes) + place[rank]), len(self._sizes))
        begin = np.flatnonzero(np.diff(pair, prepend=-1))
        within = np.arange(len(pair)) - np.repeat(begin, np.diff(begin, append=len(pair)))
        return skipped + np.bincount(pair[at == within], minlength=len(self.row))


def match_volume(claim: PersistentVolumeClaim, cluster: Cluster, chosen: IntpArray, features: Features) -> IntpArray:
    """intp[N]: the number of the volume that the claim gets on each node, -1 for none.

    ``chosen`` is intp[C, N], what C earlier claims of the pod get. A volume that is kept for the claim is the only
    choice, except where it is taken.
    """
    got = np.full(len(cluster), -1, np.intp)
    open_: BoolArray = np.ones(len(cluster), np.bool_)
    kept = _find_prebound_volume(claim, cluster, features)
    if kept is not None:
        number = cluster.storage.number[kept.name]
        free = np.ones(len(cluster), np.bool_)
        free &= (chosen != number).all(axis=0)
        near = reach(cluster, affinity_of(kept))
        got[near[free[near]]] = number
        open_ = ~free
        if not open_.any():
            return got
    shelf = _shelf(claim, cluster, features)
    shelf.follow(cluster.storage)
    return np.where(open_, shelf.best(claim.storage, chosen), got)


def _find_prebound_volume(
    claim: PersistentVolumeClaim, cluster: Cluster, features: Features
) -> PersistentVolume | None:
    """The volume that is kept for the claim already, if it is large enough and of the right kind."""
    for volume in cluster.storage.prebound_volumes_of(claim):
        same_class = storage_class_of(volume) == storage_class_of(claim)
        if same_class and volume.storage >= claim.storage and _is_of(volume, _kind(claim, features)):
            return volume
    return None


def _is_of(volume: PersistentVolume, kind: tuple[str, str]) -> bool:
    """The conditions for a volume, its size aside, that hold even when it is prebound to the claim."""
    return _kind(volume) == kind and volume.metadata.deletion_timestamp is None


def _kind(
    volume_or_claim: PersistentVolume | PersistentVolumeClaim, features: Features | None = None
) -> tuple[str, str]:
    """Volume mode and attributes class; of a claim the latter counts only where there are such classes."""
    attributes = volume_or_claim.spec.volume_attributes_class_name or ""
    if features is not None and not features.volume_attributes_class:
        attributes = ""
    return volume_or_claim.spec.volume_mode or "Filesystem", attributes


def _shelf(claim: PersistentVolumeClaim, cluster: Cluster, features: Features) -> FreeVolumeIndex:
    """The index of free volumes for claims like this one, whatever their size."""
    selector = None if claim.spec.selector is None else Selector.from_label_selector(claim.spec.selector)
    modes = frozenset(claim.spec.access_modes or ())
    return _build_index(cluster, storage_class_of(claim), modes, selector, _kind(claim, features))


@cached_per_cluster
def _build_index(
    cluster: Cluster, class_name: str, modes: frozenset[str], selector: Selector | None, kind: tuple[str, str]
) -> FreeVolumeIndex:
    fitting = [
        volume
        for volume in cluster.storage.volumes_of_class(class_name)
        if volume.spec.claim_ref is None
        and _is_of(volume, kind)
        and volume.status.phase == "Available"
        and (selector is None or selector.matches(volume.metadata.labels or {}))
        and modes <= set(volume.spec.access_modes or ())
    ]
    return FreeVolumeIndex(fitting, cluster)


def free_volumes(claim: PersistentVolumeClaim, cluster: Cluster, features: Features) -> list[PersistentVolume]:
    """The volumes that the claim may get on one node or another: one that is kept for it, else those that are free."""
    kept = _find_prebound_volume(claim, cluster, features)
    if kept is not None:
        return [kept]
    shelf = _shelf(claim, cluster, features)
    shelf.follow(cluster.storage)
    return [cluster.storage.listed[number] for number in shelf.free(claim.storage)]


def why_unbound(claim: PersistentVolumeClaim, cluster: Cluster, features: Features) -> str:
    """Why a claim that is bound before its pod is scheduled has no volume yet: what volume controllers wait for."""
    whose = f"claim {claim.name}"
    if named := claim.spec.volume_name:
        volume = cluster.storage.volumes.get(named)
        return f"{whose} names volume {named}, which {'does not exist' if volume is None else 'is not bound to it yet'}"
    if free := free_volumes(claim, cluster, features):
        return f"{whose}: volume {free[0].name} fits, and is not bound to it yet"
    name = storage_class_of(claim)
    none = f"{whose}: no volume that fits is free"
    if not name:
        return f"{none}, and it has no class that would make one"
    storage_class = cluster.storage.classes.get(name)
    if storage_class is None:
        return f"{none}, and class {name} does not exist"
    if not provisions(storage_class):
        return f"{none}, and class {name} makes none"
    return f"{whose}: {storage_class.provisioner} of class {name} has not made its volume yet"


class Conflicts(msgspec.Struct, frozen=True, eq=False):
    """The claims of a pod: ``bound`` ones, and those that need provisioning, with the nodes where they do.

    Each method takes the row of a node that is known to conflict.
    """

    cluster: Cluster
    features: Features
    bound: Sequence[PersistentVolumeClaim]
    unmatched: Sequence[tuple[PersistentVolumeClaim, BoolArray]]

    def out_of_reach(self, row: int) -> str:
        """Bound volumes that cannot be reached from the node."""
        node = self.cluster.columns.nodes[row]
        keys = []
        for claim in self.bound:
            volume = self.cluster.storage.volumes.get(claim.spec.volume_name or "")
            if volume is not None and not reachable(volume, self.cluster)[row]:
                terms = affinity_on(volume, self.cluster, row)
                why = RequiredNodeAffinity(terms=terms).unmet(node)
                keys.append(f"claim {claim.name} is bound to volume {volume.name}, which {why}")
        return "; ".join(keys)

    def no_such_volume(self, row: int) -> str:
        """Claims that are bound to a volume which does not exist."""
        lost = (claim for claim in self.bound if (claim.spec.volume_name or "") not in self.cluster.storage.volumes)
        return "; ".join(
            f"claim {claim.name} is bound to volume {claim.spec.volume_name}, which does not exist" for claim in lost
        )

    def no_volume(self, row: int) -> str:
        """Claims that get no volume on the node: no free one is there, and none is provisioned there."""
        keys = []
        for claim, where in self.unmatched:
            selected = self.cluster.storage.selected_node(claim)
            if selected is not None and selected != self.cluster.columns.names[row]:
                keys.append(f"claim {claim.name}: its volume is being made for node {selected}")
            elif where[row] and (none_made := self._why_none_is_made(claim, row)):
                keys.append(f"claim {claim.name}: {self._why_none_is_free(claim, row)}, and {none_made}")
        return "; ".join(keys)

    def no_space(self, row: int) -> str:
        """Claims for which the driver reports too little room."""
        keys = []
        for claim, where in self.unmatched:
            storage_class = self.cluster.storage.classes[storage_class_of(claim)]
            admitted = where[row] and topologies_admit(self.cluster, storage_class.name)[row]
            if admitted and not enough_capacity(claim, storage_class, self.cluster)[row]:
                most = int(largest_volume(self.cluster, storage_class.name)[row])
                room = "no room" if most < 0 else f"room for {format_amount('memory', most)}"
                asks = f"claim {claim.name} asks for {claim.storage}"
                keys.append(f"{asks}, driver {storage_class.provisioner} reports {room} there")
        return "; ".join(keys)

    def _why_none_is_free(self, claim: PersistentVolumeClaim, row: int) -> str:
        free = free_volumes(claim, self.cluster, self.features)
        if not free:
            return "no volume that fits is free"
        return format_some([f"volume {volume.name} {self._why_not(volume, row)}" for volume in free])

    def _why_not(self, volume: PersistentVolume, row: int) -> str:
        unmet = RequiredNodeAffinity(terms=affinity_of(volume)).unmet(self.cluster.columns.nodes[row])
        return unmet or "goes to another claim of the pod"

    def _why_none_is_made(self, claim: PersistentVolumeClaim, row: int) -> str:
        """Why none is provisioned; empty if one is."""
        name = storage_class_of(claim)
        storage_class = self.cluster.storage.classes[name]
        if not provisions(storage_class):
            return f"class {name} makes none"
        if topologies_admit(self.cluster, name)[row]:
            return ""
        unmet = RequiredNodeAffinity(terms=allowed_topologies_of(storage_class)).unmet(self.cluster.columns.nodes[row])
        return f"class {name}, which would make one, {unmet}"


class _Use:
    """Requested and available capacity of one storage class, int64[N] each, and bool[N] where it is requested
    at all.
    """

    def __init__(self, size: int) -> None:
        self.asked: Int64Array = np.zeros(size, np.int64)
        self.there: Int64Array = np.zeros(size, np.int64)
        self.used: BoolArray = np.zeros(size, np.bool_)


def utilization_scores(
    static: Sequence[tuple[PersistentVolumeClaim, IntpArray]],
    provision: Sequence[tuple[PersistentVolumeClaim, BoolArray]],
    cluster: Cluster,
    points: Sequence[UtilizationShapePoint],
) -> Int64Array:
    """int64[N]: each storage class counts alike, by the requested share of the volumes or of the capacity.

    ``static`` are the numbers of the volumes that claims get (intp[N] each, -1 for none), ``provision`` claims with the
    nodes for which volumes are to be provisioned; the latter count where no volume is ready.
    """
    size = len(cluster)
    ready = np.zeros(size, np.bool_)
    for _, got in static:
        ready |= got >= 0
    uses: dict[str, _Use] = {}
    for claim, got in static:
        _count_ready(claim, got, cluster, uses)
    for claim, where in provision:
        _count_to_be_made(claim, where & ~ready, cluster, uses)
    scale = MAX_SCORE // 10
    shape = tuple((point.utilization, point.score * scale) for point in points)
    total, classes = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for use in uses.values():
        full = (use.there == 0) | (use.asked > use.there)
        percent = np.where(full, 100, use.asked * 100 // np.maximum(use.there, 1))
        total += np.where(use.used, broken_linear(shape, percent), 0)
        classes += use.used
    return np.where(classes == 0, 0, go_round(total / np.maximum(classes, 1)))


def _count_ready(claim: PersistentVolumeClaim, got: IntpArray, cluster: Cluster, uses: dict[str, _Use]) -> None:
    for number in np.unique(got[got >= 0]).tolist():
        volume = cluster.storage.listed[number]
        use = uses.setdefault(volume.spec.storage_class_name or "", _Use(len(cluster)))
        here = got == number
        use.asked[here] += claim.storage.value()
        use.there[here] += volume.storage.value()
        use.used |= here


def _count_to_be_made(claim: PersistentVolumeClaim, where: BoolArray, cluster: Cluster, uses: dict[str, _Use]) -> None:
    storage_class = cluster.storage.classes.get(storage_class_of(claim))
    if storage_class is None:
        return
    capacities = reported_capacity(claim, storage_class, cluster)
    here = where & (capacities >= 0)
    use = uses.setdefault(claim.spec.storage_class_name or "", _Use(len(cluster)))
    use.asked[here] += claim.storage.value()
    use.there[here] = capacities[here]  # of all claims of a class together, not of each
    use.used |= here
