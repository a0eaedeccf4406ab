"""What stands in for claims, volumes and classes that may be there: the cluster's own were not read.

A kind of which nobody has a list is unknown, not absent. What a pod refers to and is not there is taken to restrict no
pod, and the kind is a gap of the answer.
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.workloads_and_storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kwhatif.cluster.storage import BIND_COMPLETED, Storage, claim_names, storage_class_of

_CLAIM, _VOLUME, _CLASS = (kind.__name__ for kind in (PersistentVolumeClaim, PersistentVolume, StorageClass))
_NAME = "unknown"
_WAITS = "WaitForFirstConsumer"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def stand_in_for_unknown(pod: Pod, storage: Storage) -> None:
    """Put what a pod's claims lead to, and may be in the cluster, into its storage. Claims of ephemeral volumes are
    made by their controller: they are there.
    """
    if not storage.unknown:
        return
    namespace = pod.metadata.namespace or "default"
    for name, volume in claim_names(pod):
        claim = storage.claims.get((namespace, name))
        if claim is None:
            if _CLAIM not in storage.unknown or volume.ephemeral is not None:
                continue
            meta = ObjectMeta(name=name, namespace=namespace)
            claim = PersistentVolumeClaim(metadata=meta)
            claim = replace(claim, spec=replace(claim.spec, volume_name=_NAME))
        settled = _as_it_may_be(claim, storage)
        if settled is not claim:
            storage.put_stand_in(settled)


def _as_it_may_be(claim: PersistentVolumeClaim, storage: Storage) -> PersistentVolumeClaim:
    """The claim as it may well be: bound to a volume, or of a class that provisions volumes anywhere."""
    spec, is_named = claim.spec, bool(claim.spec.volume_name)
    if is_named and (spec.volume_name in storage.volumes or not {_CLAIM, _VOLUME} & storage.unknown):
        return claim
    if is_named:
        return _bind(claim, spec.volume_name or "", storage)
    class_name = storage_class_of(claim)
    there = storage.classes.get(class_name)
    if there is not None:
        static = there.provisioner == _NO_PROVISIONER and there.volume_binding_mode == _WAITS
        unknown = _VOLUME in storage.unknown and static and not storage.volumes_of_class(class_name)
        return _bind(claim, _NAME, storage) if unknown else claim
    if spec.storage_class_name == "":
        return _bind(claim, _NAME, storage) if _VOLUME in storage.unknown else claim
    if _CLASS not in storage.unknown:
        return claim
    name = class_name or _NAME
    storage.classes[name] = StorageClass(metadata=ObjectMeta(name=name), provisioner=_NAME, volume_binding_mode=_WAITS)
    return replace(claim, spec=replace(spec, storage_class_name=name)) if not class_name else claim


def _bind(claim: PersistentVolumeClaim, volume: str, storage: Storage) -> PersistentVolumeClaim:
    storage.volumes.setdefault(volume, PersistentVolume(metadata=ObjectMeta(name=volume)))
    annotations = {**(claim.metadata.annotations or {}), BIND_COMPLETED: "yes"}
    return replace(
        claim,
        metadata=replace(claim.metadata, annotations=annotations),
        spec=replace(claim.spec, volume_name=volume),
    )
