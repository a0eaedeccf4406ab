"""The scheduling cycle of a pod group, which consists of the cycles of its members on one state of the cluster.

Upstream: pkg/scheduler/schedule_one_podgroup.go (the algorithms; what follows from them is in pod_group_outcome.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kwhatif.api.core import Pod
from kwhatif.api.meta import ObjectMeta
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.placement import Placement, PodGroupAssignments
from kwhatif.framework.runner import Waits
from kwhatif.framework.status import Code, Status
from kwhatif.scheduling.pod_group_preemption import PodGroupPreemption, Preemptor
from kwhatif.scheduling.pod_group_results import UNSCHEDULABLE, MemberResult, PlacementAttempt, PodGroupCycle
from kwhatif.scheduling.remembered_domains import RememberedDomains
from kwhatif.scheduling.schedule_one import Scheduler

WAITING = "one or more plugins asked to wait and no plugin rejected pod"
NOT_REGISTERED = "default preemption plugin is not registered, workload aware preemption is disabled"
NOT_WITH_CONSTRAINTS = "workload aware preemption is not supported for pod groups with scheduling constraints"


class PodGroupScheduler:
    """Decides about a group under one profile; no pod is assumed."""

    def __init__(self, scheduler: Scheduler, key: GroupKey, members: Sequence[PodInfo]) -> None:
        self._scheduler, self._key, self._members = scheduler, key, members
        self._cluster = scheduler.cluster
        self._states = self._cluster.pod_groups
        self._features = self._cluster.shapes.features
        self._is_watched = True

    def decide(self) -> PodGroupCycle:
        """The verdict on the group, including preemption for the group as a whole where that applies."""
        cycle = PodGroupCycle(self._key, list(self._members))
        self._states.take_snapshot(self._key, self._cluster.find)
        if any(pod.shape.terms for pod in self._members):
            self._cluster.unlisted.begin(self._cluster.tally)
        for pod in self._members:
            self._nominate_in_flight(pod)
        self._cluster.devices.pending = set()
        try:
            self._run_algorithm(cycle)
            status = cycle.status
            if self._features.workload_aware_preemption and status is not None and status.code is Code.UNSCHEDULABLE:
                self._preempt(cycle, status)
        finally:
            self._states.drop_snapshot(self._key)
            self._cluster.unlisted.end()
            self._cluster.devices.pending = None
        return cycle

    # --- preemption for the whole group

    def _preempt(self, cycle: PodGroupCycle, status: Status) -> None:
        preemption = self._make_room()
        if preemption.candidates or preemption.status is None:
            cycle.preemption = preemption
        if preemption.status is None:
            cycle.waiting_on_preemption = True
        elif preemption.status.code is Code.ERROR:
            cycle.status = preemption.status
        else:
            cycle.preemption = preemption
            cycle.status = Status(status.code, (*status.reasons, preemption.status.message), status.plugin)

    def _make_room(self) -> PodGroupPreemption:
        group = self._states.objects.get(self._key)
        if group is None:
            text = f'failed to get pod group object: podgroup.scheduling.k8s.io "{self._key[1]}" not found'
            return PodGroupPreemption(status=Status.error(text))
        if group.topology_key is not None:
            return PodGroupPreemption(status=Status.unschedulable(NOT_WITH_CONSTRAINTS))
        self._scheduler.runs_post_filters = self._is_watched = False
        try:
            preemptor = Preemptor(group, self._members, self._cluster, self._try_again)
            preemption: PodGroupPreemption | None = self._scheduler.framework.pod_group_post_filter(preemptor)
        finally:
            self._scheduler.runs_post_filters = self._is_watched = True
        return preemption or PodGroupPreemption(status=Status.unschedulable(NOT_REGISTERED))

    def _try_again(self) -> Status | None:
        cycle = PodGroupCycle(self._key, list(self._members))
        self._run_algorithm(cycle)
        return cycle.status

    # --- placements

    def _run_algorithm(self, cycle: PodGroupCycle) -> None:
        parent = Placement("", self._cluster.node_order)
        if not self._features.topology_aware_workload_scheduling:
            cycle.chosen = self._try(parent)
            cycle.tried = [cycle.chosen]
            cycle.status = cycle.chosen.status
            cycle.waiting_on_preemption = cycle.chosen.waiting_on_preemption
            return
        placements = self._scheduler.framework.generate_placements(self._key, self._cluster, parent)
        if isinstance(placements, Status):
            cycle.status = placements
            return
        if self._scheduler.random is not None:
            # Upstream goes through a map of domains.
            placements = self._scheduler.random.sample(placements, len(placements))
        known, look = self._recall(placements)
        for place, placement in enumerate(placements):
            is_hinted = known is not None and place == 0 and known.may_be_hinted(placement)
            attempt = known.find(look, placement) if known is not None and not is_hinted else None
            if attempt is None:
                if known is not None and place > 0:
                    known.forget_hints()
                attempt = self._try_in(placement)
                if known is not None and not is_hinted:
                    known.keep(look, attempt)
            cycle.tried.append(attempt)
            if attempt.status is not None and attempt.status.code is Code.ERROR:
                cycle.chosen, cycle.status = attempt, attempt.status
                return
        self._choose(cycle)
        if known is not None:
            self._make_own(cycle, known)
            known.end()

    def _recall(self, placements: Sequence[Placement]) -> tuple[RememberedDomains | None, Hashable]:
        """The cached outcomes of groups like this one, and the cache key; None where they may not hold."""
        group = self._states.objects.get(self._key)
        running = self._states.scheduled_pods(self._key, self._cluster.find)
        if group is None or group.topology_key is None or running or not self._is_watched or len(placements) < 2:
            return None, None
        if self._scheduler.random is not None:
            return None, None
        remembered = RememberedDomains.of(self._scheduler)
        look = remembered.begin(self._members, group.min_count)
        return (remembered if look is not None else None), look

    def _make_own(self, cycle: PodGroupCycle, domains: RememberedDomains) -> None:
        """Try the chosen placement with the group's own members, where its outcome was cached from another group."""
        chosen = cycle.chosen
        if chosen is None or [member.pod for member in chosen.members] == self._members[: len(chosen.members)]:
            return
        place, start = cycle.tried.index(chosen), self._scheduler.shared.next_start
        domains.forget_hints()
        cycle.chosen = cycle.tried[place] = self._try_in(chosen.placement)
        self._scheduler.shared.next_start = start

    def _try_in(self, placement: Placement) -> PlacementAttempt:
        self._cluster.assume_placement(placement.rows)
        try:
            return self._try(placement)
        finally:
            self._cluster.assume_placement(None)

    def _choose(self, cycle: PodGroupCycle) -> None:
        """The best of the successful placements; without one, the first tried is reported."""
        working = [attempt for attempt in cycle.tried if attempt.works]
        if not working:
            cycle.chosen = first = cycle.tried[0]
            text = first.status.reasons[0] if first.status is not None else ""
            count = len(cycle.tried)
            words = f"0/{count} placements are available, first placement status: {text}"
            cycle.status = Status.unschedulable(words)
            return
        best = working[0]
        if len(working) > 1:
            candidates = [PodGroupAssignments(self._key, attempt.placement, attempt.placed_pods) for attempt in working]
            answer = self._scheduler.framework.score_placements(candidates, self._cluster)
            if isinstance(answer, Status):
                cycle.status = answer
                return
            cycle.scores = {
                attempt.placement.name: {plugin: scores[k] for plugin, scores in answer.items()}
                for k, attempt in enumerate(working)
            }
            # Where sums are equal it is left to chance; without that the first by name is taken.
            sums = {attempt.placement.name: sum(cycle.scores[attempt.placement.name].values()) for attempt in working}
            equal = [attempt for attempt in working if sums[attempt.placement.name] == max(sums.values())]
            random = self._scheduler.random
            best = min(equal, key=lambda attempt: attempt.placement.name) if random is None else random.choice(equal)
        cycle.chosen, cycle.status = best, best.status
        cycle.waiting_on_preemption = best.waiting_on_preemption

    # --- members

    def _try(self, placement: Placement) -> PlacementAttempt:
        """Try one member after the other, each seeing those before it as assumed (upstream: the default algorithm)."""
        outcome = PlacementAttempt(placement, [], Status.unschedulable(UNSCHEDULABLE))
        assumed: list[MemberResult] = []
        requires_preemption = False
        for pod in self._members:
            member = self._try_member(pod)
            outcome.members.append(member)
            if member.row is None:
                if member.failure is not None and not member.failure.is_rejected:
                    text = f"failed to schedule other pod from a pod group: {member.failure.message}"
                    outcome.status, outcome.waiting_on_preemption = Status.error(text), False
                    break
                continue
            assumed.append(member)
            requires_preemption |= member.requires_preemption
            if member.permit != "Success":
                continue
            if requires_preemption:
                result = (UNSCHEDULABLE, "pod group is waiting for preemption to complete")
                outcome.status, outcome.waiting_on_preemption = Status.unschedulable(*result), True
            else:
                outcome.status = None
        for member in reversed(assumed):
            self._revert(member)
        return outcome

    def _try_member(self, pod: PodInfo) -> MemberResult:
        scheduler = self._scheduler
        if self._is_watched:
            scheduler.observer.before_cycle(scheduler, pod)
        attempt = scheduler.decide_member(pod)
        member = MemberResult(attempt)
        if self._is_watched:
            scheduler.observer.on_decision(scheduler, attempt)
        # A member may only fit once others have left: it then counts with the node it is nominated to, so that the
        # members after it see the node taken, and the group as a whole is judged by what preemption would free.
        row = attempt.row
        if row is None:
            row = self._cluster.columns.row(attempt.nominated) if attempt.nominated else None
            if row is None:
                refused = attempt.refused
                code = Code.UNSCHEDULABLE if refused is None or refused.is_rejected else Code.ERROR
                member.failure = Status(code, (attempt.message,))
                return member
            member.requires_preemption = True
            if attempt.diagnosis is not None:
                attempt.states = scheduler.framework.states(pod, attempt.diagnosis.evaluation)
        # Assumed for the trial alone. Whether members stay is up to the group: the caller reverts all of them together.
        nominated = pod.nominated
        refusal = scheduler.binding.assume_and_reserve(attempt, row)
        if refusal is not None:
            member.failure = Status(refusal.code, (attempt.message,))
            return member
        self._states.assume(pod, row)
        self._cluster.unlisted.assume(pod.shape, row)
        member.row = row
        # A member told to wait is a success here: gang plugins let nobody pass before the last one has been tried.
        answer = scheduler.framework.permit(pod, self._cluster.columns.names[row], attempt.states)
        if isinstance(answer, Status):
            self._revert(member)
            pod.nominated = nominated
            member.row = None
            scheduler.binding.refuse(attempt, answer)
            member.failure = Status(answer.code, (attempt.message,))
        elif isinstance(answer, Waits):
            member.permit = "Wait"
            member.permit_message = ", ".join(text for text in (answer.reason, WAITING) if text)
        else:
            member.permit = "Success"
        return member

    def _revert(self, member: MemberResult) -> None:
        """Forget a member where it was assumed; its earlier nomination is restored."""
        pod, row = member.pod, member.row
        assert row is not None
        self._scheduler.framework.unreserve(pod, self._cluster.columns.names[row], member.attempt.states)
        self._cluster.forget(pod.uid)
        self._states.forget(pod)
        self._cluster.unlisted.forget(pod.shape, row)
        self._nominate_in_flight(pod)

    def _nominate_in_flight(self, pod: PodInfo) -> None:
        """Keep a member's node for it as long as it is tried.

        Of a pod that is in none of the queues upstream finds no more than its name: it asks for nothing, and its
        priority is 0 (nominatedPodToInfo in pkg/scheduler/backend/queue/scheduling_queue.go).
        """
        if pod.nominated:
            meta = ObjectMeta(name=pod.pod.name, namespace=pod.shape.namespace, uid=pod.uid)
            self._cluster.nominate(self._cluster.shapes.info(Pod(metadata=meta)), pod.nominated)
