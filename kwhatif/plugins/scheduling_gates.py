"""SchedulingGates: a gated pod does not enter the queue. Upstream: plugins/schedulinggates/scheduling_gates.go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, Plugin, QueueingHint, Suggestion
from kwhatif.framework.status import Status
from kwhatif.plugins.shared.pod_changes import suggest_without_gates
from kwhatif.versions import Features


class SchedulingGates(Plugin[None, None]):
    name = "SchedulingGates"
    depends_on_labels = False
    events_to_register: ClassVar[
        dict[ClusterEvent, QueueingHint]
    ] = {}  # only the removal of the gates lets the pod in, and here they stay

    @classmethod
    def exists(cls, features: Features) -> bool:
        return not features.legacy_plugins

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        if features.scheduling_gates_come_first:
            return DefaultPlugin(10)
        return DefaultPlugin(230) if features.pod_scheduling_readiness else None

    def applies_to(self, pod: PodInfo) -> bool:
        return bool(pod.shape.spec.scheduling_gates)

    def suggestions(self, pod: PodInfo, cluster: Cluster, rows: Sequence[int]) -> Iterator[Suggestion]:
        return suggest_without_gates(pod.pod)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        gates = [gate.name for gate in pod.shape.spec.scheduling_gates or ()]
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else None
