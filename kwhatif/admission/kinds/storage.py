"""PersistentVolume, PersistentVolumeClaim, CSIDriver, CSINode, CSIStorageCapacity and VolumeAttachment.

Upstream: pkg/apis/core/validation/validation.go, pkg/api/persistentvolume/util.go,
pkg/api/persistentvolumeclaim/util.go, pkg/apis/storage/validation/validation.go, pkg/apis/storage/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from kwhatif.admission.container_amounts import amounts
from kwhatif.admission.kinds.cluster_classes import check_parameters, check_provisioner
from kwhatif.admission.kinds.nodes import DEPRECATED_LABELS, term_warnings
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_choice, dns_label, dns_subdomain, label_key
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.pods import not_negative
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector, check_node_selector
from kwhatif.admission.validation.volume_sources import SOURCE_CHECKS, check_csi_driver, check_driver_name
from kwhatif.admission.validation.volumes import check_access_modes, check_claim_spec
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


def _default_volume(request: Request, spec: Object) -> None:
    spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def _check_volume(problems: Problems, obj: Object) -> None:
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
    """An inline volume of an attachment: one of a CSI driver, without the fields that only a PersistentVolume object
    can have.
    """
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


def _volume_warnings(obj: Object, old: Object | None) -> Iterator[str]:
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


_CLASS = "volume.beta.kubernetes.io/storage-class"


def _default_claim(request: Request, spec: Object) -> None:
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def _check_claim(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    check_claim_spec(problems, obj.get("spec") or {}, "spec")


def claim_warnings(spec: Object, path: str) -> Iterator[str]:
    """What is said of the spec of a claim, or of a template of claims."""
    resources = spec.get("resources") or {}
    for key in ("requests", "limits"):
        storage = amounts(resources.get(key)).get("storage")
        if storage is not None and storage.milli_value() % 1000:
            where = f"{path}.resources.{key}[storage]"
            yield f'{where}: fractional byte value "{storage}" is invalid, must be an integer'


def _claim_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if _CLASS in ((obj.get("metadata") or {}).get("annotations") or {}):
        yield f'metadata.annotations[{_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
    yield from claim_warnings(obj.get("spec") or {}, "spec")


_LONGEST_NODE_ID, _SHORTEST_PERIOD = 256, 10
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32
_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_MODES = ("Persistent", "Ephemeral")
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)
_NOT_EMPTY = "must specify non empty persistentVolumeName"


def _driver_defaults(request: Request, spec: Object) -> None:
    for key in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec[key] = bool(spec.get(key))
    spec["attachRequired"] = spec.get("attachRequired") is not False
    if spec.get("fsGroupPolicy") is None:
        spec["fsGroupPolicy"] = "ReadWriteOnceWithFSType"
    spec["volumeLifecycleModes"] = spec.get("volumeLifecycleModes") or ["Persistent"]


def _check_driver(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = obj["spec"]
    check_choice(problems, spec["fsGroupPolicy"], "spec.fsGroupPolicy", _POLICIES)
    audiences: set[str] = set()
    for i, token in enumerate(each(spec, "tokenRequests")):
        where, audience, seconds = (
            f"spec.tokenRequests[{i}]",
            token.get("audience") or "",
            token.get("expirationSeconds"),
        )
        if audience in audiences:
            problems.duplicate(f"{where}.audience", audience)
            continue
        audiences.add(audience)
        if seconds is not None and seconds < _SHORTEST_TOKEN:
            why = "may not specify a duration less than 10 minutes"
            problems.invalid(f"{where}.expirationSeconds", seconds, why)
        if seconds is not None and seconds > _LONGEST_TOKEN:
            why = "may not specify a duration larger than 2^32 seconds"
            problems.invalid(f"{where}.expirationSeconds", seconds, why)
    for mode in spec["volumeLifecycleModes"]:
        check_choice(problems, mode, "spec.volumeLifecycleModes", _MODES)
    period, secrets = spec.get("nodeAllocatableUpdatePeriodSeconds"), spec.get("serviceAccountTokenInSecrets")
    if period is not None and period < _SHORTEST_PERIOD:
        why = "must be greater than or equal to 10 seconds"
        problems.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why)
    if secrets is not None and not each(spec, "tokenRequests"):
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        problems.invalid("spec.serviceAccountTokenInSecrets", secrets, why)


def _check_node(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    names: set[str] = set()
    for i, driver in enumerate(each(obj.get("spec"), "drivers")):
        where, name, node = f"spec.drivers[{i}]", driver.get("name") or "", driver.get("nodeID") or ""
        check_driver_name(problems, name, f"{where}.name")
        if not node:
            problems.required(f"{where}.nodeID")
        if len(node.encode()) > _LONGEST_NODE_ID:
            problems.invalid(f"{where}.nodeID", node, f"must be {_LONGEST_NODE_ID} characters or less")
        not_negative(problems, driver.get("allocatable") or {}, "count", f"{where}.allocatable")
        if name in names:
            problems.duplicate(f"{where}.name", name)
        names.add(name)
        keys = driver.get("topologyKeys") or []
        for j, key in enumerate(keys):
            if not key:
                problems.required(where)
            if key in keys[:j]:
                problems.duplicate(where, key)
            problems.invalid(where, key, *label_key(key))


def _check_capacity(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    check_label_selector(problems, obj.get("nodeTopology"), "nodeTopology")
    its_class, capacity = obj.get("storageClassName") or "", obj.get("capacity")
    problems.invalid("storageClassName", its_class, *dns_subdomain(its_class))
    if capacity is not None and Quantity.from_json(capacity) < Quantity.from_units(0):
        problems.invalid("capacity", str(Quantity.from_json(capacity)), "must be greater than or equal to 0")


def _attachment_defaults(request: Request, spec: Object) -> None:
    inline = (spec.get("source") or {}).get("inlineVolumeSpec")
    if inline is not None and inline.get("volumeMode") is None:
        inline["volumeMode"] = "Filesystem"


def _check_attachment(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = obj["spec"]
    source, node = within(spec, "source"), spec.get("nodeName") or ""
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    check_driver_name(problems, spec.get("attacher") or "", "spec.attacher")
    if inline is None and volume is None:
        problems.required("spec.source", _ONE_SOURCE)
    elif inline is not None and volume is not None:
        problems.forbidden("spec.source", _ONE_SOURCE)
    elif volume == "":
        problems.required("spec.source.persistentVolumeName", _NOT_EMPTY)
    elif inline is not None:
        check_inline_volume(problems, inline, "spec.source.inlineVolumeSpec")
    problems.invalid("spec.nodeName", node, *dns_subdomain(node))
    if volume is not None:
        problems.invalid("spec.source.persistentVolumeName", volume, *dns_subdomain(volume))


def _check_attributes(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    check_provisioner(problems, obj.get("driverName") or "", "driverName")
    check_parameters(problems, obj.get("parameters") or {})
    if not obj.get("parameters"):
        problems.required("parameters", "must contain at least one key/value pair")


def _driver_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    spec, before = obj["spec"], each((old or {}).get("spec"), "tokenRequests")
    if each(spec, "tokenRequests") not in ([], before) and spec.get("serviceAccountTokenInSecrets") is None:
        yield _TOKENS


def _capacity_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    topology = obj.get("nodeTopology") or {}
    yield from term_warnings(topology, "nodeTopology")
    for key in (topology.get("matchLabels") or {}).keys() & DEPRECATED_LABELS.keys():
        yield f"nodeTopology.matchLabels.{key}: {DEPRECATED_LABELS[key]}"


STRATEGIES = {
    "PersistentVolume": Strategy(defaults=_default_volume, check=_check_volume, warnings=_volume_warnings),
    "PersistentVolumeClaim": Strategy(defaults=_default_claim, check=_check_claim, warnings=_claim_warnings),
    "CSIDriver": Strategy(_driver_defaults, _check_driver, warnings=_driver_warnings),
    "CSINode": Strategy(check=_check_node),
    "CSIStorageCapacity": Strategy(check=_check_capacity, warnings=_capacity_warnings, has_spec=False),
    "VolumeAttachment": Strategy(_attachment_defaults, _check_attachment),
    "VolumeAttributesClass": Strategy(check=_check_attributes, has_spec=False),
}
