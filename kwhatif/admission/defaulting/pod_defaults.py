"""What the API server fills in when it reads a pod, or the pod of a template.

Upstream: pkg/apis/core/v1/defaults.go and zz_generated.defaults.go. A template's pod gets less: requests from
limits, pod-level requests and host ports are filled in only once the pod itself is created.
"""

from __future__ import annotations

from functools import lru_cache

from kwhatif.admission.answer import Object
from kwhatif.admission.plugins.container_amounts import amounts, of_containers, pod_level_resource
from kwhatif.admission.request import Request, each, within
from kwhatif.api.quantity import Quantity

STEP = "Defaults"
_FEW = 10**15  # far from where a quantity no longer fits in an int64


def default_pod(request: Request) -> None:
    """Complete a pod."""
    spec = within(request.object, "spec")
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for key in ("containers", "initContainers"):
        for i, container in enumerate(each(spec, key)):
            _requests_from_limits(request, container, f"spec.{key}[{i}].resources.requests")
    _huge_page_limits(request, spec)
    _pod_requests(request, spec)
    if spec.get("hostNetwork"):
        _host_ports(request, spec)


def default_pod_spec(spec: Object) -> None:
    """Complete what a pod and a pod template share. What everybody gets is not worth a word."""
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    _whole_thousandths(spec.get("overhead"))
    _whole_thousandths_of(spec)
    for key in ("containers", "initContainers"):
        for container in each(spec, key):
            _whole_thousandths_of(container)
            for port in each(container, "ports"):
                if not port.get("protocol"):
                    port["protocol"] = "TCP"
    for volume in each(spec, "volumes"):
        if not any(value is not None for key, value in volume.items() if key != "name"):
            volume["emptyDir"] = {}
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if isinstance(template, dict):
            template.setdefault("metadata", {})
            within(template, "spec").setdefault("volumeMode", "Filesystem")


def _requests_from_limits(request: Request, container: Object, path: str) -> None:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return
    requests = within(resources, "requests")
    missing = [name for name in limits if name not in requests]
    if missing:
        requests.update({name: limits[name] for name in missing})
        request.changed(STEP, path, f"requests of {', '.join(sorted(missing))} from the limits")


def _huge_page_limits(request: Request, spec: Object) -> None:
    """Huge pages of the containers, if the pod as a whole speaks of resources but not of these."""
    whole = spec.get("resources") or {}
    limits, requests = whole.get("limits") or {}, whole.get("requests") or {}
    if not limits and not requests:
        return
    for name, amount in of_containers(spec, "limits").items():
        if name.startswith("hugepages-") and name not in requests and name not in limits:
            limits[name] = str(amount)
            request.changed(STEP, "spec.resources.limits", f"{name}={amount} from the containers' limits")
    if limits:
        whole["limits"] = limits


def _pod_requests(request: Request, spec: Object) -> None:
    """The containers' requests, else the limits, if the pod as a whole has limits."""
    whole = spec.get("resources") or {}
    if not whole.get("limits"):
        return
    requests = dict(whole.get("requests") or {})
    path = "spec.resources.requests"
    for name, amount in of_containers(spec, "requests").items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = str(amount)
            request.changed(STEP, path, f"{name}={amount} from the containers' requests")
    for name, amount in amounts(whole["limits"]).items():
        if pod_level_resource(name) and name not in requests:
            requests[name] = whole["limits"][name]
            request.changed(STEP, path, f"{name}={amount} from the pod's limits")
    if requests:
        whole["requests"] = requests


def _host_ports(request: Request, spec: Object) -> None:
    for key in ("containers", "initContainers"):
        for i, container in enumerate(each(spec, key)):
            for k, port in enumerate(each(container, "ports")):
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
                    where = f"spec.{key}[{i}].ports[{k}].hostPort"
                    request.changed(STEP, where, f"{port['hostPort']}, because of hostNetwork")


def _whole_thousandths_of(owner: Object) -> None:
    resources = owner.get("resources") or {}
    _whole_thousandths(resources.get("requests"))
    _whole_thousandths(resources.get("limits"))


def _whole_thousandths(listed: Object | None) -> None:
    """Round up what is finer than a thousandth."""
    for name, value in (listed or {}).items():
        rounded = _rounded(value)
        if listed is not None and rounded:
            listed[name] = rounded


@lru_cache(maxsize=1 << 12)
def _rounded(value: object) -> str:
    """An amount in thousandths, empty if it can stay as it is."""
    amount = Quantity.from_json(value)
    thousandths = amount.milli_value()
    fine = abs(thousandths) >= _FEW or Quantity.from_milli(thousandths) == amount
    return "" if fine else f"{thousandths}m"
