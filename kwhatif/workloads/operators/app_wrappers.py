"""AppWrappers: objects of any kinds that start together.

Upstream: project-codeflare/appwrapper, internal/controller/appwrapper (resource_management.go) and pkg/utils.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kwhatif.admission.response import Doubt, Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.objects import deep_copy_json, group_of, name_of, namespace_of, owner_reference
from kwhatif.workloads.operators.operator_kind import OperatorKind, items_of
from kwhatif.workloads.workload_kind import Companions, UpdateOrder, WorkloadKind

_LABEL = "workload.codeflare.dev/appwrapper"
_NATIVE = {
    ("", "Pod"),
    ("", "ReplicationController"),
    ("", "PersistentVolumeClaim"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
}


Operators = Callable[[], Iterable[WorkloadKind]]


def app_wrapper_kind(operators: Operators) -> OperatorKind:
    """The kind, where ``operators`` are the kinds that may be wrapped besides Kubernetes' own."""
    return OperatorKind(
        "workload.codeflare.dev",
        "AppWrapper",
        lambda wrapper, companions: _children(wrapper, companions, operators()),
        UpdateOrder.left,
        lambda wrapper, companions: _doubts(wrapper, companions, operators()),
    )


def _children(wrapper: Object, companions: Companions, operators: Iterable[WorkloadKind]) -> Iterator[Object]:
    """The wrapped objects that have pods, or what their own operators make of them; none while it is suspended."""
    if section(wrapper, "spec").get("suspend"):
        return
    for place, obj in _components_of(wrapper):
        kind = _operator_of(obj, operators)
        if kind is not None:
            yield from (_label(child, name_of(wrapper)) for child in kind.children_of(obj, companions))
        elif (group_of(obj), obj.get("kind")) in _NATIVE:
            if obj["kind"] == "Pod":
                check_part(part_of(obj, "spec"), "core.v1.PodSpec", f"{place}.spec")
            yield _label(obj, name_of(wrapper))


def _doubts(wrapper: Object, companions: Companions, operators: Iterable[WorkloadKind]) -> Iterator[Doubt]:
    for index, (_, obj) in enumerate(_components_of(wrapper)):
        kind = _operator_of(obj, operators)
        if kind is not None:
            yield from kind.doubts_of(obj, companions, updated=False)
        elif (group_of(obj), obj.get("kind")) not in _NATIVE and items_of(_component(wrapper, index), "podSets"):
            what = f"AppWrapper {name_of(wrapper)} wraps {obj.get('kind')} {name_of(obj)}, a kind that is not known"
            yield Doubt(what, "its pods are missing")


def _component(wrapper: Object, index: int) -> Object:
    return items_of(wrapper, "spec", "components")[index]


def _components_of(wrapper: Object) -> Iterator[tuple[str, Object]]:
    """The place of each wrapped object, and the object as it is made."""
    for index, component in enumerate(items_of(wrapper, "spec", "components")):
        obj = deep_copy_json(section(component, "template"))
        metadata = section(obj, "metadata")
        obj["metadata"] = {
            **metadata,
            "namespace": namespace_of(wrapper),
            "ownerReferences": [owner_reference(wrapper)],
        }
        obj["spec"] = section(obj, "spec")
        yield f"$.spec.components[{index}].template", obj


def _label(child: Object, wrapper: str) -> Object:
    """The child, with the label of its wrapper on all pods."""
    labelled = _with_label(child, wrapper)
    template = section(child, "spec", "template")
    if template:
        labelled["spec"] = {**part_of(child, "spec"), "template": _with_label(template, wrapper)}
    return labelled


def _with_label(obj: Object, wrapper: str) -> Object:
    metadata = section(obj, "metadata")
    return {**obj, "metadata": {**metadata, "labels": {**section(metadata, "labels"), _LABEL: wrapper}}}


def _operator_of(obj: Object, operators: Iterable[WorkloadKind]) -> WorkloadKind | None:
    return next((kind for kind in operators if kind.fits(obj)), None)
