"""PreemptionToleration: as DefaultPreemption, but the class of a pod may spare it for a while.

Upstream: pkg/preemptiontoleration (preemption_toleration.go, preemption_toleration_policy.go) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kwhatif.api.watcher_metrics import Moments
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo, start_time
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Dependency, Plugin, PostFilterResult
from kwhatif.framework.status import Code, Diagnosis
from kwhatif.framework.victim_rules import Account
from kwhatif.golang.config_struct import Int32
from kwhatif.golang.field_validation import Path
from kwhatif.golang.parsing import parse_int
from kwhatif.plugins.shared.preemption_args import preemption_problems
from kwhatif.versions import Features

_PREFIX = "preemption-toleration.scheduling.x-k8s.io/"
_LEAST_PRIORITY, _SECONDS = f"{_PREFIX}minimum-preemptable-priority", f"{_PREFIX}toleration-seconds"
_SECOND = 1_000_000_000


class PreemptionTolerationArgs(Args):
    """Bounds on the nodes that preemption tries: percent of all nodes, 0..100, and an absolute number."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class PreemptionToleration(Plugin[None, None]):
    name = "PreemptionToleration"
    args = PreemptionTolerationArgs
    checked_at_start = True
    events_to_register = MappingProxyType({})
    dependencies = MappingProxyType(
        {
            "PodDisruptionBudget": Dependency("preemption spares budgets with it"),
            "PriorityClass": Dependency("its annotations spare pods of the class"),
        }
    )

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        return preemption_problems(path, args)

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, state: None) -> PostFilterResult:
        return self.handle.preempt(pod, diagnosis, self.handle.args, self)

    def ineligible(self, pod: PodInfo, diagnosis: Diagnosis) -> str:
        """Why the pod may not preempt at all, or nothing."""
        if pod.shape.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        cluster = diagnosis.cluster
        row = cluster.columns.row(pod.nominated) if pod.nominated else None
        if row is None:
            return ""
        status = diagnosis.status(row)
        if status is not None and status.code is Code.UNRESOLVABLE:
            return ""
        if any(other.shape.terminating and other.priority < pod.priority for other in cluster.pods_on[row]):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def victims(self, pod: PodInfo, others: Sequence[PodInfo]) -> list[bool] | str:
        """Pods of lower priority whose class does not spare them."""
        cluster = self.handle.cluster
        assert cluster is not None
        classes, now = _classes(cluster), _now(cluster)
        may_go = []
        for other in others:
            name = other.shape.spec.priority_class_name or ""
            if other.priority >= pod.priority:
                may_go.append(False)
            elif not name:
                may_go.append(True)
            elif name not in classes:
                return f'priorityclass.scheduling.k8s.io "{name}" not found'
            else:
                may_go.append(not _is_spared(other, pod, classes[name], now))
        return may_go

    def describe_no_victims(self, pod: PodInfo, node: str) -> str:
        return f"No victims found on node {node} for preemptor pod {pod.pod.name}"

    def account(self, pod: PodInfo) -> Account:
        return Account()


@cached_per_cluster
def _classes(cluster: Cluster) -> Mapping[str, PriorityClass]:
    return {priority_class.name: priority_class for priority_class in cluster.objects.list_all(PriorityClass)}


@cached_per_cluster
def _now(cluster: Cluster) -> int:
    """Nanoseconds since 1970; where the moment is not given, the last at which a pod found its node."""
    now = next((moments.now for moments in cluster.objects.list_all(Moments) if moments.now is not None), None)
    if now is not None:
        return int(now * _SECOND)
    return max((_scheduled_at(info) or 0 for info, _ in cluster.pods()), default=0)


def _scheduled_at(info: PodInfo) -> int | None:
    """Nanoseconds since 1970 when the pod found its node; None where it does not say."""
    for condition in info.pod.status.conditions or ():
        if condition.type == "PodScheduled":
            if condition.status != "True":
                return None
            moment = start_time(condition.last_transition_time)
            return 0 if moment == NEVER_STARTED else moment
    return None


def _is_spared(other: PodInfo, pod: PodInfo, of_other: PriorityClass, now: int) -> bool:
    """Whether the class of a pod keeps it from being evicted for this one."""
    annotations = of_other.metadata.annotations or {}
    least: int | None = (of_other.value or 0) + 1
    if _LEAST_PRIORITY in annotations:
        least = parse_int(annotations[_LEAST_PRIORITY], 32)
    seconds: int | None = 0
    if _SECONDS in annotations:
        seconds = parse_int(annotations[_SECONDS])
    if least is None or seconds is None or pod.priority >= least:
        return False
    scheduled = _scheduled_at(other)
    return seconds < 0 or scheduled is None or scheduled + seconds * _SECOND > now
