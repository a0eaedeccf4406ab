"""Priority: a pod's priority and preemption policy come from its class.

Upstream: plugin/pkg/admission/priority/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.object_store import Index, ObjectStore, name_of
from kwhatif.admission.request import Request, within
from kwhatif.admission.response import Object, RequestRefusal

_STEP = "Priority"
_LOWER = "PreemptLowerPriority"
_GLOBAL_DEFAULTS = Index("PriorityClass", lambda priority_class: (True,) if priority_class.get("globalDefault") else ())
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def admit(request: Request) -> RequestRefusal | None:
    if request.kind == "PodGroup" and request.old is None and request.features.workload_aware_preemption:
        return _admit_pod_group(request)
    if request.kind != "Pod" or request.old is not None:
        return None
    spec = within(request.object, "spec")
    wanted = spec.get("priorityClassName") or ""
    priority_class = _find_class(request.store, wanted) if wanted else _global_default(request.store)
    if priority_class is None and wanted:
        if request.store.knows("PriorityClass"):
            return request.forbidden(f"no PriorityClass with name {wanted} was found")
        text = f"no PriorityClass is known: {wanted} counts as priority {spec.get('priority') or 0}"
        request.record_change(_STEP, "spec.priorityClassName", text)
        spec["priority"] = spec.get("priority") or 0
        spec["preemptionPolicy"] = spec.get("preemptionPolicy") or _LOWER
        return None
    name, priority, policy = priority_class or ("", 0, _LOWER)
    given = spec.get("priority")
    if given and not request.store.knows("PriorityClass"):
        request.record_change(_STEP, "spec.priority", f"no PriorityClass is known: {given} is taken as it is given")
        spec["preemptionPolicy"] = spec.get("preemptionPolicy") or _LOWER
        return None
    if given is not None and given != priority:
        why = f"the integer value of priority ({given}) must not be provided in pod spec; "
        return request.forbidden(
            f"{why}priority admission controller computed {priority} from the given PriorityClass name"
        )
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        why = f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
        return request.forbidden(
            f"{why}priority admission controller computed {policy} from the given PriorityClass name"
        )
    spec["priority"], spec["preemptionPolicy"] = priority, policy
    if name:
        spec["priorityClassName"] = name
        default = "" if wanted else ", the global default"
        request.record_change(_STEP, "spec.priority", f"{priority} from PriorityClass {name}{default}")
    return None


def _admit_pod_group(request: Request) -> RequestRefusal | None:
    """A group's priority comes from its class as a pod's does; it has no preemption policy of its own."""
    spec = within(request.object, "spec")
    wanted, given = spec.get("priorityClassName") or "", spec.get("priority")
    priority_class = _find_class(request.store, wanted) if wanted else _global_default(request.store)
    if not request.store.knows("PriorityClass") and priority_class is None and (wanted or given):
        text = f"no PriorityClass is known: {given or 0} is taken as it is given"
        request.record_change(_STEP, "spec.priority", text)
        spec["priority"] = given or 0
        return None
    if priority_class is None and wanted:
        return request.forbidden(f"no PriorityClass with name {wanted} was found")
    name, priority, _ = priority_class or ("", 0, _LOWER)
    if given is not None and given != priority:
        why = f"priority set in the pod group ({given}) must match the priority computed ({priority}) "
        return request.forbidden(f"{why}based on the priority class set in the spec")
    spec["priority"] = priority
    if name:
        spec["priorityClassName"] = name
        default = "" if wanted else ", the global default"
        request.record_change(_STEP, "spec.priority", f"{priority} from PriorityClass {name}{default}")
    return None


def validate(request: Request) -> RequestRefusal | None:
    """There is one global default at most."""
    if request.kind != "PriorityClass" or not request.object.get("globalDefault"):
        return None
    default = _global_default(request.store)
    if default is None or (request.old is not None and default[0] == name_of(request.object)):
        return None
    return request.forbidden(f"PriorityClass {default[0]} is already marked as default. Only one default can exist")


def _find_class(world: ObjectStore, name: str) -> tuple[str, int, str] | None:
    priority_class = world.get("PriorityClass", "", name)
    if priority_class is not None:
        return _values(priority_class)
    return (name, SYSTEM_CLASSES[name], _LOWER) if name in SYSTEM_CLASSES else None


def _global_default(world: ObjectStore) -> tuple[str, int, str] | None:
    """Of several defaults the one with the lowest value."""
    defaults = map(_values, world.find(_GLOBAL_DEFAULTS, True))
    return min(defaults, key=lambda values: values[1], default=None)


def _values(priority_class: Object) -> tuple[str, int, str]:
    return name_of(priority_class), priority_class.get("value") or 0, priority_class.get("preemptionPolicy") or _LOWER
