"""Base of plugins that consider the pods of some namespaces and labels only, and evict node by node."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TypeVar

from kwhatif.api.core import Pod
from kwhatif.descheduling.framework.descheduler_policy import ScopedArgs
from kwhatif.descheduling.framework.plugin import Plugin
from kwhatif.descheduling.framework.pod_evictor import Outcome
from kwhatif.descheduling.framework.pod_scope import PodScope

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

    def evict_from_node(self, going: Iterable[tuple[Pod, str]]) -> bool:
        """Evict pods of one node, each for its reason, until the limit of the node is reached.

        Whether the plugin goes on with other nodes: not once the limit in total is reached.
        """
        for pod, reason in going:
            outcome = self.evict(pod, reason)
            if outcome is Outcome.TOTAL:
                return False
            if outcome is Outcome.NODE:
                break
        return True
