"""Validation of a pod volume's source, and of projected files: keys, fields of the pod, tokens.

Upstream: pkg/apis/core/validation/validation.go. Trust bundles and pod certificates are behind gates that are off, so
the API server drops these fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.environment import VOLUME_FIELDS, check_field, check_resource_field
from kwhatif.admission.validation.field_rules import dns_subdomain, within_range
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import Rule, table

_KINDS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


_MODE = "between 0 511: must be a number between 0 and 0777 (octal), both inclusive"
check_key_path = table(f"""
    key                      required
    path                     required
    path                     text & check_own_path
    mode                     {_MODE}
""")
"""A key and the file that it becomes."""


def _check_reference(problems: Problems, file: Object, path: str) -> None:
    """What of the pod a file shows."""
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        check_field(problems, field, VOLUME_FIELDS, f"{path}.fieldRef")
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            problems.invalid(path, "resource", why)
    elif resource is not None:
        check_resource_field(problems, resource, f"{path}.resourceFieldRef", volume=True)
    else:
        problems.required(path, "one of fieldRef and resourceFieldRef is required")


_DOWNWARD_FILE = table(
    f"""
    path                     required
    path                     text & check_own_path
    .                        _check_reference
    mode                     {_MODE}
    """,
    _check_reference,
)


def check_downward_files(problems: Problems, files: list[Object], path: str) -> None:
    """Upstream's paths of single files do not say which."""
    for file in files:
        _DOWNWARD_FILE(problems, file, path)


def check_projected(problems: Problems, volume: Object, path: str) -> None:
    _DEFAULT_MODE(problems, volume, path)
    taken: set[str] = set()
    for i, source in enumerate(each(volume, "sources")):
        where = f"{path}.sources[{i}]"
        for key in ("secret", "configMap"):
            if source.get(key) is not None:
                _check_keys(problems, source[key], f"{where}.{key}", taken, path)
        if source.get("downwardAPI") is not None:
            for file in each(source["downwardAPI"], "items"):
                check_downward_files(problems, [file], f"{where}.downwardAPI")
                _check_unique_path(problems, file.get("path") or "", file.get("path") or "", taken, path)
        if source.get("serviceAccountToken") is not None:
            _token(problems, source["serviceAccountToken"], f"{where}.serviceAccountToken", path)
        if sum(source.get(kind) is not None for kind in _KINDS) > 1:
            problems.forbidden(where, "may not specify more than 1 volume type per source")


def _check_keys(problems: Problems, source: Object, path: str, paths: set[str], whole: str) -> None:
    name = source.get("name") or ""
    if not name:
        problems.required(f"{path}.name")
    for i, item in enumerate(each(source, "items")):
        check_key_path(problems, item, f"{path}.items[{i}]")
        _check_unique_path(problems, item.get("path") or "", name, paths, whole)


def _check_unique_path(problems: Problems, file: str, shown: str, paths: set[str], path: str) -> None:
    if file in paths:
        problems.invalid(path, shown, "conflicting duplicate paths")
    if file:
        paths.add(file)


def _token(problems: Problems, token: Object, path: str, whole: str) -> None:
    _SECONDS(problems, token, path)
    _PATH(problems, token, whole)


_SECONDS = table(f"""
    expirationSeconds        at_least 600: may not specify a duration less than 10 minutes
    expirationSeconds        at_most {1 << 32}: may not specify a duration larger than 2^32 seconds
""")
_PATH = table("path required & check_own_path")


_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_HOSTS = "must be a host:port pair or multiple pairs separated by commas"


def _initiator_rules(name: str) -> list[str]:
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return [] if pattern.search(name) else ["must be valid format"]


def _says_resource(problems: Problems, source: Object, path: str) -> None:
    problems.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")


def _registry(problems: Problems, source: Object, path: str) -> None:
    registry = source.get("registry") or ""
    if not registry:
        problems.required(f"{path}.registry", _HOSTS)
    elif len((source.get("tenant") or "").encode()) >= 65:
        problems.required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"[^:\[\]]*:[^:\[\]]*|\[[^\[\]]*\]:[^:\[\]]*", pair):
                problems.invalid(f"{path}.registry", registry, _HOSTS)


def _fibre_lun(problems: Problems, source: Object, path: str) -> None:
    if source.get("targetWWNs") and source.get("lun") is None:
        problems.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif source.get("targetWWNs"):
        problems.invalid(f"{path}.lun", source["lun"], *within_range(source["lun"], 0, 255))


def _options(problems: Problems, options: Object, path: str) -> None:
    for key in sorted(options):
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            problems.invalid(f"{path}[{key}]", key, why)


def _azure_address(problems: Problems, source: Object, path: str) -> None:
    managed, address = source.get("kind") == "Managed", source.get("diskURI") or ""
    if not address.startswith("/subscriptions/" if managed else "https://"):
        problems.not_supported(f"{path}.diskURI", address, (_MANAGED if managed else _BLOB,))


def _downward(problems: Problems, source: Object, path: str) -> None:
    check_downward_files(problems, each(source, "items"), path)


def check_driver_name(problems: Problems, name: str, path: str) -> None:
    """The name of what drives storage or devices."""
    if not name:
        problems.required(path)
        return
    if len(name.encode()) > 63:
        problems.too_long(path, 63)
    problems.invalid(path, name, *dns_subdomain(name.lower()))


_DEFAULT_MODE = table(f"defaultMode {_MODE}")
_PARTITION = "partition number & between 0 255: must be between 1 and 255, inclusive"
_SECRET = "secretRef?.name required"
_FILES = f"""
    defaultMode              {_MODE}
    items[]                  check_key_path
"""
# In the order in which upstream looks for them.
_TABLES = {
    "hostPath": """
    path                     required!
    path                     no_backsteps
    type                     one_of "" BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket
    """,
    "gitRepo": """
    repository               required
    directory                if_nonempty & relative_path
    """,
    "gcePersistentDisk": f"pdName required\n{_PARTITION}",
    "awsElasticBlockStore": f"volumeID required\n{_PARTITION}",
    "secret": f"""
    secretName               required
    {_FILES}""",
    "nfs": """
    server                   required
    path                     required
    path                     text & begins /: must be an absolute path
    """,
    "iscsi": """
    targetPortal             required
    iqn                      required & _initiator_rules
    lun                      number & between 0 255
    secretRef                missing if any_chap and no_secret
    initiatorName            _initiator_rules @ initiatorname
    """,
    "glusterfs": "endpoints required\npath required",
    "flocker": """
    .                        missing unless datasetName or datasetUUID:
            one of datasetName and datasetUUID is required
    .                        says_resource if datasetName and datasetUUID
    datasetName              if_nonempty & not slashed: must not contain '/'
    """,
    "persistentVolumeClaim": "claimName required",
    "rbd": "monitors required\nimage required",
    "cinder": f"volumeID required\n{_SECRET}",
    "cephfs": "monitors required",
    "quobyte": """
    .                        _registry
    volume                   required
    """,
    "downwardAPI": f"""
    defaultMode              {_MODE}
    .                        _downward
    """,
    "fc": """
    targetWWNs               missing unless targetWWNs or wwids:
            must specify either targetWWNs or wwids, but not both
    targetWWNs               invalid if targetWWNs and wwids:
            targetWWNs and wwids can not be specified simultaneously
    .                        _fibre_lun
    """,
    "flexVolume": """
    driver                   required
    options                  _options
    """,
    "configMap": f"""
    name                     required
    {_FILES}""",
    "azureFile": "secretName required\nshareName required",
    "vsphereVolume": "volumePath required",
    "photonPersistentDisk": "pdID required",
    "portworxVolume": "volumeID required",
    "azureDisk": """
    diskName                 required
    diskURI                  required
    cachingMode              if_nonempty & one_of None ReadOnly ReadWrite
    kind                     if_nonempty & one_of Dedicated Managed Shared
    .                        _azure_address
    """,
    "storageos": f"""
    volumeName               required
    volumeName               if_nonempty & dns_label
    volumeNamespace          if_nonempty & dns_label
    {_SECRET}""",
    "projected": ". check_projected",
    "scaleIO": "gateway required\nsystem required\nvolumeName required",
    "csi": """
    driver                   text & check_driver_name
    nodePublishSecretRef?.name    required
    nodePublishSecretRef.name     if_nonempty & dns_subdomain @ name
    """,
}
SOURCE_CHECKS: Mapping[str, Rule] = {
    name: table(
        rows,
        *(_initiator_rules, _registry, _downward, _fibre_lun, _options, _azure_address, check_driver_name),
        check_projected,
        check_key_path=check_key_path,
        any_chap=lambda source: source.get("chapAuthDiscovery") or source.get("chapAuthSession"),
        no_secret=lambda source: source.get("secretRef") is None,
        slashed=lambda name: "/" in name,
        says_resource=_says_resource,
    )
    for name, rows in _TABLES.items()
}
"""Key -> the rules for a source, in the order in which upstream looks for sources."""

SOURCE_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""Where upstream's paths have another name than the field."""
