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
from kwhatif.admission.kinds.pod_warnings import claim_warnings
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import label_key
from kwhatif.admission.validation.metadata import annotations_of, object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_not_negative
from kwhatif.admission.validation.rows import table
from kwhatif.admission.validation.scheduling_constraints import check_label_selector, check_node_selector
from kwhatif.admission.validation.volume_sources import SOURCE_CHECKS, SOURCE_PATHS, check_driver_name
from kwhatif.admission.validation.volumes import check_access_modes, check_claim_spec
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity

# In the order in which upstream looks for them.
_SOURCES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
    *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk"),
    *("portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
_RECYCLE = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
_CLASS = "volume.beta.kubernetes.io/storage-class"
_ANNOTATIONS = {
    _CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
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


def _capacity(problems: Problems, spec: Object, path: str) -> None:
    capacity = amounts(spec.get("capacity"))
    if not capacity:
        problems.required("spec.capacity")
    if list(capacity) != ["storage"]:
        problems.not_supported("spec.capacity", spec.get("capacity"), ("storage",))
    for name, amount in sorted(capacity.items()):
        if amount < Quantity.from_units(0):
            problems.invalid(f"spec.capacity[{name}]", amount.value(), "must be a valid resource quantity")
        if amount <= Quantity.from_units(0):
            problems.invalid(f"spec.capacity[{name}]", str(amount), "must be greater than zero")


def _source(problems: Problems, spec: Object, path: str) -> None:
    """Exactly one source, and what is in it."""
    first = ""
    for key in _SOURCES:
        source = spec.get(key)
        if source is None:
            continue
        if first and key != "flexVolume":
            problems.forbidden(
                "spec.cephFS" if key == "cephfs" else f"spec.{key}", "may not specify more than 1 volume type"
            )
            continue
        first = first or key
        _CHECKS[key](problems, source, f"spec.{SOURCE_PATHS.get(key, key)}")
        if key in _NAMESPACES:
            _NAMESPACES[key](problems, source, f"spec.{key}")
        if key == "local" and spec.get("nodeAffinity") is None:
            problems.required("spec.nodeAffinity", "Local volume requires node affinity")
    if not first:
        problems.required("spec", "must specify a volume type")


def _is_root(spec: Object) -> bool:
    return normpath(section(spec, "hostPath").get("path") or ".").strip("/") == ""


def _is_no_csi_volume(spec: Object) -> bool:
    return all(spec.get(key) is None for key in _SOURCES)


_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
_CSI = table(
    """
    driver                       text & check_driver_name
    volumeHandle                 required
    """
    + "".join(
        f"{key}?.name required & dns_subdomain\n    {key}?.namespace required & dns_label\n    " for key in _SECRETS
    ),
    check_driver_name,
)
_LOCAL = table("""
    path                         required
    path                         if_nonempty & no_backsteps
""")
# What of a volume's source is in a namespace, which a pod's has from the pod.
_NAMESPACES = {
    "glusterfs": table(
        """
        endpointsNamespace       if_nonempty & dns_label
        endpointsNamespace       invalid if unnamed: if the endpointnamespace is set, it must be a valid namespace name
        """,
        unnamed=lambda source: source.get("endpointsNamespace") == "",
    ),
    "cinder": table("secretRef?.namespace required"),
    "azureFile": table(
        "secretNamespace missing if unnamed", unnamed=lambda source: source.get("secretNamespace") == ""
    ),
    "storageos": table("secretRef?.namespace required"),
}
_CHECKS = {**SOURCE_CHECKS, "csi": _CSI, "local": _LOCAL}
_VOLUME = object_table(
    """
    spec.accessModes                     required
    spec                                 check_access_modes
    spec                                 _capacity
    spec.persistentVolumeReclaimPolicy   one_of Delete Recycle Retain
    spec.nodeAffinity?.required          present: must specify required node constraints
    spec.nodeAffinity?.required          check_node_selector
    spec                                 _source
    spec?.persistentVolumeReclaimPolicy  forbidden if persistentVolumeReclaimPolicy=Recycle and _is_root:
            may not be 'recycle' for a hostPath mount of '/'
    spec.storageClassName                if_nonempty & dns_subdomain
    spec.volumeMode                      one_of Block Filesystem
    spec.volumeAttributesClassName       missing if no_attributes: an empty string is disallowed
    spec.volumeAttributesClassName       if_nonempty & dns_subdomain
    spec.csi                             missing if spec.volumeAttributesClassName? and no_csi:
            has to be specified when using volumeAttributesClassName
    """,
    *(check_access_modes, _capacity, _source, _is_root),
    check_node_selector=check_node_selector,
    no_attributes=lambda obj: part_of(obj, "spec").get("volumeAttributesClassName") == "",
    no_csi=lambda obj: part_of(obj, "spec").get("csi") is None,
)
_INLINE_VOLUME = table(
    """
    claimRef                         if_nonempty & forbidden: may not be specified INLINE
    capacity                         if_nonempty & forbidden: may not be specified INLINE
    csi                              present: has to be specified INLINE
    accessModes                      required
    .                                check_access_modes
    persistentVolumeReclaimPolicy    if_nonempty & forbidden unless persistentVolumeReclaimPolicy=Retain:
            may only be Retain INLINE
    nodeAffinity                     forbidden: may not be specified INLINE
    csi                              csi
    .                                missing if _is_no_csi_volume: must specify a volume type
    storageClassName                 if_nonempty & forbidden: may not be specified INLINE
    volumeMode                       if_nonempty & forbidden unless volumeMode=Filesystem:
            may not specify volumeMode other than Filesystem INLINE
    volumeAttributesClassName        forbidden: may not be specified INLINE
    """.replace("INLINE", "in the context of inline volumes"),
    *(check_access_modes, _is_no_csi_volume),
    csi=_CSI,
)


def _volume_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    spec, annotations = part_of(obj, "spec"), annotations_of(obj)
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}"
    required = section(spec, "nodeAffinity", "required")
    for i, term in enumerate(each(required, "nodeSelectorTerms")):
        yield from term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]")
    yield from (text for key, text in _GONE.items() if spec.get(key) is not None)


_DATA_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_SOURCE_FIELDS = ("apiGroup", "kind", "name")


def _default_claim(request: Request, spec: Object) -> None:
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    before = section(request.old, "spec")
    _drop_data_sources(spec, before)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = {key: source[key] for key in _SOURCE_FIELDS if key in source}
    elif source is None and reference is not None and not reference.get("namespace"):
        spec["dataSource"] = {key: reference[key] for key in _SOURCE_FIELDS if key in reference}


def _drop_data_sources(spec: Object, before: Object) -> None:
    """Without a word, a source in another namespace is dropped, and one that only newer fields can name."""
    if section(spec, "dataSourceRef").get("namespace") and before.get("dataSourceRef") is None:
        del spec["dataSourceRef"]
    if spec.get("dataSourceRef") is None and before.get("dataSource") is before.get("dataSourceRef") is None:
        source = section(spec, "dataSource")
        if (source.get("apiGroup") or "", source.get("kind") or "") not in _DATA_SOURCES:
            spec.pop("dataSource", None)


def _claim_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    if _CLASS in annotations_of(obj):
        yield f"metadata.annotations[{_CLASS}]: {_ANNOTATIONS[_CLASS]}"
    yield from claim_warnings(section(obj, "spec"), "spec")


_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def _driver_defaults(request: Request, spec: Object) -> None:
    for key in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec[key] = bool(spec.get(key))
    spec["attachRequired"] = spec.get("attachRequired") is not False
    if spec.get("fsGroupPolicy") is None:
        spec["fsGroupPolicy"] = "ReadWriteOnceWithFSType"
    spec["volumeLifecycleModes"] = spec.get("volumeLifecycleModes") or ["Persistent"]


_CSI_DRIVER = object_table(
    f"""
    spec.fsGroupPolicy                       one_of File None ReadWriteOnceWithFSType
    spec.tokenRequests[]                     unique audience stops_item
    spec.tokenRequests[].expirationSeconds   at_least 600: may not specify a duration less than 10 minutes
    spec.tokenRequests[].expirationSeconds   at_most {1 << 32}: may not specify a duration larger than 2^32 seconds
    spec.volumeLifecycleModes                each one_of Persistent Ephemeral
    spec.nodeAllocatableUpdatePeriodSeconds  at_least 10: must be greater than or equal to 10 seconds
    spec.serviceAccountTokenInSecrets        invalid unless spec.tokenRequests:
            serviceAccountTokenInSecrets is set but no tokenRequests are specified
    """
)


def _topology_keys(problems: Problems, driver: Object, path: str) -> None:
    keys = driver.get("topologyKeys") or []
    for i, key in enumerate(keys):
        if not key:
            problems.required(path)
        if key in keys[:i]:
            problems.duplicate(path, key)
        problems.invalid(path, key, *label_key(key))


_CSI_NODE = object_table(
    """
    spec.drivers[].name                  text & check_driver_name
    spec.drivers[].nodeID                required & max_bytes 256: must be 256 characters or less
    spec.drivers[].allocatable.count     at_least 0
    spec.drivers[]                       unique name
    spec.drivers[]                       _topology_keys
    """,
    *(check_driver_name, _topology_keys),
)


_CSI_STORAGE_CAPACITY = object_table(
    """
    nodeTopology                 check_label_selector
    storageClassName             text & dns_subdomain
    capacity                     check_not_negative
    """,
    check_not_negative,
    check_label_selector=check_label_selector,
)


def _attachment_defaults(request: Request, spec: Object) -> None:
    inline = section(spec, "source").get("inlineVolumeSpec")
    if inline is not None and inline.get("volumeMode") is None:
        inline["volumeMode"] = "Filesystem"


_ATTACHMENT = object_table(
    f"""
    spec.attacher                        text & check_driver_name
    spec.source                  missing unless spec.source.inlineVolumeSpec? or spec.source.persistentVolumeName?:
            {_ONE_SOURCE}
    spec.source                  forbidden if spec.source.inlineVolumeSpec? and spec.source.persistentVolumeName?:
            {_ONE_SOURCE}
    spec.source?.persistentVolumeName    text & missing if unnamed: must specify non empty persistentVolumeName
    spec.source?.inlineVolumeSpec        inline unless persistentVolumeName?
    spec.nodeName                        text & dns_subdomain
    spec.source.persistentVolumeName     dns_subdomain
    """,
    check_driver_name,
    inline=_INLINE_VOLUME,
    unnamed=lambda source: source.get("persistentVolumeName") == "" and source.get("inlineVolumeSpec") is None,
)
_ATTRIBUTES = object_table(
    """
    driverName                   text & check_provisioner
    parameters                   part & check_parameters
    parameters                   required: must contain at least one key/value pair
    """,
    *(check_provisioner, check_parameters),
)


def _driver_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    spec, before = part_of(obj, "spec"), each((old or {}).get("spec"), "tokenRequests")
    if each(spec, "tokenRequests") not in ([], before) and spec.get("serviceAccountTokenInSecrets") is None:
        yield _TOKENS


def _capacity_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    topology = section(obj, "nodeTopology")
    yield from term_warnings(topology, "nodeTopology")
    labels = section(topology, "matchLabels")
    yield from (f"nodeTopology.matchLabels.{key}: {text}" for key, text in DEPRECATED_LABELS.items() if key in labels)


STRATEGIES = {
    "PersistentVolume": Strategy(defaults=_default_volume, check=_VOLUME, warnings=_volume_warnings),
    "PersistentVolumeClaim": Strategy(
        defaults=_default_claim,
        check=object_table("spec part & check_claim_spec", check_claim_spec),
        warnings=_claim_warnings,
    ),
    "CSIDriver": Strategy(_driver_defaults, _CSI_DRIVER, warnings=_driver_warnings),
    "CSINode": Strategy(check=_CSI_NODE),
    "CSIStorageCapacity": Strategy(check=_CSI_STORAGE_CAPACITY, warnings=_capacity_warnings, has_spec=False),
    "VolumeAttachment": Strategy(_attachment_defaults, _ATTACHMENT),
    "VolumeAttributesClass": Strategy(check=_ATTRIBUTES, has_spec=False),
}
