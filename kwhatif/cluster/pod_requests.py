"""What a pod asks for: containers, init containers, sidecars, pod-level resources, overhead, resizes.

Upstream: component-helpers/resource/helpers.go (PodRequests) and pkg/scheduler/framework/types.go
(PodInfo.CalculateResource).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from kwhatif.api.core import Container, ContainerStatus, Pod, PodSpec, ResourceList
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import is_label_key
from kwhatif.versions import Features

NON_ZERO: Mapping[str, Quantity] = MappingProxyType(
    {"cpu": Quantity.from_milli(100), "memory": Quantity.from_units(200 * 1024 * 1024)}
)
"""What the scheduler assumes of a container that does not say (upstream: pkg/scheduler/util/pod_resources.go)."""
_NATIVE = "kubernetes.io/"


def is_extended(name: str) -> bool:
    """Whether the name is an extended resource (upstream: apis/core/v1/helper.IsExtendedResourceName)."""
    if "/" not in name or _NATIVE in name or name.startswith("requests."):
        return False
    return is_label_key(f"requests.{name}")


def is_scalar(name: str) -> bool:
    """Whether the scheduler keeps a column for this resource beside cpu, memory, ephemeral storage and pods."""
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or _NATIVE in name


def amounts(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Integers as the scheduler counts them: millicores for cpu, units (rounded up) for all else it knows."""
    return {
        name: quantity.amount_of(name)
        for name, quantity in quantities.items()
        if name in ("cpu", "memory", "ephemeral-storage") or is_scalar(name)
    }


def pod_requests(
    pod: Pod,
    features: Features,
    *,
    with_status: bool,
    pod_level: bool = True,
    missing: Mapping[str, Quantity] = MappingProxyType({}),
) -> dict[str, Quantity]:
    """The pod's total requests by resource.

    ``with_status`` counts what a resize has allocated or actuated, as for pods that run. Without ``pod_level``
    only containers and overhead count. ``missing`` stands in for container requests that are not there (an
    explicit zero stays zero).
    """
    of_pod = _pod_level_requests(pod, features) if pod_level else {}
    with_status = with_status and features.in_place_pod_vertical_scaling
    total = _of_containers(pod, features, missing, with_status=with_status)
    resized = _resized_pod_level(pod, features) if with_status else None
    for name, quantity in of_pod.items():
        total[name] = resized.get(name, Quantity.from_units(0)) if resized is not None else quantity
    _add(total, pod.spec.overhead or {})
    return total


def rounded_requests(
    spec: PodSpec, *, missing: Mapping[str, Quantity] = MappingProxyType({}), overhead: bool = True
) -> dict[str, int]:
    """As the scheduler added requests up before it left that to a common helper: container by container, in integers.

    Upstream: calculateResource and Resource.SetMaxResource in framework/types.go of 1.22.
    """

    def requests_of(container: Container) -> dict[str, int]:
        requests = (container.resources.requests if container.resources else None) or {}
        return amounts({**missing, **requests})

    total: Counter[str] = Counter()
    for container in spec.containers or ():
        total.update(requests_of(container))
    for container in spec.init_containers or ():
        for name, amount in requests_of(container).items():
            total[name] = max(total[name], amount)
    if overhead:
        total.update(amounts(spec.overhead or {}))
    return dict(total)


def scored_requests(spec: PodSpec, *, missing: Mapping[str, Quantity] = MappingProxyType({})) -> dict[str, int]:
    """What resource scorers counted then: overhead in whole units, so that a quarter of a core is one millicore.

    Upstream: calculatePodResourceRequest in plugins/noderesources/resource_allocation.go of 1.22.
    """
    total = Counter(rounded_requests(spec, missing=missing, overhead=False))
    total.update({name: quantity.value() for name, quantity in (spec.overhead or {}).items() if name in total})
    return dict(total)


def non_zero_requests(pod: Pod, features: Features) -> tuple[int, int]:
    """Millicores and bytes that the cache counts so that pods without requests do not pile up on one node."""
    if not features.sidecars_add_to_non_zero_requests:
        return _non_zero("cpu", pod, features), _non_zero("memory", pod, features)
    missing: Mapping[str, Quantity] = NON_ZERO
    if _pod_level_requests(pod, features):
        plain = pod_requests(pod, features, with_status=True)
        missing = {name: default for name, default in NON_ZERO.items() if name not in plain}
    total = pod_requests(pod, features, with_status=True, missing=missing)
    cpu, memory = total.get("cpu"), total.get("memory")
    return cpu.milli_value() if cpu else 0, memory.value() if memory else 0


def _non_zero(name: str, pod: Pod, features: Features) -> int:
    """As long as each container was rounded by itself and sidecars only raised the most that starting up takes."""

    def amount(requests: Mapping[str, Quantity]) -> int:
        return amounts({name: requests.get(name, NON_ZERO[name])})[name]

    sidecars: dict[str, Quantity] = {}
    most = 0
    for container in pod.spec.init_containers or ():
        given = (container.resources.requests if container.resources else None) or {}
        if features.sidecars and container.restart_policy == "Always":
            _add(sidecars, given)
            most = max(most, amount(sidecars))
        else:
            at_once = dict(given)
            _add(at_once, sidecars)
            most = max(most, amount(at_once))
    requests_of = _ContainerRequests(pod, features, {}, with_status=features.in_place_pod_vertical_scaling)
    running = sum(amount(requests_of(container, resizable=True)) for container in pod.spec.containers or ())
    overhead = (pod.spec.overhead or {}).get(name)
    return max(running, most) + (amounts({name: overhead})[name] if overhead is not None else 0)


def overhead_drift(pod: Pod, features: Features) -> dict[str, int]:
    """By how much a pod's requests grow each time the scheduler adds them up; empty for almost every pod.

    Where a pod-level request is kept as a big decimal (``1.5Gi``, say), upstream's PodRequests adds the pod's
    overhead in place, to the number in the pod's own spec, so that the next sum has the overhead once more.
    """
    of_pod = _pod_level_requests(pod, features)
    return amounts({name: q for name, q in (pod.spec.overhead or {}).items() if name in of_pod and of_pod[name].wide})


class _ContainerRequests:
    """What single containers of a pod ask for, with what a resize makes of it."""

    def __init__(self, pod: Pod, features: Features, missing: Mapping[str, Quantity], *, with_status: bool) -> None:
        self._features, self._missing = features, missing
        self._infeasible = _resize_is_infeasible(pod, features)
        self._statuses: dict[str, ContainerStatus] = {}
        if with_status:
            initial = (pod.status.init_container_statuses or ()) if features.resizes_are_in_conditions else ()
            for status in (*(pod.status.container_statuses or ()), *initial):
                self._statuses[status.name] = status

    def __call__(self, container: Container, *, resizable: bool) -> Mapping[str, Quantity]:
        requests: Mapping[str, Quantity] = (container.resources.requests if container.resources else None) or {}
        status = self._statuses.get(container.name) if resizable else None
        if status is not None:
            requests = self._apply_resize(requests, status)
        return {**self._missing, **requests} if self._missing else requests

    def _apply_resize(self, requests: Mapping[str, Quantity], status: ContainerStatus) -> Mapping[str, Quantity]:
        in_force, allocated = status.resources, status.allocated_resources
        if not self._features.resizes_count_what_is_in_force:
            return _effective(requests, None, allocated, infeasible=self._infeasible)
        if in_force is None:
            return requests
        promised = allocated if self._features.resizes_are_in_conditions else None
        return _effective(requests, in_force.requests, promised, infeasible=self._infeasible)


def _of_containers(
    pod: Pod, features: Features, missing: Mapping[str, Quantity], *, with_status: bool
) -> dict[str, Quantity]:
    requests_of = _ContainerRequests(pod, features, missing, with_status=with_status)
    total: dict[str, Quantity] = {}
    for container in pod.spec.containers or ():
        _add(total, requests_of(container, resizable=True))
    sidecars: dict[str, Quantity] = {}
    initial: dict[str, Quantity] = {}
    for container in pod.spec.init_containers or ():
        sidecar = features.sidecars and container.restart_policy == "Always"
        requests = requests_of(container, resizable=sidecar and features.resizes_are_in_conditions)
        if sidecar:
            _add(total, requests)
            _add(sidecars, requests)
            _raise(initial, sidecars)
        else:
            at_once = dict(requests)
            _add(at_once, sidecars)
            _raise(initial, at_once)
    _raise(total, initial)
    return total


def _pod_level_requests(pod: Pod, features: Features) -> dict[str, Quantity]:
    if not features.pod_level_resources or pod.spec.resources is None:
        return {}
    return {
        name: quantity
        for name, quantity in (pod.spec.resources.requests or {}).items()
        if name in ("cpu", "memory") or (name.startswith("hugepages-") and features.pod_level_hugepages)
    }


def _resized_pod_level(pod: Pod, features: Features) -> dict[str, Quantity] | None:
    if not features.in_place_pod_level_resources_vertical_scaling or pod.status.resources is None:
        return None
    requests = (pod.spec.resources.requests if pod.spec.resources else None) or {}
    return _effective(
        requests,
        pod.status.resources.requests,
        pod.status.allocated_resources,
        infeasible=_resize_is_infeasible(pod, features),
    )


def _effective(
    requests: Mapping[str, Quantity], actuated: ResourceList | None, allocated: ResourceList | None, *, infeasible: bool
) -> dict[str, Quantity]:
    """The most of what is asked, in force and promised; an infeasible resize's wish does not count."""
    result: dict[str, Quantity] = {} if infeasible else dict(requests)
    _raise(result, actuated or {})
    _raise(result, allocated or {})
    return result


def _resize_is_infeasible(pod: Pod, features: Features) -> bool:
    if not features.resizes_are_in_conditions:
        return pod.status.resize == "Infeasible"
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        have = total.get(name)
        total[name] = quantity if have is None else have + quantity


def _raise(total: dict[str, Quantity], least: Mapping[str, Quantity]) -> None:
    for name, quantity in least.items():
        have = total.get(name)
        if have is None or quantity > have:
            total[name] = quantity
