"""Which volumes a claim may get.

Upstream: component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim
from kwhatif.api.selectors import Selector
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.memory import once_a_cluster
from kwhatif.cluster.storage import class_of
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.plugins.shared.volume_reach import affinity_of, reach
from kwhatif.plugins.shared.volume_shelves import Shelf
from kwhatif.versions import Features


def match(claim: PersistentVolumeClaim, cluster: Cluster, taken: Sequence[IntpArray], features: Features) -> IntpArray:
    """intp[N]: the number of the volume that the claim gets on each node, -1 for none.

    ``taken`` are what earlier claims of the pod get. A volume that is kept for the claim is the only choice, except
    where it is taken.
    """
    got = np.full(len(cluster), -1, np.intp)
    open_: BoolArray = np.ones(len(cluster), np.bool_)
    kept = _kept(claim, cluster, features)
    if kept is not None:
        number = cluster.storage.number[kept.name]
        free = np.ones(len(cluster), np.bool_)
        for earlier in taken:
            free &= earlier != number
        near = reach(cluster, affinity_of(kept))
        got[near[free[near]]] = number
        open_ = ~free
        if not open_.any():
            return got
    shelf = _shelf(claim, cluster, features)
    shelf.follow(cluster.storage)
    return np.where(open_, shelf.best(claim.storage, taken), got)


def _kept(claim: PersistentVolumeClaim, cluster: Cluster, features: Features) -> PersistentVolume | None:
    """The volume that is kept for the claim already, if it is large enough and of the right kind."""
    for volume in cluster.storage.kept_for(claim):
        same_class = class_of(volume) == class_of(claim)
        if same_class and volume.storage >= claim.storage and _is_of(volume, _kind(claim, features)):
            return volume
    return None


def _is_of(volume: PersistentVolume, kind: tuple[str, str]) -> bool:
    """What a volume has to meet even when it is kept for the claim, its size aside."""
    return _kind(volume) == kind and volume.metadata.deletion_timestamp is None


def _kind(thing: PersistentVolume | PersistentVolumeClaim, features: Features | None = None) -> tuple[str, str]:
    """Volume mode and attributes class; of a claim the latter counts only where there are such classes."""
    attributes = thing.spec.volume_attributes_class_name or ""
    if features is not None and not features.volume_attributes_class:
        attributes = ""
    return thing.spec.volume_mode or "Filesystem", attributes


def _shelf(claim: PersistentVolumeClaim, cluster: Cluster, features: Features) -> Shelf:
    """The free volumes that claims like this one may get, whatever their size."""
    selector = None if claim.spec.selector is None else Selector.of(claim.spec.selector)
    modes = frozenset(claim.spec.access_modes or ())
    return _stocked(cluster, class_of(claim), modes, selector, _kind(claim, features))


@once_a_cluster
def _stocked(
    cluster: Cluster, class_name: str, modes: frozenset[str], selector: Selector | None, kind: tuple[str, str]
) -> Shelf:
    fitting = [
        volume
        for volume in cluster.storage.volumes_of_class(class_name)
        if volume.spec.claim_ref is None
        and _is_of(volume, kind)
        and volume.status.phase == "Available"
        and (selector is None or selector.matches(volume.metadata.labels or {}))
        and modes <= set(volume.spec.access_modes or ())
    ]
    return Shelf(fitting, cluster)


def free_volumes(claim: PersistentVolumeClaim, cluster: Cluster, features: Features) -> list[PersistentVolume]:
    """The volumes that the claim may get on one node or another: one that is kept for it, else those that are free."""
    kept = _kept(claim, cluster, features)
    if kept is not None:
        return [kept]
    shelf = _shelf(claim, cluster, features)
    shelf.follow(cluster.storage)
    return [cluster.storage.listed[number] for number in shelf.free(claim.storage)]
