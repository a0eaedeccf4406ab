"""Validation of requests and limits of containers, of pod-level resources and of overhead.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwhatif.admission.container_amounts import amounts, of_containers, pod_level_resource
from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import (
    dns_label,
    is_container_resource,
    is_extended,
    is_huge_pages,
    is_integer,
    is_native,
    is_standard,
    label_key,
    may_overcommit,
)
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity, QuantityError

_NOTHING = Quantity.from_units(0)
_NameRule = Callable[[Problems, str, str], None]


def check_container_resources(problems: Problems, resources: Object | None, path: str, claims: list[str]) -> None:
    """Resources of one container; ``claims`` are the names of the pod's resource claims."""
    _requirements(problems, resources or {}, path, check_container_resource_name)
    _claims(problems, each(resources, "claims"), f"{path}.claims", claims)


def check_overhead(problems: Problems, overhead: Object | None, path: str) -> None:
    if overhead is not None:
        _requirements(problems, {"limits": overhead}, path, check_container_resource_name)


def check_pod_resources(problems: Problems, spec: Object, path: str) -> None:
    """Resources of a pod as a whole, by themselves and beside those of its containers."""
    whole = spec.get("resources")
    if whole is None:
        return
    if whole.get("claims") is not None:
        problems.forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    _requirements(problems, whole, path, _pod_name)
    names = [str(claim["name"]) for claim in each(spec, "resourceClaims") if claim.get("name")]
    _claims(problems, each(whole, "claims"), f"{path}.claims", names)
    requests, limits = amounts(whole.get("requests")), amounts(whole.get("limits"))
    why = "must be greater than or equal to aggregate container"
    for name, needed in sorted(of_containers(spec, "requests").items()):
        if name in requests and needed > requests[name]:
            problems.invalid(f"{path}.requests[{name}]", str(requests[name]), f"{why} requests of {needed}")
    for name, needed in sorted(of_containers(spec, "limits").items()):
        if is_huge_pages(name) and name in limits and needed > limits[name]:
            problems.invalid(f"{path}.limits[{name}]", str(limits[name]), f"{why} limits of {needed}")
    for i, container in enumerate(each(spec, "containers")):
        for name, limit in sorted(amounts(section(container, "resources").get("limits")).items()):
            if name in limits and limit > limits[name]:
                where = f"{path}.containers[{i}][{name}].limits"
                problems.invalid(where, str(limit), f"must be less than or equal to pod limits of {limits[name]}")


def check_quantity(problems: Problems, name: str, amount: Quantity, path: str) -> None:
    if amount < _NOTHING:
        problems.invalid(path, str(amount), "must be greater than or equal to 0")
    if is_integer(name) and amount.milli_value() % 1000:
        problems.invalid(path, str(amount), "must be an integer")


def check_not_negative(problems: Problems, amount: Any, path: str) -> None:
    if Quantity.from_json(amount) < _NOTHING:
        problems.invalid(path, str(Quantity.from_json(amount)), "must be greater than or equal to 0")


def _requirements(problems: Problems, resources: Object, path: str, name_rule: _NameRule) -> None:
    limits, requests = amounts(resources.get("limits")), amounts(resources.get("requests"))
    for name, amount in sorted(limits.items()):
        where = f"{path}.limits[{name}]"
        name_rule(problems, name, where)
        check_quantity(problems, name, amount, where)
        _whole_pages(problems, name, amount, where)
    for name, amount in sorted(requests.items()):
        where = f"{path}.requests[{name}]"
        name_rule(problems, name, where)
        check_quantity(problems, name, amount, where)
        _beside_limit(problems, name, amount, limits.get(name), path)
        _whole_pages(problems, name, amount, where)
    named = limits.keys() | requests.keys()
    if any(map(is_huge_pages, named)) and not named & {"cpu", "memory"}:
        problems.forbidden(path, "HugePages require cpu or memory")


def _beside_limit(problems: Problems, name: str, amount: Quantity, limit: Quantity | None, path: str) -> None:
    if limit is None:
        if not may_overcommit(name):
            problems.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif amount != limit and not may_overcommit(name):
        problems.invalid(f"{path}.requests", str(amount), f"must be equal to {name} limit of {limit}")
    elif amount > limit:
        problems.invalid(f"{path}.requests", str(amount), f"must be less than or equal to {name} limit of {limit}")


def _whole_pages(problems: Problems, name: str, amount: Quantity, path: str) -> None:
    if not is_huge_pages(name):
        return
    try:
        page = Quantity.parse(name.removeprefix("hugepages-"))
    except QuantityError:
        page = _NOTHING
    if page <= _NOTHING or page.milli_value() % 1000 or amount.value() % page.value():
        problems.invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")


def check_resource_name(problems: Problems, name: str, path: str) -> bool:
    """Whether the name of a resource means something."""
    wrong = label_key(name)
    if not wrong and "/" not in name and not is_standard(name):
        wrong = ["must be a standard resource type or fully qualified"]
    problems.invalid(path, name, *wrong)
    return not wrong


def check_container_resource_name(problems: Problems, name: str, path: str) -> None:
    check_resource_name(problems, name, path)
    if "/" not in name:
        if not is_container_resource(name):
            problems.invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        problems.invalid(path, name, "doesn't follow extended resource name standard")


def _pod_name(problems: Problems, name: str, path: str) -> None:
    if check_resource_name(problems, name, path) and not pod_level_resource(name):
        problems.not_supported(path, name, ("cpu", "hugepages-", "memory"))


def _claims(problems: Problems, claims: list[Object], path: str, names: list[str]) -> None:
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        name, request = claim.get("name") or "", claim.get("request") or ""
        if not name:
            problems.required(f"{path}[{i}]")
            continue
        key = f"{name}/{request}" if request else name
        if name in seen:
            problems.duplicate(f"{path}[{i}]", name)
        else:
            if request:
                problems.invalid(f"{path}[{i}].request", request, *dns_label(request))
            if key in seen:
                problems.duplicate(f"{path}[{i}]", key)
            elif not request and any(other.startswith(f"{name}/") for other in seen):
                problems.duplicate(f"{path}[{i}]", name)
            seen.add(key)
        if name not in names:
            rest = f": {', '.join(sorted(names))}" if names else " which is empty"
            problems.not_found(f"{path}[{i}]", name, f"must be one of the names in pod.spec.resourceClaims{rest}")
