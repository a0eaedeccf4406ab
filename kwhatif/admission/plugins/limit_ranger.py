"""LimitRanger: default requests and limits for containers, and bounds for containers, pods and claims of a namespace.

Upstream: plugin/pkg/admission/limitranger/admission.go; the limits' own defaults: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.admission.container_amounts import Amounts, amounts, of_containers
from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity

_MAX_MILLI = (2**63 - 1) // 1000
_NOTHING = Quantity.from_units(0)


def broken_rules(limit: Object, requests: Amounts, limits: Amounts | None) -> Iterator[str]:
    """What is wrong, minima first, then maxima, then ratios, each by name. ``limits`` is None for a claim."""
    kind = part_of(limit, "type")
    for name, bound in sorted(amounts(limit.get("min")).items()):
        yield from _below(kind, name, bound, requests.get(name), (limits or {}).get(name))
    for name, bound in sorted(amounts(limit.get("max")).items()):
        if limits is None:
            yield from _request_above(kind, name, bound, requests.get(name))
        else:
            yield from _above(kind, name, bound, requests.get(name), limits.get(name))
    if limits is not None:
        for name, bound in sorted(amounts(limit.get("maxLimitRequestRatio")).items()):
            yield from _ratio(kind, name, bound, requests.get(name), limits.get(name))


def _below(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    said = f"minimum {name} usage per {kind} is {bound}"
    requested, capped, least = _comparable(request, limit, bound)
    if request is None:
        yield f"{said}.  No request is specified"
    elif requested < least:
        yield f"{said}, but request is {request}"
    elif limit is not None and capped < least:
        yield f"{said}, but limit is {limit}"


def _above(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    said = f"maximum {name} usage per {kind} is {bound}"
    requested, capped, most = _comparable(request, limit, bound)
    if limit is None:
        yield f"{said}.  No limit is specified"
    elif capped > most:
        yield f"{said}, but limit is {limit}"
    elif request is not None and requested > most:
        yield f"{said}, but request is {request}"


def _request_above(kind: str, name: str, bound: Quantity, request: Quantity | None) -> Iterator[str]:
    said = f"maximum {name} usage per {kind} is {bound}"
    requested, _, most = _comparable(request, None, bound)
    if request is None:
        yield f"{said}.  No request is specified"
    elif requested > most:
        yield f"{said}, but request is {request}"


def _ratio(kind: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    said = f"{name} max limit to request ratio per {kind} is {bound}"
    requested, capped, _ = _comparable(request, limit, bound)
    if request is None or not requested:
        yield f"{said}, but no request is specified or request is 0"
        return
    if limit is None or not capped:
        yield f"{said}, but no limit is specified or limit is 0"
        return
    ratio = capped / requested
    fine = bound.value() <= _MAX_MILLI
    if (ratio * 1000 > bound.milli_value()) if fine else (ratio > bound.value()):
        yield f"{said}, but provided ratio is {ratio:f}"


def _comparable(*quantities: Quantity | None) -> tuple[int, ...]:
    """Thousandths, or whole units if one of them is too large for that."""
    given = [_NOTHING if quantity is None else quantity for quantity in quantities]
    units = tuple(quantity.value() for quantity in given)
    return tuple(quantity.milli_value() for quantity in given) if max(units) <= _MAX_MILLI else units


_CONTAINERS = {"containers": "container", "initContainers": "init container"}


def admit(request: Request) -> RequestRefusal | None:
    """Give containers the requests and limits that they lack."""
    if request.kind != "Pod" or request.old is not None:
        return None
    spec = within(request.object, "spec")
    for limit_range in request.store.all("LimitRange", request.namespace):
        requests, limits = _defaults(limit_range)
        if not requests and not limits:
            continue
        for key in _CONTAINERS:
            for i, container in enumerate(each(spec, key)):
                path = f"spec.{key}[{i}].resources"
                _complete(request, container, "limits", limits, path, name_of(limit_range))
                _complete(request, container, "requests", requests, path, name_of(limit_range))
    return None


def validate(request: Request) -> RequestRefusal | None:
    """Refuse what is beyond the bounds of the first limit range that has any objection."""
    if request.kind not in ("Pod", "PersistentVolumeClaim") or (request.kind == "Pod" and request.old is not None):
        return None
    for limit_range in request.store.all("LimitRange", request.namespace):
        problems = list(dict.fromkeys(_problems(limit_range, request)))
        if problems:
            return request.forbidden(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return None


def _defaults(limit_range: Object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Requests and limits for containers, with what the API server makes of a limit range that says little."""
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for limit in each(limit_range.get("spec"), "limits"):
        if limit.get("type") == "Container":
            most = {**section(limit, "max"), **section(limit, "default")}
            limits.update(most)
            requests.update({**section(limit, "min"), **most, **section(limit, "defaultRequest")})
    return requests, limits


def _complete(
    request: Request, container: Object, which: str, resources: dict[str, Any], path: str, limit_range: str
) -> None:
    missing = {name: value for name, value in resources.items() if name not in _resources_of(container, which)}
    if missing:
        within(within(container, "resources"), which).update(missing)
        what = ", ".join(f"{name}={value}" for name, value in sorted(missing.items()))
        request.record_change("LimitRanger", f"{path}.{which}", f"{what} from LimitRange {limit_range}")


def _resources_of(container: Object, which: str) -> dict[str, Any]:
    return section(container, "resources").get(which) or {}


def _problems(limit_range: Object, request: Request) -> Iterator[str]:
    spec = section(request.object, "spec")
    for limit in each(limit_range.get("spec"), "limits"):
        kind = limit.get("type")
        if request.kind == "PersistentVolumeClaim":
            if kind == request.kind:
                yield from broken_rules(limit, amounts(_resources_of(spec, "requests")), None)
        elif kind == "Container":
            for key in _CONTAINERS:
                for container in each(spec, key):
                    yield from broken_rules(
                        limit,
                        amounts(_resources_of(container, "requests")),
                        amounts(_resources_of(container, "limits")),
                    )
        elif kind == "Pod":
            yield from broken_rules(limit, _whole(spec, "requests"), _whole(spec, "limits"))


def _whole(spec: Object, which: str) -> Amounts:
    """A pod's sum; of what it says as a whole only cpu and memory count here, and overhead does not."""
    total = of_containers(spec, which)
    whole = amounts(_resources_of(spec, which))
    total.update({name: whole[name] for name in ("cpu", "memory") if name in whole})
    return total
