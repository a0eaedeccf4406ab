"""The run to rest of every answer: scheduler, controllers and autoscalers in turns until no pod would move any more.

Pods enter the queue and are tried with preemption; victims leave after their grace period and are recreated by their
controllers, and their replacements are tried as well; autoscalers are asked when the scheduler rests. A pod that
evicted others ``scheduling.attempt.MAX_FAILURES`` times and never kept a node is given up, and reported as unsettled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.autoscaling.upcoming_nodes import UpcomingNode
from kwhatif.cluster.pod_group_states import GroupKey, group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import Cause
from kwhatif.results.place import Placement, Victim
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.controllers import Replacements, grace_of
from kwhatif.scheduling.pod_group_results import PodGroupCycle
from kwhatif.scheduling.simulator import Simulator
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.expansion.unfinished_workloads import pods_made_anew
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.group_outcomes import gated_groups, outcome_of
from kwhatif.simulation.placement.placements import placement_of, skip_pod, skip_reason_of
from kwhatif.simulation.placement.placing import create_claim, create_refused_pods
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Rest, Run
from kwhatif.simulation.session import PodToSchedule, Session


class NodesOverTime:
    """Asks the autoscalers whenever something has changed, but not while nodes are being provisioned.

    Rows are renumbered when nodes join, so earlier placements are described before that.
    """

    def __init__(self, session: Session, simulator: Simulator, scaler: Scaler | None) -> None:
        self._session, self._simulator, self._scaler = session, simulator, scaler
        self._on_their_way = False
        self._asked_at: tuple[int, tuple[str, ...]] | None = None
        self._before: dict[str, Placement] = {}
        self._helped: set[str] = set()
        self.rests: list[Rest] = []
        if scaler is not None:
            simulator.at_rest = lambda: self._ask(scaler)

    def _ask(self, scaler: Scaler) -> None:
        simulator, attempts = self._simulator, self._unplaced_attempts()
        self.rests.append(Rest(simulator.now, len(self._session.cluster), len(attempts)))
        asked_at = simulator.requeueing.changes, tuple(attempt.pod.uid for attempt in attempts)
        if self._on_their_way or not attempts or asked_at == self._asked_at:
            return
        self._asked_at, scaler.time = asked_at, simulator.now
        nodes = scaler.ask(self._session, [pending_pod_of(attempt) for attempt in attempts])
        if not nodes:
            return
        self._on_their_way = True
        self._helped.update(asked_at[1])
        for node in nodes:
            simulator.diary.say("", "requested", f"of {node.group}", node.node.name)
        names = [upcoming_node.node.name for upcoming_node in nodes]
        simulator.add_nodes_at(names, simulator.now + scaler.provision, lambda: self._join(scaler, nodes))

    def _unplaced_attempts(self) -> list[Attempt]:
        """The last attempts of pods without a node and without a nomination."""
        simulator, queue = self._simulator, self._simulator.queue
        queued = [
            pod for pod in (*queue.waiting(), *queue.backing_off()) if pod.gate is None and not pod.info.nominated
        ]
        return [
            attempt
            for pod in queued
            if (attempt := simulator.outcome.get(pod.info.uid)) is not None and not attempt.is_placed
        ]

    def _join(self, scaler: Scaler, nodes: Sequence[UpcomingNode]) -> None:
        for uid, attempt in self._simulator.outcome.items():
            if attempt.is_placed and uid not in self._before:
                self._before[uid] = self._describe_attempt(attempt, PodToSchedule(attempt.pod.pod))
        scaler.join(self._session, nodes)
        self._on_their_way = False

    def _describe_attempt(self, attempt: Attempt, item: PodToSchedule) -> Placement:
        uid = attempt.pod.uid
        placement = placement_of(self._session, item, [*self._simulator.preemptions.get(uid, []), attempt])
        helped = placement.outcome == "placed" and uid in self._helped
        return replace(placement, outcome="autoscaled") if helped else placement

    def placement(self, item: PodToSchedule, info: PodInfo) -> Placement:
        """What became of a pod in the end."""
        there = self._before.get(info.uid)
        if there is not None:
            return replace(there, origin=item.origin, defaults=item.defaults)
        return self._describe_attempt(self._simulator.outcome[info.uid], item)


_LEAST_EVICTIONS = 2
"""A pod that the run gave up after fewer evictions has not taken turns with another one in evicting each other."""


class ClusterSimulation:
    """A simulation of a session's cluster. ``origins`` identifies pods; with ``recreate`` controllers replace pods."""

    def __init__(
        self, session: Session, origins: PodOrigins, *, scaler: Scaler | None = None, recreate: bool = True
    ) -> None:
        self.session, self._origins, self._scaler = session, origins, scaler
        session.make_pods_in_turn()
        there = {info.key for info, _ in session.cluster.pods()}
        self._names = there
        renewed = pods_made_anew(session.snapshot)
        self.simulator = Simulator(session.driver, recreate=recreate, taken=self._names.__contains__, renewed=renewed)
        self._growth = NodesOverTime(session, self.simulator, scaler)
        self._arrived: dict[str, tuple[PodToSchedule, PodInfo]] = {}
        self._uids: dict[str, str] = {}
        self._evicted_before: list[tuple[PodInfo, str | None]] = []
        self._causes: dict[str, Cause] = {}
        self._skipped: list[Placement] = []
        self.created_later: list[PodToSchedule] = []
        self._group_cycles: dict[GroupKey, list[PodGroupCycle]] = {}
        self._groups: dict[GroupKey, GroupOutcome] = {}
        self._running: dict[GroupKey, int] = {}
        self.simulator.on_group_cycle = self._record_group
        if recreate and session.creations:
            self.simulator.on_gone = self.release

    def arrive(self, item: PodToSchedule, info: PodInfo, cause: Cause | None = None, after: float = 0.0) -> None:
        """A pod enters the queue, so many seconds from now."""
        self._arrived[info.uid] = item, info
        self._uids[info.key] = info.uid
        self._names.add(info.key)
        if cause is not None:
            self._causes[info.uid] = cause
        # Where a cluster has no uids, names make them: a pod that was deleted may have had this one.
        self.simulator.deleted.discard(info.uid)
        self.simulator.arrive(info, self.simulator.now + after)

    def take(self, item: PodToSchedule) -> None:
        """A pod comes to be while time is simulated."""
        reason = skip_reason_of(self.session, item)
        if reason:
            self._skipped.append(skip_pod(self.session, item, reason))
        else:
            self.arrive(item, self.session.info(item))

    def uid_of(self, key: str) -> str | None:
        """The uid of the last pod of this name (``namespace/name``) that arrived."""
        return self._uids.get(key)

    def release(self, pod: PodInfo) -> None:
        """A pod is gone for good, and its share of a quota free: controllers try again what they were refused."""
        for item in create_refused_pods(self.session, [pod]):
            self.created_later.append(item)
            self.take(item)

    def _record_group(self, cycle: PodGroupCycle) -> None:
        """What a group came to, as things are after its cycle, which goes on with one that waited for victims."""
        cluster, cycles = self.session.cluster, self._group_cycles.get(cycle.key, [])
        if not cycles or not cycles[-1].waiting_on_preemption:
            cycles = self._group_cycles[cycle.key] = []
            scheduled = len(cluster.pod_groups.scheduled_pods(cycle.key, cluster.find))
            self._running[cycle.key] = scheduled - len(cycle.bound) - len(cycle.held)
        cycles.append(cycle)
        self._groups.pop(cycle.key, None)
        self._groups[cycle.key] = outcome_of(cluster, cycles, self._running[cycle.key])

    def groups(self) -> list[GroupOutcome]:
        """What became of groups: of those that were tried, by their last cycles, and of those without a quorum."""
        gated = [
            pod.info
            for pod in self.simulator.queue.waiting()
            if pod.gate is not None and (key := group_key(pod.info)) is not None and key not in self._groups
        ]
        return [*self._groups.values(), *gated_groups(self.session.cluster, gated)]

    def claim(self, claim: PersistentVolumeClaim | ResourceClaim) -> None:
        """A claim comes into being."""
        create_claim(self.session, claim)

    def replace_evicted(self, evicted: Sequence[tuple[PodInfo, str | None]], causes: Mapping[str, Cause]) -> None:
        """Controllers replace these pods, which have been evicted already.

        ``causes`` are why those of them (``namespace/name``) that the question is about looked for a node.
        """
        self._evicted_before += evicted
        self._causes |= {info.uid: causes[info.key] for info, _ in evicted if info.key in causes}
        simulator = self.simulator
        replacements = Replacements(taken=self._names.__contains__, renewed=simulator.renewed)
        for victim, _ in evicted:
            pod = None if victim.shape.terminating else replacements.replace_on_eviction(victim)
            pod = pod or replacements.replace_after_deletion(victim)
            if pod is None:
                self.release(victim)
                continue
            info = replacements.wrap(victim, pod, self.session.cluster)
            simulator.recreated[victim.uid] = info.uid
            simulator.stands_for[info.uid] = victim.uid
            self._names.add(info.key)
            simulator.arrive(info, replacements.backoffs.count_loss(pod))

    def run(self, controllers: Callable[[], bool] = lambda: False) -> None:
        """Run until no pod would move."""
        for info, _ in self.session.cluster.pods():
            if info.shape.terminating:
                # The time of its deletion is unknown; at most its whole grace period is left.
                self.simulator.delete(info.uid, grace_of(info))
        # The queue lets pods out after five minutes without an event. Nobody waits for that as long as anything else
        # happens: updates go on as soon as the scheduler rests.
        for leftovers in (False, True):
            self.simulator.run(leftovers=leftovers)
            while controllers():
                self.simulator.run(leftovers=leftovers)

    # --- how it ended

    def placement(self, item: PodToSchedule, info: PodInfo) -> Placement:
        """The placement of a pod in the end, with its victims."""
        simulator = self.simulator
        placement = self._growth.placement(item, info)
        if placement.victims:
            placement = replace(placement, victims=tuple(map(self.describe_victim, placement.victims)))
        by = simulator.evicted.get(info.uid)
        return placement if by is None else placement.lose_node(by, homeless=not self.node_of_replacement(info.uid))

    @property
    def rests(self) -> tuple[Rest, ...]:
        """The moments at which the scheduler rested beside autoscalers."""
        return tuple(self._growth.rests)

    def placements(self) -> list[Placement]:
        """Those of the pods that arrived, in their order."""
        return [*(self.placement(item, info) for item, info in self._arrived.values()), *self._skipped]

    def node_of_replacement(self, uid: str) -> str:
        """The node of a pod, or of the one that was made in its place; empty if that has none."""
        return self._node_of(self._replacement_of(uid) or uid)

    def replacements(self) -> list[Placement]:
        """Those of the pods that controllers made meanwhile."""
        placements = [
            self.placement(self._item_of_replacement(attempt.pod.pod), attempt.pod)
            for attempt in self._replacement_attempts()
        ]
        unclaimed = (self._item_of_replacement(pod) for pod in self.simulator.unclaimed)
        return [*placements, *(skip_pod(self.session, item, skip_reason_of(self.session, item)) for item in unclaimed)]

    def pods_left(self) -> Iterator[Pod]:
        """The pods that exist and have no node, as their last attempts left them."""
        simulator = self.simulator
        for uid, attempt in simulator.outcome.items():
            gone = uid in simulator.evicted or uid in simulator.deleted
            if attempt.is_made and not attempt.is_placed and not gone:
                yield pending_pod_of(attempt)

    @staticmethod
    def _item_of_replacement(pod: Pod) -> PodToSchedule:
        return PodToSchedule(pod, "replacement", ran_before=True)

    def _replacement_attempts(self) -> Iterator[Attempt]:
        for uid, attempt in self.simulator.outcome.items():
            if uid not in self._arrived and uid not in self.simulator.deleted:
                yield attempt

    def _replacement_of(self, uid: str) -> str | None:
        """The last replacement (uid) of a pod; None if it was not replaced, or an update had that leave."""
        remade = self.simulator.recreated
        if uid not in remade:
            return None
        while uid in remade:
            uid = remade[uid]
        return None if uid in self.simulator.deleted else uid

    def _node_of(self, uid: str) -> str:
        pod_and_row = self.session.cluster.find(uid)
        return "" if pod_and_row is None else self.session.cluster.columns.names[pod_and_row[1]]

    def describe_victim(self, victim: Victim) -> Victim:
        """The victim with its last replacement, and the node of that."""
        uid = self._uid_of_victim.get((victim.pod, victim.node)) or self._uid_before.get(victim.pod)
        replacement = None if uid is None else self._replacement_of(uid)
        if replacement is None:
            return victim
        return replace(victim, replacement=self._key_of(replacement), lands_on=self._node_of(replacement))

    @cached_property
    def _uid_of_victim(self) -> Mapping[tuple[str, str], str]:
        """The uids of victims by key and node, once the run has ended."""
        return {
            (victim.key, attempt.nominated): victim.uid
            for attempts in self.simulator.preemptions.values()
            for attempt in attempts
            for victim in attempt.victims
        }

    @cached_property
    def _uid_before(self) -> Mapping[str, str]:
        return {info.key: info.uid for info, _ in self._evicted_before}

    def victim_info(self, uid: str) -> PodInfo | None:
        """The pod of this uid, if another one preempted it in this run."""
        return self._victim_infos.get(uid)

    @cached_property
    def _victim_infos(self) -> Mapping[str, PodInfo]:
        preemptions = self.simulator.preemptions.values()
        return {
            victim.uid: victim
            for attempts in preemptions
            for attempt in attempts
            for victim in attempt.victims_to_evict
        }

    def preemptors(self) -> dict[str, str]:
        """Victim -> preemptor in this run, both by ``namespace/name``."""
        evicted = self.simulator.evicted.items()
        return {info.key: by for uid, by in evicted if (info := self.victim_info(uid)) is not None}

    def evicted_since(self) -> list[PodInfo]:
        """The victims of this run that were evicted, in that order."""
        return [info for uid in self.simulator.evicted if (info := self._victim_infos.get(uid)) is not None]

    def nodes_of_replacements(self) -> dict[str, str]:
        """Victim -> the node of its last replacement, for those that have one; also of victims before this run."""
        lost = [*self._victim_infos.values(), *(info for info, _ in self._evicted_before)]
        pairs = ((info.key, self._replacement_of(info.uid)) for info in lost)
        return {
            key: node for key, replacement in pairs if replacement is not None and (node := self._node_of(replacement))
        }

    def _key_of(self, uid: str) -> str:
        attempt = self.simulator.outcome.get(uid)
        if attempt is not None:
            return attempt.pod.key
        return next((pod.key for pod in self.simulator.unclaimed if pod.identity == uid), "")

    def run_of(self, placements: Sequence[Placement], replacements: Sequence[Placement]) -> Run:
        """The run as it ended, by the pods that arrived and their replacements."""
        simulator, origins = self.simulator, self._origins
        pods: dict[str, Pod] = {info.key: info.pod for _, info in self._arrived.values()}
        causes: dict[str, Cause] = {
            info.key: self._causes.get(uid) or origins.cause_of(info.pod) for uid, (_, info) in self._arrived.items()
        }
        made = [attempt.pod for attempt in self._replacement_attempts()]
        unclaimed = [(pod, pod.identity) for pod in simulator.unclaimed]
        for pod, uid in [*((pod_info.pod, pod_info.uid) for pod_info in made), *unclaimed]:
            pods[pod.key] = pod
            first = simulator.stands_for.get(uid, uid)
            root = self._arrived.get(first)
            causes[pod.key] = self._causes.get(first, "evicted") if root is None else causes[root[1].key]
        evicted = [(info, by) for uid, by in simulator.evicted.items() if (info := self.victim_info(uid)) is not None]
        # Who was on its way out has not lost its node to anybody.
        leaving = [(info, by) for info, by in self._evicted_before if not info.shape.terminating]
        lost = [
            info.key
            for uid, (_, info) in self._arrived.items()
            if simulator.recreate
            and uid in simulator.evicted
            and not (uid in simulator.recreated or uid in simulator.deleted)
        ]
        unsettled = [
            attempt.pod.key
            for uid, attempt in simulator.outcome.items()
            if uid in simulator.given_up and len(simulator.preemptions.get(uid, ())) >= _LEAST_EVICTIONS
        ]
        return Run(
            self.session,
            [item for item, _ in self._arrived.values()],
            placements,
            replacements=tuple(replacements),
            rests=self.rests,
            nodes_of_replacements=self.nodes_of_replacements(),
            pending=origins.pending((*placements, *replacements), pods, causes),
            victims=origins.victims((*leaving, *evicted)),
            unsettled=tuple(unsettled),
            lost=tuple(lost),
            created=self.session.created_later,
        )
