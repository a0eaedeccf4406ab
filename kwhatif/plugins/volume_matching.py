"""Which volumes a claim may get, and where volumes can be reached or made.

Upstream: component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume) and
plugins/volumebinding/binder.go (checkVolumeProvisions, hasEnoughCapacity).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import NodeTerm, RequiredNodeAffinity, Requirement, Selector, SelectorError
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import Storage, claim_names, class_of_claim
from kwhatif.cluster.types import BoolArray
from kwhatif.framework.events import Happening
from kwhatif.versions import Features

__all__ = [
    "NO_PROVISIONER",
    "admits",
    "candidates",
    "enough_capacity",
    "is_own_claim",
    "kept_for",
    "storage_request",
    "topologies_admit",
]

NO_PROVISIONER = "kubernetes.io/no-provisioner"
_NOTHING = Quantity.from_units(0)


def is_own_claim(waiting: PodInfo, happening: Happening) -> bool:
    """Whether a claim that changed is one of the waiting pod's."""
    if happening.claim is None or happening.claim[0] != waiting.shape.namespace:
        return False
    return any(name == happening.claim[1] for name, _ in claim_names(waiting.pod))


def storage_request(claim: PersistentVolumeClaim) -> Quantity:
    """How much a claim asks for; nothing if it does not say."""
    resources = claim.spec.resources
    return ((resources.requests if resources else None) or {}).get("storage", _NOTHING)


def admits(volume: PersistentVolume, columns: NodeColumns) -> BoolArray:
    """bool[N]: nodes from which a volume can be reached.

    Upstream matches a node that has labels but no name, so a volume's ``matchFields`` do not count.
    """
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return np.ones(len(columns), np.bool_)
    terms = tuple(t for t in map(NodeTerm.of, affinity.required.node_selector_terms or ()) if t is not None)
    by_labels = tuple(NodeTerm(term.expressions, (), term.broken) for term in terms)
    return columns.matching(RequiredNodeAffinity((), by_labels))


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim, storage: Storage, features: Features) -> bool:
    """What a volume has to meet even when it is kept for the claim."""
    if storage.holder(volume) is not None and not storage.holds(volume, claim):
        return False
    if (volume.spec.capacity or {}).get("storage", _NOTHING) < storage_request(claim):
        return False
    if (claim.spec.volume_mode or "Filesystem") != (volume.spec.volume_mode or "Filesystem"):
        return False
    wanted = (claim.spec.volume_attributes_class_name or "") if features.volume_attributes_class else ""
    if wanted != (volume.spec.volume_attributes_class_name or ""):
        return False
    return volume.metadata.deletion_timestamp is None


def kept_for(claim: PersistentVolumeClaim, storage: Storage, features: Features) -> PersistentVolume | None:
    """The volume that is kept for the claim already, if there is one; then no other comes into question."""
    for volume in storage.volumes_of_class(class_of_claim(claim)):
        if storage.holds(volume, claim) and _suits(volume, claim, storage, features):
            return volume
    return None


def candidates(claim: PersistentVolumeClaim, storage: Storage, features: Features) -> Iterator[PersistentVolume]:
    """Free volumes the claim may get, the smallest first."""
    selector = None if claim.spec.selector is None else Selector.of(claim.spec.selector)
    modes = set(claim.spec.access_modes or ())
    fitting = [
        volume
        for volume in storage.volumes_of_class(class_of_claim(claim))
        if _suits(volume, claim, storage, features)
        and volume.status.phase == "Available"
        and (selector is None or selector.matches(volume.metadata.labels or {}))
        and modes <= set(volume.spec.access_modes or ())
    ]
    yield from sorted(fitting, key=lambda volume: (volume.spec.capacity or {}).get("storage", _NOTHING))


def topologies_admit(storage_class: StorageClass, columns: NodeColumns) -> BoolArray:
    """bool[N]: nodes that the class's ``allowedTopologies`` admit."""
    terms = storage_class.allowed_topologies or ()
    if not terms:
        return np.ones(len(columns), np.bool_)
    allowed = np.zeros(len(columns), np.bool_)
    for term in terms:
        expressions = term.match_label_expressions or ()
        try:
            requirements = [Requirement(e.key, "In", tuple(e.values or ())) for e in expressions]
        except SelectorError:
            continue
        if requirements:
            allowed |= columns.matching_term(requirements, ())
    return allowed


def enough_capacity(
    claim: PersistentVolumeClaim, storage_class: StorageClass, storage: Storage, columns: NodeColumns
) -> BoolArray:
    """bool[N]: nodes for which the driver reports room for the claim, or reports nothing."""
    driver = storage.drivers.get(storage_class.provisioner or "")
    resources = claim.spec.resources
    asks = "storage" in ((resources.requests if resources else None) or {})
    if not asks or driver is None or not driver.spec.storage_capacity:
        return np.ones(len(columns), np.bool_)
    size = storage_request(claim).value()
    room = np.zeros(len(columns), np.bool_)
    for capacity in storage.capacities:
        limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
        if capacity.storage_class_name != storage_class.name or limit is None or limit.value() < size:
            continue
        if capacity.node_topology is None:
            continue
        try:
            room |= columns.matching_term(Selector.of(capacity.node_topology).requirements, ())
        except SelectorError:
            continue
    return room
