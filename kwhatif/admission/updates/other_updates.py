"""Immutable fields of configuration, quotas, bindings, claims, volumes, drivers and CustomResourceDefinitions. Existing
errors of a definition are tolerated.

Upstream: pkg/apis/core, pkg/apis/rbac and pkg/apis/storage, each in validation/validation.go;
apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.other_kinds.definitions import check_definition
from kwhatif.admission.other_kinds.networking import check_networks
from kwhatif.admission.request import deep_copy_json, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.updates.normal_form import differing, same
from kwhatif.admission.updates.update_rules import IMMUTABLE, ImmutableField, UpdateRules, immutable
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity

_SET = "field is immutable when `immutable` is set"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_CLAIM = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_BESIDES_SOURCE = (
    *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"),
    *("storageClassName", "volumeMode", "volumeAttributesClassName"),
)
_GENERAL_LABELS = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}


def _config_map(problems: Problems, new: Object, old: Object) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        problems.forbidden("immutable", _SET)
    for key in ("data", "binaryData"):
        # Go tells an empty map from a missing one, and stores none that is empty.
        if new.get(key) != (old.get(key) or None):
            problems.forbidden(key, _SET)


def _secret(problems: Problems, new: Object, old: Object) -> None:
    now, was = new.get("type") or "Opaque", old.get("type") or "Opaque"
    if now != was:
        problems.invalid("type", now, IMMUTABLE)
    _config_map(problems, new, old)


def _quota(problems: Problems, new: Object, old: Object) -> None:
    now, was = (section(quota, "spec").get("scopes") or [] for quota in (new, old))
    if set(now) != set(was):
        problems.invalid("spec.scopes", now, IMMUTABLE)


def _binding(problems: Problems, new: Object, old: Object) -> None:
    now, was = ({"apiGroup": "rbac.authorization.k8s.io", **_drop_empty(obj.get("roleRef"))} for obj in (new, old))
    if now != was:
        problems.invalid("roleRef", now, "cannot change roleRef")


def _drop_empty(reference: Object | None) -> Object:
    return {key: value for key, value in (reference or {}).items() if value}


def _driver(problems: Problems, new: Object, old: Object) -> None:
    before = {driver.get("name"): driver for driver in each(old.get("spec"), "drivers")}
    for driver in each(new.get("spec"), "drivers"):
        was = before.get(driver.get("name"))
        if was is not None and not same({**driver, "allocatable": None}, {**was, "allocatable": None}):
            problems.invalid("spec.drivers", driver, IMMUTABLE)


def _volume(problems: Problems, new: Object, old: Object) -> None:
    now, was = (_source(volume) for volume in (new, old))
    if "csi" in now and "csi" in was and was["csi"].get("controllerExpandSecretRef") is None:
        now["csi"] = {**now["csi"], "controllerExpandSecretRef": None}
    if not same(now, was):
        path = "spec.persistentvolumesource"
        problems.forbidden(path, f"{path} is immutable after creation" + differing(now, was, "spec"))
    immutable(problems, ImmutableField("spec.volumeMode", "Filesystem", reported_at="volumeMode"), new, old)
    spec, before = section(new, "spec"), section(old, "spec")
    affinity, pinned = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if pinned is not None and not same(_general(affinity), _general(pinned)):
        problems.invalid("nodeAffinity", affinity, f"{IMMUTABLE}, except for updating from beta label to GA")
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        problems.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _source(volume: Object) -> Object:
    return {key: value for key, value in section(volume, "spec").items() if key not in _BESIDES_SOURCE}


def _general(affinity: Object | None) -> Object:
    """Node affinity with the labels' names of today."""
    merged: Object = deep_copy_json(affinity or {})
    for term in each(merged.get("required"), "nodeSelectorTerms"):
        for item in each(term, "matchExpressions"):
            item["key"] = _GENERAL_LABELS.get(str(item.get("key")), item.get("key"))
    return merged


def _claim(problems: Problems, new: Object, old: Object) -> None:
    spec, was = deep_copy_json(section(new, "spec")), deep_copy_json(section(old, "spec"))
    status = section(old, "status")
    bound = status.get("phase") == "Bound"
    if not was.get("volumeName"):
        was["volumeName"] = spec.get("volumeName")
    now_class, old_class = (section(claim, "metadata", "annotations").get(_BETA_CLASS) for claim in (new, old))
    named = spec.get("storageClassName")
    unnamed_before = named is not None and was.get("storageClassName") is None
    if unnamed_before and old_class == named and now_class in (None, named):
        spec["storageClassName"] = None
    else:
        if now_class != old_class:
            problems.invalid(f"metadata.annotations.{_BETA_CLASS}", now_class or "", IMMUTABLE)
        if unnamed_before and old_class in (None, named):
            spec["storageClassName"] = None
    size, size_before = _size(spec), _size(was)
    if bound:
        if section(spec, "resources").get("requests") is not None:
            within(within(spec, "resources"), "requests")["storage"] = _requests(was).get("storage")
        spec["volumeAttributesClassName"] = was.get("volumeAttributesClassName")
    if not same(spec, was):
        problems.forbidden("spec", _CLAIM + differing(spec, was, "spec"))
    if size < size_before and size <= Quantity.from_json(section(status, "capacity").get("storage") or 0):
        problems.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    immutable(problems, ImmutableField("spec.volumeMode", "Filesystem", reported_at="volumeMode"), new, old)
    wanted = section(new, "spec").get("volumeAttributesClassName")
    if status.get("currentVolumeAttributesClassName") is not None and not wanted:
        what = "nil" if wanted is None else "empty string"
        why = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        problems.forbidden("spec.volumeAttributesClassName", why)


def _requests(spec: Object) -> Object:
    return section(spec, "resources", "requests")


def _size(spec: Object) -> Quantity:
    return Quantity.from_json(_requests(spec).get("storage") or 0)


def _node(problems: Problems, new: Object, old: Object) -> None:
    """Pod CIDRs and the provider ID of a node can be set only once."""
    spec, was = section(new, "spec"), section(old, "spec")
    networks, before = spec.get("podCIDRs") or [], was.get("podCIDRs") or []
    changed = sum(one != other for one, other in zip(before, networks, strict=False))
    why = 'node updates may not change {} except from "" to valid'
    for _ in range(1 if before and len(networks) != len(before) else changed):
        problems.forbidden("spec.podCIDRs", why.format("podCIDR"))
    if was.get("providerID") and spec.get("providerID") != was["providerID"]:
        problems.forbidden("spec.providerID", why.format("providerID"))
    if (spec.get("externalID") or "") != (was.get("externalID") or ""):
        problems.forbidden("spec.externalID", "may not be updated")


def _service_networks(problems: Problems, new: Object, old: Object) -> None:
    """A network of the other family may be added; those that are there stay."""
    networks, before = (section(obj, "spec").get("cidrs") or [] for obj in (new, old))
    if len(networks) != len(before) and (len(before), len(networks)) != (1, 2):
        problems.invalid("spec.cidrs", networks, IMMUTABLE)
        return
    for i, (one, other) in enumerate(zip(networks, before, strict=False)):
        if one != other:
            problems.invalid(f"spec.cidrs[{i}]", one, IMMUTABLE)
    if len(networks) > len(before):
        check_networks(problems, part_of(new, "spec"))


def _keep_request(new: Object, old: Object) -> None:
    """Updates cannot change what was requested."""
    new["spec"] = deep_copy_json(section(old, "spec"))


_UNTIL = "and must remain in spec.versions until a storage migration ensures no data remains persisted in"


def _definition(problems: Problems, new: Object, old: Object) -> None:
    before = Problems(problems.features)
    check_definition(before, old)
    problems.causes = [cause for cause in problems.causes if cause not in before.causes]
    status = section(old, "status")
    established = any(
        (condition.get("type"), condition.get("status")) == ("Established", "True")
        for condition in each(status, "conditions")
    )
    for path in (("spec.scope", "spec.names.kind") if established else ()) + ("spec.group", "spec.names.plural"):
        immutable(problems, ImmutableField(path), new, old)
    names = {version.get("name") for version in each(new.get("spec"), "versions")}
    for i, stored in enumerate(status.get("storedVersions") or ()):
        if stored not in names:
            was = f"{stored} was previously a storage version"
            why = (
                f"missing from spec.versions; {was}, {_UNTIL} {stored} and removes {stored} from status.storedVersions"
            )
            problems.invalid(f"status.storedVersions[{i}]", stored, why)


RULES = {
    "Node": UpdateRules(check=_node, spared=("metadata.name", "spec.podCIDRs")),
    "ServiceCIDR": UpdateRules(check=_service_networks, spared=("metadata.name", "spec.cidrs")),
    "CertificateSigningRequest": UpdateRules(prepare=_keep_request),
    "ConfigMap": UpdateRules(check=_config_map, first=True),
    "Secret": UpdateRules(check=_secret, first=True),
    "ResourceQuota": UpdateRules(check=_quota),
    "RoleBinding": UpdateRules(check=_binding),
    "ClusterRoleBinding": UpdateRules(check=_binding),
    "CSINode": UpdateRules(check=_driver),
    "PersistentVolume": UpdateRules(check=_volume),
    "PersistentVolumeClaim": UpdateRules(check=_claim),
    "CustomResourceDefinition": UpdateRules(check=_definition),
}
