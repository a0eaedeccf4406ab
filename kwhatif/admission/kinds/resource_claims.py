"""ResourceClaim, ResourceClaimTemplate and DeviceClass; of their CEL selectors only whether they compile, since
evaluating them is up to ``devices/``.

Upstream: pkg/apis/resource/validation/validation.go, pkg/apis/resource/v1/defaults.go,
dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import (
    check_choice,
    check_label_key,
    dns_label,
    dns_subdomain,
    label_value,
)
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.volume_sources import check_driver_name
from kwhatif.api.objects import part_of
from kwhatif.cel.declarations import ANY, BOOL, QUANTITY, STRING, Kind, map_of
from kwhatif.cel.program import Program
from kwhatif.cel.values import CompileError
from kwhatif.golang.formatting import go_json

_LONGEST = 10 * 1024
_DEVICE = "kubernetes.DRADevice"
_FIELDS = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    "allowMultipleAllocations": BOOL,
}


def check_selectors(problems: Problems, selectors: list[Object], path: str) -> None:
    for i, selector in enumerate(selectors):
        cel, where = selector.get("cel"), f"{path}[{i}].cel"
        if cel is None:
            problems.required(where)
            continue
        text = cel.get("expression") or ""
        if len(text.encode()) > _LONGEST:
            problems.too_long(f"{where}.expression", _LONGEST)
        else:
            wrong = _problem(text)
            problems.invalid(f"{where}.expression", text, *([wrong] if wrong else []))


@lru_cache(maxsize=1024)
def _problem(text: str) -> str:
    try:
        kind = Program(text, {"device": Kind(_DEVICE)}, {_DEVICE: _FIELDS}).kind
    except CompileError as error:
        return f"compilation failed: {error}"
    return "" if kind in (BOOL, ANY) or kind.loose else f"must evaluate to bool or the unknown type, not {kind}"


_MOST, _MOST_ALTERNATIVES = 32, 8
_LONGEST_NAME, _LONGEST_PARAMETERS = 32, 10 * 1024
_REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_ONE = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_NO_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)


def _requests(spec: Object) -> list[Object]:
    return each(spec.get("devices"), "requests")


def _exactly(request: Object) -> Object | None:
    """What is asked for, which the first versions have in the request itself."""
    found: Object | None = request.get("exactly")
    if found is None and request.get("deviceClassName"):
        return request
    return found


def _complete(spec: Object) -> None:
    for request in _requests(spec):
        exactly = _exactly(request)
        for asked in (*([] if exactly is None else [exactly]), *each(request, "firstAvailable")):
            asked["allocationMode"] = asked.get("allocationMode") or "ExactCount"
            if asked["allocationMode"] == "ExactCount" and not asked.get("count"):
                asked["count"] = 1
            for toleration in each(asked, "tolerations"):
                toleration["operator"] = toleration.get("operator") or "Equal"


def _check_spec(problems: Problems, spec: Object, path: str) -> None:
    path = f"{path}.devices"
    names = {
        request.get("name") or "": {sub.get("name") or "" for sub in each(request, "firstAvailable")}
        for request in _requests(spec)
    }
    if check_few(problems, _requests(spec), f"{path}.requests"):
        for i, request in enumerate(_requests(spec)):
            _request(problems, request, f"{path}.requests[{i}]")
        check_unique(problems, [request.get("name") or "" for request in _requests(spec)], f"{path}.requests")
    constraints = each(spec.get("devices"), "constraints")
    if check_few(problems, constraints, f"{path}.constraints"):
        for i, constraint in enumerate(constraints):
            _constraint(problems, constraint, f"{path}.constraints[{i}]", names)
    configs = each(spec.get("devices"), "config")
    if check_few(problems, configs, f"{path}.config"):
        for i, config in enumerate(configs):
            where = f"{path}.config[{i}]"
            _references(problems, config.get("requests") or [], f"{where}.requests", names)
            _opaque(problems, config.get("opaque"), f"{where}.opaque")


def check_few(problems: Problems, items: list[Object], path: str, most: int = _MOST) -> bool:
    if len(items) > most:
        problems.too_many(path, len(items), most)
    return len(items) <= most


def check_unique(problems: Problems, names: Iterable[str], path: str) -> None:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            problems.duplicate(f"{path}[{i}]", name)
        seen.add(name)


def _request(problems: Problems, request: Object, path: str) -> None:
    name, exactly, others = request.get("name") or "", _exactly(request), each(request, "firstAvailable")
    problems.invalid(f"{path}.name", name, *dns_label(name))
    if exactly is None and not others:
        problems.required(path, _ONE)
    elif exactly is not None and others:
        problems.invalid(path, None, f"{_ONE}, but multiple fields are set")
    elif exactly is not None:
        _check_exact_request(problems, exactly, f"{path}.exactly")
    elif check_few(problems, others, f"{path}.firstAvailable", _MOST_ALTERNATIVES):
        for i, sub in enumerate(others):
            where, own = f"{path}.firstAvailable[{i}]", sub.get("name") or ""
            problems.invalid(f"{where}.name", own, *dns_label(own))
            _check_exact_request(problems, sub, where)
        check_unique(problems, [sub.get("name") or "" for sub in others], f"{path}.firstAvailable")


def _check_exact_request(problems: Problems, exact: Object, path: str) -> None:
    its_class = exact.get("deviceClassName") or ""
    if not its_class:
        problems.required(f"{path}.deviceClassName")
    else:
        problems.invalid(f"{path}.deviceClassName", its_class, *dns_subdomain(its_class))
    if check_few(problems, each(exact, "selectors"), f"{path}.selectors"):
        check_selectors(problems, each(exact, "selectors"), f"{path}.selectors")
    mode, count = part_of(exact, "allocationMode"), exact.get("count") or 0
    check_choice(problems, mode, f"{path}.allocationMode", ("All", "ExactCount"))
    if mode == "All" and count:
        problems.invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        problems.invalid(f"{path}.count", count, "must be greater than zero")
    for i, toleration in enumerate(each(exact, "tolerations")):
        where, value = f"{path}.tolerations[{i}]", toleration.get("value") or ""
        if toleration.get("key"):
            check_label_key(problems, toleration["key"], f"{where}.key")
        check_choice(problems, part_of(toleration, "operator"), f"{where}.operator", ("Equal", "Exists"))
        if part_of(toleration, "operator") == "Exists" and value:
            problems.invalid(f"{where}.value", value, "must be empty for operator `Exists`")
        elif part_of(toleration, "operator") == "Equal":
            problems.invalid(f"{where}.value", value, *label_value(value))
        effects = ("NoExecute", "NoSchedule", "None")
        check_choice(problems, toleration.get("effect") or None, f"{where}.effect", effects)


def _constraint(problems: Problems, constraint: Object, path: str, names: dict[str, set[str]]) -> None:
    _references(problems, constraint.get("requests") or [], f"{path}.requests", names)
    for key in ("matchAttribute", "distinctAttribute"):
        if constraint.get(key) is not None:
            _fully_qualified(problems, constraint[key], f"{path}.{key}")
            return
    problems.required(path, _ONE_ATTRIBUTE)


def _references(problems: Problems, references: list[str], path: str, names: dict[str, set[str]]) -> None:
    if len(references) > _MOST:
        problems.too_many(path, len(references), _MOST)
        return
    for i, name in enumerate(references):
        parts = (name or "").split("/")
        known = len(parts) <= 2 and parts[0] in names and (len(parts) == 1 or parts[1] in names[parts[0]])
        if len(parts) <= 2:
            for part in parts:
                problems.invalid(f"{path}[{i}]", part, *dns_label(part))
        if not known:
            problems.invalid(f"{path}[{i}]", name, _REFERENCE)
    check_unique(problems, references, path)


def _fully_qualified(problems: Problems, name: str, path: str) -> None:
    """A domain, a slash and an identifier."""
    check_qualified(problems, name, path)
    if "/" not in name:
        problems.invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash")


def check_qualified(problems: Problems, name: str, path: str) -> None:
    """An identifier, perhaps with a domain and a slash before it."""
    domain, slash, rest = name.rpartition("/")
    if slash and not domain:
        problems.invalid(path, "", "the domain must not be empty")
    elif slash and "/" not in domain:
        check_driver_name(problems, domain, path)
    if slash and not rest:
        problems.invalid(path, "", "the name must not be empty")
    elif "/" not in domain:
        if len(rest.encode()) > _LONGEST_NAME:
            problems.too_long(path, _LONGEST_NAME)
        if not re.fullmatch(_IDENTIFIER, rest):
            problems.invalid(path, rest, _NO_IDENTIFIER)


def _opaque(problems: Problems, opaque: Object | None, path: str) -> None:
    if opaque is None:
        problems.required(path)
        return
    parameters = opaque.get("parameters")
    check_driver_name(problems, opaque.get("driver") or "", f"{path}.driver")
    where = f"{path}.parameters"
    if parameters is None:
        problems.required(where)
    elif len(go_json(parameters).encode()) > _LONGEST_PARAMETERS:
        problems.too_long(where, _LONGEST_PARAMETERS)
    elif not isinstance(parameters, dict):
        problems.invalid(where, "<value omitted>", "must be a valid JSON object")


def _claim_defaults(request: Request, spec: Object) -> None:
    _complete(spec)


def _template_defaults(request: Request, spec: Object) -> None:
    _complete(within(spec, "spec"))


def _check_claim(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    _check_spec(problems, part_of(obj, "spec"), "spec")


def _check_template(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    _check_spec(problems, part_of(obj, "spec", "spec"), "spec.spec")


def _check_class(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    selectors, configs = each(part_of(obj, "spec"), "selectors"), each(part_of(obj, "spec"), "config")
    if check_few(problems, selectors, "spec.selectors"):
        check_selectors(problems, selectors, "spec.selectors")
    if check_few(problems, configs, "spec.config"):
        for i, config in enumerate(configs):
            _opaque(problems, config.get("opaque"), f"spec.config[{i}].opaque")


STRATEGIES = {
    "ResourceClaim": Strategy(defaults=_claim_defaults, check=_check_claim),
    "ResourceClaimTemplate": Strategy(defaults=_template_defaults, check=_check_template),
    "DeviceClass": Strategy(check=_check_class),
}
