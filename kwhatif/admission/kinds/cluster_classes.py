"""StorageClass, PriorityClass and RuntimeClass.

Upstream: pkg/apis/storage/validation/validation.go, pkg/apis/scheduling/validation/validation.go,
pkg/apis/node/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.kinds.nodes import DEPRECATED_LABELS
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_choice, check_label_key, check_labels, dns_label, label_key
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_overhead
from kwhatif.admission.validation.scheduling_constraints import check_tolerations

_MOST_PARAMETERS, _LONGEST_PARAMETERS = 512, 256 * 1024
_HIGHEST_OF_USERS = 1_000_000_000
_SYSTEM = "system-"
_OF_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def _storage_defaults(request: Request, obj: Object) -> None:
    obj["reclaimPolicy"] = obj.get("reclaimPolicy") or "Delete"
    obj["volumeBindingMode"] = obj.get("volumeBindingMode") or "Immediate"


def _check_storage(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    check_provisioner(problems, obj.get("provisioner") or "", "provisioner")
    check_parameters(problems, obj.get("parameters") or {})
    check_choice(problems, obj["reclaimPolicy"], "reclaimPolicy", ("Delete", "Retain"))
    check_choice(problems, obj["volumeBindingMode"], "volumeBindingMode", ("Immediate", "WaitForFirstConsumer"))
    seen: list[dict[str, set[str]]] = []
    for i, term in enumerate(each(obj, "allowedTopologies")):
        where = f"allowedTopologies[{i}].matchLabelExpressions"
        values = _topology(problems, term, where)
        if values in seen:
            problems.duplicate(where, "")
        seen.append(values)


def check_provisioner(problems: Problems, name: str, path: str) -> None:
    if not name:
        problems.required(path)
    else:
        problems.invalid(path, name.lower(), *label_key(name.lower()))


def check_parameters(problems: Problems, parameters: Object) -> None:
    """The parameters of a driver, by key."""
    if len(parameters) > _MOST_PARAMETERS:
        problems.too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        problems.invalid("parameters", "", "field can not be empty.")
    sizes = (len(key.encode()) + len((value or "").encode()) for key, value in parameters.items())
    if sum(sizes) > _LONGEST_PARAMETERS:
        problems.too_long("parameters", _LONGEST_PARAMETERS)


def _topology(problems: Problems, term: Object, path: str) -> dict[str, set[str]]:
    """Values by label."""
    found: dict[str, set[str]] = {}
    for i, item in enumerate(each(term, "matchLabelExpressions")):
        where, key, values = f"{path}[{i}]", item.get("key") or "", item.get("values") or []
        if not values:
            problems.required(f"{where}.values")
        for j, value in enumerate(values):
            if value in values[:j]:
                problems.duplicate(f"{where}.values[{j}]", value)
        check_label_key(problems, key, f"{where}.key")
        if key in found:
            problems.duplicate(f"{where}.key", key)
        found[key] = set(values)
    return found


def _storage_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    for i, term in enumerate(each(obj, "allowedTopologies")):
        for j, item in enumerate(each(term, "matchLabelExpressions")):
            if item.get("key") in DEPRECATED_LABELS:
                where = f"allowedTopologies[{i}].matchLabelExpressions[{j}].key"
                yield f"{where}: {DEPRECATED_LABELS[item['key']]}"


def _priority_defaults(request: Request, obj: Object) -> None:
    if obj.get("preemptionPolicy") is None:
        obj["preemptionPolicy"] = "PreemptLowerPriority"


def _check_priority(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    name, value = name_of(obj), obj.get("value") or 0
    if name.startswith(_SYSTEM):
        why = f"{name} is not a known system priority class" if name not in _OF_SYSTEM else ""
        if not why and value != _OF_SYSTEM[name]:
            why = f"value of {name} PriorityClass must be {_OF_SYSTEM[name]}"
        elif not why and obj.get("globalDefault"):
            why = f"globalDefault of {name} PriorityClass must be false"
        if why:
            reserved = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {why}"
            problems.forbidden("metadata.name", reserved)
    elif value > _HIGHEST_OF_USERS:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_OF_USERS}"
        problems.forbidden("value", why)
    if not obj["preemptionPolicy"]:
        problems.required("preemptionPolicy")
    else:
        check_choice(problems, obj["preemptionPolicy"], "preemptionPolicy", ("PreemptLowerPriority", "Never"))


def _check_runtime(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    handler, scheduling = obj.get("handler") or "", obj.get("scheduling") or {}
    if not handler:
        problems.required("handler")
    else:
        problems.invalid("handler", handler, *dns_label(handler))
    check_overhead(problems, (obj.get("overhead") or {}).get("podFixed"), "overhead")
    check_labels(problems, scheduling.get("nodeSelector"), "scheduling.nodeSelector")
    tolerations = each(scheduling, "tolerations")
    check_tolerations(problems, tolerations, "scheduling.tolerations")
    seen = []
    for i, toleration in enumerate(tolerations):
        key = [toleration.get(part) or "" for part in ("key", "operator", "value", "effect")]
        if key in seen:
            problems.duplicate(f"scheduling.tolerations[{i}]", toleration)
        seen.append(key)


def _runtime_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    for key in (obj.get("scheduling") or {}).get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            yield f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"


STRATEGIES = {
    "StorageClass": Strategy(_storage_defaults, _check_storage, warnings=_storage_warnings, has_spec=False),
    "PriorityClass": Strategy(_priority_defaults, _check_priority, has_spec=False),
    "RuntimeClass": Strategy(check=_check_runtime, warnings=_runtime_warnings, has_spec=False),
}
