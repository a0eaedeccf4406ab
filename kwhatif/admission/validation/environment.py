"""Validation of containers' environment variables, and of the downward API.

Upstream: pkg/apis/core/validation/validation.go, pkg/apis/core/pods/helpers.go, pkg/fieldpath.
"""

from __future__ import annotations

from collections.abc import Collection

from kwhatif.admission.request import containers_of, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_subdomain, environment_name, label_key
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity

_IDENTITY = ("metadata.name", "metadata.namespace", "metadata.uid")
_VARIABLE_FIELDS = (
    *(*_IDENTITY, "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", *_IDENTITY)
"""The fields that a volume can show; a variable shows others."""
_MAPS = ("metadata.annotations", "metadata.labels")
_KNOWN_FIELDS = frozenset({*_VARIABLE_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName"}) | {
    *("status.phase", "spec.host")
}
_RESOURCES = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", *(f"1{unit}" for unit in "kMGTPE"), *(f"1{unit}i" for unit in "KMGTPE"))
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_environment(problems: Problems, container: Object, path: str) -> None:
    for i, variable in enumerate(each(container, "env")):
        where, name = f"{path}.env[{i}]", variable.get("name") or ""
        if not name:
            problems.required(f"{where}.name")
        else:
            problems.invalid(f"{where}.name", name, *environment_name(name))
        if variable.get("valueFrom") is not None:
            _value_from(problems, variable, f"{where}.valueFrom")
    for i, source in enumerate(each(container, "envFrom")):
        _from_all(problems, source, f"{path}.envFrom", f"{path}.envFrom[{i}]")


def check_file_variables(problems: Problems, spec: Object, path: str) -> None:
    """A variable that is read from a file is read from an empty directory of the pod."""
    volumes = {volume.get("name"): volume for volume in each(spec, "volumes")}
    for place, container in containers_of(spec, path):
        for i, variable in enumerate(each(container, "env")):
            file = section(variable, "valueFrom").get("fileKeyRef")
            if file is None:
                continue
            name, where = file.get("volumeName") or "", f"{place}.env[{i}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                problems.not_found(where, name)
            elif volumes[name].get("emptyDir") is None:
                problems.invalid(where, name, "referenced volume must be of type emptyDir")


def check_field(problems: Problems, reference: Object, supported: Collection[str], path: str) -> None:
    """A reference to a field of the pod's own."""
    version, field = reference.get("apiVersion") or "v1", reference.get("fieldPath") or ""
    where = f"{path}.fieldPath"
    if not field:
        problems.required(where)
        return
    whole, bracket, rest = field.partition("['")
    subscript = rest.removesuffix("']") if bracket and whole and field.endswith("']") else None
    error = ""
    if version != "v1":
        error = f"unsupported pod version: {version}"
    elif subscript is not None and whole not in _MAPS:
        error = f"field label does not support subscript: {field}"
    elif subscript is None and field not in _KNOWN_FIELDS:
        error = f"field label not supported: {field}"
    if error:
        problems.invalid(where, field, f"error converting fieldPath: {error}")
    elif subscript is not None:
        key = subscript.lower() if whole == "metadata.annotations" else subscript
        problems.invalid(path, key, *label_key(key))
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in supported:
            problems.not_supported(where, field, sorted(supported))


def check_resource_field(problems: Problems, reference: Object, path: str, *, volume: bool) -> None:
    """A reference to what a container asks for; a volume has to say of which container."""
    resource = reference.get("resource") or ""
    if volume and not reference.get("containerName"):
        problems.required(f"{path}.containerName")
    elif not resource:
        problems.required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE):
        problems.not_supported(f"{path}.resource", resource, _RESOURCES)
    divisor = Quantity.from_json(reference.get("divisor") or "0")
    if divisor == Quantity.from_units(0):
        return
    of = resource.partition(".")[2]
    allowed = ("1m", "1") if of == "cpu" else _SIZES
    what = {"memory": "memory", "ephemeral-storage": "local ephemeral storage", "cpu": "cpu"}.get(of, "")
    if resource.startswith(_HUGE):
        what = "hugepages"
    if what and str(divisor) not in allowed:
        text = " and ".join(allowed) if of == "cpu" else ", ".join(allowed)
        why = f"only divisor's values {text} are supported with the {what} resource"
        problems.invalid(f"{path}.divisor", resource, why)


def _value_from(problems: Problems, variable: Object, path: str) -> None:
    source: Object = part_of(variable, "valueFrom")
    given = [key for key in _SOURCES if source.get(key) is not None]
    for key in given:
        where = f"{path}.{key}"
        if key == "fieldRef":
            check_field(problems, source[key], _VARIABLE_FIELDS, where)
        elif key == "resourceFieldRef":
            check_resource_field(problems, source[key], where, volume=False)
        elif key == "fileKeyRef":
            _FILE_KEY(problems, source[key], where)
        else:
            _KEY(problems, source[key], where)
    if not given:
        one = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        problems.invalid(path, "", one)
    elif variable.get("value"):
        problems.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        problems.invalid(path, "", "may not have more than one field specified at a time")


_KEY = table("""
    name                     text & dns_subdomain
    key                      required & config_key
""")
_FILE_KEY = table("""
    key                      required & environment_name
    volumeName               required & dns_label
    path                     required & no_backsteps
""")


def _begin_of_name(name: str) -> list[str]:
    """More may follow the name."""
    return dns_subdomain(name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name)


_FROM_ALL = table(
    """
    prefix                   if_nonempty & environment_name
    configMapRef?.name       required & _begin_of_name
    secretRef?.name          required & _begin_of_name
    """,
    _begin_of_name,
)


def _from_all(problems: Problems, source: Object, path: str, place: str) -> None:
    _FROM_ALL(problems, source, place)
    given = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
    if not given:
        problems.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(given) > 1:
        problems.invalid(path, "", "may not have more than one field specified at a time")
