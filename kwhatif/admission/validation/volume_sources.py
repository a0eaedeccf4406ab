"""Validation of a pod volume's source, and of projected files: keys, fields of the pod, tokens.

Upstream: pkg/apis/core/validation/validation.go. Trust bundles and pod certificates are behind gates that are off, so
the API server drops these fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.environment import VOLUME_FIELDS, check_field, check_resource_field
from kwhatif.admission.validation.field_rules import (
    check_mode,
    check_own_path,
    dns_label,
    dns_subdomain,
    no_backsteps,
    relative_path,
    within_range,
)
from kwhatif.admission.validation.problems import Problems

_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32
_KINDS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def check_key_path(problems: Problems, item: Object, path: str) -> None:
    """A key and the file that it becomes."""
    for key in ("key", "path"):
        if not item.get(key):
            problems.required(f"{path}.{key}")
    check_own_path(problems, item.get("path") or "", f"{path}.path")
    check_mode(problems, item, "mode", path)


def check_downward_files(problems: Problems, files: list[Object], path: str) -> None:
    """Upstream's paths of single files do not say which."""
    for file in files:
        if not file.get("path"):
            problems.required(f"{path}.path")
        check_own_path(problems, file.get("path") or "", f"{path}.path")
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
        check_mode(problems, file, "mode", path)


def check_projected(problems: Problems, volume: Object, path: str) -> None:
    check_mode(problems, volume, "defaultMode", path)
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


def _check_keys(problems: Problems, source: Object, path: str, taken: set[str], whole: str) -> None:
    name = source.get("name") or ""
    if not name:
        problems.required(f"{path}.name")
    for i, item in enumerate(each(source, "items")):
        check_key_path(problems, item, f"{path}.items[{i}]")
        _check_unique_path(problems, item.get("path") or "", name, taken, whole)


def _check_unique_path(problems: Problems, file: str, shown: str, taken: set[str], path: str) -> None:
    if file in taken:
        problems.invalid(path, shown, "conflicting duplicate paths")
    if file:
        taken.add(file)


def _token(problems: Problems, token: Object, path: str, whole: str) -> None:
    seconds = token.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST_TOKEN:
        why = "may not specify a duration less than 10 minutes"
        problems.invalid(f"{path}.expirationSeconds", seconds, why)
    if seconds is not None and seconds > _LONGEST_TOKEN:
        why = "may not specify a duration larger than 2^32 seconds"
        problems.invalid(f"{path}.expirationSeconds", seconds, why)
    if not token.get("path"):
        problems.required(f"{whole}.path")
    else:
        check_own_path(problems, token["path"], f"{whole}.path")


Check = Callable[[Problems, Object, str], None]

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_CACHING, _DISKS = ("None", "ReadOnly", "ReadWrite"), ("Dedicated", "Managed", "Shared")
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_HOSTS = "must be a host:port pair or multiple pairs separated by commas"


def _needs(*keys: str) -> Check:
    """The source has to have these."""

    def check(problems: Problems, source: Object, path: str) -> None:
        for key in keys:
            if not source.get(key):
                problems.required(f"{path}.{key}")

    return check


def _disk(key: str) -> Check:
    """A disk of a cloud, perhaps one of its partitions."""

    def check(problems: Problems, source: Object, path: str) -> None:
        _needs(key)(problems, source, path)
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            problems.invalid(f"{path}.partition", partition, "must be between 1 and 255, inclusive")

    return check


def _secret_name(problems: Problems, source: Object, path: str) -> None:
    if source.get("secretRef") is not None:
        _needs("name")(problems, source["secretRef"], f"{path}.secretRef")


def _host_path(problems: Problems, source: Object, path: str) -> None:
    place, kind = source.get("path") or "", source.get("type") or ""
    if not place:
        problems.required(f"{path}.path")
        return
    problems.invalid(f"{path}.path", place, *no_backsteps(place))
    if kind not in _HOST_PATH_TYPES:
        problems.unsupported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _git_repo(problems: Problems, source: Object, path: str) -> None:
    _needs("repository")(problems, source, path)
    directory = source.get("directory") or ""
    problems.invalid(f"{path}.directory", directory, *relative_path(directory))


def _make_keyed_check(name: str) -> Check:
    """A secret or a config map, of which keys become files."""

    def check(problems: Problems, source: Object, path: str) -> None:
        _needs(name)(problems, source, path)
        check_mode(problems, source, "defaultMode", path)
        for i, item in enumerate(each(source, "items")):
            check_key_path(problems, item, f"{path}.items[{i}]")

    return check


def _nfs(problems: Problems, source: Object, path: str) -> None:
    _needs("server", "path")(problems, source, path)
    if not (source.get("path") or "").startswith("/"):
        problems.invalid(f"{path}.path", source.get("path") or "", "must be an absolute path")


def _iscsi(problems: Problems, source: Object, path: str) -> None:
    _needs("targetPortal", "iqn")(problems, source, path)
    if source.get("iqn"):
        problems.invalid(f"{path}.iqn", source["iqn"], *_initiator_rules(source["iqn"]))
    problems.invalid(f"{path}.lun", source.get("lun") or 0, *within_range(source.get("lun") or 0, 0, 255))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        problems.required(f"{path}.secretRef")
    initiator = source.get("initiatorName")
    if initiator is not None:
        problems.invalid(f"{path}.initiatorname", initiator, *_initiator_rules(initiator))


def _initiator_rules(name: str) -> list[str]:
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return [] if pattern.search(name) else ["must be valid format"]


def _flocker(problems: Problems, source: Object, path: str) -> None:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        problems.required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        problems.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        problems.invalid(f"{path}.datasetName", name, "must not contain '/'")


def _quobyte(problems: Problems, source: Object, path: str) -> None:
    registry = source.get("registry") or ""
    if not registry:
        problems.required(f"{path}.registry", _HOSTS)
    elif len((source.get("tenant") or "").encode()) >= 65:
        problems.required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"[^:\[\]]*:[^:\[\]]*|\[[^\[\]]*\]:[^:\[\]]*", pair):
                problems.invalid(f"{path}.registry", registry, _HOSTS)
    _needs("volume")(problems, source, path)


def _downward(problems: Problems, source: Object, path: str) -> None:
    check_mode(problems, source, "defaultMode", path)
    check_downward_files(problems, each(source, "items"), path)


def _fibre_channel(problems: Problems, source: Object, path: str) -> None:
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not names and not ids:
        problems.required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        why = "targetWWNs and wwids can not be specified simultaneously"
        problems.invalid(f"{path}.targetWWNs", names, why)
    if names and lun is None:
        problems.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif names:
        problems.invalid(f"{path}.lun", lun, *within_range(lun or 0, 0, 255))


def _flex(problems: Problems, source: Object, path: str) -> None:
    _needs("driver")(problems, source, path)
    for key in sorted(source.get("options") or {}):
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            problems.invalid(f"{path}.options[{key}]", key, why)


def _azure_disk(problems: Problems, source: Object, path: str) -> None:
    _needs("diskName", "diskURI")(problems, source, path)
    caching, kind = source.get("cachingMode") or "ReadWrite", source.get("kind") or "Shared"
    address = source.get("diskURI") or ""
    if caching not in _CACHING:
        problems.unsupported(f"{path}.cachingMode", caching, _CACHING)
    if kind not in _DISKS:
        problems.unsupported(f"{path}.kind", kind, _DISKS)
    if kind == "Managed" and not address.startswith("/subscriptions/"):
        problems.unsupported(f"{path}.diskURI", address, (_MANAGED,))
    if kind != "Managed" and not address.startswith("https://"):
        problems.unsupported(f"{path}.diskURI", address, (_BLOB,))


def _storage_os(problems: Problems, source: Object, path: str) -> None:
    _needs("volumeName")(problems, source, path)
    for key in ("volumeName", "volumeNamespace"):
        if source.get(key):
            problems.invalid(f"{path}.{key}", source[key], *dns_label(source[key]))
    _secret_name(problems, source, path)


def _cinder(problems: Problems, source: Object, path: str) -> None:
    _needs("volumeID")(problems, source, path)
    _secret_name(problems, source, path)


def check_csi_driver(problems: Problems, source: Object, path: str) -> None:
    """The name of the driver, of a volume in a pod or of a persistent one."""
    check_driver_name(problems, source.get("driver") or "", f"{path}.driver")


def check_driver_name(problems: Problems, name: str, path: str) -> None:
    """The name of what drives storage or devices."""
    if not name:
        problems.required(path)
        return
    if len(name.encode()) > 63:
        problems.too_long(path, 63)
    problems.invalid(path, name, *dns_subdomain(name.lower()))


def _csi(problems: Problems, source: Object, path: str) -> None:
    check_csi_driver(problems, source, path)
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        name = secret.get("name") or ""
        if not name:
            problems.required(f"{path}.nodePublishSecretRef.name")
        else:
            problems.invalid(f"{path}.name", name, *dns_subdomain(name))


SOURCE_CHECKS: Mapping[str, Check] = {
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "secret": _make_keyed_check("secretName"),
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _cinder,
    "cephfs": _needs("monitors"),
    "quobyte": _quobyte,
    "downwardAPI": _downward,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "configMap": _make_keyed_check("name"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "projected": check_projected,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _csi,
}
"""Key -> the rules for a source, in the order in which upstream looks for sources."""

SOURCE_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""Where upstream's paths have another name than the field."""
