"""PodGroup and Workload of scheduling.k8s.io.

Upstream: pkg/apis/scheduling/v1alpha2 (zz_generated.defaults.go, zz_generated.validations.go), pkg/apis/scheduling and
the strategies in pkg/registry/scheduling.
"""

from __future__ import annotations

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_label_key, dns_label, dns_subdomain
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.versions import Features

MOST_CLAIMS, _MOST_CONSTRAINTS, MOST_TEMPLATES = 4, 1, 8
_HIGHEST_PRIORITY = 1_000_000_000
_MODES = ("Pod", "PodGroup")
_STEP = "Defaults"


def _group_defaults(request: Request, spec: Object) -> None:
    if spec.get("disruptionMode") is None:
        spec["disruptionMode"] = "Pod"
    if request.old is None:
        # Only the scheduler and the controllers write the status of a group.
        request.object.pop("status", None)
    _drop_gated(request, spec, _spec_of(request.old), "spec")


def _workload_defaults(request: Request, spec: Object) -> None:
    before = each(_spec_of(request.old), "podGroupTemplates")
    for i, template in enumerate(each(spec, "podGroupTemplates")):
        _drop_gated(request, template, before[i] if i < len(before) else {}, f"spec.podGroupTemplates[{i}]")


def _spec_of(old: Object | None) -> Object:
    return (old or {}).get("spec") or {}


def _drop_gated(request: Request, spec: Object, before: Object, path: str) -> None:
    """Take out fields that the server does not keep unless their gate is on, or they were in use before."""
    for field in gated_off(request.features):
        if before.get(field) in (None, "", []) and spec.pop(field, None) is not None and field != "disruptionMode":
            request.record_change(_STEP, f"{path}.{field}", "dropped, since its feature gate is off")


def gated_off(features: Features) -> tuple[str, ...]:
    """The fields of a group whose feature gates are off."""
    off: list[str] = []
    if not features.topology_aware_workload_scheduling:
        off.append("schedulingConstraints")
    if not features.dra_workload_resource_claims:
        off.append("resourceClaims")
    if not features.workload_aware_preemption:
        off += ["disruptionMode", "priorityClassName", "priority"]
    return tuple(off)


def _check_group(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = obj.get("spec") or {}
    reference = spec.get("podGroupTemplateRef")
    if reference is not None:
        _check_reference(problems, reference, "spec.podGroupTemplateRef")
    _check_common(problems, spec, "spec")
    if problems.features.workload_aware_preemption and spec.get("disruptionMode") is None:
        problems.required("spec.disruptionMode")


def _check_reference(problems: Problems, reference: Object, path: str) -> None:
    workload = reference.get("workload")
    if workload is None:
        problems.invalid(path, "", "must specify one of: `workload`")
        return
    for field, rule in (("workloadName", dns_subdomain), ("podGroupTemplateName", dns_label)):
        value = workload.get(field) or ""
        if not value:
            problems.required(f"{path}.workload.{field}")
        else:
            problems.invalid(f"{path}.workload.{field}", value, *rule(value))


def _check_common(problems: Problems, spec: Object, path: str) -> None:
    """What a group and a template of groups have in common."""
    policy = spec.get("schedulingPolicy") or {}
    _check_one_of(problems, policy, ("basic", "gang"), f"{path}.schedulingPolicy")
    gang = policy.get("gang")
    if gang is not None:
        count = gang.get("minCount") or 0
        if not count:
            problems.required(f"{path}.schedulingPolicy.gang.minCount")
        elif count < 1:
            problems.invalid(f"{path}.schedulingPolicy.gang.minCount", count, "must be greater than or equal to 1")
    constraints = each(spec.get("schedulingConstraints") or {}, "topology")
    where = f"{path}.schedulingConstraints.topology"
    if len(constraints) > _MOST_CONSTRAINTS:
        problems.too_many(where, len(constraints), _MOST_CONSTRAINTS)
    for i, constraint in enumerate(constraints if len(constraints) <= _MOST_CONSTRAINTS else ()):
        key = constraint.get("key") or ""
        if not key:
            problems.required(f"{where}[{i}].key")
        else:
            check_label_key(problems, key, f"{where}[{i}].key")
    _check_claims(problems, each(spec, "resourceClaims"), f"{path}.resourceClaims")
    mode = spec.get("disruptionMode")
    if mode is not None and mode not in _MODES:
        problems.unsupported(f"{path}.disruptionMode", mode, _MODES)
    if name := spec.get("priorityClassName"):
        problems.invalid(f"{path}.priorityClassName", name, *dns_subdomain(name))
    priority = spec.get("priority")
    if priority is not None and priority > _HIGHEST_PRIORITY:
        problems.invalid(f"{path}.priority", priority, f"must be less than or equal to {_HIGHEST_PRIORITY}")


def _check_claims(problems: Problems, claims: list[Object], path: str) -> None:
    if len(claims) > MOST_CLAIMS:
        problems.too_many(path, len(claims), MOST_CLAIMS)
        return
    names: set[str] = set()
    for i, claim in enumerate(claims):
        name, where = claim.get("name") or "", f"{path}[{i}]"
        if name in names:
            problems.duplicate(where, claim)
        names.add(name)
        _check_one_of(problems, claim, ("resourceClaimName", "resourceClaimTemplateName"), where)
        if not name:
            problems.required(f"{where}.name")
        else:
            problems.invalid(f"{where}.name", name, *dns_label(name))
        for field in ("resourceClaimName", "resourceClaimTemplateName"):
            if claim.get(field) is not None:
                problems.invalid(f"{where}.{field}", claim[field], *dns_subdomain(claim[field]))


def _check_one_of(problems: Problems, value: Object, fields: tuple[str, ...], path: str) -> None:
    given = [field for field in fields if value.get(field) is not None]
    known = ", ".join(f"`{field}`" for field in fields)
    if not given:
        problems.invalid(path, "", f"must specify one of: {known}")
    elif len(given) > 1:
        shown = ", ".join(f"`{field}`" for field in given)
        problems.invalid(path, f"{{{shown}}}", f"must specify exactly one of: {known}")


def _check_workload(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = obj.get("spec") or {}
    reference = spec.get("controllerRef")
    if reference is not None:
        for field in ("kind", "name"):
            if not reference.get(field):
                problems.required(f"spec.controllerRef.{field}")
        if reference.get("apiGroup"):
            problems.invalid(
                "spec.controllerRef.apiGroup", reference["apiGroup"], *dns_subdomain(reference["apiGroup"])
            )
    templates, path = each(spec, "podGroupTemplates"), "spec.podGroupTemplates"
    if not templates:
        problems.required(path)
    if len(templates) > MOST_TEMPLATES:
        problems.too_many(path, len(templates), MOST_TEMPLATES)
        return
    names: set[str] = set()
    for i, template in enumerate(templates):
        name = template.get("name") or ""
        if name in names:
            problems.duplicate(f"{path}[{i}]", template)
        names.add(name)
        if not name:
            problems.required(f"{path}[{i}].name")
        else:
            problems.invalid(f"{path}[{i}].name", name, *dns_label(name))
        _check_common(problems, template, f"{path}[{i}]")


STRATEGIES = {
    "PodGroup": Strategy(_group_defaults, _check_group),
    "Workload": Strategy(_workload_defaults, _check_workload),
}
