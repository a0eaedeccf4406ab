"""What drivers of storage write down: themselves, where they run, what room they have, and which volumes are attached.

Upstream: pkg/apis/storage/validation/validation.go, pkg/apis/storage/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.cluster_classes import check_parameters, check_provisioner
from kwhatif.admission.kinds.deprecated_labels import DEPRECATED_LABELS, term_warnings
from kwhatif.admission.kinds.persistent_volumes import check_inline_volume
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.validation.choices import check_choice
from kwhatif.admission.validation.name_rules import dns_subdomain, label_key
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_label_selector
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.validation.validate_template import not_negative
from kwhatif.admission.validation.validate_volume_sources import check_driver_name
from kwhatif.api.quantity import Quantity

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
    "CSIDriver": Strategy(_driver_defaults, _check_driver, warnings=_driver_warnings),
    "CSINode": Strategy(check=_check_node),
    "CSIStorageCapacity": Strategy(check=_check_capacity, warnings=_capacity_warnings, has_spec=False),
    "VolumeAttachment": Strategy(_attachment_defaults, _check_attachment),
    "VolumeAttributesClass": Strategy(check=_check_attributes, has_spec=False),
}
