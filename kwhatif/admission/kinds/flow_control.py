"""FlowSchema and PriorityLevelConfiguration. The fixed specs of the mandatory objects (``exempt``, ``catch-all``) are
not checked.

Upstream: pkg/apis/flowcontrol (validation/validation.go, v1/defaults.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_label, dns_subdomain
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems

_EXEMPT, _HIGHEST, _MOST_QUEUES, _MOST_BITS = "exempt", 10_000, 10_000_000, 60
_METHODS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_MEMBER = "each member of this list must be '*' or a DNS-1123 label; "


def _schema_defaults(request: Request, spec: Object) -> None:
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def _check_schema(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = obj["spec"]
    precedence, path = spec["matchingPrecedence"], "spec.matchingPrecedence"
    if precedence <= 0:
        problems.invalid(path, precedence, "must be a positive value")
    if precedence > _HIGHEST:
        problems.invalid(path, precedence, f"must not be greater than {_HIGHEST}")
    if precedence == 1 and name_of(obj) != _EXEMPT:
        problems.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        problems.unsupported("spec.distinguisherMethod.type", method, _METHODS)
    level, where = (spec.get("priorityLevelConfiguration") or {}).get("name"), "spec.priorityLevelConfiguration.name"
    if level:
        problems.invalid(where, level, *dns_subdomain(level))
    else:
        problems.required(where, "must reference a priority level")
    for i, rule in enumerate(each(spec, "rules")):
        _rule(problems, rule, f"spec.rules[{i}]")


def _rule(problems: Problems, rule: Object, path: str) -> None:
    if not each(rule, "subjects"):
        problems.required(f"{path}.subjects", "subjects must contain at least one value")
    for i, subject in enumerate(each(rule, "subjects")):
        _subject(problems, subject, f"{path}.subjects[{i}]")
    if not each(rule, "resourceRules") and not each(rule, "nonResourceRules"):
        problems.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for i, inner in enumerate(each(rule, "resourceRules")):
        _resources(problems, inner, f"{path}.resourceRules[{i}]")
    for i, inner in enumerate(each(rule, "nonResourceRules")):
        where = f"{path}.nonResourceRules[{i}]"
        _verbs(problems, inner, where)
        addresses = inner.get("nonResourceURLs") or []
        if _check_wildcard(problems, addresses, f"{where}.nonResourceURLs", "non-resource URLs", "nonResourceURLs"):
            for j, address in enumerate(addresses):
                _address(problems, address, f"{where}.nonResourceURLs[{j}]")


def _subject(problems: Problems, subject: Object, path: str) -> None:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        problems.unsupported(f"{path}.kind", kind, tuple(_SUBJECTS))
        return
    own = _SUBJECTS[kind]
    told, where = subject.get(own), f"{path}.{own}"
    if told is None:
        problems.required(where, f"{own} is required when subject kind is '{kind}'")
    else:
        _check_subject_name(problems, told, where, account=kind == "ServiceAccount")
    for other in ("ServiceAccount", "User", "Group"):
        key = _SUBJECTS[other]
        if other != kind and subject.get(key) is not None:
            problems.forbidden(f"{path}.{key}", f"{key} is forbidden when subject kind is not '{other}'")


def _check_subject_name(problems: Problems, subject: Object, path: str, *, account: bool) -> None:
    name, namespace = subject.get("name") or "", subject.get("namespace") or ""
    if not name:
        problems.required(f"{path}.name")
    elif account and name != "*":
        problems.invalid(f"{path}.name", name, *dns_subdomain(name))
    if account and not namespace:
        problems.required(f"{path}.namespace", "must specify namespace for service account")
    elif account:
        problems.invalid(f"{path}.namespace", namespace, *dns_label(namespace))


def _resources(problems: Problems, rule: Object, path: str) -> None:
    _verbs(problems, rule, path)
    for key, what in (("apiGroups", "api group"), ("resources", "resource")):
        values = rule.get(key) or []
        if not values:
            problems.required(f"{path}.{key}", f"resource rules must supply at least one {what}")
        elif len(values) > 1 and "*" in values:
            problems.invalid(f"{path}.{key}", values, f"if '*' is present, must not specify other {what}s")
    namespaces, where = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        problems.required(where, "resource rules that are not cluster scoped must supply at least one namespace")
    elif "*" in namespaces:
        if len(namespaces) > 1:
            problems.invalid(where, namespaces, "if '*' is present, must not specify other namespaces")
    else:
        for i, name in enumerate(namespaces):
            problems.invalid(f"{where}[{i}]", name, *(f"{_MEMBER}{text}" for text in dns_label(name)))


def _verbs(problems: Problems, rule: Object, path: str) -> None:
    verbs = rule.get("verbs") or []
    if _check_wildcard(problems, verbs, f"{path}.verbs", "verbs", "verbs") and not set(verbs) <= set(_VERBS):
        problems.unsupported(f"{path}.verbs", verbs, _VERBS)


def _check_wildcard(problems: Problems, values: Sequence[str], path: str, what: str, key: str) -> bool:
    """A star has to stand alone; returns whether there are values to check one by one."""
    if not values:
        problems.required(path, f"{key} must contain at least one value")
    elif "*" in values and len(values) > 1:
        problems.invalid(path, values, f"if '*' is present, must not specify other {what}")
    return bool(values) and "*" not in values


def _address(problems: Problems, address: str, path: str) -> None:
    stars = address.count("*")
    for wrong, why in (
        (not address, "must not be empty"),
        (address != "/" and not address.startswith("/"), "must start with slash"),
        (" " in address, "must not contain white-space"),
        ("//" in address, "must not contain double slash"),
        (stars > 1 or (stars == 1 and not address.endswith("/*")), "wildcard can only do suffix matching"),
    ):
        if wrong:
            problems.invalid(path, address, why)
            return


# --- priority levels


def _level_defaults(request: Request, spec: Object) -> None:
    for key, shares in (("limited", 30), ("exempt", 0)):
        told = spec.get(key)
        if told is not None:
            told["nominalConcurrencyShares"] = _or(told.get("nominalConcurrencyShares"), shares)
            told["lendablePercent"] = _or(told.get("lendablePercent"), 0)
    queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        for key, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            queuing[key] = queuing.get(key) or value


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _check_level(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = obj["spec"]
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name_of(obj) == _EXEMPT) != (kind == "Exempt"):
        problems.invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    match kind:
        case "Exempt":
            if limited is not None:
                problems.forbidden("spec.limited", "must be nil if the type is not Limited")
            if exempt is not None:
                _shares(problems, exempt, "spec.exempt")
        case "Limited":
            if exempt is not None:
                problems.forbidden("spec.exempt", "must be nil if the type is Limited")
            if limited is None:
                problems.required("spec.limited", "must not be empty when type is Limited")
            else:
                _check_limited(problems, limited, "spec.limited")
        case _:
            problems.unsupported("spec.type", kind, ("Exempt", "Limited"))


def _shares(problems: Problems, spec: Object, path: str) -> None:
    _share_count(problems, spec, path)
    _lendable(problems, spec, path)


def _share_count(problems: Problems, spec: Object, path: str) -> None:
    if spec["nominalConcurrencyShares"] < 0:
        shares = spec["nominalConcurrencyShares"]
        problems.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")


def _lendable(problems: Problems, spec: Object, path: str) -> None:
    if not 0 <= spec["lendablePercent"] <= 100:
        problems.invalid(f"{path}.lendablePercent", spec["lendablePercent"], "must be between 0 and 100, inclusive")


def _check_limited(problems: Problems, limited: Object, path: str) -> None:
    _share_count(problems, limited, path)
    response, where = limited.get("limitResponse") or {}, f"{path}.limitResponse"
    kind, queuing = response.get("type") or "", response.get("queuing")
    if kind not in ("Queue", "Reject"):
        problems.unsupported(f"{where}.type", kind, ("Queue", "Reject"))
    elif kind == "Reject" and queuing is not None:
        problems.forbidden(f"{where}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue" and queuing is None:
        problems.required(f"{where}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif kind == "Queue" and queuing is not None:
        _queuing(problems, queuing, f"{where}.queuing")
    _lendable(problems, limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        problems.invalid(f"{path}.borrowingLimitPercent", borrowing, why)


def _queuing(problems: Problems, queuing: Object, path: str) -> None:
    length, queues, hand = (queuing[key] for key in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        problems.invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        problems.invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _MOST_QUEUES:
        problems.invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        problems.invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        problems.invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif ceil(log2(queues) * hand) > _MOST_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_MOST_BITS}"
        problems.invalid(f"{path}.handSize", hand, why)


STRATEGIES = {
    "FlowSchema": Strategy(_schema_defaults, _check_schema),
    "PriorityLevelConfiguration": Strategy(_level_defaults, _check_level),
}
