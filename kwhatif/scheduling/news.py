"""Who hears of what: older schedulers looked less closely at what happened before they tried a pod again.

Upstream: AssignedPodAdded in backend/queue/scheduling_queue.go, and buildQueueingHintMap in scheduler.go, which drops
plugins' own hints where the gate SchedulerQueueingHints is off.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.api.core import Namespace
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.events import Event, Happening, Hint, always

_SPREAD = "PodTopologySpread"


def without_hints(hints: Mapping[Event, Hint]) -> Mapping[Event, Hint]:
    """Any such happening may help."""
    return dict.fromkeys(hints, always)


def hears_of_new_pod(waiting: PodInfo, rejectors: frozenset[str], happening: Happening) -> bool:
    """Whether a waiting pod is told of a pod that was bound: it may want to be near it, or count it."""
    new, features = happening.pod, happening.cluster.shapes.features
    if new is None:
        return True
    if features.spread_hears_of_new_pods and _SPREAD in rejectors and waiting.shape.namespace == new.shape.namespace:
        return True
    if not waiting.shape.affinity:
        return False
    objects = happening.cluster.objects
    labels = next((ns.metadata.labels for ns in objects.of(Namespace) if ns.name == new.shape.namespace), None) or {}
    return any(
        (new.shape.namespace in term.namespaces or term.namespace_selector.matches(labels))
        and term.selector.matches(new.shape.labels)
        for term in waiting.shape.affinity
    )
