"""Updates of PodGroups and Workloads: what they are made of never changes, and the status is not theirs to write.

Upstream: pkg/apis/scheduling/v1alpha2/zz_generated.validations.go, the strategies in pkg/registry/scheduling/{podgroup,
workload}, and validate.Immutable of apimachinery, which reports no value.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.kinds.scheduling_groups import MOST_CLAIMS, MOST_TEMPLATES, gated_off
from kwhatif.admission.response import Object
from kwhatif.admission.updates.normal_form import same
from kwhatif.admission.updates.update_rules import IMMUTABLE, UpdateRules
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section

_OF_GROUP = (
    *("podGroupTemplateRef", "schedulingPolicy", "schedulingConstraints", "resourceClaims"),
    *("disruptionMode", "priorityClassName", "priority"),
)
_OF_WORKLOAD = ("controllerRef", "podGroupTemplates")


def _keep_status(new: Object, old: Object) -> None:
    new.pop("status", None)
    if old.get("status") is not None:
        new["status"] = old["status"]


def _check_group(problems: Problems, new: Object, old: Object) -> None:
    off = gated_off(problems.features)
    for field in _OF_GROUP:
        value = _changed_value(problems, new, old, field, is_gated=field in off)
        if field == "resourceClaims" and isinstance(value, list) and len(value) > MOST_CLAIMS:
            problems.too_many("spec.resourceClaims", len(value), MOST_CLAIMS)


def _check_workload(problems: Problems, new: Object, old: Object) -> None:
    for field in _OF_WORKLOAD:
        value = _changed_value(problems, new, old, field)
        if field == "podGroupTemplates" and isinstance(value, list):
            if len(value) > MOST_TEMPLATES:
                problems.too_many("spec.podGroupTemplates", len(value), MOST_TEMPLATES)
            if not value:
                problems.required("spec.podGroupTemplates")


def _changed_value(problems: Problems, new: Object, old: Object, field: str, *, is_gated: bool = False) -> Any:
    """A field's new value, if it differs from the old one; that it must not is noted.

    One whose gate is off (``is_gated``) may be taken away, and nothing else.
    """
    now, was = (section(obj, "spec").get(field) for obj in (new, old))
    if same(now or None, was or None):
        return None
    if not is_gated:
        problems.invalid(f"spec.{field}", None, IMMUTABLE)
    elif now is not None:
        problems.forbidden(f"spec.{field}", "")
    return now if now is not None else []


_SPARED = ("metadata.name", "spec")
"""A spec is not validated again: it is unchanged, or the update is refused."""

RULES = {
    "PodGroup": UpdateRules(prepare=_keep_status, check=_check_group, spared=_SPARED),
    "Workload": UpdateRules(check=_check_workload, spared=_SPARED),
}
