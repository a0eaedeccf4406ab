"""The namespaces and labels of the pods that a plugin considers, and the base of plugins that evict those node by node.

Upstream: pkg/descheduler/pod/pods.go (BuildFilterFunc).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TypeVar

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.meta import LabelSelector
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.cluster.shapes import start_time
from kwhatif.descheduling.framework.descheduler_policy import Namespaces, ScopedArgs
from kwhatif.descheduling.framework.plugin import Plugin
from kwhatif.descheduling.framework.pod_evictor import EvictionOutcome
from kwhatif.golang.parsing import SECOND


class PodScope(msgspec.Struct, frozen=True):
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


S = TypeVar("S", bound=ScopedArgs)


class ScopedPlugin(Plugin[S]):
    """A plugin with a scope. Its reasons for pods within it are ``why_not_within``."""

    @cached_property
    def scope(self) -> PodScope:
        """Raises SelectorError, which checked arguments do not lead to."""
        return PodScope.of(self.args.namespaces, self.args.label_selector)

    def why_not(self, pod: Pod) -> str:
        return self.scope.refusal(pod) or self.why_not_within(pod)

    def why_not_within(self, pod: Pod) -> str:
        """Why this plugin does not evict a pod of its scope."""
        raise NotImplementedError

    def age_of(self, pod: Pod) -> int:
        """Whole seconds since the pod was made."""
        return (self.handle.now - start_time(pod.metadata.creation_timestamp)) // SECOND

    def evict_from_node(self, going: Iterable[tuple[Pod, str]]) -> bool:
        """Evict pods of one node, each for its reason, until the limit of the node is reached.

        Whether the plugin goes on with other nodes: not once the limit in total is reached.
        """
        for pod, reason in going:
            outcome = self.evict(pod, reason)
            if outcome is EvictionOutcome.TOTAL:
                return False
            if outcome is EvictionOutcome.NODE:
                break
        return True
