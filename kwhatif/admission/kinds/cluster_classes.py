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
from kwhatif.admission.validation.field_rules import check_labels, label_key
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_overhead
from kwhatif.admission.validation.rows import table
from kwhatif.admission.validation.scheduling_constraints import check_tolerations
from kwhatif.api.objects import section

_MOST_PARAMETERS, _LONGEST_PARAMETERS = 512, 256 * 1024
_HIGHEST_OF_USERS = 1_000_000_000
_SYSTEM = "system-"
_OF_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def _storage_defaults(request: Request, obj: Object) -> None:
    obj["reclaimPolicy"] = obj.get("reclaimPolicy") or "Delete"
    obj["volumeBindingMode"] = obj.get("volumeBindingMode") or "Immediate"


def check_provisioner(problems: Problems, name: str, path: str) -> None:
    if not name:
        problems.required(path)
    else:
        problems.invalid(path, name.lower(), *label_key(name.lower()))


def check_parameters(problems: Problems, parameters: Object, path: str = "parameters") -> None:
    """The parameters of a driver, by key."""
    if len(parameters) > _MOST_PARAMETERS:
        problems.too_long(path, _MOST_PARAMETERS)
        return
    if "" in parameters:
        problems.invalid(path, "", "field can not be empty.")
    sizes = (len(key.encode()) + len((value or "").encode()) for key, value in parameters.items())
    if sum(sizes) > _LONGEST_PARAMETERS:
        problems.too_long(path, _LONGEST_PARAMETERS)


def _topologies(problems: Problems, terms: list[Object], path: str) -> None:
    """No two of them have the same values by label. Upstream's list of those before begins with as many empty ones."""
    seen: list[dict[str, set[str]]] = [{} for _ in terms]
    for i, term in enumerate(terms):
        where = f"{path}[{i}].matchLabelExpressions"
        _TOPOLOGY(problems, term, f"{path}[{i}]")
        values = {item.get("key") or "": set(item.get("values") or ()) for item in each(term, "matchLabelExpressions")}
        for _ in range(seen.count(values)):
            problems.duplicate(where, "")
        seen.append(values)


_TOPOLOGY = table("""
    matchLabelExpressions[].values       required
    matchLabelExpressions[].values       all_unique
    matchLabelExpressions[].key          text & label_key
    matchLabelExpressions[]              unique key
""")
_STORAGE = object_table(
    """
    provisioner                  text & check_provisioner
    parameters                   part & check_parameters
    reclaimPolicy                one_of Delete Retain
    volumeBindingMode            one_of Immediate WaitForFirstConsumer
    allowedTopologies            _topologies
    """,
    *(check_provisioner, check_parameters, _topologies),
)


def _storage_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    for i, term in enumerate(each(obj, "allowedTopologies")):
        for j, item in enumerate(each(term, "matchLabelExpressions")):
            if item.get("key") in DEPRECATED_LABELS:
                where = f"allowedTopologies[{i}].matchLabelExpressions[{j}].key"
                yield f"{where}: {DEPRECATED_LABELS[item['key']]}"


def _priority_defaults(request: Request, obj: Object) -> None:
    if obj.get("preemptionPolicy") is None:
        obj["preemptionPolicy"] = "PreemptLowerPriority"


def _system_priority(problems: Problems, obj: Object, path: str) -> None:
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


_PRIORITY = object_table(
    """
    .                            _system_priority
    preemptionPolicy             required & one_of PreemptLowerPriority Never
    """,
    _system_priority,
)
_RUNTIME = object_table(
    """
    handler                      required & dns_label
    overhead.podFixed            check_overhead @ overhead
    scheduling.nodeSelector      check_labels
    scheduling.tolerations       check_tolerations
    scheduling.tolerations[]     unique key operator value effect
    """,
    *(check_overhead, check_labels),
    check_tolerations=check_tolerations,
)


def _runtime_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    for key in section(obj, "scheduling").get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            yield f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"


STRATEGIES = {
    "StorageClass": Strategy(_storage_defaults, _STORAGE, warnings=_storage_warnings, has_spec=False),
    "PriorityClass": Strategy(_priority_defaults, _PRIORITY, has_spec=False),
    "RuntimeClass": Strategy(check=_RUNTIME, warnings=_runtime_warnings, has_spec=False),
}
