"""The scheduling cycle of one pod, on one screen.

Upstream: pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.interface import WaitingPod
from kwhatif.framework.node_results import result_cache_of
from kwhatif.framework.runner import Framework, States
from kwhatif.framework.status import Code, Diagnosis, Status, fit_message
from kwhatif.golang.parsing import Duration
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.host_selection import HostSelection
from kwhatif.scheduling.node_sampling import Search, nodes_to_find, sample
from kwhatif.scheduling.opportunistic_batch import Batching, OpportunisticBatch

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import ExtenderCycle, Extenders
    from kwhatif.scheduling.preemption import Preemption

NO_NODES = "no nodes available to schedule pods"
_MOST_STALE = 64
"""With so many rows out of date nobody looks at each of them any more."""
_LEAST_KEPT, _MOST_KEPT = 32, 8192
"""Of so many templates at least, and at most, it is kept what is known."""
_MEMORY = 8_000_000
"""How many nodes' answers are kept at most, over all templates: those that are alike to plugins share them."""


@dataclass(slots=True)
class Profile:
    """A framework with the share of nodes its cycles look at and the waiting room of its permit plugins.

    ``extenders`` are called, if there are any; ``preemption`` is what its plugins make room by, and ``activated`` are
    the pods, by uid, that plugins want to be tried.
    """

    framework: Framework
    percentage: int
    waiting: dict[str, WaitingPod]
    extenders: Extenders | None = None
    preemption: Preemption | None = None
    activated: set[str] = field(default_factory=set)


class Observer:
    """Looks on while pods are scheduled. This one does nothing; others override what they want to see."""

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        """A cycle begins."""

    def on_decision(self, scheduler: Scheduler, attempt: Attempt) -> None:
        """A cycle has come to its decision, and nothing has been done about it."""

    def after_cycle(self, scheduler: Scheduler, attempt: Attempt) -> None:
        """A cycle is over: a pod that found a node is bound, waits for its permit, or was turned away."""


@dataclass(slots=True)
class SharedState:
    """What the schedulers of one process share besides their cluster.

    next_start   where the next search for nodes begins
    cycle        how many pods have been taken from the queue
    now          the moment, in seconds
    prefers      for pods by uid or key, the node to take if it is among the best
    search       which of the nodes that pass are found
    """

    next_start: int = 0
    cycle: int = 0
    now: float = 0.0
    prefers: Mapping[str, str] = field(default_factory=dict)
    observer: Observer = field(default_factory=Observer)
    search: Search = sample


@dataclass(frozen=True, slots=True)
class _RepeatableShape:
    """Pods of a shape of which nobody has anything to say but about nodes one by one.

    So it stays while the cluster meets no new template and all nodes are there: ``known`` are the number of templates
    and of comings. So many feasible nodes are ``enough``; ``states`` are what the attempts are given. A PreEnqueue
    plugin may have something to say before they enter the queue, if they can be ``gated``.
    """

    shape: PodShape
    known: tuple[int, int]
    evaluation: Evaluation
    enough: int
    states: States
    gated: bool


class Scheduler:
    """Schedules pods onto a cluster, one at a time, under one profile.

    ``seed`` draws where chance decides between the best nodes; without one the first by name stands for any, and with
    ``ties_by_name`` wherever several are best. A ``detailed`` one keeps every plugin's scores in its attempts. ``held``
    are the attempts whose pods wait for a permit, by uid.
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
    ) -> None:
        self.cluster = cluster
        self.profile = profile
        self.framework = profile.framework
        self.framework.attach(cluster)
        self.shared = shared or SharedState()
        self.detailed = detailed
        self.runs_post_filters = True
        self.held: dict[str, Attempt] = {}
        self._extenders = profile.extenders
        random = None if seed is None else Random(seed)
        self._hosts = HostSelection(cluster, by_name=ties_by_name, random=random)
        signer = self.framework.signer()
        batches = cluster.shapes.features.opportunistic_batching and signer.signs and self._extenders is None
        self.batch = OpportunisticBatch(signer) if batches else None
        self._compares = bool(self.framework.scorers) or (self._extenders is not None and self._extenders.compare)
        self._evaluations: dict[int, Evaluation] = {}
        self._plain: _RepeatableShape | None = None

    def reseed(self, random: Random | None) -> None:
        """Draw by this chance from now on; None for the first by name."""
        self._hosts.random = random
        if self.profile.preemption is not None:
            self.profile.preemption.random = random

    def start_over(self) -> None:
        """The cluster's rows have been dealt anew: forget what was known of them, and find held pods again."""
        self.framework.attach(self.cluster)
        self._evaluations.clear()
        self._plain = None
        for uid, attempt in self.held.items():
            attempt.row = self.cluster.columns.row(self.profile.waiting[uid].node)

    def take_over(self, before: Scheduler) -> None:
        """The pods that another scheduler of this name holds wait for their permits here."""
        self.held, self.profile.waiting = before.held, before.profile.waiting
        self.start_over()

    # --- one cycle

    def attempt(self, pod: PodInfo) -> Attempt:
        """Try to place a pod; on success it is assumed, reserved and bound (or waits for its permit)."""
        observer = self.shared.observer
        observer.before_cycle(self, pod)
        attempt = self.decide(pod)
        observer.on_decision(self, attempt)
        if attempt.is_placed:
            self._commit(attempt)
        observer.after_cycle(self, attempt)
        return attempt

    def decide(self, pod: PodInfo) -> Attempt:
        """What the scheduler would do with a pod, without doing it."""
        plain = self._repeat_decision(pod)
        if plain is not None:
            return plain
        gate = self.framework.pre_enqueue(pod)
        if gate is not None:
            return Attempt(pod, gated=gate)
        return self._schedule_pod(pod)

    def decide_member(self, pod: PodInfo) -> Attempt:
        """The same of a member of a group, which has left the queue with others: no PreEnqueue plugin is asked."""
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
        self.drift(pod, scored=len(attempt.sampled) > 1)
        if attempt.is_placed:
            attempt.states = self.framework.states(pod, evaluation)
            self._plain = self._plain_after(attempt, evaluation)
        if attempt.is_placed or attempt.refused is not None:
            return attempt
        hint = "" if attempt.batching is None else attempt.batching.hint
        return self._no_node(attempt, self.diagnose(pod, evaluation, attempt.extender_cycle, hint=hint))

    def _repeat_decision(self, pod: PodInfo, *, in_queue: bool = True) -> Attempt | None:
        """The decision about a pod that looks like the last one, without a question that has its answer; else None."""
        plain, cluster = self._plain, self.cluster
        if plain is None or plain.shape is not pod.shape or pod.nominated or cluster.nominated:
            return None
        if plain.known != (len(cluster.shapes.templates), cluster.membership_version) or cluster.too_many_tallies:
            return None
        if cluster.placement is not None or (in_queue and plain.gated):
            return None
        self.shared.cycle += 1
        rows, looked = self._search(pod, plain.evaluation, plain.enough)
        self.shared.next_start = (self.shared.next_start + looked) % len(cluster)
        attempt = self._choose(Attempt(pod, None, None, rows, looked), plain.evaluation)
        if not len(rows):
            return self._no_node(attempt, self.diagnose(pod, plain.evaluation))
        if attempt.is_placed:
            attempt.states = plain.states
        return attempt

    def _plain_after(self, attempt: Attempt, evaluation: Evaluation) -> _RepeatableShape | None:
        """What holds for more pods like this one, which was placed."""
        pod, cluster = attempt.pod, self.cluster
        if evaluation.has_cluster_scope or evaluation.narrows or self._extenders is not None:
            return None
        if attempt.batching is not None and attempt.batching.signed:
            return None
        if pod.shape.drift or not self._whole:
            return None
        known = len(cluster.shapes.templates), cluster.membership_version
        gated = bool(self.framework.active_plugins(pod).pre_enqueue)
        return _RepeatableShape(pod.shape, known, evaluation, self._enough(len(cluster)), attempt.states, gated)

    def drift(self, pod: PodInfo, *, scored: bool) -> None:
        """Let the pod's requests grow as upstream's do with every sum (``pod_requests.overhead_drift``)."""
        if pod.shape.drift:
            pod.shape = self.cluster.shapes.drift_shape(pod, self.framework.request_sums(scored=scored))

    def evaluation(self, pod: PodInfo) -> Evaluation:
        """What is known of pods like this one, brought up to date as far as the cycle needs."""
        if self.cluster.too_many_tallies:
            self.cluster.drop_tallies()
            self._evaluations.clear()
        alike = self.framework.shape_key(pod.shape)
        evaluation = self._evaluations.pop(alike, None)
        if evaluation is None:
            if self._full():
                del self._evaluations[next(iter(self._evaluations))]
            evaluation = Evaluation(self.framework, self.cluster, pod)
        self._evaluations[alike] = evaluation
        return evaluation

    def _full(self) -> bool:
        """Whether something known has to be forgotten before more is found out."""
        kept = len(self._evaluations)
        answers = len(result_cache_of(self.cluster, self.framework)) * len(self.cluster)
        return kept >= _MOST_KEPT or (kept >= _LEAST_KEPT and answers > _MEMORY)

    def evaluate_all_nodes(self, pod: PodInfo) -> Evaluation | None:
        """What all nodes say of a pod, without sampling; None where it is refused before any of them is asked."""
        if self.framework.pre_enqueue(pod) is not None or not len(self.cluster.node_order):
            return None
        evaluation = self.evaluation(pod)
        evaluation.refresh(pod)
        evaluation.begin(pod)
        return evaluation if evaluation.refusal is None else None

    def is_futile(self, pod: PodInfo) -> bool:
        """Whether an attempt could only fail and would leave everything as it is. False where that is not sure.

        It costs next to nothing to ask again of pods that look alike while no node changes that may take them.
        """
        if pod.nominated or pod.shape.drift or self._extenders is not None or not len(self.cluster.node_order):
            return False
        if self.framework.pre_enqueue(pod) is not None or self.framework.may_make_room(pod):
            return False
        evaluation = self.evaluation(pod)
        # Where the choice is narrowed, the next search would start elsewhere.
        return not evaluation.narrows and evaluation.none_passes(pod)

    @property
    def is_predictable(self) -> bool:
        """Whether nothing but the cluster decides: no chance, no wishes, no extender, no batch, and nobody looks on."""
        shared = self.shared
        is_left_alone = type(shared.observer) is Observer and not shared.prefers and not self.detailed
        decides_alone = self._hosts.random is None and self.batch is None and self._extenders is None
        return is_left_alone and shared.search is sample and decides_alone

    def looks_at_nodes_alone(self, pod: PodInfo) -> bool:
        """Whether plugins look at nothing but nodes one by one, for pods like this one as things are."""
        if pod.nominated or pod.shape.drift or not self.framework.is_in_tree:
            return False
        evaluation = self.evaluation(pod)
        evaluation.begin(pod)
        return evaluation.refusal is None and not evaluation.has_cluster_scope and not evaluation.narrows

    def diagnose(
        self, pod: PodInfo, evaluation: Evaluation, asking: ExtenderCycle | None = None, *, hint: str = ""
    ) -> Diagnosis:
        """Every node's verdict, for a pod whose PreFilter went through; with extenders, of the nodes looked at.

        The node that batching hinted at is one of them.
        """
        verdicts, considered = evaluation.verdicts(pod), evaluation.narrowed
        if not self._whole:
            verdicts.forget(np.flatnonzero(self.cluster.left_out))
        first = pod.nominated or hint
        nominated = self.cluster.columns.row(first) if first else None
        if considered is not None and nominated is not None:
            # It was looked at first, whatever PreFilter narrowed the choice to.
            considered = np.union1d(considered, [nominated])
        diagnosis = Diagnosis(self.cluster, evaluation, verdicts, considered, evaluation.narrowed_by)
        if asking is not None:
            asking.fold(verdicts)
            diagnosis.unknown_nodes = asking.strangers
        return diagnosis

    def _select(self, pod: PodInfo, evaluation: Evaluation) -> Attempt:
        """Find feasible nodes and the best of them."""
        asking = None if self._extenders is None else self._extenders.begin_cycle(pod, self.cluster)
        failed_first: int | None = None
        batching = self._hint(pod, evaluation)
        first = pod.nominated or ("" if batching is None else batching.hint)
        if first:
            row = self.cluster.columns.row(first)
            if row is not None and self.cluster.is_searched(row):
                if self.cluster.shapes.features.nominated_node_restarts_search:
                    self.shared.next_start = 0
                evaluation.refresh(pod)
                if not evaluation.passing(pod)[row]:
                    failed_first = row
                elif asking is None:
                    only = np.array([row], np.intp)
                    return self._stored(Attempt(pod, row, None, only, 1, only, batching=batching))
                elif len(only := asking.evaluate_nominated_node(row)):
                    return self._choose(
                        Attempt(pod, None, None, only, asking.evaluated_count, extender_cycle=asking), evaluation
                    )
        rows, evaluated = self._find(pod, evaluation)
        if evaluation.troubled and (error := self._error_of(pod, evaluation, evaluated)) is not None:
            return Attempt(pod, refused=error, message=error.message)
        if asking is not None:
            asking.record_feasible(rows, self._count_visited(evaluated, evaluation), failed_first)
            evaluated = asking.evaluated_count
        elif failed_first is not None:
            evaluated += self._count_visited_besides(failed_first, evaluated, evaluation)
        self.shared.next_start = (self.shared.next_start + evaluated) % len(self.cluster.node_order)
        if asking is None:
            return self._choose(Attempt(pod, None, None, rows, evaluated, batching=batching), evaluation)
        error = asking.filter()
        if error is not None:
            return Attempt(pod, refused=error, message=error.message, extender_cycle=asking)
        return self._choose(
            Attempt(pod, None, None, asking.rows, asking.evaluated_count, extender_cycle=asking), evaluation
        )

    def _choose(self, attempt: Attempt, evaluation: Evaluation) -> Attempt:
        """The best of the feasible nodes."""
        pod, rows, asking, scored = attempt.pod, attempt.sampled, attempt.extender_cycle, None
        if self.detailed and len(rows):
            attempt.scores = evaluation.scores(pod, rows)
        if len(rows) == 1:
            attempt.row, attempt.best = int(rows[0]), rows
        elif len(rows):
            totals = evaluation.totals(pod, rows)
            if evaluation.score_error is not None:
                return Attempt(pod, refused=evaluation.score_error, message=evaluation.score_error.message)
            if asking is not None:
                totals = asking.score(evaluation, totals)
                attempt.scores = asking.all_scores(attempt.scores, rows) if self.detailed else []
            top = int(totals[totals.argmax()])
            best = (totals == top).nonzero()[0]
            attempt.best, attempt.score, scored = rows[best], top, (rows, totals)
            if len(best) == 1:
                attempt.row = int(rows[best[0]])
            else:
                attempt.row, attempt.choice = self._hosts.select(
                    pod,
                    rows,
                    best,
                    self.shared.prefers,
                    None if asking is None else asking.randomized,
                    in_any_order=evaluation.narrowed is not None,
                )
        return attempt if attempt.batching is None else self._stored(attempt, scored)

    def _stored(self, attempt: Attempt, scored: tuple[IntpArray, Int64Array] | None = None) -> Attempt:
        """The attempt, and batching knows of it: by which totals int64[n] of which rows intp[n], if by any."""
        if attempt.batching is not None and attempt.row is not None:
            assert self.batch is not None
            node, shared = self.cluster.columns.names[attempt.row], self.shared
            self.batch.store(
                attempt.pod, attempt.batching, node, scored, self.cluster, cycle=shared.cycle, now=shared.now
            )
        return attempt

    def _hint(self, pod: PodInfo, evaluation: Evaluation) -> Batching | None:
        """What batching says before nodes are looked at; None where it has nothing to say."""
        if self.batch is None or not self.batch.concerns(pod):
            return None
        return self.batch.hint(pod, evaluation, self.cluster, cycle=self.shared.cycle, now=self.shared.now)

    def ask_extenders(self, pod: PodInfo, evaluation: Evaluation, rows: IntpArray) -> ExtenderCycle | None:
        """What extenders say of more nodes than they were asked about in a cycle; None if one fails for good."""
        assert self._extenders is not None
        asking = self._extenders.begin_cycle(pod, self.cluster)
        asking.record_feasible(rows, rows, None)
        if asking.filter() is not None:
            return None
        if len(asking.rows) > 1:
            asking.score(evaluation, evaluation.totals(pod, asking.rows))
        return asking

    def _find(self, pod: PodInfo, evaluation: Evaluation) -> tuple[IntpArray, int]:
        """Rows of feasible nodes in the order found, and how many nodes were looked at."""
        if evaluation.narrowed is not None:
            evaluation.refresh(pod)
            rows = evaluation.narrowed
            enough = self._enough(len(rows))
            search, start = self.shared.search, self.shared.next_start % max(len(rows), 1)
            places, looked = search(evaluation.passing(pod)[rows], start, enough)
            return rows[places], looked
        if not self._whole:
            evaluation.refresh(pod)
            rows = self.cluster.node_order
            enough = self._enough(len(rows))
            places, looked = self.shared.search(evaluation.passing(pod)[rows], self.shared.next_start, enough)
            return rows[places], looked
        return self._search(pod, evaluation, self._enough(len(self.cluster)))

    def _search(self, pod: PodInfo, evaluation: Evaluation, enough: int) -> tuple[IntpArray, int]:
        """As ``_find``, where the choice is not narrowed and all nodes are there."""
        start, size = self.shared.next_start, len(self.cluster)
        if self.shared.search is not sample:
            evaluation.refresh(pod)
            return self.shared.search(evaluation.passing(pod), start, enough)
        if enough == size:
            evaluation.refresh(pod)
        rows, looked = sample(evaluation.passing(pod), start, enough)
        # Whether one of the nodes looked at has changed since its answers were worked out.
        stale = evaluation.stale_rows()
        if stale and (len(stale) > _MOST_STALE or any((row - start) % size <= looked for row in stale)):
            evaluation.refresh(pod)
            rows, looked = sample(evaluation.passing(pod), start, enough)
        return rows, looked

    @property
    def _whole(self) -> bool:
        """Whether all nodes that have a row are there."""
        return len(self.cluster.node_order) == len(self.cluster)

    def _error_of(self, pod: PodInfo, evaluation: Evaluation, looked: int) -> Status | None:
        """The error of the first node looked at that has one, which ends the cycle there."""
        rows, verdicts = self._count_visited(looked, evaluation), evaluation.verdicts(pod)
        places = np.flatnonzero(verdicts.failed[rows])
        if not len(places):
            return None
        self.shared.next_start = (self.shared.next_start + int(places[0])) % len(self.cluster.node_order)
        return verdicts.status(int(rows[places[0]]))

    def _count_visited(self, looked: int, evaluation: Evaluation) -> IntpArray:
        """The rows of the nodes looked at, so many of them."""
        if evaluation.narrowed is not None:
            rows = evaluation.narrowed
            turns: IntpArray = (self.shared.next_start + np.arange(looked)) % max(len(rows), 1)
            return rows[turns]
        rows = self.cluster.node_order
        return rows[(self.shared.next_start + np.arange(looked)) % len(rows)]

    def _count_visited_besides(self, row: int, looked: int, evaluation: Evaluation) -> int:
        """1 if the nominated node, which did not pass, is not among the nodes looked at afterwards."""
        if evaluation.narrowed is not None:
            return int(row not in evaluation.narrowed)
        searched = self.cluster.node_order
        place = int(np.flatnonzero(searched == row)[0])
        return int((place - self.shared.next_start) % len(searched) >= looked)

    @property
    def samples(self) -> bool:
        """Whether a search may end before it has looked at all nodes."""
        nodes = len(self.cluster.node_order)
        return self._enough(nodes) < nodes

    def _enough(self, nodes: int) -> int:
        one_is_enough = self.cluster.shapes.features.one_node_is_enough_without_scores and not self._compares
        return 1 if one_is_enough else nodes_to_find(nodes, self.profile.percentage)

    # --- afterwards

    def _no_node(self, attempt: Attempt, diagnosis: Diagnosis) -> Attempt:
        attempt.diagnosis = diagnosis
        if not self.runs_post_filters:
            return attempt
        result = self.framework.post_filter(attempt.pod, diagnosis)
        attempt.message = diagnosis.message(result.status.message if result.status else "")
        attempt.nominated, attempt.victims = result.nominated, result.victims
        attempt.criterion, attempt.candidates, attempt.keeps = result.criterion, result.candidates, result.keeps
        attempt.nomination_stands, attempt.at_once = result.nomination_stands, result.at_once
        return attempt

    def _commit(self, attempt: Attempt) -> None:
        """Assume, reserve, permit, bind; undone step by step when a plugin refuses."""
        pod, row = attempt.pod, attempt.row
        assert row is not None
        attempt.chosen = row
        if self.assume_and_reserve(attempt, row) is not None:
            return
        answer = attempt.permit = self.framework.permit(pod, self.cluster.columns.names[row], attempt.states)
        if isinstance(answer, Status):
            self.take_back(attempt)
            self.refuse(attempt, answer)
        elif answer is not None:
            self.hold(attempt, answer)
        else:
            self._bind(attempt)

    def assume_and_reserve(self, attempt: Attempt, row: int) -> Status | None:
        """Count a pod on a node and reserve what it needs there; a refusal undoes both, and is returned."""
        pod = attempt.pod
        self.cluster.assume(pod, row)
        if pod.nominated:
            self.cluster.remove_nomination(pod.uid)
        refusal = self.framework.reserve(pod, self.cluster.columns.names[row], attempt.states)
        if refusal is not None:
            self.cluster.forget(pod.uid)
            self.refuse(attempt, refusal)
        return refusal

    def hold(self, attempt: Attempt, seconds: Mapping[str, float]) -> None:
        """Have a pod wait before it is bound until no plugin objects: plugin -> how long it is willing to wait."""
        assert attempt.row is not None
        pod = attempt.pod
        node = self.cluster.columns.names[attempt.row]
        self.profile.waiting[pod.uid] = WaitingPod(pod, node, self.shared.now, dict(seconds))
        self.held[pod.uid] = attempt
        attempt.waiting = True

    def _bind(self, attempt: Attempt) -> None:
        assert attempt.row is not None
        before = None if self._extenders is None else self._extenders.bind
        refusal = self.framework.bind(attempt.pod, self.cluster.columns.names[attempt.row], attempt.states, before)
        if refusal is not None:
            # Past Permit, any refusal is an accident: the pod was not found unschedulable, it backs off and comes back.
            self._lose(attempt, Status(Code.ERROR, refusal.reasons, refusal.plugin))

    def _turn_away(self, attempt: Attempt, waiting: WaitingPod, refusal: Status) -> None:
        """A pod that waited is sent back. It will try its node first if it was not nominated before it waited.

        Upstream only a nomination that the cycle itself has seen is taken back, and no other pod hears of this one.
        """
        nominated = attempt.pod.nominated
        self._lose(attempt, refusal)
        if self.cluster.shapes.features.nominated_node_name_for_expectation and not nominated:
            attempt.keeps, attempt.pod.nominated = True, waiting.node

    def _lose(self, attempt: Attempt, refusal: Status) -> None:
        attempt.lost = True
        self.take_back(attempt)
        self.refuse(attempt, refusal)

    def take_back(self, attempt: Attempt) -> None:
        """Give back what a pod that was placed has reserved, and its room."""
        assert attempt.row is not None
        self.framework.unreserve(attempt.pod, self.cluster.columns.names[attempt.row], attempt.states)
        self.cluster.forget(attempt.pod.uid)

    def refuse(self, attempt: Attempt, refusal: Status) -> None:
        """The chosen node's own plugins refused: the message speaks of that one node."""
        attempt.row, attempt.refused, attempt.pod.nominated = None, refusal, ""
        attempt.message = fit_message(1, dict.fromkeys(refusal.reasons, 1)) if refusal.is_rejected else refusal.message

    def settle(self) -> list[Attempt]:
        """Let held pods whose permits came go on, and turn away those that were denied or whose time is up.

        Returns the attempts that came to an end. Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go.
        """
        ended = []
        for uid, waiting in list(self.profile.waiting.items()):
            refusal = waiting.denied
            if refusal is None and waiting.waits:
                if waiting.deadline > self.shared.now:
                    continue
                refusal = refusal_after_timeout(waiting)
            attempt = self.held[uid]
            if refusal is None:
                self._bind(attempt)
            else:
                self._turn_away(attempt, waiting, refusal)
            attempt.waiting = False
            del self.held[uid], self.profile.waiting[uid]
            if attempt.row is not None:
                self.cluster.touch(attempt.row)
            ended.append(attempt)
        return ended


def refusal_after_timeout(waiting: WaitingPod) -> Status:
    plugin, seconds = min(waiting.waits.items(), key=lambda item: (item[1], item[0]))
    patience = Duration(round(seconds * 1_000_000_000))
    text = f"rejected due to timeout after waiting {patience} at plugin {plugin}"
    return Status(Code.UNSCHEDULABLE, (text,), plugin)
