"""DefaultPreemption: evict pods of lower priority where that makes room.

The search itself is in ``scheduling/preemption.py``; this is its place in the chain of PostFilter plugins.
Upstream: plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import Args, DefaultPlugin
from kwhatif.framework.interface import Dependency, Plugin, PostFilterResult
from kwhatif.framework.status import Diagnosis, Status
from kwhatif.golang.config_struct import Int32
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.preemption_args import preemption_problems
from kwhatif.versions import Features


class DefaultPreemptionArgs(Args):
    """Bounds on the nodes that preemption tries: percent of all nodes, 0..100, and an absolute number."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class DefaultPreemption(Plugin[None, None]):
    name = "DefaultPreemption"
    args = DefaultPreemptionArgs
    default = DefaultPlugin(190)
    events_to_register = MappingProxyType({})
    dependencies = MappingProxyType({"PodDisruptionBudget": Dependency("preemption spares budgets with it")})
    offline_points = ("preEnqueue",)

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        points = super().points(features)
        return points if features.preemption_holds_preemptors_back else set(points) - {"preEnqueue"}

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        return preemption_problems(path, args)

    def may_make_room(self, pod: PodInfo) -> bool:
        """Whether there may be victims: a pod of lower priority, of all that ever were in the cluster."""
        cluster = self.handle.cluster
        never = pod.shape.spec.preemption_policy == "Never"
        return not never and (cluster is None or bool((cluster.shapes.priorities < pod.priority).any()))

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, state: None) -> PostFilterResult:
        if pod.shape.spec.scheduling_group is not None and (reason := self._leaves_it_to_others(pod, diagnosis)):
            return PostFilterResult(Status.unschedulable(f"preemption: {reason}"), preemption="not allowed")
        result = self.handle.preempt(pod, diagnosis, self.handle.args)
        if result.status is None or not result.status.message:
            return result
        spoken = Status(result.status.code, (f"preemption: {result.status.message}",))
        return replace(result, status=spoken)

    def _leaves_it_to_others(self, pod: PodInfo, diagnosis: Diagnosis) -> str:
        """Why there is no preemption for this member of a group by itself, or None."""
        features = self.handle.features
        if features.topology_aware_workload_scheduling:
            group = diagnosis.cluster.pod_groups.of(pod)
            if group is None:
                return "pod group for pod not found"
            # Constraints without a topology are enough.
            if group.spec.scheduling_constraints is not None:
                return "not eligible due to placement-based pod group scheduling limitation"
        if features.workload_aware_preemption:
            return "not eligible due to workload aware preemption enabled"
        return ""

    def pod_group_post_filter(self, preemptor: Any) -> Any:
        assert self.handle.preempt_for_group is not None
        return self.handle.preempt_for_group(preemptor)
