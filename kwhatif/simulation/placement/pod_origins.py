"""Where the pods of an outcome come from: their workloads, and why they look for a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from kwhatif.api.core import Pod
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outcome import Cause, EvictedPod, PendingPod
from kwhatif.results.place import Placement
from kwhatif.simulation.ownership import Owners
from kwhatif.snapshot.format.model import Snapshot


class PodOrigins(msgspec.Struct, dict=True):
    """Looks up the workload of a pod, and why the pod looks for a node."""

    snapshot: Snapshot

    @cached_property
    def waiting_pods(self) -> frozenset[str]:
        """The pods (``namespace/name``) that waited in the snapshot already."""
        return frozenset(pod.key for pod in self.snapshot.objects.list_all(Pod) if not pod.spec.node_name)

    @cached_property
    def _owners(self) -> Owners:
        return Owners(self.snapshot)

    def workload_of(self, pod: Pod) -> str | None:
        """``Kind/namespace/name`` of the workload of a pod; None for a pod without a controller."""
        if pod.controller is None:
            return None
        workload = self._owners.workload_of(pod)
        return f"{workload.kind}/{workload.namespace}/{workload.name}"

    def owner_of(self, pod: Pod) -> str:
        """``Kind/namespace/name`` of the workload of a pod; a pod without a controller is its own."""
        return self.workload_of(pod) or f"Pod/{pod.key}"

    def cause_of(self, pod: Pod) -> Cause:
        """The cause of a pod of the question."""
        return "waiting" if pod.key in self.waiting_pods else "new"

    def pending(
        self, placements: Iterable[Placement], pods: Mapping[str, Pod], causes: Mapping[str, Cause] | None = None
    ) -> tuple[PendingPod, ...]:
        """Those of the placements that have no node, with the ``pods`` they are about and their ``causes``."""
        return tuple(
            PendingPod(
                pod=placement.pod,
                workload=self.workload_of(pods[placement.pod]),
                cause=(causes or {}).get(placement.pod) or self.cause_of(pods[placement.pod]),
                why=placement.reason,
            )
            for placement in placements
            if not placement.good and placement.outcome not in ("preempted", "uncreated")
        )

    def victims(self, evicted: Iterable[tuple[PodInfo, str | None]]) -> tuple[EvictedPod, ...]:
        """Pods that lost their node, each with the pod that took its place."""
        return tuple(EvictedPod(pod=info.key, workload=self.workload_of(info.pod), taken_by=by) for info, by in evicted)


def evicted_by(placements: Sequence[Placement]) -> dict[str, str]:
    """Victim -> the pod that took its place."""
    return {
        victim.pod: placement.pod for placement in placements for victim in placement.victims if not victim.terminating
    }
