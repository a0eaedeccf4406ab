"""Rules for the files in a volume that come from elsewhere: keys, fields of the pod, tokens.

Upstream: pkg/apis/core/validation/validation.go. Trust bundles and certificates of pods are behind gates that are
off, so that the server forgets them.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.file_paths import check_mode, check_own_path
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_environment import VOLUME_FIELDS, check_field, check_resource_field

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
                _keyed(problems, source[key], f"{where}.{key}", taken, path)
        if source.get("downwardAPI") is not None:
            for file in each(source["downwardAPI"], "items"):
                check_downward_files(problems, [file], f"{where}.downwardAPI")
                _taken(problems, file.get("path") or "", file.get("path") or "", taken, path)
        if source.get("serviceAccountToken") is not None:
            _token(problems, source["serviceAccountToken"], f"{where}.serviceAccountToken", path)
        if sum(source.get(kind) is not None for kind in _KINDS) > 1:
            problems.forbidden(where, "may not specify more than 1 volume type per source")


def _keyed(problems: Problems, source: Object, path: str, taken: set[str], whole: str) -> None:
    name = source.get("name") or ""
    if not name:
        problems.required(f"{path}.name")
    for i, item in enumerate(each(source, "items")):
        check_key_path(problems, item, f"{path}.items[{i}]")
        _taken(problems, item.get("path") or "", name, taken, whole)


def _taken(problems: Problems, file: str, shown: str, taken: set[str], path: str) -> None:
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
