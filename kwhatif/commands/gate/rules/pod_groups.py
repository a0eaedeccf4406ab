"""Groups of pods are scheduled as a whole, and the change costs no gang that runs its quorum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.remedies import nodes_for
from kwhatif.commands.gate.rule import Parameters, Rule
from kwhatif.commands.gate.units import Unit
from kwhatif.results.amounts import format_count
from kwhatif.results.gate import Finding, Subject
from kwhatif.results.group_outcome import GroupDisruption, GroupOutcome
from kwhatif.simulation.explanation.workload_changes import WorkloadChange
from kwhatif.simulation.placement.group_outcomes import disrupted_groups, running_members

KIND = "PodGroup"


class PodGroupsParameters(Parameters, frozen=True, kw_only=True):
    disrupted: Annotated[
        bool, Meta(description="Gangs that run count, too, if the change leaves them fewer members than minCount.")
    ] = True


class PodGroups(Rule[PodGroupsParameters]):
    name = "pod-groups"
    purpose = "Groups of pods are scheduled, and no gang that runs loses its quorum."
    details = (
        "Checks groups where the feature gates are on: what each lacks by domain, and which gangs lose their "
        "`minCount`."
    )
    parameters = PodGroupsParameters

    def threshold(self) -> str:
        return "every group is scheduled" + (", and every gang keeps its quorum" if self.given.disrupted else "")

    def check(self, context: Context) -> Iterator[Finding]:
        failed = 0
        for group in context.groups:
            unit = self._unit_of(context, group.group)
            # Groups that ran, and come back for those of their members that were evicted, are judged below.
            if unit is not None and any(_members_of(context, group.group)):
                self.checked += 1
                if not group.good:
                    failed += 1
                    yield self._not_scheduled(unit, group)
        lost = 0
        for gang in self._find_disrupted(context):
            unit = self._unit_of(context, gang.group)
            if unit is not None:
                self.checked += 1
                lost += 1
                yield self._without_quorum(unit, gang)
        self.summary = f"{format_count(failed, 'group')} not scheduled"
        if self.given.disrupted:
            self.summary += f", {format_count(lost, 'gang')} without quorum"

    def remedies(self, finding: Finding, context: Context) -> Iterator[WorkloadChange]:
        """Nodes for the pods that evict others."""
        evicting = {placement.pod for placement in context.placements if placement.victims}
        pods = (info for unit in context.units for info in context.new_pods(unit))
        yield from nodes_for(context, [info for info in pods if info.key in evicting])

    def _find_disrupted(self, context: Context) -> Iterator[GroupDisruption]:
        if self.given.disrupted:
            gangs = disrupted_groups(running_members(context.before), context.cluster)
            yield from (gang for gang in gangs if gang.loses_quorum)

    def _unit_of(self, context: Context, name: str) -> Unit | None:
        """The group as the rule looks at it, beside the first of its members in the change; None if it is left out."""
        namespace, _, own = name.partition("/")
        first = next(_members_of(context, name), None)
        unit = Unit(Subject(kind=KIND, namespace=namespace, name=own), None if first is None else first.location)
        return unit if self.given.selects(unit) else None

    def _not_scheduled(self, unit: Unit, group: GroupOutcome) -> Finding:
        lacks = [
            f"{domain.name or 'the cluster'}: {'; '.join(domain.lacks)}" for domain in group.domains if domain.lacks
        ]
        parts = [f"{group.text[:1].upper()}{group.text[1:]}.", *(f"{text}." for text in lacks), group.message]
        return self.finding_about(
            unit,
            "is not scheduled",
            " ".join(filter(None, parts)),
            about="scheduled",
            numbers={"members": group.members, "fit": group.fit, "needs": group.needs},
            hint=f"kwhatif explain podgroup/{unit.subject.name} -n {unit.subject.namespace} says what was tried",
        )

    def _without_quorum(self, unit: Unit, gang: GroupDisruption) -> Finding:
        return self.finding_about(
            unit,
            "loses its quorum" + (" for good" if gang.is_broken else " for a while"),
            f"{gang.text[:1].upper()}{gang.text[1:]}.",
            about="quorum",
            numbers={"before": gang.before, "stay": gang.stay, "after": gang.after, "needs": gang.needs},
        )


def _members_of(context: Context, name: str) -> Iterator[Unit]:
    """The workloads of the change of which pods name a group (``namespace/name``)."""
    key = tuple(name.split("/"))
    for unit in context.units:
        groups = ((item.pod.namespace, item.pod.spec.scheduling_group) for item in unit.pods_to_schedule)
        if any(group is not None and (namespace, group.pod_group_name) == key for namespace, group in groups):
            yield unit
