"""LimitRange and ResourceQuota.

Upstream: pkg/apis/core/validation/validation.go, pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.container_amounts import Amounts, amounts
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import is_standard, label_key, may_overcommit
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.resources import check_container_resource_name, check_quantity, check_resource_name
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_NOT_OF_PODS = "may not be specified when `type` is 'Pod'"
_STORAGE_NEEDED = "either minimum or maximum storage value is required, but neither was provided"
_MAX_MILLI = (2**63 - 1) // 1000

_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_PLAIN_SCOPES = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_SCOPES = (*_PLAIN_SCOPES, "PriorityClass", "VolumeAttributesClass")
_OF_PODS = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_OF_CLAIMS = frozenset({"persistentvolumeclaims", "requests.storage"})
_EXISTS_ONLY = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _limit_defaults(request: Request, spec: Object) -> None:
    for limit in each(spec, "limits"):
        if limit.get("type") == "Container":
            default = {**section(limit, "max"), **section(limit, "default")}
            limit["default"] = default
            limit["defaultRequest"] = {**section(limit, "min"), **default, **section(limit, "defaultRequest")}


def _check_limits(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    types: set[str] = set()
    for i, limit in enumerate(each(part_of(obj, "spec"), "limits")):
        where, kind = f"spec.limits[{i}]", limit.get("type") or ""
        wrong = label_key(kind)
        if not wrong and "/" not in kind and kind not in _TYPES:
            wrong = ["must be a standard limit type or fully qualified"]
        problems.invalid(f"{where}.type", kind, *wrong)
        if kind in types:
            problems.duplicate(f"{where}.type", kind)
        types.add(kind)
        _limit(problems, limit, where, kind)


def _limit(problems: Problems, limit: Object, path: str, kind: str) -> None:
    rule = check_container_resource_name if kind in ("Pod", "Container") else check_resource_name
    by_field: dict[str, Amounts] = {}
    for key in ("max", "min", "default", "defaultRequest"):
        listed = amounts(limit.get(key))
        if kind == "Pod" and key.startswith("default"):
            if listed:
                problems.forbidden(f"{path}.{key}", _NOT_OF_PODS)
            continue
        by_field[key] = listed
        for name in sorted(listed):
            rule(problems, name, f"{path}.{key}[{name}]")
    if kind == "PersistentVolumeClaim" and "storage" not in by_field["min"] and "storage" not in by_field["max"]:
        problems.required(f"{path}.limits", _STORAGE_NEEDED)
    by_field["maxLimitRequestRatio"] = amounts(limit.get("maxLimitRequestRatio"))
    for name in sorted(by_field["maxLimitRequestRatio"]):
        rule(problems, name, f"{path}.maxLimitRequestRatio[{name}]")
    for name in sorted({name for listed in by_field.values() for name in listed}):
        _compare(problems, {key: listed[name] for key, listed in by_field.items() if name in listed}, path, name)


def _compare(problems: Problems, by_field: Amounts, path: str, name: str) -> None:
    """The amounts of one resource, by the field that they are in, against each other."""
    least, most, ratio = by_field.get("min"), by_field.get("max"), by_field.get("maxLimitRequestRatio")
    default, request = by_field.get("default"), by_field.get("defaultRequest")

    def above(field: str, shown: Quantity | None, less: Quantity | None, more: Quantity | None, words: str) -> None:
        if less is not None and more is not None and less > more:
            smaller, larger = words.split(" > ")
            why = f"{smaller} {less} is greater than {larger} {more}"
            problems.invalid(f"{path}.{field}[{name}]", str(shown), why)

    above("min", least, least, most, "min value > max value")
    above("defaultRequest", request, least, request, "min value > default request value")
    above("defaultRequest", request, request, most, "default request value > max value")
    above("defaultRequest", request, request, default, "default request value > default limit value")
    above("default", least, least, default, "min value > default value")
    above("default", most, default, most, "default value > max value")
    where = f"{path}.maxLimitRequestRatio[{name}]"
    if ratio is not None and ratio < Quantity.from_units(1):
        problems.invalid(where, str(ratio), f"ratio {ratio} is less than 1")
    if ratio is not None and least is not None and most is not None:
        fine = max(ratio.value(), least.value(), most.value()) < _MAX_MILLI
        given = ratio.milli_value() / 1000 if fine else float(ratio.value())
        below, over = (least.milli_value(), most.milli_value()) if fine else (least.value(), most.value())
        largest = over / below if below else float("inf")
        if given > largest:
            problems.invalid(where, str(ratio), f"ratio {ratio} is greater than max/min = {largest:f}")
    if not may_overcommit(name) and default is not None and request is not None and default != request:
        why = f"default value {default} must equal to defaultRequest value {request} in {name}"
        problems.invalid(f"{path}.defaultRequest[{name}]", str(request), why)


def _check_quota(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    spec = part_of(obj, "spec")
    hard = amounts(spec.get("hard"))
    for name, amount in sorted(hard.items()):
        where = f"spec.hard[{name}]"
        check_resource_name(problems, name, where)
        if "/" not in name and not _is_standard_quota_name(name):
            problems.invalid(where, name, "must be a standard resource for quota")
        check_quantity(problems, name, amount, where)
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            problems.invalid("spec.scopes", scopes, "unsupported scope")
        for _ in _without(scope, hard):
            problems.invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    _opposites(problems, scopes, scopes)
    selector = spec.get("scopeSelector")
    if selector is not None:
        _scope_selector(problems, selector, hard, scopes)


def _scope_selector(problems: Problems, selector: Object, hard: Amounts, scopes: list[str]) -> None:
    path, items = "spec.scopeSelector.matchExpressions", each(selector, "matchExpressions")
    for item in items:
        scope, operator, values = item.get("scopeName") or "", item.get("operator") or "", item.get("values") or []
        if scope not in _SCOPES:
            problems.invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in _without(scope, hard):
            problems.invalid(path, selector, "unsupported scope applied to resource")
        if scope in _PLAIN_SCOPES and operator != "Exists":
            problems.invalid(f"{path}.operator", operator, _EXISTS_ONLY)
        match operator:
            case "In" | "NotIn":
                if not values:
                    why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                    problems.required(f"{path}.values", why)
            case "Exists" | "DoesNotExist":
                if values:
                    why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                    problems.invalid(f"{path}.values", values, why)
            case _:
                problems.invalid(f"{path}.operator", operator, "not a valid selector operator")
    _opposites(problems, [item.get("scopeName") or "" for item in items], scopes)


def _is_standard_quota_name(name: str) -> bool:
    return is_standard(name) and name != "storage"


def _without(scope: str, hard: Amounts) -> list[str]:
    """The resources that a quota with this scope cannot limit."""
    match scope:
        case "BestEffort":
            fitting = frozenset({"pods"})
        case "VolumeAttributesClass":
            fitting = _OF_CLAIMS
        case _ if scope in _SCOPES:
            fitting = _OF_PODS
        case _:
            return []
    return [name for name in sorted(hard) if _is_standard_quota_name(name) and name not in fitting]


def _opposites(problems: Problems, names: list[str], shown: list[str]) -> None:
    for pair in _OPPOSITES:
        if set(pair) <= set(names):
            problems.invalid("spec.scopes", shown, "conflicting scopes")


def _quota_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Of requests that may be more than limits."""
    hard = amounts(part_of(obj, "spec").get("hard"))
    for name in ("cpu", "memory", "storage", "ephemeral-storage") if old is None else ():
        limit, plain = f"limits.{name}", name in ("cpu", "memory") and f"requests.{name}" not in hard
        request = name if plain else f"requests.{name}"
        if request in hard and limit in hard and hard[request] > hard[limit]:
            yield f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"


STRATEGIES = {
    "LimitRange": Strategy(defaults=_limit_defaults, check=_check_limits),
    "ResourceQuota": Strategy(check=_check_quota, warnings=_quota_warnings),
}
