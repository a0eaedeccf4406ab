"""Orders in which pods are evicted. Equals keep their order, where upstream's order is random.

Upstream: pkg/descheduler/pod/pods.go, pkg/utils/qos.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.api.core import Pod, ResourceList

PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
_RANKS = {"BestEffort": 0, "Burstable": 1, "Guaranteed": 2}
_COUNTED = ("cpu", "memory")


def is_preferred_to_stay(pod: Pod) -> bool:
    """Whether it bears the annotation that asks not to evict it, whatever its value."""
    return PREFER_NO_EVICTION in (pod.metadata.annotations or {})


def sort_by_priority(pods: Iterable[Pod]) -> list[Pod]:
    """From low to high: no priority at all, then by number, then by quality of service, then who prefers to stay."""
    return sorted(
        pods,
        key=lambda pod: (
            pod.spec.priority is not None,
            pod.spec.priority or 0,
            _RANKS.get(qos_class(pod), 2),
            is_preferred_to_stay(pod),
        ),
    )


def qos_class(pod: Pod) -> str:
    """``BestEffort``, ``Burstable`` or ``Guaranteed``; as the status has it, else worked out."""
    if pod.status.qos_class:
        return pod.status.qos_class
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    limited = True
    for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())):
        resources = container.resources
        _add(requests, (resources.requests if resources else None) or {})
        names = _add(limits, (resources.limits if resources else None) or {})
        limited = limited and len(names) == len(_COUNTED)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _add(total: dict[str, int], amounts: ResourceList) -> list[str]:
    """Add cpu and memory; the names of those that were above zero."""
    names = [name for name in _COUNTED if name in amounts and amounts[name].nano() > 0]
    for name in names:
        total[name] = total.get(name, 0) + amounts[name].nano()
    return names
