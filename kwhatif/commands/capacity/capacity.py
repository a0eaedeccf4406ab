"""How many more copies of a pod or a release fit, on which nodes, and what limits them.

Copies are placed one after the other, as kube-scheduler places them, until one of them finds no node. No pod is evicted
for them; how many the next one would evict is counted. With autoscalers, nodes are added for copies that
find none, until every group that could help has reached its maximum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.admission.object_store import namespace_of
from kwhatif.admission.plugins.resource_quota import Quotas
from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.bounds import pods_left
from kwhatif.cluster.pod_group_states import group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.capacity.result import CapacityResult, LeftOver, NodeCapacity, QuotaRoom, ReasonCount
from kwhatif.commands.capacity.unit import Copier, Unit, copier_of, unit_of
from kwhatif.errors import UsageError
from kwhatif.framework.status import Diagnosis
from kwhatif.progress import report_progress
from kwhatif.results.amounts import format_count
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.place import FailedCreate, Refusal, ScaleUp
from kwhatif.scheduling.attempt import Attempt, quota_shortage_of
from kwhatif.scheduling.describe import feasible_rows
from kwhatif.scheduling.group_rounds import attempts_of, scheduled_entities
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.expansion.snapshot_objects import build_object_store
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.conclusion import conclude
from kwhatif.simulation.placement.group_outcomes import gated_groups, outcome_of
from kwhatif.simulation.placement.placements import skip_pod, skip_reason_of
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.verdict import words_of_growth
from kwhatif.simulation.question import Answer
from kwhatif.simulation.queueing.queued_pods import QueuedCopies
from kwhatif.simulation.session import PodToSchedule, Session

_ASKED_AT_LEAST = 10
"""The number of units for which autoscalers are asked first; from then on as many as there are."""


def measure_capacity(
    session: Session,
    expanded: ExpandedManifests,
    *,
    single: bool = False,
    at_least: int = 1,
    limit: int | None = None,
    unknown_kinds: Sequence[str] = (),
    first: Sequence[PodToSchedule] = (),
    scaler: Scaler | None = None,
    refusals: Sequence[Refusal] | None = None,
    failed: Sequence[FailedCreate] | None = None,
) -> Answer[CapacityResult]:
    """Fill the cluster with copies of all pods of the manifests together, or with ``single`` ones of their template.

    A unit that the API server refuses in part does not fit once. ``limit`` ends the search early. Pods that are placed
    ``first``, such as those that edits took their node from, take their room before. Raises UsageError where there is
    nothing to count, for pods of a DaemonSet, of which a node has one, and for pods of other schedulers.
    """
    unit = unit_of(session, expanded, single=single)
    before = PlacementRun(session, scaler)
    before.schedule_all(first)
    run = Run(
        session,
        [*first, *unit.pods],
        before.placements,
        unknown_kinds,
        pending=PodOrigins(session.snapshot).pending(before.placements, {item.pod.key: item.pod for item in first}),
        refusals=expanded.refusals if refusals is None else refusals,
        failed=expanded.failed if failed is None else failed,
        more=True,
        by_group=unit.by_group,
    )
    copies = session.queues.copies if len(unit.pods) == len(expanded.pods) else None
    quota = _least_room(_quota_room(session, [expanded.whole[item.pod.key] for item in unit.pods]), _queue_room(copies))
    bounds = _bounds_of(unit, quota, at_least, limit)
    copiers = [copier_of(item, expanded.objects, in_group=unit.by_group, copies=copies) for item in unit.pods]
    filling = _Filling(session, copiers, scaler, endless_is_wrong=limit is None and quota is None)
    is_whole = not (unit.is_release and (run.refusals or run.failed))
    fits = filling.run(min(bounds.values())) if unit.pods and unit.unclaimed is None and is_whole else 0
    ended, outcome = _ending_of(unit, filling, bounds, fits) if is_whole else "", filling.outcome()
    shortage = None if filling.refused is None else quota_shortage_of(filling.refused)
    if shortage is not None:
        ended, quota = (
            "quota",
            QuotaRoom(quota=shortage.quota, resource=shortage.resource, fits=fits, shortage=shortage),
        )
    if unit.unclaimed is not None:
        reason = skip_pod(session, unit.unclaimed, skip_reason_of(session, unit.unclaimed)).reason
        outcome |= {"next_pod": unit.unclaimed.pod.key, "message": reason}
        ended = "scheduler"
    scale_up = None if scaler is None else filling.summarize_scale_up(scaler, before.homes())
    evicting = filling.count_victims_of_next([item.pod for item in unit.pods]) if ended == "nodes" else 0
    verdict = words_of_capacity(fits, len(unit.pods), outcome["nodes"], scale_up, at_least, evicting)
    run = structs.replace(run, scale_up=scale_up)
    fidelity = assess(run)
    result = CapacityResult(
        outcome=conclude(run, fidelity, verdict).judge(good=fits >= at_least),
        unit=unit.name,
        fits=fits,
        pods_each=len(unit.pods),
        at_least=at_least,
        ended=ended,
        quota=quota,
        evicting=evicting,
        first=len(first),
        first_pending=tuple(placement.pod for placement in before.placements if not placement.good),
        scale_up=scale_up,
        fidelity=fidelity,
        **outcome,
    )
    return Answer(result, [run])


def _bounds_of(unit: Unit, quota: QuotaRoom | None, at_least: int, limit: int | None) -> dict[str, int]:
    """How many units are tried at most, and why no more, in the order in which that is said. Raises UsageError."""
    room = pods_left() // max(len(unit.pods), 1)
    if room < at_least:
        raise UsageError(f"--at-least {at_least}: no more than {room} are counted (--max-pods)")
    bounds = {"limit": limit, "max-pods": room, "quota": None if quota is None else quota.fits}
    return {why: most for why, most in bounds.items() if most is not None}


def _ending_of(unit: Unit, filling: _Filling, bounds: Mapping[str, int], fits: int) -> str:
    """What ended the count: the nodes, a gate of the pods, or the first bound that was reached."""
    if filling.refused is not None:
        return "nodes" if filling.refused.gated is None else "gate"
    return next((why for why, most in bounds.items() if most == fits), "quota") if unit.pods else ""


def room_for(
    session: Session,
    pod_to_schedule: PodToSchedule,
    claims: Sequence[object],
    limit: int,
    scaler: Scaler | None = None,
) -> int:
    """How many copies of one pod find a node, ``limit`` at most; they stay there. ``claims`` are those made for it."""
    return _Filling(session, [copier_of(pod_to_schedule, claims)], scaler, endless_is_wrong=False).run(limit)


def _quota_room(session: Session, pods: Sequence[Object]) -> QuotaRoom | None:
    """How many copies of these pods the quotas of their namespaces leave room for."""
    if not session.snapshot.whole.get("ResourceQuota"):
        return None
    world = build_object_store(session.snapshot, set(map(namespace_of, pods)))
    rooms = Quotas(world, session.setup.features).rooms(pods)
    if not rooms:
        return None
    (quota, resource), fits = min(rooms.items(), key=lambda entry: (entry[1], entry[0]))
    return QuotaRoom(quota=quota, resource=resource, fits=fits)


def _queue_room(copies: QueuedCopies | None) -> QuotaRoom | None:
    """How many copies Kueue lets in."""
    if copies is None:
        return None
    return QuotaRoom(quota=f"ClusterQueue {copies.cluster_queue}", resource=copies.why, fits=copies.fits)


def _least_room(*rooms: QuotaRoom | None) -> QuotaRoom | None:
    return min((room for room in rooms if room is not None), key=lambda room: room.fits, default=None)


class _Filling:
    """The copies placed so far, and the attempt that found no node."""

    def __init__(
        self, session: Session, copiers: Sequence[Copier], scaler: Scaler | None, *, endless_is_wrong: bool
    ) -> None:
        self._session, self._copiers, self._scaler = session, copiers, scaler
        self._endless_is_wrong = endless_is_wrong
        self._made: dict[int, list[PodInfo]] = {}
        self._homes: dict[str, str] = {}
        self._asks: Counter[str] = Counter()
        self.refused: Attempt | None = None
        self.groups: tuple[GroupOutcome, ...] = ()
        self._has_groups = takes_groups(session.driver)
        self._tried = 0
        self._next_fits = 0
        self._free_then: dict[str, list[int]] = {}

    def run(self, most: int) -> int:
        """Place whole units until one does not fit; returns how many did.

        Autoscalers are asked about as many units as there are by then, as if they had been made together.
        """
        fits = 0
        while fits < most:
            report_progress("Counting", "copies fit", fits)
            if self._unit(fits + 1):
                fits += 1
            elif not self._scale_up(fits + 1, min(max(fits, _ASKED_AT_LEAST), most - fits)):
                break
        return fits

    def _scale_up(self, first: int, units: int) -> bool:
        """Whether nodes were added for copies that have none: the one that found none, and those that would follow.

        An autoscaler may find room for all of them where the scheduler, which packs otherwise, does not: then it is
        asked again about those that the scheduler leaves over.
        """
        if self._scaler is None or self.refused is None or self.refused.waiting or self.refused.gated is not None:
            return False
        message = self.refused.message
        pods = [info for number in range(first, first + units) for info in self._pods(number)]
        if not self._scaler.provide_nodes(
            self._session, [pending_pod_of(Attempt(info, message=message)) for info in pods]
        ) and not self._scale_up_for_rest(first, self._scaler):
            return False
        if self._endless_is_wrong and (names := self._scaler.unbounded_groups(self._session)):
            raise UsageError(f"{', '.join(names)} may grow without end: set --limit N")
        self.refused = None
        return True

    def _scale_up_for_rest(self, number: int, scaler: Scaler) -> bool:
        """Whether nodes were added for the pods of a unit that are without one while the others have theirs."""
        placed, without = self._attempt_unit(number)
        nodes = scaler.ask(self._session, list(map(pending_pod_of, without))) if without else []
        self._take_back(placed)
        scaler.provide(self._session, nodes)
        return bool(nodes)

    def _pods(self, number: int) -> list[PodInfo]:
        """The pods of a unit, which are made once."""
        if number not in self._made:
            self._made[number] = [copier(self._session, number) for copier in self._copiers]
            for info in self._made[number]:
                # From now on others of its group may count on it.
                self._session.cluster.pending.add(info.pod)
        return self._made[number]

    def _unit(self, number: int) -> bool:
        self._tried = number
        if number == 1 and not self._asks:
            for info in self._pods(number):
                self._count_requests(info)
        placed, without = self._attempt_unit(number)
        if without:
            # The reason that a pod lacks something is reported rather than that others wait for it, or it for others.
            self.refused = min(
                without, key=lambda attempt: (attempt.waiting or attempt.lost, attempt.diagnosis is None)
            )
            # Half a release is none; why it ends is about the nodes with that half on them.
            self._next_fits = len(placed)
            self._free_then = {name: self._session.cluster.free(name) for name in self._asks}
            self._take_back(placed)
            return False
        names = self._session.cluster.columns.names
        self._homes.update((attempt.pod.key, names[attempt.row]) for attempt in placed if attempt.row is not None)
        return True

    def _attempt_unit(self, number: int) -> tuple[list[Attempt], list[Attempt]]:
        """The pods of a unit that have a node now, and those that found none."""
        if self._has_groups and any(group_key(info) is not None for info in self._pods(number)):
            return self._attempt_groups(number)
        placed: list[Attempt] = []
        left = list(self._pods(number))
        while left:
            tried = [self._session.driver.attempt(info) for info in left]
            self._session.driver.settle()
            attempts = [attempt for attempt in tried if attempt.is_placed and not attempt.waiting]
            placed += attempts
            without = [attempt for attempt in tried if not attempt.is_placed or attempt.waiting]
            left = [attempt.pod for attempt in without]
            # One that found no node may find one after its siblings.
            if without and (not attempts or any(attempt.waiting for attempt in without)):
                return placed, without
        return placed, []

    def _attempt_groups(self, number: int) -> tuple[list[Attempt], list[Attempt]]:
        """The same where pods of a unit are taken up with their groups, in one round."""
        driver, cluster = self._session.driver, self._session.cluster
        left = {info.uid: info for info in self._pods(number)}
        groups, attempts = list[GroupOutcome](), list[Attempt]()
        for entity in scheduled_entities(driver, list(left.values())):
            if entity.key is None:
                attempts.append(driver.attempt(entity.pods[0]))
                entity.came_to(attempts[-1].is_placed)
            else:
                cycles = entity.run()
                groups.append(outcome_of(cluster, cycles, 0))
                attempts += [tried[-1] for _, tried in attempts_of(cycles)]
        tried = {attempt.pod.uid for attempt in attempts}
        gated = [info for uid, info in left.items() if uid not in tried]
        self.groups = (*groups, *gated_groups(cluster, gated))
        attempts += [driver.attempt(info) for info in gated]
        placed = [attempt for attempt in attempts if attempt.is_placed and not attempt.waiting]
        return placed, [attempt for attempt in attempts if not attempt.is_placed or attempt.waiting]

    def count_victims_of_next(self, originals: Sequence[Pod]) -> int:
        """How many pods the unit that did not fit would evict so that it does; 0 if that is of no use."""
        if self._has_groups:
            return 0
        tried, victims = self._session.sandbox(), 0
        for original, info in zip(originals, self._pods(self._tried), strict=True):
            spec = replace(info.pod.spec, preemption_policy=original.spec.preemption_policy)
            attempts = tried.driver.schedule_with_preemption(tried.cluster.shapes.info(replace(info.pod, spec=spec)))
            if not attempts[-1].is_placed:
                return 0
            victims += sum(len(attempt.victims) for attempt in attempts if attempt.nominated)
        return victims

    def _take_back(self, placed: Sequence[Attempt]) -> None:
        self._session.driver.wait()
        for attempt in placed:
            self._session.driver.scheduler_for(attempt.pod).binding.take_back(attempt)

    def _count_requests(self, info: PodInfo) -> None:
        shapes = self._session.cluster.shapes
        for name, amount in zip(shapes.resources.names, shapes.requests[info.shape.index].tolist(), strict=True):
            if amount:
                self._asks[name] += amount

    def summarize_scale_up(self, scaler: Scaler, others: Mapping[str, str]) -> ScaleUp:
        """What autoscalers added, for copies and for others that have homes."""
        refused = [self.refused.pod.key] if self.refused is not None else []
        # Those that came for a copy that does not fit after all would not be bought for the others.
        scale_up = scaler.summarize(self._session, {**others, **self._homes}, refused, used=True)
        # Which of the copies are helped is all one.
        return scale_up if scale_up.chance is None else replace(scale_up, chance=replace(scale_up.chance, pods=()))

    def outcome(self) -> dict[str, Any]:
        """The parts of the result that are about nodes."""
        refused = self.refused
        nodes = self._nodes(refused.diagnosis if refused is not None else None)
        reasons = Counter(reason for node in nodes for reason in node.reasons)
        ranked = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
        return {
            "left_over": self._left_over(),
            "nodes": nodes,
            "next_pod": refused.pod.key if refused is not None else "",
            "next_fits": self._next_fits if refused is not None else 0,
            "message": _said_of(self._session, refused) if refused is not None else "",
            "groups": (self.groups if refused is not None else ()) or msgspec.UNSET,
            "reasons": tuple(ReasonCount(reason=reason, nodes=count) for reason, count in ranked),
        }

    def _nodes(self, diagnosis: Diagnosis | None) -> tuple[NodeCapacity, ...]:
        names, taken = self._session.cluster.columns.names, Counter(self._homes.values())
        free = {name: self._left(name) for name in self._asks}
        return tuple(
            NodeCapacity(
                node=name,
                pods=taken[name],
                reasons=_reasons(diagnosis, row),
                free={name: amounts[row] for name, amounts in free.items()},
            )
            for name, row in sorted(zip(names, range(len(names)), strict=True))
        )

    def _left_over(self) -> tuple[LeftOver, ...]:
        if not self._asks:
            return ()
        names, usable = self._session.cluster.columns.names, self._usable()
        rows = []
        for name, amount in self._asks.items() if usable else ():
            left = self._left(name)
            largest = max(usable, key=lambda row: (left[row], -row))
            free = sum(left[row] for row in usable)
            rows.append(LeftOver(resource=name, each=amount, free=free, largest=left[largest], on=names[largest]))
        return tuple(rows)

    def _usable(self) -> set[int]:
        """The rows where copies are, or could be if something left; what others have free is of no use to them."""
        cluster = self._session.cluster
        homes = set(self._homes.values())
        usable = {row for row, name in enumerate(cluster.columns.names) if name in homes}
        for copier in self._copiers:
            info = copier(self._session, self._tried + 1)
            evaluation = self._session.driver.scheduler_for(info).evaluation(info)
            evaluation.refresh(info)
            evaluation.begin(info)
            if evaluation.refusal is None:
                verdicts = evaluation.verdicts(info)
                usable.update(feasible_rows(evaluation, verdicts).tolist())
                usable.update(Diagnosis(cluster, evaluation, verdicts, evaluation.narrowed).preemptable().tolist())
        return usable

    def _left(self, resource: str) -> list[int]:
        """What each node has left when the next pod finds none."""
        then = self._free_then.get(resource) if self.refused is not None else None
        now = self._session.cluster.free(resource)
        return now if then is None or len(then) != len(now) else then


def _said_of(session: Session, attempt: Attempt) -> str:
    """Why a copy is not placed. What keeps the original from starting keeps its copies, too."""
    original, _, number = attempt.pod.key.rpartition("-copy-")
    held = session.queues.held.get(original) if number else None
    return held or session.reason_of_gate(attempt) or attempt.message or "permit plugins hold it"


def _reasons(diagnosis: Diagnosis | None, row: int) -> tuple[str, ...]:
    status = diagnosis.status(row) if diagnosis is not None else None
    return () if status is None else tuple(status.reasons)


def words_of_capacity(
    fits: int, pods_each: int, nodes: Sequence[NodeCapacity], scale_up: ScaleUp | None, at_least: int, evicting: int
) -> str:
    """``Fits 2 times: 8 pods, on 3 of 6 nodes.``, or ``Does not fit 20 times: 2 times, 8 pods, on 3 of 6 nodes.``"""
    parts = []
    if pods_each > 1:
        parts.append(format_count(fits * pods_each, "pod"))
    if fits:
        parts.append(f"on {sum(node.pods > 0 for node in nodes)} of {format_count(len(nodes), 'node')}")
    if more := ", ".join(words_of_growth(scale_up)):
        parts.append(f"with {more}")
    times = format_count(fits, "time")
    more = f"; one more by evicting {format_count(evicting, 'pod')}" if evicting else ""
    if fits >= at_least:
        return f"Fits {times}: {', '.join(parts)}{more}." if parts else f"Fits {times}{more}."
    wanted = f" {at_least} times" if at_least > 1 else ""
    return f"Does not fit{wanted}: {', '.join([times, *parts])}{more}."
