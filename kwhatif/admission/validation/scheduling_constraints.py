"""Validation of affinity, node and label selectors, topology spread constraints and tolerations.

Upstream: pkg/apis/core/validation/validation.go and apimachinery/pkg/apis/meta/v1/validation/validation.go. Tolerations
that compare numbers are behind a feature gate that is off.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import (
    check_label_key,
    check_labels,
    dns_label,
    dns_subdomain,
    label_value,
)
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ONE_OF_SEVERAL = "must be specified when `operator` is 'In' or 'NotIn'"
_NONE = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_NO_OPERATOR = "not a valid selector operator"
_NO_SELECTOR = "must not be specified when labelSelector is not set"


def check_affinity(problems: Problems, affinity: Object | None, path: str) -> None:
    if not affinity:
        return
    nodes = affinity.get("nodeAffinity")
    if nodes is not None:
        required = nodes.get(REQUIRED)
        if required is not None:
            check_node_selector(problems, required, f"{path}.nodeAffinity.{REQUIRED}")
        for i, term in enumerate(each(nodes, _PREFERRED)):
            where = f"{path}.nodeAffinity.{_PREFERRED}[{i}]"
            _weight(problems, term, where)
            _node_term(problems, section(term, "preference"), f"{where}.preference", values=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        for i, term in enumerate(each(affinity.get(kind), REQUIRED)):
            _pod_term(problems, term, f"{path}.{kind}.{REQUIRED}[{i}]")
        for i, weighted in enumerate(each(affinity.get(kind), _PREFERRED)):
            where = f"{path}.{kind}.{_PREFERRED}[{i}]"
            _weight(problems, weighted, where)
            _pod_term(problems, section(weighted, "podAffinityTerm"), f"{where}.podAffinityTerm")


def check_label_selector(problems: Problems, selector: Object | None, path: str) -> None:
    if not selector:
        return
    check_labels(problems, selector.get("matchLabels"), f"{path}.matchLabels")
    for i, item in enumerate(each(selector, "matchExpressions")):
        where = f"{path}.matchExpressions[{i}]"
        values = item.get("values") or []
        _set_requirement(problems, item.get("operator") or "", values, where)
        check_label_key(problems, item.get("key") or "", f"{where}.key")
        _label_values(problems, values, where)


def check_label_keys(problems: Problems, term: Object, path: str) -> None:
    """``matchLabelKeys`` and ``mismatchLabelKeys``, after they were merged into the selector."""
    selector = term.get("labelSelector")
    matching, mismatching = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    for name, keys in (("matchLabelKeys", matching), ("mismatchLabelKeys", mismatching)):
        if keys and selector is None:
            problems.forbidden(f"{path}.{name}", _NO_SELECTOR)
        elif keys:
            for i, key in enumerate(keys):
                check_label_key(problems, key, f"{path}.{name}[{i}]")
    if selector is not None:
        place = {key: i for i, key in enumerate(matching)}
        seen = set(selector.get("matchLabels") or ())
        for item in each(selector, "matchExpressions"):
            key = item.get("key") or ""
            if key in place and key in seen:
                problems.invalid(f"{path}[{place[key]}]", key, "exists in both matchLabelKeys and labelSelector")
            seen.add(key)
    for i, key in enumerate(matching):
        if key in mismatching:
            problems.invalid(f"{path}.matchLabelKeys[{i}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _weight(problems: Problems, item: Object, path: str) -> None:
    weight = item.get("weight") or 0
    if not 1 <= weight <= 100:
        problems.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _pod_term(problems: Problems, term: Object, path: str) -> None:
    check_label_selector(problems, term.get("labelSelector"), f"{path}.labelSelector")
    check_label_selector(problems, term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        problems.invalid(f"{path}.namespace", name, *dns_label(name))
    check_label_keys(problems, term, path)
    key = term.get("topologyKey") or ""
    if not key:
        problems.required(f"{path}.topologyKey", "can not be empty")
    check_label_key(problems, key, f"{path}.topologyKey")


def check_node_selector(problems: Problems, selector: Object, path: str) -> None:
    terms = each(selector, "nodeSelectorTerms")
    if not terms:
        problems.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for i, term in enumerate(terms):
        _node_term(problems, term, f"{path}.nodeSelectorTerms[{i}]", values=True)


def _node_term(problems: Problems, term: Object, path: str, *, values: bool) -> None:
    for i, item in enumerate(each(term, "matchExpressions")):
        _node_requirement(problems, item, f"{path}.matchExpressions[{i}]", values=values)
    for i, item in enumerate(each(term, "matchFields")):
        _field_requirement(problems, item, f"{path}.matchFields[{i}]")


def _node_requirement(problems: Problems, item: Object, path: str, *, values: bool) -> None:
    given = item.get("values") or []
    match item.get("operator") or "":
        case "Gt" | "Lt":
            if len(given) != 1:
                problems.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
        case operator:
            _set_requirement(problems, operator, given, path)
    check_label_key(problems, item.get("key") or "", f"{path}.key")
    if values:
        _label_values(problems, given, path)


def _set_requirement(problems: Problems, operator: str, values: list[Any], path: str) -> None:
    """The operators about sets of values, which label selectors and node selectors share."""
    match operator:
        case "In" | "NotIn":
            if not values:
                problems.required(f"{path}.values", _ONE_OF_SEVERAL)
        case "Exists" | "DoesNotExist":
            if values:
                problems.forbidden(f"{path}.values", _NONE)
        case other:
            problems.invalid(f"{path}.operator", other, _NO_OPERATOR)


def _field_requirement(problems: Problems, item: Object, path: str) -> None:
    values = item.get("values") or []
    operator, key = item.get("operator") or "", item.get("key") or ""
    if operator not in ("In", "NotIn"):
        problems.invalid(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        problems.required(f"{path}.values", why)
    if key != "metadata.name":
        problems.invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for i, value in enumerate(values):
        problems.invalid(f"{path}.values[{i}]", value, *dns_subdomain(value))


def _label_values(problems: Problems, values: list[str], path: str) -> None:
    for i, value in enumerate(values):
        problems.invalid(f"{path}.values[{i}]", value, *label_value(value))


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


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")


def check_tolerations(problems: Problems, tolerations: list[Object], path: str) -> None:
    for i, toleration in enumerate(tolerations):
        where = f"{path}[{i}]"
        key, value = toleration.get("key") or "", toleration.get("value") or ""
        operator, effect = toleration.get("operator") or "", toleration.get("effect") or ""
        if key:
            check_label_key(problems, key, f"{where}.key")
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            problems.invalid(f"{where}.operator", operator, why)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            problems.invalid(f"{where}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        match operator:
            case "" | "Equal":
                wrong = label_value(value)
                problems.invalid(f"{where}.operator", value, *([";".join(wrong)] if wrong else []))
            case "Exists":
                if value:
                    why = "value must be empty when `operator` is 'Exists'"
                    problems.invalid(f"{where}.operator", value, why)
            case "Lt" | "Gt":
                problems.unsupported(f"{where}.operator", operator, (*_OPERATORS, "Lt", "Gt"))
            case _:
                problems.unsupported(f"{where}.operator", operator, _OPERATORS)
        if effect and effect not in _EFFECTS:
            problems.unsupported(f"{where}.effect", effect, _EFFECTS)
