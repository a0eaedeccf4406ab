"""Which pods may be moved: what they say themselves, and their disruption budgets.

Upstream: pkg/utils/pod/scheduling.go, pkg/utils/pdb/pdb.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kwhatif.api.core import Pod, Taint
from kwhatif.api.decode import convert
from kwhatif.api.meta import LabelSelector
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.autoscaling.karpenter.known_labels import DO_NOT_DISRUPT, GROUP
from kwhatif.autoscaling.karpenter.state import is_owned_by, is_terminal, is_terminating
from kwhatif.autoscaling.karpenter.taints import untolerated
from kwhatif.cluster.shapes import start_time
from kwhatif.errors import InputError
from kwhatif.golang.duration import Duration

_DISRUPTED = Taint(key=f"{GROUP}/disrupted", effect="NoSchedule")


def is_active(pod: Pod) -> bool:
    return not is_terminal(pod) and not is_terminating(pod)


def asks_to_stay(pod: Pod, now: int) -> bool:
    """Whether the pod wants to be left alone: for good, or for so long after it started."""
    value = (pod.metadata.annotations or {}).get(DO_NOT_DISRUPT)
    if value is None or value == "true":
        return value is not None
    try:
        duration = Duration.parse(value)
    except ValueError:
        return False
    if duration <= 0:
        return False
    started = pod.status.start_time
    return started is None or now - start_time(started) < duration


def is_disruptable(pod: Pod, now: int) -> bool:
    return not is_active(pod) or not asks_to_stay(pod, now)


def is_evictable(pod: Pod, now: int) -> bool:
    """Whether a budget has a say in the pod's leaving."""
    stays = not untolerated([_DISRUPTED], pod.spec.tolerations or ())
    return is_active(pod) and not stays and not is_owned_by(pod, "Node") and not asks_to_stay(pod, now)


def is_reschedulable(pod: Pod) -> bool:
    """Whether the pod needs another place once its node goes."""
    comes_back = is_active(pod) or (is_owned_by(pod, "StatefulSet") and is_terminating(pod))
    return comes_back and not is_owned_by(pod, "DaemonSet") and not is_owned_by(pod, "Node")


@dataclass(frozen=True)
class _Budget:
    namespace: str
    name: str
    selector: Selector
    allowed: int
    never: bool
    unhealthy_may_go: bool


class PodBudgets:
    """The PodDisruptionBudgets, by namespace and name."""

    def __init__(self, budgets: Iterable[Mapping[str, Any]], now: int) -> None:
        self._now = now
        ordered = sorted(budgets, key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))
        self._budgets = [_budget(each) for each in ordered]

    def blocking(self, pods: Iterable[Pod]) -> list[str] | None:
        """The budgets of the first pod that may not be evicted now; None if all may."""
        for pod in pods:
            found = self._blockers(pod, lambda budget: budget.allowed == 0)
            if found is not None:
                return found
        return None

    def is_reschedulable_now(self, pod: Pod) -> bool:
        """Whether a place is sought for the pod, as its node is going: unless it, or a budget, never lets it go."""
        blocked = self._blockers(pod, lambda budget: budget.never) is not None
        return is_reschedulable(pod) and is_disruptable(pod, self._now) and not blocked

    def _blockers(self, pod: Pod, blocks: Any) -> list[str] | None:
        if not is_evictable(pod, self._now):
            return None
        matching = [
            each
            for each in self._budgets
            if each.namespace == pod.namespace and each.selector.matches(pod.metadata.labels or {})
        ]
        if len(matching) > 1:
            return [f"{each.namespace}/{each.name}" for each in matching]
        for each in matching:
            unready = any(c.type == "Ready" and c.status == "False" for c in pod.status.conditions or ())
            if each.unhealthy_may_go and unready:
                return None
            if blocks(each):
                return [f"{each.namespace}/{each.name}"]
        return None


def _budget(budget: Mapping[str, Any]) -> _Budget:
    spec, status, metadata = budget.get("spec") or {}, budget.get("status") or {}, budget["metadata"]
    namespace, name, selector = metadata.get("namespace", ""), metadata["name"], spec.get("selector")
    try:
        compiled = Selector.of(None if selector is None else convert(selector, LabelSelector))
    except SelectorError as error:
        raise InputError(f"PodDisruptionBudget {namespace}/{name}: {error}") from None
    return _Budget(
        namespace,
        name,
        compiled,
        status.get("disruptionsAllowed", 0),
        spec.get("maxUnavailable") in (0, "0%") or spec.get("minAvailable") == "100%",
        spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )
