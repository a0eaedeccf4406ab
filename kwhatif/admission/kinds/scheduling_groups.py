"""PodGroup and Workload of scheduling.k8s.io.

Upstream: pkg/apis/scheduling/v1alpha2 (zz_generated.defaults.go, zz_generated.validations.go), pkg/apis/scheduling and
the strategies in pkg/registry/scheduling.
"""

from __future__ import annotations

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.api.objects import section
from kwhatif.versions import Features

MOST_CLAIMS, _MOST_CONSTRAINTS, MOST_TEMPLATES = 4, 1, 8
_HIGHEST_PRIORITY = 1_000_000_000
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
    return section(old or {}, "spec")


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


def _one_of(problems: Problems, value: Object, path: str, *fields: str) -> None:
    given = [field for field in fields if value.get(field) is not None]
    known = ", ".join(f"`{field}`" for field in fields)
    if not given:
        problems.invalid(path, "", f"must specify one of: {known}")
    elif len(given) > 1:
        shown = ", ".join(f"`{field}`" for field in given)
        problems.invalid(path, f"{{{shown}}}", f"must specify exactly one of: {known}")


def _policy(problems: Problems, policy: Object, path: str) -> None:
    _one_of(problems, policy, path, "basic", "gang")


def _source(problems: Problems, claim: Object, path: str) -> None:
    _one_of(problems, claim, path, "resourceClaimName", "resourceClaimTemplateName")


_COMMON = table(
    f"""
    schedulingPolicy                             part & _policy
    schedulingPolicy.gang?.minCount              required & at_least 1
    schedulingConstraints.topology[]             most {_MOST_CONSTRAINTS}
    schedulingConstraints.topology[].key         required & label_key
    resourceClaims[]                             most {MOST_CLAIMS}
    resourceClaims[]                             unique name whole
    resourceClaims[]                             _source
    resourceClaims[].name                        required & dns_label
    resourceClaims[].resourceClaimName           dns_subdomain
    resourceClaims[].resourceClaimTemplateName   dns_subdomain
    disruptionMode                               one_of Pod PodGroup
    priorityClassName                            if_nonempty & dns_subdomain
    priority                                     at_most {_HIGHEST_PRIORITY}
    """,
    *(_policy, _source),
)


def _disruption_mode(problems: Problems, spec: Object, path: str) -> None:
    if problems.features.workload_aware_preemption and spec.get("disruptionMode") is None:
        problems.required(f"{path}.disruptionMode")


_GROUP = object_table(
    """
    spec.podGroupTemplateRef?            invalid empty unless workload?: must specify one of: `workload`
    spec.podGroupTemplateRef?.workload?.workloadName            required & dns_subdomain
    spec.podGroupTemplateRef?.workload?.podGroupTemplateName    required & dns_label
    spec                                 part & common
    spec                                 part & _disruption_mode
    """,
    _disruption_mode,
    common=_COMMON,
)
_WORKLOAD = object_table(
    f"""
    spec.controllerRef?.kind             required
    spec.controllerRef?.name             required
    spec.controllerRef?.apiGroup         if_nonempty & dns_subdomain
    spec.podGroupTemplates               required
    spec.podGroupTemplates[]             most {MOST_TEMPLATES}
    spec.podGroupTemplates[]             unique name whole
    spec.podGroupTemplates[].name        required & dns_label
    spec.podGroupTemplates[]             common
    """,
    common=_COMMON,
)
STRATEGIES = {
    "PodGroup": Strategy(_group_defaults, _GROUP),
    "Workload": Strategy(_workload_defaults, _WORKLOAD),
}
