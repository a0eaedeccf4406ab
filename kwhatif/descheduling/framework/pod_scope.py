"""The namespaces and labels of the pods that a plugin considers.

Upstream: pkg/descheduler/pod/pods.go (BuildFilterFunc).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kwhatif.api.core import Pod
from kwhatif.api.meta import LabelSelector
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.descheduling.framework.descheduler_policy import Namespaces


@dataclass(frozen=True, slots=True)
class PodScope:
    """Empty lists of namespaces are none at all; without a selector all labels will do."""

    include: Collection[str] = ()
    exclude: Collection[str] = ()
    selector: Selector | None = None

    @classmethod
    def of(cls, namespaces: Namespaces | None, selector: LabelSelector | None = None) -> PodScope:
        """Raises SelectorError."""
        compiled = None if selector is None else Selector.from_label_selector(selector)
        if namespaces is None:
            return cls(selector=compiled)
        return cls(frozenset(namespaces.include), frozenset(namespaces.exclude), compiled)

    def refusal(self, pod: Pod) -> str:
        """Why a pod is out of the scope; nothing if it is within."""
        if self.include and pod.namespace not in self.include:
            return f"namespace {pod.namespace} is not among the plugin's"
        if self.exclude and pod.namespace in self.exclude:
            return f"namespace {pod.namespace} is excluded from the plugin"
        if self.selector is not None and not self.selector.matches(pod.metadata.labels or {}):
            return f"its labels do not match the plugin's labelSelector {self.selector}"
        return ""

    def holds(self, pod: Pod) -> bool:
        if self.include and pod.namespace not in self.include:
            return False
        if self.exclude and pod.namespace in self.exclude:
            return False
        return self.selector is None or self.selector.matches(pod.metadata.labels or {})


def scope_problems(namespaces: Namespaces | None, selector: LabelSelector | None = None) -> Iterator[str]:
    """What is wrong with the scope of a plugin, in upstream's words."""
    if namespaces is not None and namespaces.include and namespaces.exclude:
        yield "only one of Include/Exclude namespaces can be set"
    try:
        Selector.from_label_selector(selector)
    except SelectorError as error:
        yield f"failed to get label selectors from strategy's params: {error}"
