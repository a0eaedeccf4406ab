"""ResourceClaim, ResourceClaimTemplate and DeviceClass; of their CEL selectors only whether they compile, since
evaluating them is up to ``devices/``.

Upstream: pkg/apis/resource/validation/validation.go, pkg/apis/resource/v1/defaults.go,
dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.validation.field_rules import dns_label, is_extended
from kwhatif.admission.validation.metadata import check_template_metadata, object_table
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import each_item, table
from kwhatif.admission.validation.volume_sources import check_driver_name
from kwhatif.api.objects import part_of, section
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


def _expression(problems: Problems, text: str, path: str) -> None:
    if len(text.encode()) > _LONGEST:
        problems.too_long(path, _LONGEST)
    else:
        wrong = _problem(text)
        problems.invalid(path, text, *([wrong] if wrong else []))


@lru_cache(maxsize=1024)
def _problem(text: str) -> str:
    try:
        kind = Program(text, {"device": Kind(_DEVICE)}, {_DEVICE: _FIELDS}).kind
    except CompileError as error:
        return f"compilation failed: {error}"
    return "" if kind in (BOOL, ANY) or kind.loose else f"must evaluate to bool or the unknown type, not {kind}"


_MOST = 32
_LONGEST_NAME, _LONGEST_PARAMETERS = 32, 10 * 1024
_REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_ADMIN = "resource.kubernetes.io/admin-access"
_ONE = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_NO_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)


def _exactly(request: Object) -> Object | None:
    """What is asked for, which the first versions have in the request itself."""
    exact: Object | None = request.get("exactly")
    if exact is None and request.get("deviceClassName"):
        return request
    return exact


def _complete(spec: Object) -> None:
    for request in each(spec.get("devices"), "requests"):
        exactly = _exactly(request)
        for wanted in (*([] if exactly is None else [exactly]), *each(request, "firstAvailable")):
            wanted["allocationMode"] = wanted.get("allocationMode") or "ExactCount"
            if wanted["allocationMode"] == "ExactCount" and not wanted.get("count"):
                wanted["count"] = 1
            for toleration in each(wanted, "tolerations"):
                toleration["operator"] = toleration.get("operator") or "Equal"


def _request(problems: Problems, request: Object, path: str) -> None:
    exactly, alternatives = _exactly(request), each(request, "firstAvailable")
    if exactly is None and not alternatives:
        problems.required(path, _ONE)
    elif exactly is not None and alternatives:
        problems.invalid(path, None, f"{_ONE}, but multiple fields are set")
    elif exactly is not None:
        _EXACT_REQUEST(problems, exactly, f"{path}.exactly")
    else:
        _ALTERNATIVES(problems, request, path)


def _references_to_requests(problems: Problems, devices: Object, path: str) -> None:
    """Constraints and configurations, which name requests."""
    names = {
        request.get("name") or "": {sub.get("name") or "" for sub in each(request, "firstAvailable")}
        for request in each(devices, "requests")
    }
    for key, check in (("constraints", _constraint), ("config", _OPAQUE)):
        items = each(devices, key)
        if len(items) > _MOST:
            problems.too_many(f"{path}.{key}", len(items), _MOST)
            continue
        for i, item in enumerate(items):
            _references(problems, item.get("requests") or [], f"{path}.{key}[{i}].requests", names)
            check(problems, item, f"{path}.{key}[{i}]")


def _constraint(problems: Problems, constraint: Object, path: str) -> None:
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
        exists = len(parts) <= 2 and parts[0] in names and (len(parts) == 1 or parts[1] in names[parts[0]])
        if len(parts) <= 2:
            for part in parts:
                problems.invalid(f"{path}[{i}]", part, *dns_label(part))
        if not exists:
            problems.invalid(f"{path}[{i}]", name, _REFERENCE)
    _ALL_DIFFERENT(problems, references, path)


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


def extended_name(name: str) -> list[str]:
    return [] if is_extended(name) else ["must be a valid extended resource name"]


def _admin_access(request: Request) -> RequestRefusal | None:
    """Whoever asks for the devices of others does so in a namespace that is labelled for it."""
    spec = part_of(request.object, "spec")
    if request.kind == "ResourceClaimTemplate":
        spec = part_of(spec, "spec")
    wanted = [bool(section(one, "exactly").get("adminAccess")) for one in each(section(spec, "devices"), "requests")]
    home = request.store.get("Namespace", "", request.namespace)
    if request.old is not None or True not in wanted or home is None:
        return None
    if section(home, "metadata", "labels").get(_ADMIN) == "true":
        return None
    problems = Problems(request.features)
    path = f"spec.devices.requests[{wanted.index(True)}].adminAccess"
    problems.forbidden(path, f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace")
    return problems.refusal(request.object)


def _parameters(problems: Problems, parameters: Any, path: str) -> None:
    if len(go_json(parameters).encode()) > _LONGEST_PARAMETERS:
        problems.too_long(path, _LONGEST_PARAMETERS)
    elif not isinstance(parameters, dict):
        problems.invalid(path, "<value omitted>", "must be a valid JSON object")


_ALL_DIFFERENT = table(". all_unique")
_SELECTORS = f"""
    selectors[]                most {_MOST}
    selectors[].cel            present
    selectors[].cel?.expression    text & _expression
"""
_EXACT_REQUEST = table(
    f"""
    deviceClassName            required & dns_subdomain
    {_SELECTORS}
    allocationMode             text & one_of All ExactCount
    count                      if_nonempty & invalid if allocationMode=All:
            must not be specified when allocationMode is 'All'
    count                      number & at_least 1 if allocationMode=ExactCount: must be greater than zero
    tolerations[].key          if_nonempty & label_key
    tolerations[].operator     text & one_of Equal Exists
    tolerations[].value        if_nonempty & invalid if operator=Exists: must be empty for operator `Exists`
    tolerations[].value        text & label_value if operator=Equal
    tolerations[].effect       if_nonempty & one_of NoExecute NoSchedule None
    """,
    _expression,
)
_ALTERNATIVES = table(
    "firstAvailable most 8 & alternatives & all_unique name here",
    alternatives=each_item(table("name text & dns_label"), _EXACT_REQUEST),
)
_OPAQUE = table(
    """
    opaque                     present
    opaque?.driver             text & check_driver_name
    opaque?.parameters         present
    opaque?.parameters         _parameters
    """,
    *(check_driver_name, _parameters),
)
_DEVICES = table(
    f"""
    requests                   most {_MOST} & requests & all_unique name here
    .                          _references_to_requests
    """,
    _references_to_requests,
    requests=each_item(table("name text & dns_label"), _request),
)
_CLASS = f"""
    {_SELECTORS.replace("selectors[]", "spec.selectors[]")}
    spec.config[]              most {_MOST}
    spec.config[]              opaque
    spec.extendedResourceName  extended_name
"""
STRATEGIES = {
    "ResourceClaim": Strategy(
        defaults=lambda request, spec: _complete(spec),
        check=object_table("spec.devices devices", devices=_DEVICES),
        allocate=_admin_access,
    ),
    "ResourceClaimTemplate": Strategy(
        defaults=lambda request, spec: _complete(within(spec, "spec")),
        check=object_table(
            """
            spec.metadata                part & check_template_metadata
            spec.spec.devices            devices
            """,
            check_template_metadata,
            devices=_DEVICES,
        ),
        allocate=_admin_access,
    ),
    "DeviceClass": Strategy(check=object_table(_CLASS, *(_expression, extended_name), opaque=_OPAQUE)),
}
