"""The descheduler leaves the pods of a change where the scheduler has put them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from kwhatif.api.core import Namespace, Node, Pod
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, PodDisruptionBudget
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.rule import Level, Parameters, Rule
from kwhatif.commands.gate.units import Unit
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.gate import Finding

if TYPE_CHECKING:
    from kwhatif.descheduling.descheduler import ClusterObjects, Cycle
    from kwhatif.descheduling.framework.pod_evictor import Eviction

_NANOSECONDS = 10**9


class EvictedAgainParameters(Parameters, frozen=True, kw_only=True):
    files = ("policy", "metrics")

    level: Level = "warn"
    policy: Annotated[
        str,
        Meta(description="A file with the DeschedulerPolicy, as kwhatif deschedule reads it; else the snapshot's own."),
    ] = ""
    metrics: Annotated[
        tuple[str, ...], Meta(description="Files with what was measured, for policies that go by real usage.")
    ] = ()


class EvictedAgain(Rule[EvictedAgainParameters]):
    name = "evicted-again"
    purpose = "The descheduler does not evict new pods in the cycle after they were placed."
    details = (
        "Runs one descheduler cycle after the change. Evictions that a budget or a limit of the policy "
        "forbids do not count."
    )
    parameters = EvictedAgainParameters

    def threshold(self) -> str:
        return "the next cycle of the descheduler evicts no new pod"

    def check(self, context: Context) -> Iterator[Finding]:
        # Most gates have no such rule and need no descheduler.
        from kwhatif.commands.deschedule.policy_document import load_descheduler_policy
        from kwhatif.descheduling.descheduler import Descheduler

        given = load_descheduler_policy(self.given.policy, context.snapshot)
        if given is None:
            self.summary = "the descheduler's policy is unknown: set policy"
            return
        policy, source = given
        cycle = Descheduler(policy, self._world(context)).cycle(with_protected=False)
        evicted = {eviction.pod.key: eviction for eviction in cycle.evictions}
        count = 0
        for unit in self.units(context):
            new = {info.key for info in context.new_pods(unit)}
            mine = [evicted[info.key] for info, _ in context.running(unit) if info.key in new and info.key in evicted]
            count += len(mine)
            if mine:
                yield self._finding(unit, mine, source)
        self.summary = _summary(cycle, count, source)

    def _world(self, context: Context) -> ClusterObjects:
        """The cluster as the descheduler finds it when the pods of the change have just become ready."""
        from kwhatif.commands.deschedule.usage_files import read_usage
        from kwhatif.descheduling.descheduler import ClusterObjects
        from kwhatif.scheduling.budget_status import with_statuses
        from kwhatif.scheduling.eviction_budgets import EvictionBudgets

        snapshot = context.snapshot_after
        objects, pods = snapshot.objects, snapshot.objects.list_all(Pod)
        budgets = list(with_statuses(objects.list_all(PodDisruptionBudget), pods))
        return ClusterObjects(
            nodes=objects.list_all(Node),
            pods=pods,
            now=int(context.now.timestamp()) * _NANOSECONDS,
            features=context.setup.features,
            namespaces=list(objects.list_all(Namespace)),
            budgets=budgets,
            claims=list(objects.list_all(PersistentVolumeClaim)),
            usage=read_usage(self.given.metrics),
            review=EvictionBudgets(budgets).evict,
        )

    def _finding(self, unit: Unit, evictions: list[Eviction], source: str) -> Finding:
        first = evictions[0]
        plugins = ", ".join(dict.fromkeys(eviction.plugin for eviction in evictions))
        names = format_some([eviction.pod.key for eviction in evictions])
        return self.finding_about(
            unit,
            f"the descheduler evicts {format_count(len(evictions), 'new pod')} again at once ({plugins})",
            f"By {source} the next cycle evicts {names}. {first.pod.key} goes from {first.node}: {first.reason}.",
            numbers={"evicted": len(evictions), "plugins": plugins},
            hint="kwhatif deschedule says where such pods go then, and whether it ends",
            pod=first.pod.key,
        )


def _summary(cycle: Cycle, count: int, source: str) -> str:
    if cycle.skipped:
        return "the descheduler does nothing: it needs two ready nodes"
    others = len(cycle.evictions) - count
    more = f", and {format_count(others, 'other')}" if others else ""
    return f"the next cycle by {source} evicts {format_count(count, 'new pod')}{more}"
