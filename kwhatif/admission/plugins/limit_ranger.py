"""LimitRanger: defaults for containers, and bounds for containers, pods and claims of a namespace.

Upstream: plugin/pkg/admission/limitranger/admission.go; the limits' own defaults: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.admission.answer import Object, Refused
from kwhatif.admission.plugins.container_amounts import Amounts, amounts, of_containers
from kwhatif.admission.plugins.limit_rules import broken_rules
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.world import name_of

_CONTAINERS = {"containers": "container", "initContainers": "init container"}


def admit(request: Request) -> Refused | None:
    """Give containers the requests and limits that they lack."""
    if request.kind != "Pod" or request.old is not None:
        return None
    spec = within(request.object, "spec")
    for limit_range in request.world.all("LimitRange", request.namespace):
        requests, limits = _defaults(limit_range)
        if not requests and not limits:
            continue
        for key in _CONTAINERS:
            for i, container in enumerate(each(spec, key)):
                path = f"spec.{key}[{i}].resources"
                _complete(request, container, "limits", limits, path, name_of(limit_range))
                _complete(request, container, "requests", requests, path, name_of(limit_range))
    return None


def validate(request: Request) -> Refused | None:
    """Refuse what is beyond the bounds of the first limit range that has any objection."""
    if request.kind not in ("Pod", "PersistentVolumeClaim") or (request.kind == "Pod" and request.old is not None):
        return None
    for limit_range in request.world.all("LimitRange", request.namespace):
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
            most = {**(limit.get("max") or {}), **(limit.get("default") or {})}
            limits.update(most)
            requests.update({**(limit.get("min") or {}), **most, **(limit.get("defaultRequest") or {})})
    return requests, limits


def _complete(
    request: Request, container: Object, which: str, given: dict[str, Any], path: str, limit_range: str
) -> None:
    missing = {name: value for name, value in given.items() if name not in _listed(container, which)}
    if missing:
        within(within(container, "resources"), which).update(missing)
        what = ", ".join(f"{name}={value}" for name, value in sorted(missing.items()))
        request.changed("LimitRanger", f"{path}.{which}", f"{what} from LimitRange {limit_range}")


def _listed(container: Object, which: str) -> dict[str, Any]:
    return (container.get("resources") or {}).get(which) or {}


def _problems(limit_range: Object, request: Request) -> Iterator[str]:
    spec = request.object.get("spec") or {}
    for limit in each(limit_range.get("spec"), "limits"):
        kind = limit.get("type")
        if request.kind == "PersistentVolumeClaim":
            if kind == request.kind:
                yield from broken_rules(limit, amounts(_listed(spec, "requests")), None)
        elif kind == "Container":
            for key in _CONTAINERS:
                for container in each(spec, key):
                    yield from broken_rules(
                        limit, amounts(_listed(container, "requests")), amounts(_listed(container, "limits"))
                    )
        elif kind == "Pod":
            yield from broken_rules(limit, _whole(spec, "requests"), _whole(spec, "limits"))


def _whole(spec: Object, which: str) -> Amounts:
    """A pod's sum; of what it says as a whole only cpu and memory count here, and overhead does not."""
    total = of_containers(spec, which)
    whole = amounts(_listed(spec, which))
    total.update({name: whole[name] for name in ("cpu", "memory") if name in whole})
    return total
