"""A group scheduled again in a copy of the cluster with one change, to see whether the change helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.pod_groups import GangPolicy, PodGroup
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.scheduling.group_rounds import scheduled_entities
from kwhatif.scheduling.pod_group_results import PodGroupCycle
from kwhatif.simulation.placement.group_outcomes import gated_groups, outcome_of
from kwhatif.simulation.session import PodToSchedule, Session


class TriedGroup(msgspec.Struct, frozen=True):
    """What became of a group in a session of its own."""

    session: Session
    outcome: GroupOutcome

    @property
    def works(self) -> bool:
        """Whether members run now, and everything that the group requires is met."""
        outcome = self.outcome
        return outcome.good and outcome.bound > 0 and outcome.bound + outcome.running >= outcome.needs

    @property
    def domain(self) -> str:
        """The domain it runs in; empty for the whole cluster."""
        return next((domain.name for domain in self.outcome.domains if domain.chosen), "")


class GroupTrials(msgspec.Struct, frozen=True):
    """A group's ``members`` without a node, and a session of the cluster in which they have none."""

    session: Session
    key: GroupKey
    members: Sequence[PodToSchedule]

    @property
    def group(self) -> PodGroup | None:
        return self.session.cluster.pod_groups.objects.get(self.key)

    @property
    def priority(self) -> int:
        """The highest priority among the group and its members."""
        own = self.group.priority if self.group is not None else 0
        return max([own, *(item.pod.spec.priority or 0 for item in self.members)])

    def attempt(self, change: Callable[[Session], None] = lambda session: None) -> TriedGroup:
        """Schedule the group in a copy of the cluster that was changed."""
        tried = self.session.sandbox()
        change(tried)
        return schedule_group(tried, self.key, self.members)

    def with_group(self, change: Callable[[PodGroup], PodGroup]) -> TriedGroup:
        """Schedule the group with another PodGroup object."""

        def edit(session: Session) -> None:
            objects = session.cluster.pod_groups.objects
            objects[self.key] = change(objects[self.key])

        return self.attempt(edit)

    def with_members(self, change: Callable[[PodToSchedule], PodToSchedule]) -> TriedGroup:
        """Schedule other members in place of the group's own."""
        return structs.replace(self, members=[change(item) for item in self.members]).attempt()


def schedule_group(session: Session, key: GroupKey, members: Sequence[PodToSchedule]) -> TriedGroup:
    """Schedule the members of a group on their own; the session keeps the result."""
    cluster = session.cluster
    running = len(cluster.pod_groups.scheduled_pods(key, cluster.find))
    infos: list[PodInfo] = [session.info(item) for item in members]
    cycles: list[PodGroupCycle] = []
    for entity in scheduled_entities(session.driver, infos):
        if entity.key == key:
            cycles += entity.run()
    if not cycles:
        return TriedGroup(session, next(gated_groups(cluster, infos)))
    return TriedGroup(session, outcome_of(cluster, cycles, running))


def with_min_count(group: PodGroup, least: int) -> PodGroup:
    """The group with another ``minCount``."""
    policy = replace(group.spec.scheduling_policy, gang=GangPolicy(min_count=least))
    return replace(group, spec=replace(group.spec, scheduling_policy=policy))


def without_constraints(group: PodGroup) -> PodGroup:
    """The group without its topology constraints."""
    return replace(group, spec=replace(group.spec, scheduling_constraints=None))


def with_group_priority(group: PodGroup, priority: int) -> PodGroup:
    """The group with another priority."""
    return replace(group, spec=replace(group.spec, priority=priority))
