"""RuntimeClass: sets a pod's overhead, node selector and tolerations from its runtime class.

Upstream: plugin/pkg/admission/runtimeclass/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.container_amounts import amounts
from kwhatif.admission.plugins.toleration_merging import merge_tolerations
from kwhatif.admission.request import Request, deep_copy_json, each, within
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.api.objects import section

_STEP = "RuntimeClass"
_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_BY_HAND = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def admit(request: Request) -> RequestRefusal | None:
    """Set overhead, node selector and tolerations of the pod's class."""
    if request.kind != "Pod" or request.old is not None:
        return None
    spec = within(request.object, "spec")
    name = spec.get("runtimeClassName")
    if name is None:
        return None
    runtime_class = request.store.get("RuntimeClass", "", name)
    if runtime_class is None:
        if request.store.knows("RuntimeClass"):
            return request.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
        text = f"no RuntimeClass is known: of {name} neither overhead nor scheduling is counted"
        request.record_change(_STEP, "spec.runtimeClassName", text)
        return None
    if runtime_class.get("overhead") is not None:
        fixed = section(runtime_class["overhead"], "podFixed")
        if spec.get("overhead") and amounts(spec["overhead"]) != amounts(fixed):
            return request.forbidden(_DIFFERS)
        if fixed and not spec.get("overhead"):
            what = ", ".join(f"{key}={value}" for key, value in fixed.items())
            request.record_change(_STEP, "spec.overhead", f"{what} from RuntimeClass {name}")
        spec["overhead"] = deep_copy_json(fixed)
    return _schedule(request, spec, name, section(runtime_class, "scheduling"))


def _schedule(request: Request, spec: Object, name: str, scheduling: Object) -> RequestRefusal | None:
    selector = section(scheduling, "nodeSelector")
    own = section(spec, "nodeSelector")
    for key, value in selector.items():
        if own.get(key, value) != value:
            theirs, ours = f"runtimeClass.scheduling.nodeSelector[{key}]", f"pod.spec.nodeSelector[{key}]"
            return request.forbidden(f"conflict: {theirs} = {value}; {ours} = {own[key]}")
    if selector:
        spec["nodeSelector"] = {**own, **selector}
        what = ", ".join(f"{key}={value}" for key, value in selector.items())
        request.record_change(_STEP, "spec.nodeSelector", f"{what} from RuntimeClass {name}")
    added = each(scheduling, "tolerations")
    if added:
        spec["tolerations"] = merge_tolerations(each(spec, "tolerations"), deep_copy_json(added))
        request.record_change(_STEP, "spec.tolerations", f"those of RuntimeClass {name}")
    return None


def validate(request: Request) -> RequestRefusal | None:
    """An overhead without a class that has one is refused; so is another one than the class has."""
    if request.kind != "Pod" or request.old is not None:
        return None
    spec = section(request.object, "spec")
    name, overhead = spec.get("runtimeClassName"), spec.get("overhead")
    runtime_class = request.store.get("RuntimeClass", "", name) if name is not None else None
    if runtime_class is None and name is not None:
        return None
    fixed = (runtime_class or {}).get("overhead")
    if fixed is None:
        return request.forbidden(_BY_HAND) if overhead is not None else None
    return None if amounts(overhead) == amounts(fixed.get("podFixed")) else request.forbidden(_DIFFERS)
