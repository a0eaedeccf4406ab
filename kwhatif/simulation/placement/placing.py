"""Placement runs: pods are scheduled one after the other, each in a cycle of its own, and their placements are
described.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.pod_group_states import group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.progress import track
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.place import Placement
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.group_rounds import ScheduledEntity, attempts_of, scheduled_entities
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.placement.afterwards import pending_pod_of as pending_pod_of
from kwhatif.simulation.placement.group_outcomes import gated_groups, outcome_of
from kwhatif.simulation.placement.placements import placement_of, skip_pod, skip_reason_of
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.workloads.volumes import provision_claim


class AttemptedPod(msgspec.Struct):
    """A pod that was tried by itself (without ``info`` if it was skipped), its place among the placements, and how many
    pods had ``departed`` by then.
    """

    item: PodToSchedule
    info: PodInfo | None
    index: int
    placement: Placement
    departed: int


class NodeProvider(Protocol):
    """Adds nodes for pods that found none."""

    def provide_nodes(self, session: Session, waiting: Sequence[Pod]) -> bool:
        """Whether nodes were added for any of them."""


class PlacementRun:
    """Placements so far; waiting pods keep their place in the list until they come to an end.

    ``groups`` are what became of groups of pods, by name, ``attempted`` the last attempts by pod (``namespace/name``),
    ``removed`` the pods that had to go for others. ``preemptors`` took the place of those that were ``evicted``, by
    their uids. With autoscalers, a ``helper``, pods that found no node are tried again when nodes have come for them.
    With ``spares_futile`` an attempt that cannot but fail is made once for all pods that are alike. With
    ``until_eviction`` no pod is tried once one has to go for another.
    """

    def __init__(
        self,
        session: Session,
        helper: NodeProvider | None = None,
        *,
        spares_futile: bool = False,
        until_eviction: bool = False,
    ) -> None:
        self._session, self._helper, self._spares_futile = session, helper, spares_futile
        self._until_eviction = until_eviction
        session.make_pods_in_turn()
        self._without: dict[int, AttemptedPod] = {}
        self._gated: dict[int, AttemptedPod] = {}
        self._asked_at: tuple[int, tuple[str, ...]] | None = None
        self._waiting: list[tuple[int, PodToSchedule, list[Attempt]]] = []
        self.placements: list[Placement] = []
        self.groups: dict[str, GroupOutcome] = {}
        self.evicted: list[PodInfo] = []
        self.preemptors: dict[str, str] = {}
        self.removed: set[str] = set()
        self.last_attempts: dict[str, Attempt] = {}
        self.departed = 0
        self._uids: dict[str, str] = {}
        self._places: dict[str, int] = {}

    @property
    def session(self) -> Session:
        return self._session

    def take_up(self, item: PodToSchedule) -> PodInfo | None:
        """The pod; None if it was skipped, since no scheduler here is responsible for it."""
        reason = skip_reason_of(self._session, item)
        if reason:
            self.placements.append(skip_pod(self._session, item, reason))
            return None
        return self._session.info(item)

    def replay(self, items: Iterable[PodToSchedule]) -> None:
        """Schedule pods in this order."""
        for item in track(list(items), "Replaying", "pods"):
            info = self.take_up(item)
            if info is not None:
                self.schedule(item, info)

    def schedule_all(self, pods_to_schedule: Sequence[PodToSchedule]) -> None:
        """Schedule pods in the scheduler's order, and wait for permits."""
        self.schedule_taken_up([(item, info) for item in pods_to_schedule if (info := self.take_up(item)) is not None])

    def schedule_taken_up(self, queue: Sequence[tuple[PodToSchedule, PodInfo]]) -> None:
        """The same for pods that have been taken up."""
        if takes_groups(self._session.driver):
            self._all_with_groups(queue)
        else:
            in_order = self._session.driver.in_order(queue, lambda entry: entry[1])
            for item, info in track(in_order, "Placing", "pods"):
                self.schedule(item, info)
                if self._until_eviction and self.evicted:
                    return
        self.wait()
        self.help()

    def _all_with_groups(self, queue: Sequence[tuple[PodToSchedule, PodInfo]]) -> None:
        """As ``schedule_all`` where pods that name a group are scheduled together; gated ones come last."""
        items = {info.uid: item for item, info in queue}
        unscheduled = {info.uid: info for _, info in queue}
        for entity in scheduled_entities(self._session.driver, [info for _, info in queue]):
            for info in entity.pods:
                unscheduled.pop(info.uid, None)
            if entity.key is None:
                (info,) = entity.pods
                entity.came_to(self.schedule(items[info.uid], info).placement.good)
                continue
            for info, attempts in self._run_group(entity):
                if info.uid in items:
                    self._record(items[info.uid], info, attempts, evicts=False)
        self.groups |= {
            gated_group.group: gated_group for gated_group in gated_groups(self._session.cluster, unscheduled.values())
        }
        for info in unscheduled.values():
            self.schedule(items[info.uid], info)

    def _run_group(self, entity: ScheduledEntity) -> Iterator[tuple[PodInfo, list[Attempt]]]:
        """The attempts of a group's members. What the group came to takes the place of what it came to before."""
        assert entity.key is not None
        cluster = self._session.cluster
        running = len(cluster.pod_groups.scheduled_pods(entity.key, cluster.find))
        cycles = entity.run()
        outcome = outcome_of(cluster, cycles, running)
        self.groups.pop(outcome.group, None)
        self.groups[outcome.group] = outcome
        for cycle in cycles:
            results = [result for tried in cycle.tried for result in tried.members]
            by = {victim.uid: result.pod.key for result in results for victim in result.attempt.victims}
            self.evicted += cycle.evicted
            # Room for the whole group is made for its first member.
            self.preemptors |= {pod.uid: by.get(pod.uid, cycle.members[0].key) for pod in cycle.evicted}
        return attempts_of(cycles)

    def help(self) -> None:
        """While the helper adds nodes for pods that have none, these pods are tried again, in the scheduler's order.

        It is not asked again where nothing has changed since.
        """
        helper, driver, session = self._helper, self._session.driver, self._session
        while helper is not None and self._without:
            self.explain_futile()
            waiting = tuple(
                key for attempted in self._without.values() if self.last_attempts[key := attempted.item.pod.key].is_made
            )
            if self._asked_at == (self.departed, waiting):
                return
            self._asked_at = self.departed, waiting
            if not helper.provide_nodes(session, [pending_pod_of(self.last_attempts[key]) for key in waiting]):
                return
            members = [attempted for attempted in self._without.values() if self.is_member(attempted)]
            self._retry_members(members)
            queue = [(t, t.info) for t in self._without.values() if t.info is not None and not self.is_member(t)]
            in_order = driver.in_order(queue, lambda entry: entry[1])
            for attempted, _ in track(in_order, "Placing", "pods on new nodes"):
                self._try_again(attempted)
            for attempted in (*members, *(attempted for attempted, _ in queue)):
                if attempted.placement.outcome == "placed":
                    attempted.placement = replace(attempted.placement, outcome="autoscaled")
                    self.placements[attempted.index] = attempted.placement

    def take(self, item: PodToSchedule, *, defer_futile: bool = False) -> AttemptedPod:
        """Schedule one more pod, by itself; permits are waited for.

        With ``defer_futile`` an attempt that cannot but fail is left to ``explain_futile``, and one of a group's member
        to ``retry_all``, with the others of its group.
        """
        info = self.take_up(item)
        if info is None:
            return AttemptedPod(item, info, len(self.placements) - 1, self.placements[-1], self.departed)
        is_member = takes_groups(self._session.driver) and group_key(info) is not None
        if defer_futile and (is_member or self._session.driver.is_futile(info)):
            return self._record(item, info, [Attempt(info)])
        attempted = self.schedule(item, info)
        self.wait()
        attempted.placement = self.placements[attempted.index]
        return attempted

    def retry(self, attempted: AttemptedPod) -> None:
        """Try a pod again that found no node; the new placement replaces the old one."""
        attempted.departed = self.departed
        if not attempted.placement.good and attempted.info is not None:
            self._try_again(attempted)

    def retry_all(self, waiting: Iterable[AttemptedPod]) -> None:
        """Try these pods once more, in this order; members of groups come first, and together.

        Of those for which that is in vain ``explain_futile`` says why.
        """
        waiting = list(waiting)
        self._retry_members([attempted for attempted in waiting if self.is_member(attempted)])
        journal, changes, in_vain = self._session.cluster.journal, -1, set[int]()
        for attempted in waiting:
            info = attempted.info
            if info is None or self.is_member(attempted):
                continue
            if len(journal) != changes:
                changes, in_vain = len(journal), set()
            if info.shape.index in in_vain:
                continue
            if self._session.driver.is_futile(info):
                in_vain.add(info.shape.index)
            else:
                self.retry(attempted)

    def is_member(self, attempted: AttemptedPod) -> bool:
        """Whether a pod is taken up with the others of its group."""
        info = attempted.info
        return info is not None and takes_groups(self._session.driver) and group_key(info) is not None

    def _retry_members(self, members: Iterable[AttemptedPod]) -> None:
        """Try members of groups once more that have no node, group by group."""
        members_by_uid = {
            attempted.info.uid: attempted
            for attempted in members
            if attempted.info is not None and not attempted.placement.good
        }
        if not members_by_uid:
            return
        gated = dict(members_by_uid)
        for entity in scheduled_entities(
            self._session.driver, [t.info for t in members_by_uid.values() if t.info is not None]
        ):
            for info in entity.pods:
                gated.pop(info.uid, None)
            for info, attempts in self._run_group(entity):
                attempted = members_by_uid[info.uid]
                self._replace_placement(attempted, self._record(attempted.item, info, attempts, evicts=False))
        for attempted in gated.values():
            self._try_again(attempted)

    def explain_futile(self) -> None:
        """Describe why pods find no node that were not tried since the attempt would be futile, as things are now."""
        for attempted in self._without.values():
            if self.is_member(attempted):
                continue
            info = attempted.info
            attempt = None if info is None else self._session.driver.futile_attempt(info)
            if info is not None and attempt is not None:
                self.last_attempts[info.key] = attempt
                attempted.placement = placement_of(self._session, attempted.item, [attempt])
                self.placements[attempted.index] = attempted.placement

    def _try_again(self, attempted: AttemptedPod) -> None:
        assert attempted.info is not None
        again = self.schedule(attempted.item, attempted.info)
        self.wait()
        self._replace_placement(attempted, again)

    def _replace_placement(self, attempted: AttemptedPod, again: AttemptedPod) -> None:
        """What a pod came to when it was tried again takes the place of what it came to before."""
        assert attempted.info is not None
        self._without.pop(again.index, None)
        self._gated.pop(again.index, None)
        attempted.placement = self.placements[attempted.index] = self.placements.pop()
        self._places[attempted.info.uid] = attempted.index
        for pods in (self._without, self._gated):
            if pods is self._list_of(attempted):
                pods.setdefault(attempted.index, attempted)
            else:
                pods.pop(attempted.index, None)

    def _list_of(self, attempted: AttemptedPod) -> dict[int, AttemptedPod] | None:
        """Where a pod waits that was tried."""
        outcome = attempted.placement.outcome
        if outcome == "unschedulable" or not self.last_attempts[attempted.item.pod.key].is_made:
            return self._without
        return self._gated if outcome == "gated" and self.is_member(attempted) else None

    @property
    def without_node(self) -> list[AttemptedPod]:
        """The pods that found no node."""
        return list(self._without.values())

    @property
    def gated_members(self) -> list[AttemptedPod]:
        """The members of groups whose quorum, or whose PodGroup, is missing."""
        return list(self._gated.values())

    def tried_too_early(self) -> list[AttemptedPod]:
        """The pods that found no node, and after whose last attempt something has changed."""
        placed = max(
            (index for index, placement in enumerate(self.placements) if placement.outcome == "placed"), default=-1
        )
        return [
            attempted
            for attempted in self._without.values()
            if attempted.index < placed or attempted.departed < self.departed
        ]

    def would_move(self) -> bool:
        """Whether a pod that found no node would find one now, or would evict others. Nothing is changed."""
        early = self.tried_too_early()
        # Whether a group fits is found out by its cycle.
        if any(self.is_member(attempted) for attempted in early):
            return True
        return self.finds_room(attempted.info for attempted in early if attempted.info is not None)

    def finds_room(self, pods: Iterable[PodInfo]) -> bool:
        """Whether one of these pods would find a node, by evicting others or not. Nothing is changed."""
        driver, seen = self._session.driver, set[int]()
        for info in pods:
            if info.shape.index in seen:
                continue
            # Pods of one shape meet the same nodes, so one of them stands for all.
            seen.add(info.shape.index)
            attempt = driver.futile_attempt(info) or driver.decide(info)
            if attempt.is_placed or attempt.nominated:
                return True
        return False

    def homes(self) -> dict[str, str]:
        """The nodes of the pods that have found one: pod -> node."""
        return {placement.pod: placement.node for placement in self.placements if placement.good and placement.node}

    def claim(self, claim: PersistentVolumeClaim | ResourceClaim) -> None:
        """Add a claim."""
        create_claim(self._session, claim)

    def remove(self, key: str) -> None:
        """Remove a pod, also from its node."""
        self.removed.add(key)
        uid = self.uid_of(key)
        if uid is not None and self._session.cluster.find(uid) is not None:
            self._session.cluster.remove_pod(uid)
            self.departed += 1

    def uid_of(self, key: str) -> str | None:
        """The uid of a pod (``namespace/name``) that is in the cluster, or was tried."""
        return self._uids.get(key) or self._session.uid_of(key)

    def lose_node(self, victim: PodInfo) -> None:
        """A pod that found a node in this run had to leave it for its preemptor."""
        index = self._places.get(victim.uid)
        if index is None:
            return
        self.placements[index] = self.placements[index].lose_node(self.preemptors[victim.uid], homeless=False)

    def schedule(self, item: PodToSchedule, info: PodInfo) -> AttemptedPod:
        """Schedule one more pod; it may have to wait for its permit."""
        driver = self._session.driver
        failing = driver.futile_attempt(info) if self._spares_futile else None
        return self._record(item, info, driver.schedule_with_preemption(info) if failing is None else [failing])

    def _record(
        self, item: PodToSchedule, info: PodInfo, attempts: list[Attempt], *, evicts: bool = True
    ) -> AttemptedPod:
        index = len(self.placements)
        self._uids[info.key], self.last_attempts[info.key] = info.uid, attempts[-1]
        self._places[info.uid] = index
        # It may have the name of one that had to go.
        self.removed.discard(info.key)
        if evicts:
            victims = [victim for attempt in attempts if attempt.nominated for victim in attempt.victims]
            self.evicted += victims
            self.preemptors |= {victim.uid: info.key for victim in victims}
        self.placements.append(placement_of(self._session, item, attempts))
        if attempts[-1].waiting:
            self._waiting.append((index, item, attempts))
        elif attempts[-1].is_placed:
            attempts[-1].forget_nodes()
        self._session.driver.settle()
        self._record_ended_waits()
        attempted = AttemptedPod(item, info, index, self.placements[index], self.departed)
        if (pods := self._list_of(attempted)) is not None:
            pods[index] = attempted
        return attempted

    def wait(self) -> None:
        """Let simulated time pass until no pod waits for a permit."""
        self._session.driver.wait()
        self._record_ended_waits()

    def _record_ended_waits(self) -> None:
        """Record the placements of pods that no longer wait."""
        for index, item, attempts in self._waiting:
            if not attempts[-1].waiting:
                # What it held until now is free again.
                self.departed += attempts[-1].lost
                self.placements[index] = placement_of(self._session, item, attempts)
        self._waiting = [entry for entry in self._waiting if entry[2][-1].waiting]


def create_claim(session: Session, claim: PersistentVolumeClaim | ResourceClaim) -> None:
    """A claim comes into being."""
    if isinstance(claim, ResourceClaim):
        session.cluster.devices.put(claim)
    else:
        provision_claim(session.cluster.storage, claim)


def create_refused_pods(session: Session, pods: Iterable[PodInfo]) -> list[PodToSchedule]:
    """The pods that controllers create after all, since these pods are gone for good and their share of a quota is
    free; their claims are created, too.
    """
    creations = session.creations
    if not creations:
        return []
    for info in pods:
        creations.release(info.shape.namespace, info.pod.name)
    later = creations.retry()
    for claim in later.claims:
        create_claim(session, claim)
    return list(later.pods)
