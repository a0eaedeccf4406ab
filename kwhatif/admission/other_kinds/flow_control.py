"""FlowSchema and PriorityLevelConfiguration. The fixed specs of the mandatory objects (``exempt``, ``catch-all``) are
not checked.

Upstream: pkg/apis/flowcontrol (validation/validation.go, v1/defaults.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_label
from kwhatif.admission.validation.metadata import object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.api.objects import part_of, section

_HIGHEST, _MOST_QUEUES, _MOST_BITS = 10_000, 10_000_000, 60
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_MEMBER = "each member of this list must be '*' or a DNS-1123 label; "


def _schema_defaults(request: Request, spec: Object) -> None:
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def _method(problems: Problems, method: Object, path: str) -> None:
    if method.get("type") not in ("ByNamespace", "ByUser"):
        problems.not_supported(f"{path}.type", method, ("ByNamespace", "ByUser"))


def _is_misplaced(obj: Object) -> bool:
    return bool(part_of(obj, "spec", "matchingPrecedence") == 1 and name_of(obj) != "exempt")


def _subject(problems: Problems, subject: Object, path: str) -> None:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        problems.not_supported(f"{path}.kind", kind, tuple(_SUBJECTS))
        return
    own = _SUBJECTS[kind]
    if subject.get(own) is None:
        problems.required(f"{path}.{own}", f"{own} is required when subject kind is '{kind}'")
    else:
        (_ACCOUNT if kind == "ServiceAccount" else _NAMED)(problems, subject[own], f"{path}.{own}")
    for other in ("ServiceAccount", "User", "Group"):
        key = _SUBJECTS[other]
        if other != kind and subject.get(key) is not None:
            problems.forbidden(f"{path}.{key}", f"{key} is forbidden when subject kind is not '{other}'")


def _verbs(problems: Problems, verbs: Sequence[str], path: str) -> None:
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        problems.not_supported(path, verbs, _VERBS)


def _is_mixed(values: Sequence[str]) -> bool:
    return "*" in values and len(values) > 1


def _namespaces(problems: Problems, names: Sequence[str], path: str) -> None:
    for i, name in enumerate(() if "*" in names else names):
        problems.invalid(f"{path}[{i}]", name, *(f"{_MEMBER}{text}" for text in dns_label(name)))


def _addresses(problems: Problems, addresses: Sequence[str], path: str) -> None:
    for i, address in enumerate(() if "*" in addresses else addresses):
        _address(problems, address, f"{path}[{i}]")


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


_NAMED = table("name required")
_ACCOUNT = table(
    """
    name                     required
    name                     if_nonempty & dns_subdomain unless name=*
    namespace                required: must specify namespace for service account
    namespace                if_nonempty & dns_label
    """
)
_REQUEST = table(
    """
    subjects                 required: subjects must contain at least one value
    subjects[]               _subject
    .                        missing unless resourceRules or nonResourceRules:
            at least one of resourceRules and nonResourceRules has to be non-empty
    resourceRules[].verbs          required: verbs must contain at least one value
    resourceRules[].verbs          not mixed: if '*' is present, must not specify other verbs
    resourceRules[].verbs          if_nonempty & _verbs
    resourceRules[].apiGroups      required: resource rules must supply at least one api group
    resourceRules[].apiGroups      not mixed: if '*' is present, must not specify other api groups
    resourceRules[].resources      required: resource rules must supply at least one resource
    resourceRules[].resources      not mixed: if '*' is present, must not specify other resources
    resourceRules[].namespaces     missing unless namespaces or clusterScope:
            resource rules that are not cluster scoped must supply at least one namespace
    resourceRules[].namespaces     not mixed: if '*' is present, must not specify other namespaces
    resourceRules[].namespaces     _namespaces
    nonResourceRules[].verbs       required: verbs must contain at least one value
    nonResourceRules[].verbs       not mixed: if '*' is present, must not specify other verbs
    nonResourceRules[].verbs       if_nonempty & _verbs
    nonResourceRules[].nonResourceURLs    required: nonResourceURLs must contain at least one value
    nonResourceRules[].nonResourceURLs    not mixed: if '*' is present, must not specify other non-resource URLs
    nonResourceRules[].nonResourceURLs    _addresses
    """,
    *(_subject, _verbs, _namespaces, _addresses),
    mixed=_is_mixed,
)
_SCHEMA = object_table(
    f"""
    spec.matchingPrecedence        at_least 1: must be a positive value
    spec.matchingPrecedence        at_most {_HIGHEST}: must not be greater than {_HIGHEST}
    spec.matchingPrecedence        invalid if _is_misplaced:
            only the schema named 'exempt' may have matchingPrecedence 1
    spec.distinguisherMethod       _method
    spec.priorityLevelConfiguration.name    required: must reference a priority level
    spec.priorityLevelConfiguration.name    if_nonempty & dns_subdomain
    spec.rules[]                   request
    """,
    *(_is_misplaced, _method),
    request=_REQUEST,
)


def _level_defaults(request: Request, spec: Object) -> None:
    for key, shares in (("limited", 30), ("exempt", 0)):
        level = spec.get(key)
        if level is not None:
            level["nominalConcurrencyShares"] = _or(level.get("nominalConcurrencyShares"), shares)
            level["lendablePercent"] = _or(level.get("lendablePercent"), 0)
    queuing = section(spec, "limited", "limitResponse").get("queuing")
    if queuing is not None:
        for key, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            queuing[key] = queuing.get(key) or value


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _is_type_of_other(obj: Object) -> bool:
    return bool((name_of(obj) == "exempt") != (part_of(obj, "spec").get("type") == "Exempt"))


def _hands(problems: Problems, queuing: Object, path: str) -> None:
    queues, hand = part_of(queuing, "queues"), part_of(queuing, "handSize")
    if hand <= 0:
        problems.invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        problems.invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif ceil(log2(queues) * hand) > _MOST_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_MOST_BITS}"
        problems.invalid(f"{path}.handSize", hand, why)


_SHARES = "nominalConcurrencyShares at_least 0: must be a non-negative integer"
_LIMITED = table(
    f"""
    {_SHARES}
    limitResponse.type       text & one_of Queue Reject
    limitResponse.queuing    forbidden if limitResponse.type=Reject:
            must be nil if limited.limitResponse.type is not Limited
    limitResponse.queuing    present if limitResponse.type=Queue:
            must not be empty if limited.limitResponse.type is Limited
    limitResponse.queuing    queuing if limitResponse.type=Queue
    lendablePercent          between 0 100
    borrowingLimitPercent    at_least 0: if specified, must be a non-negative integer
    """,
    queuing=table(
        f"""
        queueLengthLimit     at_least 1: must be positive
        queues               at_least 1: must be positive
        queues               at_most {_MOST_QUEUES}: must not be greater than {_MOST_QUEUES}
        .                    _hands
        """,
        _hands,
    ),
)
_LEVEL = object_table(
    """
    spec.type                text & invalid if _is_type_of_other: must be 'Exempt' if and only if `name` is 'exempt'
    spec.limited             forbidden if spec.type=Exempt: must be nil if the type is not Limited
    spec.exempt              exempt if spec.type=Exempt
    spec.exempt              forbidden if spec.type=Limited: must be nil if the type is Limited
    spec.limited             present if spec.type=Limited: must not be empty when type is Limited
    spec.limited             limited if spec.type=Limited
    spec.type                text & one_of Exempt Limited
    """,
    _is_type_of_other,
    exempt=table(f"{_SHARES}\nlendablePercent between 0 100"),
    limited=_LIMITED,
)
STRATEGIES = {
    "FlowSchema": Strategy(_schema_defaults, _SCHEMA),
    "PriorityLevelConfiguration": Strategy(_level_defaults, _LEVEL),
}
