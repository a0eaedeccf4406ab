"""The evaluation of one pod shape on one cluster under one profile, kept up to date row by row.

Placing a pod changes one row. So the results of plugins that read Node objects only are computed once a shape, those of
plugins that also read a node's own pods again for rows in the journal, and only the rest for every pod.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView, NominatedPods, nominated_pods
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.framework.node_results import (
    JoinedResults,
    NodeScopeResults,
    PluginSet,
    RowScopeResults,
    result_cache_of,
)
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import SKIP, Code, PreFilterResult, Skip, Status, Verdicts

AnyPlugin = Plugin[Any, Any]
_ALL, _PAST_NODES = tuple(Scope), (Scope.ROW, Scope.CLUSTER)


class PluginScore(msgspec.Struct, frozen=True, eq=False):
    """A plugin's scores over n nodes: int64[n] each; ``weighted`` is ``normalized`` times ``weight``.

    ``describe`` tells the arithmetic behind the score of a place, as long as the cluster is as it was.
    """

    plugin: str
    weight: int
    raw: Int64Array
    normalized: Int64Array
    describe: Callable[[int], str] | None = None

    @property
    def weighted_score(self) -> Int64Array:
        return self.normalized * self.weight

    def at_places(self, places: Sequence[int]) -> PluginScore:
        """The scores of some of the nodes."""
        describe, rows = self.describe, list(places)
        return replace(
            self,
            raw=self.raw[rows],
            normalized=self.normalized[rows],
            describe=None if describe is None else lambda place: describe(rows[place]),
        )


class Evaluation:
    """Filters and scores of one shape."""

    def __init__(self, framework: Framework, cluster: Cluster, pod: PodInfo) -> None:
        self._framework = framework
        self.cluster = cluster
        self.refusal: Status | None = None
        self.score_error: Status | None = None
        self.narrowed: IntpArray | None = None
        self.narrowed_names: frozenset[str] = frozenset()
        self.narrowed_by: tuple[str, ...] = ()
        self.reached = frozenset(plugin.name for plugin in framework.pre_filters)
        self._everything = NodeView(cluster)
        self._outcomes: dict[str, object] = {}
        self._asked_each_time: list[AnyPlugin] = []
        self._idle = framework.active_plugins(pod).idle
        self._scopes = {plugin.name: plugin.scopes(pod) for plugin in framework.all_plugins}
        self.troubled = False
        self._filters: dict[tuple[Scope, ...], list[tuple[AnyPlugin, object]]] = {}
        for plugin in framework.pre_filters:
            if plugin.name in self._idle:
                self._outcomes[plugin.name] = SKIP
            elif self._filter_scope(plugin) is Scope.CLUSTER:
                self._asked_each_time.append(plugin)
            else:
                self._outcomes[plugin.name] = framework.run_pre_filter(plugin, pod, cluster)
        speak = any(isinstance(o, Status | PreFilterResult) for o in self._outcomes.values())
        self._settled = not speak and framework.unprepared is None
        self._prepare(pod)
        self.reach = 0
        self._unchanged: tuple[int, Verdicts] | None = None
        self._beside: tuple[tuple[int, NominatedPods], Verdicts] | None = None
        self._none_passed = -1  # how long the journal was when no node passed; -1 while one does

    # --- filters

    def _prepare(self, pod: PodInfo) -> None:
        """Find the plugins that run, and cached results of theirs."""
        framework, cluster = self._framework, self.cluster
        filters: dict[Scope, list[tuple[AnyPlugin, object]]] = {scope: [] for scope in Scope}
        scorers: dict[Scope, list[tuple[AnyPlugin, int, object]]] = {scope: [] for scope in Scope}
        for plugin in framework.filters:
            scope = self._filter_scope(plugin)
            state = None if scope is Scope.CLUSTER else self._state(plugin)
            if plugin.name not in self._idle and not isinstance(state, Skip):
                filters[scope].append((plugin, state))
        for plugin, weight in framework.scorers:
            if plugin.name not in self._idle:
                scorers[self._scopes[plugin.name][1]].append((plugin, weight, self.pre_filter_state_of(plugin)))
        self._everybody = (
            tuple(self._asked_each_time),
            tuple(plugin for plugin, _ in filters[Scope.CLUSTER]),
            tuple((plugin, weight) for plugin, weight, _ in scorers[Scope.CLUSTER]),
        )
        self._may_be_silent = [plugin for plugin in framework.may_be_silent if plugin.name not in self._idle]
        self._listened = -1, -1
        self._cluster_filters: list[AnyPlugin] = []
        self._cluster_scorers: list[tuple[AnyPlugin, int]] = []
        self._looking: list[tuple[AnyPlugin, object]] = []
        static, rows = (
            PluginSet(framework, cluster, filters[scope], scorers[scope]) for scope in (Scope.NODE, Scope.ROW)
        )
        shelf = result_cache_of(cluster, framework)
        self._static, self._rows = shelf.find(NodeScopeResults, static, pod), shelf.find(RowScopeResults, rows, pod)
        self._one_by_one = JoinedResults(self._static, self._rows)
        self._normalized = (*self._static.normalized, *self._rows.normalized)

    @property
    def ok(self) -> BoolArray:
        """bool[N]: nodes that pass the filters that look at nodes one by one, as of the last refresh. Not to be
        changed.
        """
        self._one_by_one.catch_up()
        return self._one_by_one.ok

    @property
    def passing_rows(self) -> IntpArray:
        """intp[k]: the rows of these nodes, in their order."""
        self._one_by_one.catch_up()
        return self._one_by_one.passing_rows

    def _state(self, plugin: AnyPlugin) -> object:
        """The state that PreFilter made for Filter; SKIP as well where it refused the pod."""
        outcome = self._outcomes.get(plugin.name)
        if isinstance(outcome, Status):
            return SKIP
        return outcome.state if isinstance(outcome, PreFilterResult) else outcome

    def pre_filter_state_of(self, plugin: AnyPlugin) -> object:
        """The state that the plugin's PreFilter made for the last pod; None where it made none."""
        state = self._state(plugin)
        return None if isinstance(state, Skip) else state

    def _filter_scope(self, plugin: AnyPlugin) -> Scope:
        return self._scopes[plugin.name][0]

    def begin(self, pod: PodInfo) -> None:
        """Run PreFilter for a pod of this shape."""
        self.troubled = False
        self._beside = None
        self._follow_nodes(pod)
        self._listen(pod)
        for plugin in self._asked_each_time:
            outcome = self._framework.run_pre_filter(plugin, pod, self.cluster)
            self._outcomes[plugin.name] = outcome
            if isinstance(outcome, Status | PreFilterResult):
                self._settled = False
        if not self._settled:
            self._fold_pre_filter()
        states = ((plugin, self._state(plugin)) for plugin in self._cluster_filters)
        self._looking = [(plugin, state) for plugin, state in states if not isinstance(state, Skip)]
        self._filters.clear()

    def _follow_nodes(self, pod: PodInfo) -> None:
        """Bring up to date what depends on which nodes there are, and on their taints."""
        self._static.catch_up(pod)
        if self._everything.columns is not self.cluster.columns:
            self._everything = NodeView(self.cluster)
            self._normalized = (*self._static.normalized, *self._rows.normalized)

    def _listen(self, pod: PodInfo) -> None:
        """Find the plugins of scope CLUSTER that never filter or score such pods."""
        about = pod.shape.index, len(self.cluster.shapes.templates)
        if about == self._listened:
            return
        self._listened = about
        silent = {plugin.name for plugin in self._may_be_silent if _is_silent(plugin, pod, self.cluster)}
        self._outcomes.update(dict.fromkeys(silent, SKIP))
        pre_filters, filters, scorers = self._everybody
        self._asked_each_time = [plugin for plugin in pre_filters if plugin.name not in silent]
        self._cluster_filters = [plugin for plugin in filters if plugin.name not in silent]
        self._cluster_scorers = [(plugin, weight) for plugin, weight in scorers if plugin.name not in silent]

    def _fold_pre_filter(self) -> None:
        """Refusals and narrowings in plugin order (upstream: RunPreFilterPlugins)."""
        self.refusal, self.narrowed, self.narrowed_by = None, None, ()
        names: frozenset[str] | None = None
        refused: Status | None = None
        reached = []
        features = self.cluster.shapes.features
        for plugin in self._framework.pre_filters:
            reached.append(plugin.name)
            outcome = self._outcomes[plugin.name]
            if isinstance(outcome, Status):
                refused = outcome
                if outcome.code is not Code.UNSCHEDULABLE or not features.prefilter_goes_on_after_unschedulable:
                    break
            elif isinstance(outcome, PreFilterResult):
                names = outcome.names if names is None else names & outcome.names
                self.narrowed_by = (*self.narrowed_by, plugin.name)
                if not names:
                    who = list(self.narrowed_by)
                    if features.narrowing_plugins_are_rejectors:
                        who.sort()
                    text = f"plugin {who[0]}" if len(who) == 1 else f"plugin(s) [{' '.join(who)}] simultaneously"
                    hopeless = features.narrowed_to_nothing_is_unresolvable
                    code = Code.UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
                    refused = Status(code, (f"node(s) didn't satisfy {text}",))
                    break
        self.refusal = refused or self._framework.unprepared
        self.reached = frozenset(reached)
        if names is not None:
            positions = (self.cluster.columns.row(name) for name in names)
            self.narrowed_names = names
            rows = np.array(sorted(row for row in positions if row is not None), np.intp)
            self.narrowed = rows[~self.cluster.left_out[rows]]

    @property
    def narrows(self) -> bool:
        """Whether a plugin narrows the choice of nodes for pods like this one."""
        return not self._settled and any(isinstance(outcome, PreFilterResult) for outcome in self._outcomes.values())

    @property
    def narrowing_plugins(self) -> tuple[str, ...]:
        """The plugins that narrowed the choice; none where a plugin refused the pod."""
        refusal = self.refusal
        outright = refusal is not None and refusal.plugin and refusal.code is not Code.UNSCHEDULABLE
        return () if outright else self.narrowed_by

    def refresh(self, pod: PodInfo) -> None:
        """Bring filters and scores up to date for the rows that changed."""
        self._rows.refresh(pod)

    def none_passes(self, pod: PodInfo) -> bool:
        """Whether no node passes all filters, and none of them meets an error."""
        if self._none_passes_alone(pod):
            return True
        self.begin(pod)
        return self.refusal is None and not (self.passing(pod) & self.cluster.active).any() and not self.troubled

    def _none_passes_alone(self, pod: PodInfo) -> bool:
        """Whether the filters of scope NODE and ROW leave no node, whatever the others say.

        Only nodes that changed since the last call are evaluated, of those that may take such pods at all.
        """
        journal = self.cluster.journal
        self._follow_nodes(pod)
        changed = self.cluster.list_changed_rows(self._none_passed) if self._none_passed >= 0 else []
        if self._none_passed < 0 or (changed and self._static.ok[changed].any()):
            self.refresh(pod)
            self._none_passed = -1 if (self.ok & self.cluster.active).any() else len(journal)
        else:
            self._none_passed = len(journal)
        return self._none_passed >= 0

    def find_stale_rows(self) -> Collection[int]:
        """Rows whose answers are out of date."""
        return self._rows.find_stale_rows()

    def passing(self, pod: PodInfo) -> BoolArray:
        """bool[N]: nodes that pass all filters, as of the last refresh for filters that look at rows."""
        ok = self._filter_by_cluster(pod, self._everything, self.ok.copy())
        if self.cluster.nominated and len(rows := (nominated := nominated_pods(self.cluster, pod)).rows):
            ok[rows] &= self._verdicts_beside(pod, nominated).feasible
        return ok

    def passing_among(self, pod: PodInfo, rows: IntpArray) -> BoolArray:
        """bool[n]: which of these rows pass all filters, nominations left aside; as of the last refresh, as above."""
        return self._filter_by_cluster(pod, NodeView(self.cluster, rows), self.ok[rows])

    def _filter_by_cluster(self, pod: PodInfo, view: NodeView, ok: BoolArray) -> BoolArray:
        """``ok`` bool[n] without the nodes that those reject who look at the whole cluster."""
        for plugin, state in self._looking:
            for rejection in self._framework.run_filter(plugin, pod, view, state):
                ok &= ~rejection.where
                self.troubled |= rejection.error
        return ok

    @property
    def has_cluster_scope(self) -> bool:
        """Whether a plugin of scope CLUSTER runs for the last pod."""
        return bool(self._asked_each_time or self._cluster_filters or self._cluster_scorers)

    @property
    def depends_on_other_pods(self) -> bool:
        """Whether a filter reads the pods of other nodes, for the last pod."""
        return bool(self._looking)

    @property
    def depends_on_sums_only(self) -> bool:
        """Whether filters look at nothing but what ``looks_of`` says of a node, for the pod that began last."""
        return not self._looking and self._rows.filters_by_sums

    def looks_of(self, rows: IntpArray) -> Int64Array:
        """int64[n, m]: all that such filters see of nodes: they say the same of those where it is equal."""
        cluster = self.cluster
        return np.column_stack([self._static.ok[rows], cluster.columns.capacity_codes[rows], cluster.sums[rows]])

    @property
    def ignores_labels_of_others(self) -> bool:
        """Whether filters do not tell other pods apart by their labels, for the pod that began last."""
        return not self._looking and self._framework.is_in_tree

    def _running(self, scopes: tuple[Scope, ...]) -> list[tuple[AnyPlugin, object]]:
        """The filters of these scopes, in their order, with what their PreFilter made for the pod that began last."""
        filters = self._filters.get(scopes)
        if filters is None:
            filters = self._filters[scopes] = [
                (plugin, state)
                for plugin in self._framework.filters
                if plugin.name not in self._idle and self._filter_scope(plugin) in scopes
                if not isinstance(state := self._state(plugin), Skip)
            ]
        return filters

    def verdicts_on(self, pod: PodInfo, view: NodeView) -> Verdicts:
        """All filters' verdicts on a view as it is."""
        verdicts = Verdicts(view.size, all_reasons=self._framework.all_filters)
        # Those that look at Node objects alone have nothing to say where they reject none.
        for plugin, state in self._running(_PAST_NODES if self._static.passes_all else _ALL):
            verdicts.take(plugin.name, self._framework.run_filter(plugin, pod, view, state))
        return verdicts

    def verdicts(self, pod: PodInfo) -> Verdicts:
        """Verdicts on all nodes, with nominated pods added. They may be those of another pod: not to be changed."""
        # Thousands of pods may fail on a full cluster, and arrays of a node each would fill the memory.
        alone, seen = self.depends_on_sums_only and not self.cluster.nominated, len(self.cluster.journal)
        if alone and self._unchanged is not None and self._unchanged[0] == seen:
            return self._unchanged[1]
        verdicts = self.verdicts_on(pod, self._everything)
        self._unchanged = (seen, verdicts) if alone else None
        if len(rows := (nominated := nominated_pods(self.cluster, pod)).rows):
            with_them = self._verdicts_beside(pod, nominated)
            rejected = ~with_them.feasible
            if rejected.any():
                kept = NodeView(self.cluster, rows[rejected], nominated.change.part(rejected))
                verdicts.overlay(rows[rejected], self.verdicts_on(pod, kept))
        return verdicts

    def _verdicts_beside(self, pod: PodInfo, nominated: NominatedPods) -> Verdicts:
        """Verdicts on the nodes that pods are nominated to, with these there; computed once a cycle.

        Upstream: RunFilterPluginsWithNominatedPods.
        """
        seen = len(self.cluster.journal), nominated
        if self._beside is None or self._beside[0] != seen:
            view = NodeView(self.cluster, nominated.rows, nominated.change)
            self._beside = seen, self.verdicts_on(pod, view)
        return self._beside[1]

    def fits_after(self, pod: PodInfo, view: NodeView) -> BoolArray:
        """bool[n]: nodes that pass all filters after the view's change of pods."""
        ok: BoolArray = np.array(view.take_rows(self._static.ok))
        for plugin, state in self._running(_PAST_NODES):
            for rejection in self._framework.run_filter(plugin, pod, view, state):
                ok &= ~rejection.where
        return ok

    # --- scores

    def totals(self, pod: PodInfo, rows: IntpArray) -> Int64Array:
        """int64[n]: the weighted sum of all scores, normalised among ``rows``."""
        self.score_error = self._static.error or self._rows.error
        self._one_by_one.catch_up()
        total: Int64Array = self._one_by_one.local.take(rows)
        if self._normalized or self._cluster_scorers:
            view = NodeView(self.cluster, rows)
            for held in self._normalized:
                scores = self._framework.run_normalize(held.plugin, pod, view, held.state, held.raw[rows])
                total += held.weight * scores
            for plugin, weight in self._cluster_scorers:
                score = self._score_one(plugin, pod, view)
                if score is not None:
                    total += weight * score[2]
        return total

    def _score_one(
        self, plugin: AnyPlugin, pod: PodInfo, view: NodeView
    ) -> tuple[object, Int64Array, Int64Array] | None:
        """The state of PreScore, and int64[n] each: raw and normalised scores; None where the plugin skips or fails."""
        state = self._framework.run_pre_score(plugin, pod, view, self.pre_filter_state_of(plugin))
        if isinstance(state, Status):
            self.score_error = self.score_error or state
            return None
        if isinstance(state, Skip):
            return None
        raw = self._framework.run_score(plugin, pod, view, state)
        return state, raw, self._framework.run_normalize(plugin, pod, view, state, raw)

    def scores(self, pod: PodInfo, rows: IntpArray, apart: NodeView | None = None) -> list[PluginScore]:
        """Every plugin's own scores among ``rows``, in the profile's order; plugins that skip or fail are left out.

        Plugins that look at nodes one by one find them as they are ``apart``, if that is given.
        """
        view = NodeView(self.cluster, rows)
        table = []
        for plugin, weight in self._framework.scorers:
            looks_around = self._scopes[plugin.name][1] is Scope.CLUSTER
            seen = view if apart is None or looks_around else apart
            scores = self._score_one(plugin, pod, seen)
            if scores is not None:
                state, raw, normalized = scores
                describe = partial(self._framework.describe_score, plugin, pod, seen, state)
                table.append(PluginScore(plugin.name, weight, raw, normalized, describe))
        return table


def _is_silent(plugin: AnyPlugin, pod: PodInfo, cluster: Cluster) -> bool:
    """An error raised here is raised by the plugin's hooks as well, and is reported of these."""
    try:
        return plugin.never_filters_or_scores(pod, cluster)
    except Exception:
        return False
