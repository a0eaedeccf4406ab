"""Validation of a pod's volumes and of claims.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.container_amounts import amounts
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_label, dns_subdomain
from kwhatif.admission.validation.metadata import check_template_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.admission.validation.volume_sources import SOURCE_CHECKS, SOURCE_PATHS
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity

_REFERENCE = ("apiGroup", "kind", "name")
_DEFAULT_GROUP = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"


def check_data_sources(problems: Problems, spec: Object, path: str) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _check(problems, source, f"{path}.dataSource")
    if reference is not None:
        _check(problems, reference, f"{path}.dataSourceRef")
        if reference.get("namespace"):
            problems.invalid(
                f"{path}.dataSourceRef.namespace", reference["namespace"], *dns_label(reference["namespace"])
            )
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        problems.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(key) != reference.get(key) for key in _REFERENCE):
        problems.invalid(path, {}, "must match dataSourceRef")


def _check(problems: Problems, source: Object, path: str) -> None:
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    for key in ("name", "kind"):
        if not source.get(key):
            problems.required(f"{path}.{key}")
    if not group and kind != "PersistentVolumeClaim":
        problems.invalid(path, kind, _DEFAULT_GROUP)
    if group:
        problems.invalid(f"{path}.apiGroup", group, *dns_subdomain(group))


_SECOND = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_PULLS = ("Always", "IfNotPresent", "Never")
_LONGEST_PORTAL = 64
_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
# In the order in which upstream looks for them, and as its paths have them where they come second.
_SOURCES = {key: _SECOND.get(key, key) for key in ("emptyDir", *SOURCE_CHECKS, "ephemeral", "image")}


def check_volumes(problems: Problems, volumes: list[Object], path: str, pod: str) -> dict[str, Object]:
    """The valid volumes, by name. ``pod`` is the pod's name, empty in a template."""
    sound: dict[str, Object] = {}
    made = {f"{pod}-{volume.get('name') or ''}" for volume in volumes if pod and volume.get("ephemeral") is not None}
    for i, volume in enumerate(volumes):
        where, name = f"{path}[{i}]", volume.get("name") or ""
        before = len(problems.causes)
        _source(problems, volume, where, pod)
        if not name:
            problems.required(f"{where}.name")
        else:
            problems.invalid(f"{where}.name", name, *dns_label(name))
        if name in sound:
            problems.duplicate(f"{where}.name", name)
        if len(problems.causes) == before:
            sound[name] = volume
        claim = section(volume, "persistentVolumeClaim").get("claimName") or ""
        if claim in made:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            problems.invalid(f"{where}.persistentVolumeClaim.claimName", claim, why)
    return sound


def check_claim_spec(problems: Problems, spec: Object, path: str) -> None:
    modes = spec.get("accessModes") or []
    if not modes:
        problems.required(f"{path}.accessModes", "at least 1 access mode is required")
    check_label_selector(problems, section(spec, "selector"), f"{path}.selector")
    check_access_modes(problems, spec, path)
    storage = amounts(section(spec, "resources").get("requests")).get("storage")
    if storage is None:
        problems.required(f"{path}.resources[storage]")
    elif storage <= Quantity.from_units(0):
        problems.invalid(f"{path}.resources[storage]", str(storage), "must be greater than zero")
    storage_class = spec.get("storageClassName")
    if storage_class:
        problems.invalid(f"{path}.storageClassName", storage_class, *dns_subdomain(storage_class))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in ("Block", "Filesystem"):
        problems.not_supported(f"{path}.volumeMode", mode, ("Block", "Filesystem"))
    check_data_sources(problems, spec, path)
    attributes = spec.get("volumeAttributesClassName")
    if attributes:
        problems.invalid(f"{path}.volumeAttributesClassName", attributes, *dns_subdomain(attributes))


def check_access_modes(problems: Problems, spec: Object, path: str) -> None:
    """Those of a claim or of a volume, if there are any."""
    modes = spec.get("accessModes") or []
    for mode in modes:
        if mode not in _MODES:
            problems.not_supported(f"{path}.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and any(mode in _MODES and mode != "ReadWriteOncePod" for mode in modes):
        problems.forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")


def check_resource_claims(problems: Problems, claims: list[Object], path: str) -> None:
    names: set[str] = set()
    for i, claim in enumerate(claims):
        where, name = f"{path}[{i}]", claim.get("name") or ""
        if not name:
            problems.required(f"{where}.name")
        elif name in names:
            problems.duplicate(f"{where}.name", name)
        else:
            problems.invalid(f"{where}.name", name, *dns_label(name))
            names.add(name)
        sources = {key: claim.get(key) for key in ("resourceClaimName", "resourceClaimTemplateName")}
        given = [key for key, value in sources.items() if value is not None]
        shown = {"Name": name, **{key[0].upper() + key[1:]: value for key, value in sources.items()}}
        if len(given) > 1:
            why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            problems.invalid(where, shown, why)
        if not given:
            problems.invalid(where, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for key in given:
            problems.invalid(f"{where}.{key}", sources[key], *dns_subdomain(str(sources[key])))


def _source(problems: Problems, volume: Object, path: str, pod: str) -> None:
    """Exactly one source, and what is in it."""
    given = [key for key in _SOURCES if volume.get(key) is not None]
    if not given:
        problems.required(path, "must specify a volume type")
        return
    first, source, name = given[0], volume[given[0]], volume.get("name") or ""
    if first in SOURCE_CHECKS:
        SOURCE_CHECKS[first](problems, source, f"{path}.{SOURCE_PATHS.get(first, first)}")
    elif first == "emptyDir":
        if amounts({"size": source.get("sizeLimit") or "0"})["size"] < Quantity.from_units(0):
            problems.forbidden(f"{path}.emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity")
    elif first == "ephemeral":
        _ephemeral(problems, source, name, path, pod)
    else:
        _image(problems, source, f"{path}.image", in_pod=bool(pod))
    for kind in given[1:]:
        problems.forbidden(f"{path}.{_SOURCES[kind]}", "may not specify more than 1 volume type")
    iscsi = section(volume, "iscsi")
    whole = f"{name}:{iscsi.get('targetPortal') or ''}"
    if iscsi.get("initiatorName") is not None and len(whole.encode()) > _LONGEST_PORTAL:
        why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters"
        problems.invalid(f"{path}.name", name, f"{why} if iscsi.initiatorName is specified.")


def _ephemeral(problems: Problems, source: Object, volume: str, path: str, pod: str) -> None:
    template, where = source.get("volumeClaimTemplate"), f"{path}.ephemeral.volumeClaimTemplate"
    if template is None:
        problems.required(where)
    else:
        check_template_metadata(problems, section(template, "metadata"), f"{where}.metadata")
        check_claim_spec(problems, section(template, "spec"), f"{where}.spec")
    if pod and volume:
        name = f"{pod}-{volume}"
        problems.invalid(f"{path}.name", volume, *(f'PVC name "{name}": {why}' for why in dns_subdomain(name)))


def _image(problems: Problems, source: Object, path: str, *, in_pod: bool) -> None:
    if in_pod and not source.get("reference"):
        problems.required(f"{path}.reference")
    pull = source.get("pullPolicy")
    if pull and pull not in _PULLS:
        problems.not_supported(f"{path}.pullPolicy", pull, _PULLS)
