"""Volumes: the topology that a pod's volumes require, CSI limits of nodes, and volumes that keep a pod from being
scheduled.

Upstream: volumetopology.go in pkg/controllers/provisioning/scheduling, pkg/scheduling/volumeusage.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.api.core import NodeSelectorRequirement, Pod, Volume
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.autoscaling.karpenter.requirements import (
    HOSTNAME,
    NONE,
    Requirements,
    conflicts,
    merge_requirements,
    of_expressions,
)
from kwhatif.plugins.shared.attachable_volumes import MIGRATED

BOUND = "pv.kubernetes.io/bind-completed"
_EBS = "ebs.csi.aws.com"

Used = Mapping[str, frozenset[str]]
"""Driver -> names of claims."""


class VolumeUsage(msgspec.Struct):
    """The volumes in use on a node, and how many of each driver it takes."""

    used: dict[str, set[str]] = {}
    limits: dict[str, int] = {}

    def add(self, volumes: Used) -> None:
        for driver, names in volumes.items():
            self.used.setdefault(driver, set()).update(names)

    def excess(self, volumes: Used) -> bool:
        """Whether a driver's limit is exceeded with these volumes, or already without them."""
        drivers = self.used.keys() | volumes.keys()
        return any(
            driver in self.limits
            and len(self.used.get(driver, set()) | volumes.get(driver, frozenset())) > self.limits[driver]
            for driver in drivers
        )

    def copy(self) -> VolumeUsage:
        return VolumeUsage({driver: set(names) for driver, names in self.used.items()}, dict(self.limits))


class VolumeNotFound(Exception):
    """A claim, volume or class that does not exist."""


class Volumes:
    """The cluster's claims, volumes and storage classes by name."""

    def __init__(self, objects: Objects, *, places_known: bool = True) -> None:
        """``places_known``: whether the topology of a bound claim's volume can be read."""
        self._places_known = places_known
        self._claims = {(claim.namespace, claim.name): claim for claim in objects.list_all(PersistentVolumeClaim)}
        self._volumes = {volume.name: volume for volume in objects.list_all(PersistentVolume)}
        self._classes = {storage_class.name: storage_class for storage_class in objects.list_all(StorageClass)}

    def _claim(self, pod: Pod, volume: Volume) -> PersistentVolumeClaim | None:
        """The claim behind a pod's volume, None for one without. Raises VolumeNotFound."""
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            name = f"{pod.name}-{volume.name}"
        else:
            return None
        claim = self._claims.get((pod.namespace, name))
        if claim is None:
            where = f"(PersistentVolumeClaim={name})"
            raise VolumeNotFound(f'getting persistent volume claim, persistentvolumeclaims "{name}" not found {where}')
        return claim

    # --- limits

    def of_pod(self, pod: Pod) -> Used | None:
        """The pod's volumes by driver; None if one of them cannot be resolved. Missing claims do not count."""
        by_driver: dict[str, set[str]] = {}
        for volume in pod.spec.volumes or ():
            try:
                claim = self._claim(pod, volume)
            except VolumeNotFound:
                continue
            if claim is None:
                continue
            try:
                driver = self._driver(claim)
            except VolumeNotFound:
                return None
            if driver:
                by_driver.setdefault(driver, set()).add(f"{claim.namespace}/{claim.name}")
        return {driver: frozenset(names) for driver, names in by_driver.items()}

    def _driver(self, claim: PersistentVolumeClaim) -> str:
        if claim.spec.volume_name:
            volume = self._volume(claim.spec.volume_name)
            if volume.spec.csi is not None:
                return volume.spec.csi.driver
            return _EBS if volume.spec.aws_elastic_block_store is not None else ""
        known = self._classes.get(claim.spec.storage_class_name or "")
        provisioner = (known.provisioner or "") if known else ""
        return MIGRATED.get(provisioner, provisioner)

    def _volume(self, name: str) -> PersistentVolume:
        if name not in self._volumes:
            raise VolumeNotFound(f'persistentvolumes "{name}" not found')
        return self._volumes[name]

    # --- requirements

    def requirements_of(self, pod: Pod) -> Sequence[Requirements]:
        """Alternative requirements of the pod's volumes on a node: empty if there are none. Raises VolumeNotFound."""
        so_far: list[Requirements] | None = None
        for volume in pod.spec.volumes or ():
            claim = self._claim(pod, volume)
            alternatives = self._of_claim(claim) if claim is not None else []
            if alternatives:
                so_far = _combine_alternatives(so_far, alternatives)
        return so_far or ()

    def _of_claim(self, claim: PersistentVolumeClaim) -> list[Requirements]:
        if claim.spec.volume_name:
            if not self._places_known:
                raise VolumeNotFound(
                    f'getting existing requirements, persistentvolumes "{claim.spec.volume_name}" not found'
                )
            return self._of_volume(self._volume(claim.spec.volume_name))
        name = claim.spec.storage_class_name
        if not name:
            return []
        if name not in self._classes:
            raise VolumeNotFound(
                f'getting storage class, storageclasses.storage.k8s.io "{name}" not found (StorageClass={name})'
            )
        terms = (
            [
                NodeSelectorRequirement(
                    key=topology_selector_requirement.key, operator="In", values=topology_selector_requirement.values
                )
                for topology_selector_requirement in term.match_label_expressions or ()
            ]
            for term in self._classes[name].allowed_topologies or ()
        )
        return [of_expressions(term) for term in terms if term]

    def _of_volume(self, volume: PersistentVolume) -> list[Requirements]:
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            return []
        terms: list[Requirements] = []
        for term in affinity.required.node_selector_terms or ():
            expressions = term.match_expressions or []
            # A volume of one node is lost with it: its pod may go to any other.
            local = volume.spec.local is not None or volume.spec.host_path is not None
            left = [expression for expression in expressions if not (local and expression.key == HOSTNAME)]
            if left:
                terms.append(of_expressions(left))
            elif local and expressions:
                terms.append(NONE)
        return terms

    # --- what keeps a pod from being scheduled

    def refusals(self, pod: Pod) -> list[str]:
        """Why Karpenter ignores a pod for its volumes: the first reason."""
        for volume in pod.spec.volumes or ():
            try:
                claim = self._claim(pod, volume)
            except VolumeNotFound as error:
                return [str(error)]
            refused = self._refusal(claim) if claim is not None else None
            if refused:
                return [refused]
        return []

    def _refusal(self, claim: PersistentVolumeClaim) -> str | None:
        key, class_name = f"{claim.namespace}/{claim.name}", claim.spec.storage_class_name or ""
        known = f"PersistentVolumeClaim={key}, StorageClass={class_name}"
        if claim.metadata.deletion_timestamp:
            return f"persistentvolumeclaim is being deleted (PersistentVolumeClaim={key})"
        name = claim.spec.volume_name or ""
        if claim.status.phase == "Lost":
            where = f"(PersistentVolume={name}, PersistentVolumeClaim={key})"
            return f"persistentvolumeclaim bound to non-existent persistentvolume {where}"
        if name:
            volume = self._volumes.get(name)
            wrong = (
                f'persistentvolumes "{name}" not found'
                if volume is None
                else "persistentvolume is being deleted"
                if volume.metadata.deletion_timestamp
                else None
            )
            if wrong:
                return f"failed to validate pvc, {wrong} (PersistentVolume={name}, {known})"
            if BOUND not in (claim.metadata.annotations or {}):
                return (
                    "pvc is considered unbound because it does not contain annotation "
                    f"(PersistentVolume={name}, PersistentVolumeClaim={claim.name}, annotation={BOUND})"
                )
            return None
        if not class_name:
            return f"unbound pvc must define a storage class ({known})"
        storage_class = self._classes.get(class_name)
        if storage_class is None:
            return (
                f'failed to validate pvc, failed to get storage class, storageclasses.storage.k8s.io "{class_name}" '
                f"not found ({known})"
            )
        if storage_class.volume_binding_mode == "Immediate":
            return f"failed to validate pvc, pvc with immediate volume binding mode must be bound ({known})"
        return None


def _combine_alternatives(so_far: list[Requirements] | None, alternatives: list[Requirements]) -> list[Requirements]:
    """The product of two lists of alternatives: compatible pairs or, if none are, all."""
    if so_far is None:
        return alternatives
    pairs = [(one, other) for one in so_far for other in alternatives]
    suiting = [(one, other) for one, other in pairs if not conflicts(one, other)]
    return [merge_requirements(one, *other.values()) for one, other in suiting or pairs]
