"""Validation of affinity, node and label selectors, topology spread constraints and tolerations.

Upstream: pkg/apis/core/validation/validation.go and apimachinery/pkg/apis/meta/v1/validation/validation.go. Tolerations
that compare numbers are behind a feature gate that is off.
"""

from __future__ import annotations

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_label_key, check_labels, dns_subdomain, label_value
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import each_item, table

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ONE_OF_SEVERAL = "must be specified when `operator` is 'In' or 'NotIn'"
_NONE = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_NO_OPERATOR = "not a valid selector operator"
_NO_SELECTOR = "must not be specified when labelSelector is not set"


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


def _node_operator(problems: Problems, item: Object, path: str) -> None:
    if item.get("operator") not in ("Gt", "Lt"):
        _set_operator(problems, item, path)
    elif len(item.get("values") or ()) != 1:
        problems.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")


def _set_operator(problems: Problems, item: Object, path: str) -> None:
    """The operators about sets of values, which label selectors and node selectors share."""
    values = item.get("values")
    match item.get("operator") or "":
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


def check_spread_constraints(problems: Problems, constraints: list[Object], path: str) -> None:
    kinds = [(item.get("topologyKey") or "", item.get("whenUnsatisfiable") or "") for item in constraints]
    for i, (constraint, (key, action)) in enumerate(zip(constraints, kinds, strict=True)):
        where = f"{path}[{i}]"
        _SPREAD_KIND(problems, constraint, where)
        if kinds[i] in kinds[i + 1 :]:
            problems.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        _SPREAD(problems, constraint, where)


def _domains_to_schedule(problems: Problems, constraint: Object, path: str) -> None:
    action = constraint.get("whenUnsatisfiable") or ""
    if constraint.get("minDomains") is not None and action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        problems.invalid(f"{path}.minDomains", constraint["minDomains"], why)


def _matched_label_keys(problems: Problems, constraint: Object, path: str) -> None:
    check_label_keys(problems, {**constraint, "mismatchLabelKeys": None}, path)


def _operator(problems: Problems, operator: str, path: str) -> None:
    if operator not in ("Equal", "Exists"):
        problems.not_supported(path, operator, ("Equal", "Exists", *(("Lt", "Gt") if operator in ("Lt", "Gt") else ())))


def _value(value: str) -> list[str]:
    return [";".join(wrong)] if (wrong := label_value(value)) else []


check_label_selector = table(
    """
    matchLabels                  check_labels
    matchExpressions[]           _set_operator
    matchExpressions[].key       text & label_key
    matchExpressions[].values[]  label_value
    """,
    *(check_labels, _set_operator),
)
_PREFERENCE = """
    matchExpressions[]           _node_operator
    matchExpressions[].key       text & label_key
    {values}
    matchFields[]                _field_requirement
"""
_NODE_TERM = _PREFERENCE.format(values="matchExpressions[].values[]  label_value")
check_node_selector = table(
    """
    nodeSelectorTerms            required: must have at least one node selector term
    nodeSelectorTerms[]          term
    """,
    term=table(_NODE_TERM, _node_operator, _field_requirement),
)
_POD_TERM = table(
    """
    labelSelector                check_label_selector
    namespaceSelector            check_label_selector
    namespaces                   each dns_label @ namespace
    .                            check_label_keys
    topologyKey                  required: can not be empty
    topologyKey                  text & label_key
    """,
    check_label_keys,
    check_label_selector=check_label_selector,
)
_WEIGHT = "number & between 1 100: must be in the range 1-100"
_POD_AFFINITY = f"""
    KIND.{REQUIRED}[]                  term
    KIND.{_PREFERRED}[].weight         {_WEIGHT}
    KIND.{_PREFERRED}[].podAffinityTerm    part & term
"""
check_affinity = table(
    f"""
    nodeAffinity.{REQUIRED}                    check_node_selector
    nodeAffinity.{_PREFERRED}[].weight         {_WEIGHT}
    nodeAffinity.{_PREFERRED}[].preference     part & preference
    """
    + "".join(_POD_AFFINITY.replace("KIND", kind) for kind in ("podAffinity", "podAntiAffinity")),
    check_node_selector=check_node_selector,
    preference=table(_PREFERENCE.format(values=""), _node_operator, _field_requirement),
    term=_POD_TERM,
)
_SPREAD_KIND = table(
    """
    maxSkew                      number & at_least 1: must be greater than zero
    topologyKey                  required: can not be empty
    whenUnsatisfiable            text & one_of DoNotSchedule ScheduleAnyway
    """
)
_SPREAD = table(
    """
    minDomains                   at_least 1: must be greater than zero
    .                            _domains_to_schedule
    nodeAffinityPolicy           one_of Honor Ignore
    nodeTaintsPolicy             one_of Honor Ignore
    .                            _matched_label_keys
    labelSelector                check_label_selector
    """,
    *(_domains_to_schedule, _matched_label_keys),
    check_label_selector=check_label_selector,
)
check_tolerations = each_item(
    table(
        """
    key                          if_nonempty & label_key
    operator                     text & invalid unless key or operator=Exists:
            operator must be Exists when `key` is empty, which means "match all values and all keys"
    effect                       text & invalid if tolerationSeconds? and not_of_execution:
            effect must be 'NoExecute' when `tolerationSeconds` is set
    value                        text & _value if is_equal @ operator
    value                        if_nonempty & invalid if operator=Exists @ operator:
            value must be empty when `operator` is 'Exists'
    operator                     if_nonempty & _operator
    effect                       if_nonempty & one_of NoSchedule PreferNoSchedule NoExecute
    """,
        *(_value, _operator),
        is_equal=lambda toleration: toleration.get("operator") in (None, "", "Equal"),
        not_of_execution=lambda toleration: toleration.get("effect") != "NoExecute",
    )
)
