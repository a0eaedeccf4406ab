"""Rules for topology spread constraints.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_label_keys, check_label_selector

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_NOT_POSITIVE = "must be greater than zero"


def check_spread_constraints(problems: Problems, constraints: list[Object], path: str) -> None:
    kinds = [(item.get("topologyKey") or "", item.get("whenUnsatisfiable") or "") for item in constraints]
    for i, (constraint, (key, action)) in enumerate(zip(constraints, kinds, strict=True)):
        where = f"{path}[{i}]"
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            problems.invalid(f"{where}.maxSkew", skew, _NOT_POSITIVE)
        if not key:
            problems.required(f"{where}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            problems.unsupported(f"{where}.whenUnsatisfiable", action, _ACTIONS)
        if kinds[i] in kinds[i + 1 :]:
            problems.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        _min_domains(problems, constraint.get("minDomains"), action, f"{where}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(name)
            if policy is not None and policy not in _POLICIES:
                problems.unsupported(f"{where}.{name}", policy, _POLICIES)
        check_label_keys(problems, {**constraint, "mismatchLabelKeys": None}, where)
        check_label_selector(problems, constraint.get("labelSelector"), f"{where}.labelSelector")


def _min_domains(problems: Problems, domains: int | None, action: str, path: str) -> None:
    if domains is None:
        return
    if domains <= 0:
        problems.invalid(path, domains, _NOT_POSITIVE)
    if action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        problems.invalid(path, domains, why)
