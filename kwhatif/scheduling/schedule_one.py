"""The scheduling cycle of one pod.

Upstream: pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.node_results import result_cache_of
from kwhatif.framework.runner import States
from kwhatif.framework.status import Code, Diagnosis, Status
from kwhatif.scheduling.attempt import NOT_MADE_YET, Attempt
from kwhatif.scheduling.binding_cycle import BindingCycle
from kwhatif.scheduling.host_selection import HostSelection
from kwhatif.scheduling.node_sampling import sample
from kwhatif.scheduling.node_search import NodeSearch
from kwhatif.scheduling.opportunistic_batch import Batching, OpportunisticBatch
from kwhatif.scheduling.profile import Profile, SharedState

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import ExtenderCycle

NO_NODES = "no nodes available to schedule pods"
_LEAST_KEPT, _MOST_KEPT = 32, 8192
"""For how many templates, at least and at most, evaluations are kept."""
_MOST_CACHED_RESULTS = 8_000_000
"""With more cached results, one per node and set of shapes that share it, the oldest evaluation goes for a new one."""


class Observer:
    """Receives every cycle. This one does nothing; subclasses override what they need."""

    def start_over(self) -> None:
        """The run begins again from its start."""

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        """A cycle begins."""

    def on_decision(self, scheduler: Scheduler, attempt: Attempt) -> None:
        """A cycle has made its decision, on which nothing has been done yet."""

    def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
        """A cycle is over: a pod that found a node is bound, waits for its permit, or was rejected."""


class _RepeatableShape(msgspec.Struct, frozen=True):
    """Pods of a shape for which only plugins of scope NODE and ROW run.

    That was worked out for ``valid_for``, a number of templates and a membership version, and holds for no other; all
    nodes are active. ``states`` are passed to the attempts. A PreEnqueue plugin may run before such pods enter the
    queue, if they can be ``gated``.
    """

    shape: PodShape
    valid_for: tuple[int, int, NodeColumns]
    evaluation: Evaluation
    nodes_to_find: int
    states: States
    gated: bool


class Scheduler:
    """Schedules pods onto a cluster, one at a time, under one profile.

    ``seed`` seeds the random choice between the best nodes; without one the first by name is taken, and with
    ``ties_by_name`` wherever several are best. A ``detailed`` one keeps every plugin's scores in its attempts. The
    ``observer`` receives every cycle.
    """

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        shared: SharedState | None = None,
        *,
        seed: int | None = None,
        detailed: bool = False,
        ties_by_name: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self.cluster = cluster
        self.profile = profile
        self.framework = profile.framework
        self.framework.attach(cluster)
        self.shared = shared or SharedState()
        self.detailed = detailed
        self.runs_post_filters = True
        self.observer = observer or Observer()
        self.binding = BindingCycle(cluster, profile, self.shared)
        self._extenders = profile.extenders
        random = None if seed is None else Random(seed)
        self._hosts = HostSelection(cluster, by_name=ties_by_name, random=random)
        signer = self.framework.signer()
        batches = cluster.shapes.features.opportunistic_batching and signer.signs and self._extenders is None
        self.batch = OpportunisticBatch(signer) if batches else None
        compares = bool(self.framework.scorers) or (self._extenders is not None and self._extenders.compare)
        self._nodes = NodeSearch(cluster, profile, self.shared, compares=compares)
        self._evaluations: dict[int, Evaluation] = {}
        self._repeatable: _RepeatableShape | None = None

    @property
    def random(self) -> Random | None:
        """What chance draws from; None where the first by name stands for any."""
        return self._hosts.random

    def draw_from(self, random: Random | None) -> None:
        """Use this random generator from now on; None for the first by name."""
        self._hosts.random = random
        if self.profile.preemption is not None:
            self.profile.preemption.random = random

    def start_over(self) -> None:
        """Drop caches and find held pods again after the cluster's rows were renumbered."""
        self.framework.attach(self.cluster)
        self._evaluations.clear()
        self._repeatable = None
        self.binding.find_rows()

    def keep_evaluations(self, before: Scheduler) -> None:
        """Go on with the evaluations of another scheduler of this profile and cluster."""
        self._evaluations = before._evaluations

    def take_over(self, before: Scheduler) -> None:
        """Take over the pods that another scheduler of this name holds."""
        self.binding.take_over(before.binding)
        self.start_over()

    # --- one cycle

    def attempt(self, pod: PodInfo) -> Attempt:
        """Try to place a pod; on success it is assumed, reserved and bound (or waits for its permit)."""
        observer = self.observer
        observer.before_cycle(self, pod)
        attempt = self.decide(pod)
        observer.on_decision(self, attempt)
        if attempt.is_placed:
            self.binding.commit(attempt)
        observer.after_cycle(self, attempt)
        return attempt

    def decide(self, pod: PodInfo) -> Attempt:
        """The decision about a pod, without acting on it."""
        repeatable = self._repeat_decision(pod)
        if repeatable is not None:
            return repeatable
        gate = self.gate(pod)
        if gate is not None:
            return Attempt(pod, gated=gate)
        return self._schedule_pod(pod)

    def gate(self, pod: PodInfo) -> Status | None:
        """Why the pod does not enter the queue: it does not exist yet, or a PreEnqueue plugin refuses it."""
        turns = self.cluster.creation_turns
        before = "" if turns is None else turns.predecessor(pod, self.cluster.find)
        if before:
            return Status(Code.UNSCHEDULABLE, (f"it is made once {before} is ready",), NOT_MADE_YET)
        return self.framework.pre_enqueue(pod)

    def decide_member(self, pod: PodInfo) -> Attempt:
        """The same for a member of a group, which has left the queue with others: no PreEnqueue plugin is called."""
        return self._repeat_decision(pod, in_queue=False) or self._schedule_pod(pod)

    def _schedule_pod(self, pod: PodInfo) -> Attempt:
        if not len(self.cluster.node_order):
            return Attempt(pod, message=NO_NODES)
        self.shared.cycle += 1
        evaluation = self.evaluation(pod)
        evaluation.begin(pod)
        if evaluation.refusal is not None and not evaluation.refusal.is_rejected:
            return Attempt(pod, refused=evaluation.refusal, message=evaluation.refusal.message)
        if evaluation.refusal is not None:
            refused = Diagnosis(
                self.cluster, evaluation, narrowed_by=evaluation.narrowing_plugins, refusal=evaluation.refusal
            )
            return self._no_node(Attempt(pod, refused=evaluation.refusal), refused)
        attempt = self._select(pod, evaluation)
        self.grow_requests(pod, scored=len(attempt.sampled) > 1)
        if attempt.is_placed:
            attempt.states = self.framework.states(pod, evaluation)
            self._repeatable = self._repeatable_shape_after(attempt, evaluation)
        if attempt.is_placed or attempt.refused is not None:
            return attempt
        hint = "" if attempt.batching is None else attempt.batching.hint
        return self._no_node(attempt, self.diagnose(pod, evaluation, attempt.extender_cycle, hint=hint))

    def _repeat_decision(self, pod: PodInfo, *, in_queue: bool = True) -> Attempt | None:
        """The decision about a pod that looks like the last one, without calling plugins whose results are known; else
        None.
        """
        repeatable, cluster = self._repeatable, self.cluster
        if repeatable is None or repeatable.shape is not pod.shape or pod.nominated or cluster.nominated:
            return None
        if repeatable.valid_for != (len(cluster.shapes.templates), cluster.membership_version, cluster.columns):
            return None
        if cluster.too_many_tallies or cluster.placement is not None or (in_queue and repeatable.gated):
            return None

        self.shared.cycle += 1
        rows, visited = self._nodes.find_among_all(pod, repeatable.evaluation, repeatable.nodes_to_find)
        self.shared.next_start = (self.shared.next_start + visited) % len(cluster)
        attempt = self._choose(Attempt(pod, None, None, rows, visited), repeatable.evaluation)
        if not len(rows):
            return self._no_node(attempt, self.diagnose(pod, repeatable.evaluation))
        if attempt.is_placed:
            attempt.states = repeatable.states
        return attempt

    def _repeatable_shape_after(self, attempt: Attempt, evaluation: Evaluation) -> _RepeatableShape | None:
        """What holds for further pods like this one, which was placed."""
        pod, cluster = attempt.pod, self.cluster
        if evaluation.has_cluster_scope or evaluation.narrows or self._extenders is not None:
            return None
        if attempt.batching is not None and attempt.batching.signed:
            return None
        if pod.shape.drift or not self._nodes.is_whole:
            return None
        valid_for = len(cluster.shapes.templates), cluster.membership_version, cluster.columns
        turns = cluster.creation_turns
        gated = bool(self.framework.active_plugins(pod).pre_enqueue) or (turns is not None and turns.concerns(pod))
        return _RepeatableShape(
            pod.shape, valid_for, evaluation, self._nodes.nodes_to_find(len(cluster)), attempt.states, gated
        )

    def grow_requests(self, pod: PodInfo, *, scored: bool) -> None:
        """Add to the pod's requests what this cycle's sums have left in them.

        Upstream's PodRequests adds the overhead in place to some requests, so each sum has it once more
        (``pod_requests.overhead_drift``).
        """
        if pod.shape.drift:
            pod.shape = self.cluster.shapes.drift_shape(pod, self.framework.request_sums(scored=scored))

    def evaluation(self, pod: PodInfo) -> Evaluation:
        """The evaluation for pods like this one, brought up to date as far as the cycle needs."""
        if self.cluster.too_many_tallies:
            self.cluster.drop_tallies()
            self._evaluations.clear()
        shape_key = self.framework.shape_key(pod.shape)
        evaluation = self._evaluations.pop(shape_key, None)
        if evaluation is None:
            if self._full():
                del self._evaluations[next(iter(self._evaluations))]
            evaluation = Evaluation(self.framework, self.cluster, pod)
        self._evaluations[shape_key] = evaluation
        return evaluation

    def _full(self) -> bool:
        """Whether a cached evaluation has to be dropped before another is added."""
        kept = len(self._evaluations)
        answers = len(result_cache_of(self.cluster, self.framework)) * len(self.cluster)
        return kept >= _MOST_KEPT or (kept >= _LEAST_KEPT and answers > _MOST_CACHED_RESULTS)

    def evaluate_all_nodes(self, pod: PodInfo, *, queued: bool = False) -> Evaluation | None:
        """All nodes' verdicts on a pod, without sampling; None where PreEnqueue, unless it is ``queued``, or PreFilter
        refuses it.
        """
        if (not queued and self.gate(pod) is not None) or not len(self.cluster.node_order):
            return None
        evaluation = self.evaluation(pod)
        evaluation.refresh(pod)
        evaluation.begin(pod)
        return evaluation if evaluation.refusal is None else None

    def is_futile(self, pod: PodInfo) -> bool:
        """Whether an attempt would certainly fail and change nothing. False where that is not certain.

        For pods that look alike it costs next to nothing while no node changes that may take them.
        """
        if pod.nominated or pod.shape.drift or self._extenders is not None or not len(self.cluster.node_order):
            return False
        if self.gate(pod) is not None or self.framework.may_make_room(pod):
            return False
        evaluation = self.evaluation(pod)
        # A search of all nodes that finds none leaves next_start where it was; one of a narrowed choice moves it.
        return not evaluation.narrows and evaluation.none_passes(pod)

    def repeats_failures(self, pod: PodInfo) -> bool:
        """Whether a pod that looks like this one fails as this one does while nothing changes: nothing is drawn, no
        extender or observer is called, and no plugin tells the two apart.
        """
        is_alike = not (pod.nominated or pod.shape.drift or pod.shape.spec.scheduling_group is not None)
        draws_nothing = self._hosts.random is None and self._extenders is None and self.shared.search is sample
        is_unobserved = type(self.observer) is Observer
        return is_alike and draws_nothing and is_unobserved and self.framework.forgets

    @property
    def is_predictable(self) -> bool:
        """Whether nothing but the cluster and batching decide: no randomness, preferences, extenders or observer."""
        shared = self.shared
        draws_nothing = self._hosts.random is None and self._extenders is None and shared.search is sample
        is_unobserved = type(self.observer) is Observer and not self.detailed
        return draws_nothing and is_unobserved and not shared.prefers

    def runs_no_cluster_scope(self, pod: PodInfo) -> bool:
        """Whether only plugins of scope NODE and ROW run for pods like this one."""
        if pod.nominated or pod.shape.drift or not self.framework.is_in_tree:
            return False
        evaluation = self.evaluation(pod)
        evaluation.begin(pod)
        return evaluation.refusal is None and not evaluation.has_cluster_scope and not evaluation.narrows

    def diagnose(
        self, pod: PodInfo, evaluation: Evaluation, extender_cycle: ExtenderCycle | None = None, *, hint: str = ""
    ) -> Diagnosis:
        """Every node's verdict, for a pod that passed PreFilter; with extenders, of the visited nodes.

        The node that batching hinted at is one of them.
        """
        verdicts, considered = evaluation.verdicts(pod), evaluation.narrowed
        if extender_cycle is not None or not self._nodes.is_whole:
            verdicts = verdicts.copy()
        if not self._nodes.is_whole:
            verdicts.forget(np.flatnonzero(self.cluster.left_out))
        first = pod.nominated or hint
        nominated = self.cluster.columns.row(first) if first else None
        if considered is not None and nominated is not None:
            # It was looked at first, whatever PreFilter narrowed the choice to.
            considered = np.union1d(considered, [nominated])
        diagnosis = Diagnosis(self.cluster, evaluation, verdicts, considered, evaluation.narrowed_by)
        if extender_cycle is not None:
            extender_cycle.fold(verdicts)
            diagnosis.unknown_nodes = extender_cycle.unknown_nodes
        return diagnosis

    def _select(self, pod: PodInfo, evaluation: Evaluation) -> Attempt:
        """Find feasible nodes and the best of them."""
        extender_cycle = None if self._extenders is None else self._extenders.begin_cycle(pod, self.cluster)
        failed_first: int | None = None
        batching = self._hint(pod, evaluation)
        first = pod.nominated or ("" if batching is None else batching.hint)
        if first:
            row = self.cluster.columns.row(first)
            if row is not None and self.cluster.is_searched(row):
                if self.cluster.shapes.features.nominated_node_restarts_search:
                    # The search was moved on modulo the nodes it had, and the nominated node is the only one.
                    self.shared.next_start = 0
                evaluation.refresh(pod)
                if not evaluation.passing(pod)[row]:
                    failed_first = row
                elif extender_cycle is None:
                    only = np.array([row], np.intp)
                    return self._store_for_batching(Attempt(pod, row, None, only, 1, batching=batching))
                elif len(extender_cycle.evaluate_nominated_node(row)):
                    return self._choose_extended(pod, evaluation, extender_cycle)
        rows, visited = self._nodes.find(pod, evaluation)
        if evaluation.troubled and (error := self._nodes.error_of(pod, evaluation, visited)) is not None:
            return Attempt(pod, refused=error, message=error.message)
        if extender_cycle is not None:
            extender_cycle.record_feasible(rows, self._nodes.visited_rows(visited, evaluation), failed_first)
            visited = extender_cycle.evaluated_count
        elif failed_first is not None:
            # Upstream moves on by the feasible nodes and all that have a status, and the nominated node has one.
            visited += self._nodes.count_visited_besides(failed_first, visited, evaluation)
        self.shared.next_start = (self.shared.next_start + visited) % len(self.cluster.node_order)
        if extender_cycle is None:
            return self._choose(Attempt(pod, None, None, rows, visited, batching=batching), evaluation)
        error = extender_cycle.filter()
        if error is not None:
            return Attempt(pod, refused=error, message=error.message, extender_cycle=extender_cycle)
        return self._choose_extended(pod, evaluation, extender_cycle)

    def _choose_extended(self, pod: PodInfo, evaluation: Evaluation, extender_cycle: ExtenderCycle) -> Attempt:
        """The best of the nodes that the extenders left."""
        rows, visited = extender_cycle.rows, extender_cycle.evaluated_count
        return self._choose(Attempt(pod, None, None, rows, visited, extender_cycle=extender_cycle), evaluation)

    def _choose(self, attempt: Attempt, evaluation: Evaluation) -> Attempt:
        """The best of the feasible nodes."""
        pod, rows, extender_cycle = attempt.pod, attempt.sampled, attempt.extender_cycle
        if self.detailed and len(rows):
            attempt.scores = evaluation.scores(pod, rows)
        if len(rows) == 1:
            attempt.row = int(rows[0])
        elif len(rows):
            totals = evaluation.totals(pod, rows)
            if evaluation.score_error is not None:
                return Attempt(pod, refused=evaluation.score_error, message=evaluation.score_error.message)
            if extender_cycle is not None:
                totals = extender_cycle.score(evaluation, totals)
                attempt.scores = extender_cycle.all_scores(attempt.scores, rows) if self.detailed else []
            place, attempt.choice = self._hosts.select(
                pod,
                rows,
                totals,
                self.shared.prefers,
                None if extender_cycle is None else extender_cycle.is_randomized,
                in_any_order=evaluation.narrowed is not None,
            )
            attempt.row, attempt.score, attempt.totals = rows.item(place), totals.item(place), totals
        return attempt if attempt.batching is None else self._store_for_batching(attempt)

    def _store_for_batching(self, attempt: Attempt) -> Attempt:
        """Store the attempt's node and scores for batching's next hint; returns the attempt."""
        if attempt.batching is not None and attempt.row is not None:
            assert self.batch is not None
            node, shared = self.cluster.columns.names[attempt.row], self.shared
            scored = None if attempt.totals is None else (attempt.sampled, attempt.totals)
            self.batch.store(
                attempt.pod, attempt.batching, node, scored, self.cluster, cycle=shared.cycle, now=shared.now
            )
        return attempt

    def _hint(self, pod: PodInfo, evaluation: Evaluation) -> Batching | None:
        """Batching's hint before nodes are visited; None where it does not apply."""
        if self.batch is None or not self.batch.concerns(pod):
            return None
        return self.batch.hint(pod, evaluation, self.cluster, cycle=self.shared.cycle, now=self.shared.now)

    def ask_extenders(self, pod: PodInfo, evaluation: Evaluation, rows: IntpArray) -> ExtenderCycle | None:
        """Extenders' verdicts on more nodes than they were called with in a cycle; None if one fails and is not
        ignorable.
        """
        assert self._extenders is not None
        extender_cycle = self._extenders.begin_cycle(pod, self.cluster)
        extender_cycle.record_feasible(rows, rows, None)
        if extender_cycle.filter() is not None:
            return None
        if len(extender_cycle.rows) > 1:
            extender_cycle.score(evaluation, evaluation.totals(pod, extender_cycle.rows))
        return extender_cycle

    @property
    def samples(self) -> bool:
        """Whether a search may end before it has visited all nodes."""
        return self._nodes.samples

    # --- afterwards

    def _no_node(self, attempt: Attempt, diagnosis: Diagnosis) -> Attempt:
        attempt.diagnosis = diagnosis
        if not self.runs_post_filters:
            return attempt
        result = self.framework.post_filter(attempt.pod, diagnosis)
        attempt.message = diagnosis.message(result.status.message if result.status else "")
        attempt.nominated, attempt.victims = result.nominated, result.victims
        attempt.criterion, attempt.candidates = result.criterion, result.candidates
        attempt.preemption = result.preemption
        attempt.keeps_nomination, attempt.at_once = result.keeps_nomination, result.at_once
        return attempt
