"""The answer of ``queue`` from Kueue's state after its last cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.commands.queue.remedies import Remedies
from kwhatif.commands.queue.result import (
    AssignedPods,
    ClusterQueueState,
    CohortState,
    FlavorUse,
    MissingQuota,
    PreemptedWorkload,
    QueuedWorkload,
    QueueResult,
    QuotaHolder,
)
from kwhatif.kueue.amounts import FlavorResource, Quantities, add, limit_text, quantity_text, subtract
from kwhatif.kueue.cluster_queue import BEST_EFFORT, ClusterQueue
from kwhatif.kueue.preemption.candidates import Target
from kwhatif.kueue.quota_tree import CohortNode, QuotaNode
from kwhatif.kueue.room import holders_below, room_at
from kwhatif.kueue.shares import share_of
from kwhatif.kueue.workload import PREEMPTED, QUOTA_RESERVED, PodSetAdmission, Workload
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Gap
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.queueing.decisions import MOST_WORKLOADS, AskedJob, Decisions
from kwhatif.simulation.scenario import PreparedScenario

KUEUE_VERSION = "0.19"
_STARTS = ("admitted", "finished", "unmanaged")
_UNMANAGED = ("Not managed by Kueue", "Not managed by Kueue")
_MOST_HOLDERS, _MOST_BEFORE, _MOST_TRIED = 5, 3, 3


def describe(kind: str, namespace: str, name: str) -> str:
    """``Job ml/train``."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def result_of(scenario: PreparedScenario, decisions: Decisions) -> QueueResult:
    """The answer about the jobs and workloads that were asked about, else about all."""
    report, jobs, keys = _Report(decisions), decisions.jobs, decisions.keys
    own = [refusal for refusal in decisions.refusals if not refusal.object.startswith("Workload ")]
    refusals = [*scenario.expanded.refusals, *(refusal for refusal in decisions.refusals if refusal not in own)]
    asked = bool(keys or jobs or refusals)
    workloads = [*_without_workload(jobs), *report.each_of(keys, jobs)] if asked else report.all_that_moved_or_wait()
    waiting = sum(map(len, decisions.state.pending.values()))
    good = not refusals and not own and (not asked or all(workload.status in _STARTS for workload in workloads))
    verdict = _verdict(workloads, len(refusals), waiting, asked=asked)
    lead = ("Admitted", "Not admitted") if asked else None
    if workloads and not refusals and all(workload.status == "unmanaged" for workload in workloads):
        lead, verdict = _UNMANAGED, _why_unmanaged(workloads)
    if own:
        verdict = f"{verdict.rstrip('.')}; Kueue refuses {format_count(len(own), 'object')} of its own."
    if decisions.run.is_restless:
        verdict = f"{verdict.rstrip('.')}; Kueue never comes to rest."
    return QueueResult(
        outcome=Outcome.from_words(verdict, good=good, lead=lead),
        version=KUEUE_VERSION,
        taken_at=scenario.snapshot.taken_at,
        asked=asked,
        cycles=decisions.cycles,
        restless=decisions.run.is_restless,
        workloads=tuple(workloads),
        waiting=waiting,
        evicted=tuple(report.all_losses()),
        cluster_queues=tuple(map(report.cluster_queue, decisions.state.queues.values())),
        cohorts=tuple(report.cohort(cohort_node) for _, cohort_node in sorted(decisions.state.cohorts.items())),
        refusals=(*refusals, *own),
        edits=tuple(scenario.snapshot.edits),
        gaps=(*decisions.gaps, *_gaps_of_kinds(jobs), *report.gaps_of_fixes()),
    )


def _verdict(workloads: Sequence[QueuedWorkload], refused: int, waiting: int, *, asked: bool) -> str:
    if not asked:
        admitted = sum(workload.is_new and workload.status == "admitted" for workload in workloads)
        words = f"{format_count(waiting, 'workload waits', 'workloads wait')}"
        return f"{words}; {admitted} {'starts' if admitted == 1 else 'start'} now."
    parts: list[tuple[int, str]] = []
    for status, words in (
        ("admitted", "admitted"),
        ("quotaReserved", "given quota, waiting for admission checks"),
        ("pending", "waiting"),
        ("finished", "finished"),
        ("refused", "refused by Kueue"),
        ("unmanaged", "not managed by Kueue"),
        ("unknown", "unknown"),
    ):
        if count := sum(workload.status == status for workload in workloads):
            parts.append((count, words))
    if refused:
        parts.append((refused, "refused by the API server"))
    gone = len({lost.workload for workload in workloads for lost in workload.preempted})
    after = f", {format_count(gone, 'workload')} preempted" if gone else ""
    total = format_count(len(workloads) + refused, "workload")
    if len(parts) == 1:
        ((count, words),) = parts
        return f"{count} of {total}{'' if words == 'admitted' else f' {words}'}{after}."
    return f"{', '.join(f'{count} {words}' for count, words in parts)}, of {total}{after}."


def _why_unmanaged(workloads: Sequence[QueuedWorkload]) -> str:
    """The reason of them all, or their number."""
    count, reasons = len(workloads), {workload.message for workload in workloads}
    words = [format_count(count, "job")] if count > 1 else []
    return f"{', '.join([*words, *(reasons if len(reasons) == 1 else ())])}."


def _gaps_of_kinds(jobs: Sequence[AskedJob]) -> Iterator[Gap]:
    for job in jobs:
        if job.outcome is None:
            what = f"of an object such as {job.name} no workload is made here"
            effect = f"{job.name} was left out; its Workload, written as a manifest, is decided on"
            yield Gap(what=what, effect=effect, pods=(job.name,))


def _without_workload(jobs: Sequence[AskedJob]) -> Iterator[QueuedWorkload]:
    for job in jobs:
        outcome = job.outcome
        if outcome is None:
            yield QueuedWorkload(workload="", job=job.name, status="unknown", is_new=True)
        elif outcome.refused or outcome.failed:
            yield QueuedWorkload(
                workload="", job=job.name, status="refused", is_new=True, message=outcome.refused or outcome.failed
            )
        elif outcome.unmanaged:
            yield QueuedWorkload(workload="", job=job.name, status="unmanaged", is_new=True, message=outcome.unmanaged)


class _Report:
    def __init__(self, decisions: Decisions) -> None:
        self._decisions, self._state = decisions, decisions.state
        self._is_fair = self._state.configuration.is_fair
        self._lines = {name: pending.in_order() for name, pending in self._state.pending.items()}
        self._shapes: dict[str, dict[int, list[Workload]]] = {}
        self._known_holders: dict[tuple[QuotaNode, FlavorResource], tuple[int, tuple[QuotaHolder, ...]]] = {}
        self._known_lacks: dict[tuple[str, FlavorResource, int], MissingQuota | None] = {}
        self._untried: list[str] = []
        self._places = {workload.key: index for line in self._lines.values() for index, workload in enumerate(line)}

    def each_of(self, keys: Sequence[str], jobs: Sequence[AskedJob]) -> Iterator[QueuedWorkload]:
        names = {job.workload.key: job.name for job in jobs if job.workload is not None}
        tries = _MOST_TRIED
        for key in keys:
            workload = self._state.workloads[key]
            queued = self.workload(workload, names.get(key, ""), is_new=True)
            if queued.status == "pending" and workload.active:
                remedies = Remedies(self._decisions, workload)
                if remedies.is_small and tries:
                    tries -= 1
                    queued = replace(queued, freed_by=remedies.freed_by(), fixes=tuple(remedies.fixes()))
                else:
                    self._untried.append(key)
            yield queued

    def gaps_of_fixes(self) -> Iterator[Gap]:
        """Workloads that wait, and of which nobody tried what would let them start."""
        if self._untried:
            what = f"no change was tried for {format_count(len(self._untried), 'waiting workload')}"
            effect = (
                f"that is done for the first {_MOST_TRIED}, and with up to {MOST_WORKLOADS:,} Workloads in the cluster"
            )
            yield Gap(what=what, effect=effect, pods=tuple(self._untried))

    def all_that_moved_or_wait(self) -> list[QueuedWorkload]:
        """First who was admitted on the way, then who waits, queue by queue, then all others without quota."""
        state, borrowing_levels = self._state, self._decisions.borrowing_levels
        moved = [
            workload
            for key, workload in state.workloads.items()
            if key in borrowing_levels and workload.status != "pending"
        ]
        lined = [workload for line in self._lines.values() for workload in line]
        seen = {workload.key for workload in lined}
        others = [
            workload for key, workload in state.workloads.items() if workload.status == "pending" and key not in seen
        ]
        queued = [self.workload(workload, "", is_new=True) for workload in moved]
        return [*queued, *(self.workload(workload, "", is_new=False) for workload in (*lined, *others))]

    def workload(self, workload: Workload, job: str, *, is_new: bool) -> QueuedWorkload:
        key, status = workload.key, workload.status
        name = workload.cluster_queue or self._state.queue_name_of(workload)
        place = self._places.get(key)
        line = self._lines.get(name, [])
        queue = self._state.queues.get(name)
        waits = status == "pending"
        return QueuedWorkload(
            workload=key,
            job=job or _owner_of(workload),
            cluster_queue=name,
            local_queue=workload.queue_name,
            priority=workload.priority,
            status=status,
            is_new=is_new,
            place=0 if place is None else place + 1,
            aside=place is not None and key in self._state.pending[name].aside,
            behind=tuple(waiting.key for waiting in line[: min(place, _MOST_BEFORE)]) if place else (),
            message=self._message(workload, line, place, queue) if waits else "",
            pod_sets=tuple(map(_assigned_pods, workload.admission or ())),
            borrows=self._decisions.borrowing_levels.get(key, 0) > 0 and not waits,
            preempted=tuple(self._losses_for(key)),
            checks=tuple(f"{check.name}: {check.state}" for check in workload.checks) if not waits else (),
            lacks=tuple(self._lacks(workload, queue)) if waits and queue is not None else (),
        )

    def _message(
        self, workload: Workload, line: Sequence[Workload], place: int | None, queue: ClusterQueue | None
    ) -> str:
        """Kueue's own, or why it has not been looked at yet."""
        if not workload.active:
            return "The workload is deactivated"
        reserved = workload.conditions.get(QUOTA_RESERVED)
        if reserved is not None and reserved.message:
            return reserved.message
        if queue is not None and not queue.is_active and queue.inactive_reason is not None:
            return f"ClusterQueue {queue.name} is not active: {queue.inactive_reason[1]}"
        if place and queue is not None:
            if queue.strategy != BEST_EFFORT:
                return f"{queue.name} is {queue.strategy}: {line[0].key} has to be admitted before"
            alike = next((other for other in self._first_alike(queue.name, workload) if other is not workload), None)
            if alike is not None:
                return f"not tried, since it asks for the same as {alike.key}, which does not fit"
        return ""

    def _first_alike(self, queue: str, workload: Workload) -> Sequence[Workload]:
        """The first two in line that ask for the same."""
        shapes = self._shapes.get(queue)
        if shapes is None:
            shapes = self._shapes[queue] = {}
            for line in self._lines[queue]:
                first = shapes.setdefault(line.shape, [])
                if len(first) < 2:
                    first.append(line)
        return shapes.get(workload.shape, ())

    def _lacks(self, workload: Workload, queue: ClusterQueue) -> Iterator[MissingQuota]:
        """In every flavor that it could have, by resource, what is missing."""
        asks: dict[str, int] = {}
        for pod_set in workload.total_requests:
            for resource, amount in pod_set.requests.items():
                asks[resource] = add(asks.get(resource, 0), amount)
        for resource, amount in asks.items():
            group = queue.group_of(resource)
            for flavor in group.flavors if group is not None else ():
                key = queue.name, (flavor, resource), amount
                if key not in self._known_lacks:
                    self._known_lacks[key] = self._missing_quota(queue, (flavor, resource), amount)
                if (lack := self._known_lacks[key]) is not None:
                    yield lack

    def _missing_quota(self, queue: ClusterQueue, key: FlavorResource, amount: int) -> MissingQuota | None:
        """What is missing of so much; None where it is there."""
        flavor, resource = key
        room = room_at(queue, key)
        if amount <= room.amount:
            return None
        holders, first = self._holders(room.node, key)
        return MissingQuota(
            flavor=flavor,
            resource=resource,
            asks=quantity_text(resource, amount),
            free=quantity_text(resource, max(0, room.amount)),
            missing=quantity_text(resource, subtract(amount, max(0, room.amount))),
            limit=room.limit,
            never=amount > queue.potential_available(key),
            holders=holders,
            held_by=first,
        )

    def _holders(self, node: QuotaNode, key: FlavorResource) -> tuple[int, tuple[QuotaHolder, ...]]:
        """How many have quota below a node, and the first of them."""
        known = self._known_holders.get((node, key))
        if known is None:
            holders = holders_below(node, key)
            first = tuple(
                QuotaHolder(
                    workload=holder.key,
                    cluster_queue=its.name,
                    priority=holder.priority,
                    amount=quantity_text(key[1], holder.usage.quota[key]),
                )
                for its, holder in holders[:_MOST_HOLDERS]
            )
            known = self._known_holders[node, key] = len(holders), first
        return known

    def _losses_for(self, key: str) -> Iterator[PreemptedWorkload]:
        return (_loss_of(key, target) for target in self._decisions.preempted.get(key, ()))

    def all_losses(self) -> Iterator[PreemptedWorkload]:
        for key in self._decisions.preempted:
            yield from self._losses_for(key)

    def cluster_queue(self, queue: ClusterQueue) -> ClusterQueueState:
        pending = self._state.pending[queue.name]
        keys = [
            (flavor, resource)
            for group in queue.groups
            for flavor in group.flavors
            for resource in sorted(group.covered)
        ]
        inactive = queue.inactive_reason
        return ClusterQueueState(
            cluster_queue=queue.name,
            cohort=queue.source.spec.parent,
            strategy=queue.strategy,
            active=queue.is_active,
            message="Can admit new workloads" if inactive is None else inactive[1],
            pending=len(pending),
            aside=len(pending.aside),
            reserving=len(queue.workloads),
            admitted=sum(workload.status == "admitted" for workload in queue.workloads.values()),
            share=share_of(queue).rounded_share if self._is_fair else None,
            flavors=_flavors(queue, keys, {key: queue.quota(key).nominal for key in keys}),
        )

    def cohort(self, cohort: CohortNode) -> CohortState:
        return CohortState(
            cohort=cohort.name,
            parent="" if cohort.parent is None else cohort.parent.name,
            share=share_of(cohort).rounded_share if self._is_fair else None,
            flavors=_flavors(cohort, sorted(cohort.subtree_quota), cohort.subtree_quota),
        )


def _flavors(node: QuotaNode, keys: Sequence[FlavorResource], quotas: Quantities) -> tuple[FlavorUse, ...]:
    flavors = []
    for key in keys:
        quota, used = quotas.get(key, 0), node.used_amount(key)
        borrowed = max(0, subtract(used, quota)) if node.parent is not None else 0
        use = FlavorUse(
            flavor=key[0],
            resource=key[1],
            nominal=limit_text(key[1], quota),
            used=quantity_text(key[1], used),
            borrowed=quantity_text(key[1], borrowed),
            free=limit_text(key[1], max(0, node.available(key))),
        )
        flavors.append(use)
    return tuple(flavors)


def _owner_of(workload: Workload) -> str:
    references = workload.source.metadata.owner_references or ()
    owner = next((reference for reference in references if reference.controller), None)
    return "" if owner is None else describe(owner.kind or "", workload.namespace, owner.name or "")


def _assigned_pods(pod_set: PodSetAdmission) -> AssignedPods:
    return AssignedPods(
        pod_set=pod_set.name,
        count=pod_set.count,
        flavors=dict(pod_set.flavors),
        usage={name: quantity_text(name, amount) for name, amount in pod_set.usage.items()},
        topology=tuple(f"{'/'.join(values)}: {count}" for values, count in pod_set.topology.domains)
        if pod_set.topology is not None
        else (),
    )


def _loss_of(preemptor: str, target: Target) -> PreemptedWorkload:
    condition = target.workload.conditions.get(PREEMPTED)
    return PreemptedWorkload(
        workload=target.workload.key,
        cluster_queue=target.queue.name,
        priority=target.workload.priority,
        taken_by=preemptor,
        reason=target.reason,
        message="" if condition is None else condition.message,
    )
