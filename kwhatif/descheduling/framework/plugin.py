"""The interface of plugins, the handle by which they read the cluster, and how they class nodes, for reports.

Upstream: pkg/framework/types/types.go, pkg/framework/profile/profile.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.descheduling.framework.assigned_pods import AssignedPods
from kwhatif.descheduling.framework.descheduler_policy import DeschedulerPolicy, PluginArgs
from kwhatif.descheduling.framework.node_fit import NodeFit
from kwhatif.descheduling.framework.pod_evictor import EvictionOutcome, PodEvictor

Thresholds = Mapping[str, float]
"""Resource -> percent."""


class NodeUse(msgspec.Struct, frozen=True):
    """``usage``: cpu in millicores, others in units. Only nodes of a class (``underutilized``, ...) are listed."""

    category: str
    usage: Mapping[str, int]
    percent: Mapping[str, float]


class Utilization(msgspec.Struct):
    """One run. ``thresholds`` are those of deviations: ``average``, ``low``, ``high``.

    ``to_move`` is the room on the destinations, None where it came to no eviction; ``stopped`` says why it did not.
    """

    profile: str
    plugin: str
    nodes: Mapping[str, NodeUse] = {}
    thresholds: Mapping[str, Thresholds] | None = None
    to_move: Mapping[str, int] | None = None
    stopped: str = ""


A = TypeVar("A", bound=PluginArgs)


class PluginFailure(Exception):
    """A plugin cannot do its work; the rest of the cycle goes on. The text is upstream's."""


class Evictor(Protocol):
    """What decides whether a pod may be evicted."""

    def is_evictable(self, pod: Pod) -> bool:
        """Upstream: Filter."""

    def passes_pre_eviction_filter(self, pod: Pod) -> bool:
        """Upstream: PreEvictionFilter."""


class UsageData(msgspec.Struct, frozen=True):
    """Measurements, as the APIs return them. ``prometheus`` is the answer to the query; None where it is unknown."""

    nodes: Mapping[str, Mapping[str, int]] | None = None
    pods: Mapping[str, Sequence[Mapping[str, int]]] | None = None
    prometheus: Any = None


class Handle(msgspec.Struct):
    """What a plugin of one profile may use. ``nodes`` are those of the cycle, in order; ``now`` is in nanoseconds."""

    profile: str
    policy: DeschedulerPolicy
    nodes: Sequence[Node]
    pods: AssignedPods
    fit: NodeFit
    pod_evictor: PodEvictor
    evictor: Evictor
    now: int
    usage: UsageData
    utilization: list[Utilization] = []

    def may_go(self, pod: Pod) -> bool:
        """Both filters of the evictor."""
        return self.evictor.is_evictable(pod) and self.evictor.passes_pre_eviction_filter(pod)

    def evict(self, pod: Pod, plugin: str, reason: str) -> EvictionOutcome:
        return self.pod_evictor.evict(pod, self.profile, plugin, reason)


class Plugin(Generic[A]):
    """A plugin with its arguments, a new instance for each cycle. Expected failures are ``PluginFailure``."""

    name: ClassVar[str]
    args_type: ClassVar[type[PluginArgs]]
    point: ClassVar[str]
    """``deschedule`` or ``balance``."""

    def __init__(self, args: A, handle: Handle) -> None:
        self.args, self.handle = args, handle

    @classmethod
    def problems(cls, args: A) -> Iterable[str]:
        """What is wrong with the arguments, in upstream's words."""
        return ()

    @classmethod
    def refusal(cls, args: A) -> str:
        """Why the plugin cannot be built from valid arguments; None if it can."""
        return ""

    def run(self) -> None:
        """Evict this plugin's pods. Raises PluginFailure."""
        raise NotImplementedError

    def why_not(self, pod: Pod) -> str:
        """Why this plugin does not evict a pod that the evictor would allow it to."""
        raise NotImplementedError

    def evict(self, pod: Pod, reason: str) -> EvictionOutcome:
        return self.handle.evict(pod, self.name, reason)
