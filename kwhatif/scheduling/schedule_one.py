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
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.interface import WaitingPod
from kwhatif.framework.node_results import result_cache_of
from kwhatif.framework.runner import Framework, States
from kwhatif.framework.status import Code, Diagnosis, Status, fit_message
from kwhatif.golang.parsing import Duration
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.node_sampling import Search, nodes_to_find, sample

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import ExtenderCycle, Extenders

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

    ``extenders`` are called, if there are any.
    """

    framework: Framework
    percentage: int
    waiting: dict[str, WaitingPod]
    extenders: Extenders | None = None


class Observer:
    """Looks on while pods are scheduled. This one does nothing; others override what they want to see."""

    def start_over(self) -> None:
        """The run begins again, from its beginning."""

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
    now          the moment, in seconds
    prefers      for pods by uid or key, the node to take if it is among the best
    search       which of the nodes that pass are found
    """

    next_start: int = 0
    now: float = 0.0
    prefers: Mapping[str, str] = field(default_factory=dict)
    observer: Observer = field(default_factory=Observer)
    search: Search = sample


@dataclass(frozen=True, slots=True)
class _RepeatableShape:
    """Pods of a shape of which nobody has anything to say but about nodes one by one.

    So it stays while the cluster meets no new template and all nodes are there: ``known`` are the number of templates
    and of comings. So many feasible nodes are ``enough``; ``states`` are what the attempts are given.
    """

    shape: PodShape
    known: tuple[int, int]
    evaluation: Evaluation
    enough: int
    states: States


class Scheduler:
    """Schedules pods onto a cluster, one at a time, under one profile.

    ``seed`` breaks ties at random as the real scheduler does; without one the first by name wins. A ``detailed``
    one keeps every plugin's scores in its attempts. ``held`` are the attempts whose pods wait for a permit, by uid.
    """

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        shared: SharedState | None = None,
        *,
        seed: int | None = None,
        detailed: bool = False,
    ) -> None:
        self.cluster = cluster
        self.profile = profile
        self.framework = profile.framework
        self.framework.attach(cluster)
        self.shared = shared or SharedState()
        self.detailed = detailed
        self.held: dict[str, Attempt] = {}
        self._random = None if seed is None else Random(seed)
        self._extenders = profile.extenders
        self._compares = bool(self.framework.scorers) or (self._extenders is not None and self._extenders.compare)
        self._evaluations: dict[int, Evaluation] = {}
        self._plain: _RepeatableShape | None = None

    def reseed(self, random: Random | None) -> None:
        """Break ties by this chance from now on; None for the first by name."""
        self._random = random

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
        if not len(self.cluster.node_order):
            return Attempt(pod, message=NO_NODES)
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
        return self._no_node(attempt, self.diagnose(pod, evaluation, attempt.extender_cycle))

    def _repeat_decision(self, pod: PodInfo) -> Attempt | None:
        """The decision about a pod that looks like the last one, without a question that has its answer; else None."""
        plain, cluster = self._plain, self.cluster
        if plain is None or plain.shape is not pod.shape or pod.nominated or cluster.nominated:
            return None
        if plain.known != (len(cluster.shapes.templates), cluster.membership_version) or cluster.too_many_tallies:
            return None
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
        if pod.shape.drift or self.framework.active_plugins(pod).pre_enqueue or not self._whole:
            return None
        known = len(cluster.shapes.templates), cluster.membership_version
        return _RepeatableShape(pod.shape, known, evaluation, self._enough(len(cluster)), attempt.states)

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

    def diagnose(self, pod: PodInfo, evaluation: Evaluation, asking: ExtenderCycle | None = None) -> Diagnosis:
        """Every node's verdict, for a pod whose PreFilter went through; with extenders, of the nodes looked at."""
        verdicts, considered = evaluation.verdicts(pod), evaluation.narrowed
        if not self._whole:
            verdicts.forget(np.flatnonzero(~self.cluster.active))
        nominated = self.cluster.columns.row(pod.nominated) if pod.nominated else None
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
        if pod.nominated:
            row = self.cluster.columns.row(pod.nominated)
            if row is not None and self.cluster.active[row]:
                if self.cluster.shapes.features.nominated_node_restarts_search:
                    self.shared.next_start = 0
                evaluation.refresh(pod)
                if not evaluation.passing(pod)[row]:
                    failed_first = row
                elif asking is None:
                    only = np.array([row], np.intp)
                    return Attempt(pod, row, None, only, 1, only)
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
            return self._choose(Attempt(pod, None, None, rows, evaluated), evaluation)
        error = asking.filter()
        if error is not None:
            return Attempt(pod, refused=error, message=error.message, extender_cycle=asking)
        return self._choose(
            Attempt(pod, None, None, asking.rows, asking.evaluated_count, extender_cycle=asking), evaluation
        )

    def _choose(self, attempt: Attempt, evaluation: Evaluation) -> Attempt:
        """The best of the feasible nodes."""
        pod, rows, asking = attempt.pod, attempt.sampled, attempt.extender_cycle
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
            attempt.best = best = rows[(totals == top).nonzero()[0]]
            attempt.row, attempt.score = self._break_tie(pod, best), top
        return attempt

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

    def _break_tie(self, pod: PodInfo, best: IntpArray) -> int:
        if len(best) == 1:
            return int(best[0])
        if prefers := self.shared.prefers:
            preferred = self.cluster.columns.row(prefers.get(pod.uid) or prefers.get(pod.key, ""))
            if preferred is not None and preferred in best:
                return preferred
        ranks = self.cluster.columns.name_rank[best]
        if self._random is not None:
            return int(best[np.argsort(ranks)[self._random.randrange(len(best))]])
        return int(best[ranks.argmin()])

    # --- afterwards

    def _no_node(self, attempt: Attempt, diagnosis: Diagnosis) -> Attempt:
        attempt.diagnosis = diagnosis
        result = self.framework.post_filter(attempt.pod, diagnosis)
        attempt.message = diagnosis.message(result.status.message if result.status else "")
        attempt.nominated, attempt.victims = result.nominated, result.victims
        attempt.criterion, attempt.candidates = result.criterion, result.candidates
        return attempt

    def _commit(self, attempt: Attempt) -> None:
        """Assume, reserve, permit, bind; undone step by step when a plugin refuses."""
        pod, row = attempt.pod, attempt.row
        assert row is not None
        node = self.cluster.columns.names[row]
        self.cluster.assume(pod, row)
        if pod.nominated:
            self.cluster.remove_nomination(pod.uid)
        refusal = self.framework.reserve(pod, node, attempt.states)
        if refusal is not None:
            self.cluster.forget(pod.uid)
            self._refuse(attempt, refusal)
            return
        answer = self.framework.permit(pod, node, attempt.states)
        if isinstance(answer, Status):
            self.take_back(attempt)
            self._refuse(attempt, answer)
        elif answer is not None:
            self.profile.waiting[pod.uid] = WaitingPod(pod, node, self.shared.now, answer)
            self.held[pod.uid] = attempt
            attempt.waiting = True
        else:
            self._bind(attempt)

    def _bind(self, attempt: Attempt) -> None:
        assert attempt.row is not None
        before = None if self._extenders is None else self._extenders.bind
        refusal = self.framework.bind(attempt.pod, self.cluster.columns.names[attempt.row], attempt.states, before)
        if refusal is not None:
            # Past Permit, any refusal is an accident: the pod was not found unschedulable, it backs off and comes back.
            self._lose(attempt, Status(Code.ERROR, refusal.reasons, refusal.plugin))

    def _lose(self, attempt: Attempt, refusal: Status) -> None:
        attempt.lost = True
        self.take_back(attempt)
        self._refuse(attempt, refusal)

    def take_back(self, attempt: Attempt) -> None:
        """Give back what a pod that was placed has reserved, and its room."""
        assert attempt.row is not None
        self.framework.unreserve(attempt.pod, self.cluster.columns.names[attempt.row], attempt.states)
        self.cluster.forget(attempt.pod.uid)

    def _refuse(self, attempt: Attempt, refusal: Status) -> None:
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
                refusal = _too_late(waiting)
            attempt = self.held[uid]
            if refusal is None:
                self._bind(attempt)
            else:
                self._lose(attempt, refusal)
            attempt.waiting = False
            del self.held[uid], self.profile.waiting[uid]
            ended.append(attempt)
        return ended


def _too_late(waiting: WaitingPod) -> Status:
    plugin, seconds = min(waiting.waits.items(), key=lambda item: (item[1], item[0]))
    patience = Duration(round(seconds * 1_000_000_000))
    text = f"rejected due to timeout after waiting {patience} at plugin {plugin}"
    return Status(Code.UNSCHEDULABLE, (text,), plugin)
