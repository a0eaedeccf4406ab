"""Kueue admits the workloads of a change, and takes quota from nobody for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Meta

from kwhatif.api.document_numbers import Count
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding
from kwhatif.simulation.queueing.queued_pods import NO_QUEUES


class QueueWaitParameters(Parameters, frozen=True, kw_only=True):
    most: Annotated[Count, Meta(description="Most pods of a workload that may wait until Kueue admits them.")] = 0
    evicted: Annotated[bool, Meta(description="Running pods of workloads that Kueue evicts count, too.")] = True


class QueueWait(Rule[QueueWaitParameters]):
    name = "queue-wait"
    purpose = "Kueue admits the workloads of the change at once, and evicts no other for them."
    details = (
        "Is about pods that Kueue holds or evicts. `unschedulable` counts them, too, "
        "unless `gated: false` or `evicted: false`."
    )
    parameters = QueueWaitParameters
    kinds_without_pods: ClassVar[frozenset[str]] = frozenset({"ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor"})

    def threshold(self) -> str:
        return f"no more than {self.given.most} pods of a workload wait for quota"

    def check(self, context: Context) -> Iterator[Finding]:
        queues, left = context.session.queues, 0
        if queues is NO_QUEUES:
            return
        for unit in self.units(context):
            waiting = [placement for placement in unit.pending if placement.pod in queues.held]
            left += len(waiting)
            if len(waiting) > self.given.most:
                yield self.finding_about(
                    unit,
                    f"{format_count(len(waiting), 'pod')} of {len(unit.placements)} wait for quota",
                    queues.held[waiting[0].pod],
                    numbers={"pods": len(unit.placements), "waiting": len(waiting), "most": self.given.most},
                    hint="kwhatif queue says whose end frees it, and what would change it",
                    pod=waiting[0].pod,
                )
        if self.given.evicted and queues.evicted:
            self.checked += 1
            pods = [pod.pod for pod in queues.evicted]
            stay = f", {len(queues.pending)} of which wait again" if queues.pending else ""
            yield self.finding(
                None,
                f"Kueue evicts {format_count(len(pods), 'running pod')}",
                f"{format_some(pods)}{stay}",
                about="evicted",
                numbers={"evicted": len(pods), "pending": len(queues.pending)},
                hint="kwhatif queue says for whom, and why",
                pod=pods[0],
            )
        self.summary = f"{format_count(left, 'pod waits', 'pods wait')} for quota"
