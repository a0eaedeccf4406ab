"""DefaultPreemption: evict pods of lower priority where that makes room.

The search itself is in ``scheduling/preemption.py``; this is its place in the chain of PostFilter plugins.
Upstream: plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.diagnosis import Diagnosis
from kwhatif.framework.interface import Plugin, PostFilterResult
from kwhatif.framework.status import Status


class DefaultPreemption(Plugin[None, None]):
    name = "DefaultPreemption"
    requeue_on = MappingProxyType({})
    reads = ("PodDisruptionBudget",)
    also = ("preEnqueue",)

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, state: None) -> PostFilterResult:
        result = self.handle.preempt(pod, diagnosis, self.handle.args)
        if result.status is None or not result.status.message:
            return result
        spoken = Status(result.status.code, (f"preemption: {result.status.message}",))
        return replace(result, status=spoken)
