"""Persistent volumes.

Upstream: pkg/apis/core/validation/validation.go, pkg/api/persistentvolume/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.deprecated_labels import term_warnings
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.plugins.container_amounts import amounts
from kwhatif.admission.request import Request, each
from kwhatif.admission.validation.choices import check_choice
from kwhatif.admission.validation.name_rules import dns_label, dns_subdomain
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_node_selector
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.validation.validate_volume_sources import SOURCE_CHECKS, check_csi_driver
from kwhatif.admission.validation.validate_volumes import check_access_modes
from kwhatif.api.quantity import Quantity

# In the order in which upstream looks for them.
_SOURCES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
    *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk"),
    *("portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
_RECYCLE = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
_ANNOTATIONS = {
    "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_GONE = {
    "cephfs": "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
}


def _defaults(request: Request, spec: Object) -> None:
    spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def _check(problems: Problems, obj: Object) -> None:
    spec = obj["spec"]
    check_metadata(problems, obj)
    if not spec.get("accessModes"):
        problems.required("spec.accessModes")
    check_access_modes(problems, spec, "spec")
    _capacity(problems, spec)
    policy = spec["persistentVolumeReclaimPolicy"]
    check_choice(problems, policy, "spec.persistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain"))
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is None:
            problems.required("spec.nodeAffinity.required", "must specify required node constraints")
        else:
            check_node_selector(problems, affinity["required"], "spec.nodeAffinity.required")
    _source(problems, spec)
    if policy == "Recycle" and normpath((spec.get("hostPath") or {}).get("path") or ".").strip("/") == "":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        problems.forbidden("spec.persistentVolumeReclaimPolicy", why)
    its_class = spec.get("storageClassName")
    if its_class:
        problems.invalid("spec.storageClassName", its_class, *dns_subdomain(its_class))
    check_choice(problems, spec["volumeMode"], "spec.volumeMode", ("Block", "Filesystem"))
    attributes, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if attributes is not None:
        if not attributes:
            problems.required(path, "an empty string is disallowed")
        else:
            problems.invalid(path, attributes, *dns_subdomain(attributes))
        if spec.get("csi") is None:
            problems.required("spec.csi", "has to be specified when using volumeAttributesClassName")


def check_inline_volume(problems: Problems, spec: Object, path: str) -> None:
    """A volume that an attachment describes itself: one of a CSI driver, and nothing of what is decided elsewhere."""
    inline = "in the context of inline volumes"
    for key in ("claimRef", "capacity"):
        if spec.get(key):
            problems.forbidden(f"{path}.{key}", f"may not be specified {inline}")
    if spec.get("csi") is None:
        problems.required(f"{path}.csi", f"has to be specified {inline}")
    if not spec.get("accessModes"):
        problems.required(f"{path}.accessModes")
    check_access_modes(problems, spec, path)
    if (spec.get("persistentVolumeReclaimPolicy") or "Retain") != "Retain":
        problems.forbidden(f"{path}.persistentVolumeReclaimPolicy", f"may only be Retain {inline}")
    if spec.get("nodeAffinity") is not None:
        problems.forbidden(f"{path}.nodeAffinity", f"may not be specified {inline}")
    if spec.get("csi") is not None:
        _csi(problems, spec["csi"], f"{path}.csi")
    elif not any(spec.get(key) is not None for key in _SOURCES):
        problems.required(path, "must specify a volume type")
    if spec.get("storageClassName"):
        problems.forbidden(f"{path}.storageClassName", f"may not be specified {inline}")
    if (spec.get("volumeMode") or "Filesystem") != "Filesystem":
        problems.forbidden(f"{path}.volumeMode", f"may not specify volumeMode other than Filesystem {inline}")
    if spec.get("volumeAttributesClassName") is not None:
        problems.forbidden(f"{path}.volumeAttributesClassName", f"may not be specified {inline}")


def _capacity(problems: Problems, spec: Object) -> None:
    capacity = amounts(spec.get("capacity"))
    if not capacity:
        problems.required("spec.capacity")
    if list(capacity) != ["storage"]:
        problems.unsupported("spec.capacity", spec.get("capacity"), ("storage",))
    for name, amount in sorted(capacity.items()):
        if amount < Quantity.from_units(0):
            problems.invalid(f"spec.capacity[{name}]", amount.value(), "must be a valid resource quantity")
        if amount <= Quantity.from_units(0):
            problems.invalid(f"spec.capacity[{name}]", str(amount), "must be greater than zero")


def _source(problems: Problems, spec: Object) -> None:
    """Exactly one source, and what is in it."""
    first = ""
    for key in _SOURCES:
        source = spec.get(key)
        if source is None:
            continue
        if first and key != "flexVolume":
            path = "spec.cephFS" if key == "cephfs" else f"spec.{key}"
            problems.forbidden(path, "may not specify more than 1 volume type")
            continue
        first = first or key
        match key:
            case "csi":
                _csi(problems, source, "spec.csi")
            case "local":
                _local(problems, source, has_nodes=spec.get("nodeAffinity") is not None)
            case _:
                path = "spec.persistentDisk" if key == "gcePersistentDisk" else f"spec.{key}"
                SOURCE_CHECKS[key](problems, source, path)
    if not first:
        problems.required("spec", "must specify a volume type")


def _local(problems: Problems, source: Object, *, has_nodes: bool) -> None:
    place = source.get("path") or ""
    if not place:
        problems.required("spec.local.path")
    elif ".." in place.split("/"):
        problems.invalid("spec.local.path", place, "must not contain '..'")
    if not has_nodes:
        problems.required("spec.nodeAffinity", "Local volume requires node affinity")


def _csi(problems: Problems, source: Object, path: str) -> None:
    check_csi_driver(problems, source, path)
    if not source.get("volumeHandle"):
        problems.required(f"{path}.volumeHandle")
    for key in _SECRETS:
        secret: Object | None = source.get(key)
        if secret is None:
            continue
        for part in ("name", "namespace"):
            value, where = secret.get(part) or "", f"{path}.{key}.{part}"
            if not value:
                problems.required(where)
            else:
                problems.invalid(where, value, *(dns_label(value) if part == "namespace" else dns_subdomain(value)))


def _warnings(obj: Object, old: Object | None) -> Iterator[str]:
    spec, annotations = obj["spec"], (obj.get("metadata") or {}).get("annotations") or {}
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}"
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    for i, term in enumerate(each(required, "nodeSelectorTerms")):
        yield from term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]")
    yield from (text for key, text in _GONE.items() if spec.get(key) is not None)


STRATEGIES = {"PersistentVolume": Strategy(defaults=_defaults, check=_check, warnings=_warnings)}
