"""Volumes and claims in the scheduler's cache, with bindings that are assumed but not yet made.

Upstream: pkg/scheduler/framework/plugins/volumebinding (assume caches) and component-helpers/storage/volume.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from kwhatif.api.core import Pod, Volume
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"

ClaimKey = tuple[str, str]
"""(namespace, name)."""


class Assumptions(msgspec.Struct, frozen=True):
    """The volumes and assumptions at some moment."""

    changes: int
    version: int
    claims: dict[ClaimKey, PersistentVolumeClaim]
    volumes: dict[str, PersistentVolume]
    reserved: dict[str, ClaimKey]
    selected: dict[ClaimKey, str]
    kept: dict[ClaimKey, tuple[PersistentVolume, ...]]


class Storage:
    """Claims, volumes and classes by name.

    ``reserved`` maps a volume's name to the claim it is assumed to be bound to, ``selected`` a claim to the node
    that provisioning is assumed to happen for. ``version`` changes with every assumption; ``changes`` are the names
    of volumes that were reserved or given back, oldest first. Volumes are numbered: ``listed`` has them by name.
    Of ``unknown`` kinds there may be more than is known; ``stand_ins`` has the claims that were put in place of others,
    or of None (``unknown_storage``).
    """

    KINDS = frozenset(
        kind.__name__
        for kind in (
            CSIDriver,
            CSINode,
            CSIStorageCapacity,
            PersistentVolume,
            PersistentVolumeClaim,
            StorageClass,
            VolumeAttachment,
        )
    )

    def __init__(self, objects: Objects) -> None:
        self.claims = {(c.namespace, c.name): c for c in objects.list_all(PersistentVolumeClaim)}
        self.volumes = {v.name: v for v in objects.list_all(PersistentVolume)}
        self.classes = {c.name: c for c in objects.list_all(StorageClass)}
        self.csi_nodes = {n.name: n for n in objects.list_all(CSINode)}
        self.drivers = {d.name: d for d in objects.list_all(CSIDriver)}
        self.capacities = list(objects.list_all(CSIStorageCapacity))
        self.attachments = list(objects.list_all(VolumeAttachment))
        self.listed = sorted(self.volumes.values(), key=lambda v: v.name)
        self.number = {volume.name: number for number, volume in enumerate(self.listed)}
        self._by_class: dict[str, list[PersistentVolume]] = {}
        kept: dict[ClaimKey, list[PersistentVolume]] = {}
        for volume in self.listed:
            self._by_class.setdefault(storage_class_of(volume), []).append(volume)
            ref = volume.spec.claim_ref
            if ref is not None:
                kept.setdefault((ref.namespace or "", ref.name or ""), []).append(volume)
        self._kept = {claim: tuple(volumes) for claim, volumes in kept.items()}
        self._keys_of_driver: dict[str, set[str]] | None = None
        self.reserved: dict[str, ClaimKey] = {}
        self.selected: dict[ClaimKey, str] = {}
        self.version = 0
        self.changes: list[str] = []
        self.unknown: frozenset[str] = frozenset()
        self.stand_ins: dict[ClaimKey, PersistentVolumeClaim | None] = {}

    def fork(self) -> Storage:
        """An independent copy; the objects are shared."""
        twin = object.__new__(Storage)
        twin.__dict__ |= self.__dict__
        twin.claims, twin.volumes = dict(self.claims), dict(self.volumes)
        twin.reserved, twin.selected = dict(self.reserved), dict(self.selected)
        twin._kept, twin.changes = dict(self._kept), []
        twin.stand_ins = dict(self.stand_ins)
        return twin

    def checkpoint(self) -> Assumptions:
        """What is assumed so far, for ``go_back``."""
        return Assumptions(
            len(self.changes),
            self.version,
            dict(self.claims),
            dict(self.volumes),
            dict(self.reserved),
            dict(self.selected),
            dict(self._kept),
        )

    def go_back(self, to: Assumptions) -> None:
        """Undo all that was assumed since."""
        if self.version == to.version and len(self.claims) == len(to.claims):
            return
        own = {key: self.claims[key] for key in self.stand_ins}
        self.claims, self.volumes, self._kept = {**to.claims, **own}, {**self.volumes, **to.volumes}, to.kept
        self.reserved, self.selected = to.reserved, to.selected
        self.changes += self.changes[to.changes :]
        self.version += 1

    def volumes_of_class(self, name: str) -> list[PersistentVolume]:
        """Volumes of a class, by name. Upstream's order is random; it shows only between equal sizes."""
        return self._by_class.get(name, [])

    def topology_keys(self, driver: str, node: str) -> Collection[str] | None:
        """The labels of a node that say from where a volume is reached which the driver makes there, None if unknown.

        A driver may register more keys (CSINode) than its volumes go by, so those that it made tell first.
        """
        if self._keys_of_driver is None:
            self._keys_of_driver = {}
            for volume in self.listed:
                required = volume.spec.node_affinity and volume.spec.node_affinity.required
                if volume.spec.csi is not None and required:
                    keys = self._keys_of_driver.setdefault(volume.spec.csi.driver, set())
                    for term in required.node_selector_terms or ():
                        keys.update(requirement.key for requirement in term.match_expressions or ())
        if self._keys_of_driver.get(driver):
            return self._keys_of_driver[driver]
        csi_node = self.csi_nodes.get(node)
        drivers = (csi_node.spec.drivers if csi_node else None) or ()
        return next((one.topology_keys or () for one in drivers if one.name == driver), None)

    def holder(self, volume: PersistentVolume) -> tuple[ClaimKey, str] | None:
        """The claim a volume is kept for and that claim's uid ("" if it is not given), or None for a free one."""
        assumed = self.reserved.get(volume.name)
        if assumed is not None:
            claim = self.claims.get(assumed)
            return assumed, (claim.metadata.uid or "" if claim else "")
        ref = volume.spec.claim_ref
        return None if ref is None else ((ref.namespace or "", ref.name or ""), ref.uid or "")

    def holds(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
        """Whether the volume is kept for this claim (upstream: IsVolumeBoundToClaim)."""
        held = self.holder(volume)
        if held is None or held[0] != (claim.namespace, claim.name):
            return False
        return not held[1] or held[1] == (claim.metadata.uid or "")

    def prebound_volumes_of(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """The volumes that are kept for a claim, by name."""
        volumes = self._kept.get((claim.namespace, claim.name), ())
        return sorted((volume for volume in volumes if self.holds(volume, claim)), key=lambda volume: volume.name)

    def _keep(self, claim: ClaimKey, volume: PersistentVolume) -> None:
        volumes = self._kept.get(claim, ())
        if all(kept is not volume for kept in volumes):
            self._kept[claim] = (*volumes, volume)

    def selected_node(self, claim: PersistentVolumeClaim) -> str | None:
        """The node a claim's volume is being provisioned for."""
        assumed = self.selected.get((claim.namespace, claim.name))
        return assumed if assumed is not None else (claim.metadata.annotations or {}).get(SELECTED_NODE)

    def fully_bound(self, claim: PersistentVolumeClaim) -> bool:
        return bool(claim.spec.volume_name) and BIND_COMPLETED in (claim.metadata.annotations or {})

    def reserve(self, volume: str, claim: ClaimKey) -> None:
        """Assume a volume bound to a claim."""
        self.reserved[volume] = claim
        self._keep(claim, self.volumes[volume])
        self.changes.append(volume)
        self.version += 1

    def select(self, claim: ClaimKey, node: str) -> None:
        """Assume that a claim's volume is provisioned for a node."""
        self.selected[claim] = node
        self.version += 1

    def complete(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        """A volume that a node was selected for has been made and bound."""
        key = (claim.namespace, claim.name)
        self.claims[key], self.volumes[volume.name] = claim, volume
        self.selected.pop(key, None)
        self._keep(key, volume)
        self.version += 1

    def release(self, volumes: list[str], claims: list[ClaimKey]) -> None:
        """Undo assumptions."""
        for volume in volumes:
            self.reserved.pop(volume, None)
            self.changes.append(volume)
        for claim in claims:
            self.selected.pop(claim, None)
        self.version += 1

    def add_claim(self, claim: PersistentVolumeClaim) -> None:
        """A claim that a controller would have made by now; if it is bound, its volume is among ``volumes``."""
        if not self.has_claim(claim):
            self.claims[claim.namespace, claim.name] = claim
            self.stand_ins.pop((claim.namespace, claim.name), None)

    def put_stand_in(self, claim: PersistentVolumeClaim) -> None:
        """A claim in place of one that is not fully known, or not known to be there."""
        key = claim.namespace, claim.name
        self.stand_ins.setdefault(key, self.claims.get(key))
        self.claims[key] = claim

    def has_claim(self, claim: PersistentVolumeClaim) -> bool:
        """Whether there is a claim of this name, and it is not being deleted."""
        key = claim.namespace, claim.name
        stored = self.stand_ins[key] if key in self.stand_ins else self.claims.get(key)
        return stored is not None and stored.metadata.deletion_timestamp is None

    def delete_claim(self, key: ClaimKey) -> None:
        """A claim (namespace, name) is gone. Its volume stays, released: nobody else gets it."""
        self.stand_ins.pop(key, None)
        if self.claims.pop(key, None) is not None:
            self.selected.pop(key, None)
            self.version += 1


def storage_class_of(obj: PersistentVolumeClaim | PersistentVolume) -> str:
    """The name of the storage class, by the annotation that came before the field if there is one."""
    annotations: Mapping[str, str] = obj.metadata.annotations or {}
    return annotations.get(_BETA_CLASS, obj.spec.storage_class_name or "")


def claim_names(pod: Pod) -> Iterator[tuple[str, Volume]]:
    """The claims behind a pod's volumes, in their order; those of ephemeral volumes are named after the pod."""
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, volume
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}", volume
