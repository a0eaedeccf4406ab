"""Extenders in the scheduling cycle: filtering and scoring of feasible nodes, victims, and binding.

Their answers are external, for one pod at one moment, and are never cached. Upstream: pkg/scheduler/schedule_one.go
(findNodesThatPassExtenders, prioritizeNodes, extendersBinding) and callExtenders in
pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.evaluation import Evaluation, PluginScore
from kwhatif.framework.status import EXTENDER, SKIP, Code, Rejection, Skip, Status, Verdicts
from kwhatif.golang.formatting import go_quote
from kwhatif.golang.numbers import wrap_int64
from kwhatif.policy.structs import Extender as Configured
from kwhatif.scheduling.extenders.client import Extender
from kwhatif.scheduling.extenders.http_caller import ExtenderError
from kwhatif.scheduling.extenders.wire import FilterResult
from kwhatif.scheduling.preemption_candidates import Victims

SCALE = 10
"""Extenders score up to 10, plugins up to 100; neither limit is checked for extenders."""


class Extenders:
    """All extenders of a configuration, those whose failures are ignored last.

    ``bind`` says whether their bind calls are made, too: these have effects. ``compare``: for their sake one feasible
    node is not enough, though no plugin scores nodes. Raises PolicyError for TLS settings that kube-scheduler would
    not start with.
    """

    def __init__(self, configured: Iterable[Configured], *, bind: bool = False) -> None:
        self.all = sorted((Extender(one) for one in configured), key=lambda extender: extender.ignorable)
        self.bind_calls = bind
        self.compare = any(extender.filters or extender.prioritizes for extender in self.all)

    def begin_cycle(self, pod: PodInfo, cluster: Cluster) -> ExtenderCycle:
        """The extenders for one pod's cycle."""
        return ExtenderCycle(self, pod, cluster)

    def without_binding(self) -> Extenders:
        """The same for hypothetical pods, which are never bound."""
        twin = copy.copy(self)
        twin.bind_calls = False
        return twin

    def interested_extenders(self, pod: PodInfo) -> list[Extender]:
        return [extender for extender in self.all if extender.is_interested(pod)]

    def preempt(self, pod: PodInfo, cluster: Cluster, claims: Mapping[str, Victims]) -> dict[str, Victims] | Status:
        """The candidates that are left, by node; an error of an extender that is not ignorable."""
        left = dict(claims)
        for extender in self.interested_extenders(pod):
            if not extender.preempts:
                continue
            try:
                answer = extender.preempt(pod, cluster, left)
                left = _with_victims(extender, pod, answer)
            except ExtenderError as error:
                outcome = "the candidates stayed as they were" if extender.ignorable else "the preemption failed"
                extender.record_failure("preempt", pod, error, outcome)
                if not extender.ignorable:
                    return Status.error(str(error))
            if not left:
                break
        return left

    def bind(self, pod: PodInfo, node: str) -> Status | Skip | None:
        """Bind the pod, or SKIP to leave it to the profile's plugins."""
        for extender in self.interested_extenders(pod):
            if not extender.binds:
                continue
            if not self.bind_calls:
                extender.assumed.append(pod.key)
                return None
            try:
                extender.bind(pod, node)
            except ExtenderError as error:
                outcome = "the binding was left to the next binder" if extender.ignorable else "the pod was not bound"
                extender.record_failure("bind", pod, error, outcome)
                if extender.ignorable:
                    continue
                return Status(Code.ERROR, (str(error),), EXTENDER)
            return None
        return SKIP


def _with_victims(extender: Extender, pod: PodInfo, answer: dict[str, Victims]) -> dict[str, Victims]:
    """The answer without nodes that lack victims, which only an ignorable extender may have."""
    for node, claim in answer.items():
        if not claim.victims:
            problem = f"expected at least one victim pod on node {go_quote(node)}"
            if not extender.ignorable:
                raise ExtenderError(problem)
            extender.record_failure("preempt", pod, problem, "the node was passed over")
    return {node: claim for node, claim in answer.items() if claim.victims}


class ExtenderRejection(msgspec.Struct, frozen=True):
    """Why an extender rejects a node."""

    message: str
    unresolvable: bool
    extender: str


class ExtenderCycle:
    """The extenders asked about one pod in one cycle.

    ``rows`` and ``nodes`` are the nodes that are left, in the order of the last answer. ``opinions`` are rejections
    by name of the node, ``silent`` the extender that left a row out without a word. ``rejected`` are the rows that
    plugins rejected before, ``looked`` the rows looked at (None: all). ``scores`` are those of plugins, if they were
    worked out anew, and of extenders, over ``rows``. ``scored`` are the names of the nodes
    that an extender gave a score.
    """

    def __init__(self, extenders: Extenders, pod: PodInfo, cluster: Cluster) -> None:
        self._pod, self._cluster = pod, cluster
        self._interested = extenders.interested_extenders(pod)
        self._asked: frozenset[int] = frozenset()
        self.rows: IntpArray = np.zeros(0, np.intp)
        self.nodes: list[Node] = []
        self.fresh: Extender | None = None
        self.opinions: dict[str, tuple[ExtenderRejection, ...]] = {}
        self.silent: dict[int, str] = {}
        self.rejected: set[int] = set()
        self.looked: IntpArray | None = None
        self.narrowed = False
        self.scores: list[PluginScore] = []
        self.plugins_scored = False
        self.scored: set[str] = set()

    @property
    def evaluated_count(self) -> int:
        """How many nodes were evaluated: those left, and those with a reason to be rejected."""
        rows = (self._cluster.columns.row(name) for name in self.opinions)
        return len(self.rows) + len(self.rejected) + sum(row not in self.rejected for row in rows)

    # --- filter

    def evaluate_nominated_node(self, row: int) -> IntpArray:
        """Whether the nominated node is feasible; an error only means that it is not."""
        self._begin(np.array([row], np.intp))
        try:
            self._filter()
        except ExtenderError:
            self.rows = self.rows[:0]
        return self.rows

    def record_feasible(self, rows: IntpArray, looked: IntpArray, failed_first: int | None) -> None:
        """Plugins let ``rows`` pass of those ``looked`` at, and did not before that the nominated one."""
        self.rejected = set(looked.tolist()) - set(rows.tolist())
        if failed_first is not None:
            self.rejected.add(failed_first)
        self.opinions = {
            name: said for name, said in self.opinions.items() if self._cluster.columns.row(name) not in self.rejected
        }
        self.looked = looked if failed_first is None else np.union1d(looked, [failed_first])
        self._begin(rows)

    def filter(self) -> Status | None:
        """Call the extenders with the rows found; an error ends the attempt."""
        before = len(self.rows)
        try:
            self._filter()
        except ExtenderError as error:
            return Status(Code.ERROR, (str(error),), EXTENDER)
        self.narrowed = len(self.rows) != before
        return None

    def covers(self, rows: IntpArray) -> bool:
        """Whether the extenders were called with exactly these rows."""
        return self._asked == set(rows.tolist())

    def _begin(self, rows: IntpArray) -> None:
        self._asked = frozenset(rows.tolist())
        self.rows, self.fresh = rows, None
        self.nodes = [self._cluster.columns.nodes[row] for row in rows.tolist()]
        self.silent = {}

    def _filter(self) -> None:
        for extender in self._interested:
            if not len(self.rows):
                break
            if not extender.filters:
                continue
            try:
                answer = extender.filter(self._pod, self.nodes)
            except ExtenderError as error:
                outcome = "it was skipped" if extender.ignorable else "the pod was not scheduled"
                extender.record_failure("filter", self._pod, error, outcome)
                if extender.ignorable:
                    continue
                raise
            self._take(extender, answer)

    def _take(self, extender: Extender, answer: FilterResult) -> None:
        features = self._cluster.shapes.features
        hopeless = answer.failed_and_unresolvable_nodes
        reasons = answer.failed_nodes | hopeless
        for name, message in reasons.items():
            opinion = ExtenderRejection(message, name in hopeless, extender.name)
            before = self.opinions.get(name, ()) if features.extenders_reasons_add_up else ()
            self.opinions[name] = (*before, opinion)
        row_numbers = self.rows.tolist()
        if not extender.whole_nodes and answer.node_names is not None:
            known = {node.name: node for node in self.nodes}
            self.nodes = [known[name] for name in answer.node_names]
        else:
            self.nodes = self._known_nodes(extender, answer.nodes.items if answer.nodes else ())
            self.fresh = extender
        rows = [self._cluster.columns.row(node.name) for node in self.nodes]
        self.rows = np.array(rows, np.intp)
        named = {self._cluster.columns.row(name) for name in reasons}
        self.silent |= {row: extender.name for row in row_numbers if row not in named and row not in rows}

    def _known_nodes(self, extender: Extender, nodes: Sequence[Node]) -> list[Node]:
        """The nodes of an answer that the cluster has; upstream would go on with the others as well."""
        lost = [node.name for node in nodes if self._cluster.columns.row(node.name) is None]
        if lost:
            text = f"it returned nodes that the cluster does not have: {', '.join(lost[:10])}"
            extender.record_failure(
                "filter", self._pod, text, "they were left out, kube-scheduler would take them for nodes"
            )
        return [node for node in nodes if self._cluster.columns.row(node.name) is not None]

    # --- what the message and the search for victims go by

    def fold(self, verdicts: Verdicts) -> None:
        """Add the extenders' verdicts to the plugins', and drop those on nodes that were not evaluated."""
        if self.looked is not None:
            verdicts.forget(np.setdiff1d(np.arange(len(self._cluster)), self.looked))
        self.add_to(verdicts)

    def add_to(self, verdicts: Verdicts) -> None:
        """Replace the plugins' verdicts by those of the extenders."""
        known = {
            row: said for name, said in self.opinions.items() if (row := self._cluster.columns.row(name)) is not None
        }
        if known:
            rows = np.array(sorted(known), np.intp)
            ours = Verdicts(len(rows))
            ours.take(EXTENDER, _rejections([known[row] for row in rows.tolist()]))
            verdicts.overlay(rows, ours)

    @property
    def unknown_nodes(self) -> tuple[str, ...]:
        """Messages about nodes that the cluster does not have."""
        return tuple(
            opinion.message
            for name, said in self.opinions.items()
            if self._cluster.columns.row(name) is None
            for opinion in said
        )

    # --- prioritize

    def score(self, evaluation: Evaluation, totals: Int64Array) -> Int64Array:
        """int64[n]: the plugins' totals of ``rows`` with the extenders' scores added."""
        if self.fresh is not None and self._cluster.shapes.features.extenders_nodes_are_scored_as_sent:
            self.fresh.emptied = True
            self.scores, self.plugins_scored = self._scores_of_fresh(evaluation), True
            totals = np.zeros(len(self.rows), np.int64)
            for scores in self.scores:
                totals += scores.weighted_score
        totals = totals.copy()
        for extender in self._interested:
            if extender.prioritizes:
                priorities = self._prioritize(extender)
                if priorities is not None:
                    self.scores.append(priorities)
                    totals += priorities.weighted_score
            else:
                # Upstream has a score of 0 from it for every node.
                self.scored.update(node.name for node in self.nodes)
        return totals

    @property
    def is_randomized(self) -> BoolArray:
        """bool[n]: which of ``rows`` have a random number as second key, since an extender scored them."""
        return np.array([node.name in self.scored for node in self.nodes], np.bool_)

    def all_scores(self, plugins: list[PluginScore], rows: IntpArray) -> list[PluginScore]:
        """The extenders' scores of some of ``rows``, with the plugins' scores unless these were recomputed."""
        place_of = {row: place for place, row in enumerate(self.rows.tolist())}
        places = [place_of[row] for row in rows.tolist()]
        own = [scores.at_places(places) for scores in self.scores]
        return own if self.plugins_scored else [*plugins, *own]

    def _prioritize(self, extender: Extender) -> PluginScore | None:
        try:
            answer = extender.prioritize(self._pod, self.nodes)
        except ExtenderError as error:
            extender.record_failure("prioritize", self._pod, error, "it gave no scores")
            return None
        sums: dict[str, int] = {}
        for said in answer:
            sums[said.host] = sums.get(said.host, 0) + said.score
        self.scored.update(sums)
        raw = np.array([wrap_int64(sums.get(node.name, 0)) for node in self.nodes], np.int64)
        return PluginScore(extender.name, extender.weight, raw, raw * SCALE)

    def _scores_of_fresh(self, evaluation: Evaluation) -> list[PluginScore]:
        """Plugins' scores of nodes as the extender returned them, without pods and images.

        Upstream makes new NodeInfos of them. Plugins that look beyond a node see the cluster as it is.
        """
        sent = {node.name: node for node in self.nodes}
        bare = [replace(node, status=replace(node.status, images=None)) for node in sent.values()]
        empty = Cluster(bare, self._cluster.shapes)
        rows = np.array([empty.columns.row(node.name) for node in self.nodes], np.intp)
        return evaluation.scores(self._pod, self.rows, NodeView(empty, rows))


def _rejections(rejections: Sequence[tuple[ExtenderRejection, ...]]) -> Iterable[Rejection]:
    for opinion in dict.fromkeys(opinion for opinions in rejections for opinion in opinions):
        where = np.array([opinion in opinions for opinions in rejections], np.bool_)
        detail = f"said by {opinion.extender}"
        yield Rejection(where, opinion.message, opinion.unresolvable, lambda _, detail=detail: detail)  # type: ignore[misc]
