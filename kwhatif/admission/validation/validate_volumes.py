"""Rules for volumes and claims, as far as they decide where a pod can run.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.plugins.container_amounts import amounts
from kwhatif.admission.validation.name_rules import dns_label, dns_subdomain
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_label_selector
from kwhatif.api.quantity import Quantity

__all__ = ["check_claim_spec", "check_resource_claims", "check_volumes"]

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
# In the order in which upstream looks for them.
_SOURCES = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"),
    *("flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk"),
    *("storageos", "projected", "scaleIO", "csi", "ephemeral", "image"),
)


def check_volumes(problems: Problems, volumes: list[Object], path: str, pod: str) -> None:
    """``pod`` is the pod's name, empty in a template."""
    names: set[str] = set()
    made = {f"{pod}-{volume.get('name') or ''}" for volume in volumes if pod and volume.get("ephemeral") is not None}
    for i, volume in enumerate(volumes):
        where, name = f"{path}[{i}]", volume.get("name") or ""
        before = len(problems.causes)
        _source(problems, volume, where, pod)
        if not name:
            problems.required(f"{where}.name")
        else:
            problems.invalid(f"{where}.name", name, *dns_label(name))
        if name in names:
            problems.duplicate(f"{where}.name", name)
        if len(problems.causes) == before:
            names.add(name)
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        if claim in made:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            problems.invalid(f"{where}.persistentVolumeClaim.claimName", claim, why)


def check_claim_spec(problems: Problems, spec: Object, path: str) -> None:
    modes = spec.get("accessModes") or []
    if not modes:
        problems.required(f"{path}.accessModes", "at least 1 access mode is required")
    check_label_selector(problems, spec.get("selector"), f"{path}.selector")
    for mode in modes:
        if mode not in _MODES:
            problems.unsupported(f"{path}.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and any(mode in _MODES and mode != "ReadWriteOncePod" for mode in modes):
        problems.forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    storage = amounts((spec.get("resources") or {}).get("requests")).get("storage")
    if storage is None:
        problems.required(f"{path}.resources[storage]")
    elif storage <= Quantity.from_units(0):
        problems.invalid(f"{path}.resources[storage]", str(storage), "must be greater than zero")
    storage_class = spec.get("storageClassName")
    if storage_class:
        problems.invalid(f"{path}.storageClassName", storage_class, *dns_subdomain(storage_class))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in ("Block", "Filesystem"):
        problems.unsupported(f"{path}.volumeMode", mode, ("Block", "Filesystem"))


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
    """Exactly one source; of claims also what is in them."""
    kinds = [key for key in _SOURCES if volume.get(key) is not None]
    for kind in kinds[1:]:
        problems.forbidden(f"{path}.{kind}", "may not specify more than 1 volume type")
    if not kinds:
        problems.required(path, "must specify a volume type")
        return
    first, source = kinds[0], volume[kinds[0]]
    where = f"{path}.{first}"
    if first == "persistentVolumeClaim" and not source.get("claimName"):
        problems.required(f"{where}.claimName")
    if first == "ephemeral":
        template = source.get("volumeClaimTemplate")
        if template is None:
            problems.required(f"{where}.volumeClaimTemplate")
        else:
            check_claim_spec(problems, template.get("spec") or {}, f"{where}.volumeClaimTemplate.spec")
        name = f"{pod}-{volume.get('name') or ''}"
        if pod and volume.get("name"):
            problems.invalid(
                f"{path}.name", volume["name"], *(f'PVC name "{name}": {why}' for why in dns_subdomain(name))
            )
