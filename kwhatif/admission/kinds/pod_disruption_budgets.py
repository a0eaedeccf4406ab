"""PodDisruptionBudget.

Upstream: pkg/apis/policy/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_choice, check_share, check_share_at_most_all
from kwhatif.admission.validation.metadata import check_usual_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.api.objects import section


def _check(problems: Problems, obj: Object) -> None:
    spec = section(obj, "spec")
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = {"MinAvailable": spec["minAvailable"], "MaxUnavailable": spec["maxUnavailable"]}
        problems.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for key in ("minAvailable", "maxUnavailable"):
        check_share(problems, spec.get(key), f"spec.{key}")
        check_share_at_most_all(problems, spec.get(key), f"spec.{key}")
    check_label_selector(problems, section(spec, "selector"), "spec.selector")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    check_choice(problems, spec.get("unhealthyPodEvictionPolicy"), "spec.unhealthyPodEvictionPolicy", policies)
    check_usual_metadata(problems, obj)


STRATEGIES = {"PodDisruptionBudget": Strategy(check=_check)}
