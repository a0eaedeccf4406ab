"""Results of plugins of scope NODE and ROW on all nodes, shared by all pods that are equal to these plugins.

What depends on Node objects alone is computed once; what also depends on a node's own pods, again for the rows that
changed. A thousand templates with the same requests share the latter, and differ in tolerations, node affinity or
images only.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.interface import Plugin, overrides
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import Skip, Status

AnyPlugin = Plugin[Any, Any]
Filters = Sequence[tuple[AnyPlugin, object]]
"""Plugins with what their PreFilter made."""

Scorers = Sequence[tuple[AnyPlugin, int, object]]
"""Plugins with their weights and what their PreFilter made."""


Sums = tuple[int, bytes]
"""What a node has, as a number, and what its pods come to."""

_MOST_SUMS = 8192
_FEW = 24
"""Up to this number rows are looked up; for more it is faster to evaluate them again."""
_MOST_UPDATES = 4096
"""So long a list of rows is kept for those who follow it."""


class PluginSet(msgspec.Struct, frozen=True, eq=False):
    """Plugins of one profile, evaluated on the nodes of one cluster."""

    framework: Framework
    cluster: Cluster
    filters: Filters
    scorers: Scorers

    def cache_key(self, pod: PodInfo) -> Hashable:
        """The plugins, and what they read of the pod: results are shared for equal keys."""
        filtering = tuple([(plugin.name, plugin.cache_key(pod)) for plugin, _ in self.filters])
        scoring = tuple([(plugin.name, plugin.cache_key(pod)) for plugin, _, _ in self.scorers])
        return filtering, scoring


class RawScore(msgspec.Struct, eq=False):
    """Raw scores, int64[N], that are normalised among the nodes that are compared."""

    plugin: AnyPlugin
    weight: int
    state: object
    raw: Int64Array


class NodeResults:
    """Results of some plugins on all nodes.

    ok            bool[N]: nodes that pass the filters
    local         int64[N]: the weighted sum of the scores that are not normalized
    normalized    the others
    error         PreScore's, which ends every cycle that scores
    """

    def __init__(self, panel: PluginSet, pod: PodInfo) -> None:
        self._framework = framework = panel.framework
        self._cluster, self._filters = panel.cluster, panel.filters
        self.error: Status | None = None
        self.normalized: list[RawScore] = []
        self._scorers: list[tuple[AnyPlugin, int, object]] = []
        everything = NodeView(panel.cluster)
        self.ok = self._run_filters(pod, everything)
        for plugin, weight, made in panel.scorers:
            state = framework.run_pre_score(plugin, pod, everything, made)
            if isinstance(state, Status):
                self.error = self.error or state
            elif isinstance(state, Skip):
                continue
            elif overrides(type(plugin), "normalize"):
                raw = np.array(framework.run_score(plugin, pod, everything, state))
                self.normalized.append(RawScore(plugin, weight, state, raw))
            else:
                self._scorers.append((plugin, weight, state))
        self.local = self._scores(pod, everything)

    def _run_filters(self, pod: PodInfo, view: NodeView) -> BoolArray:
        ok = np.ones(view.size, np.bool_)
        for plugin, state in self._filters:
            for rejection in self._framework.run_filter(plugin, pod, view, state):
                ok &= ~rejection.where
        return ok

    def _scores(self, pod: PodInfo, view: NodeView) -> Int64Array:
        total = np.zeros(view.size, np.int64)
        for plugin, weight, state in self._scorers:
            total += weight * self._framework.check_scores(plugin, self._framework.run_score(plugin, pod, view, state))
        return total


class NodeScopeResults(NodeResults):
    """Answers with scope NODE. What is the same everywhere is normalised once, and added up in ``local``.

    ``passes_all``: no filter rejects any node.
    """

    def __init__(self, panel: PluginSet, pod: PodInfo) -> None:
        super().__init__(panel, pod)
        self.passes_all = bool(self.ok.all())
        self._comings, self._columns = panel.cluster.membership_version, panel.cluster.columns
        self._even: list[tuple[RawScore, int]] = []
        one = NodeView(panel.cluster, np.zeros(1, np.intp))
        for held in list(self.normalized):
            if len(held.raw) and (held.raw == held.raw[0]).all():
                score = panel.framework.run_normalize(held.plugin, pod, one, held.state, held.raw[:1])
                self.normalized.remove(held)
                held.raw = held.raw[:1].copy()
                self._even.append((held, held.weight * int(score[0])))
        self.local += self._same

    @property
    def _same(self) -> int:
        """What the scores that are the same everywhere come to."""
        return sum(score for _, score in self._even)

    def catch_up(self, pod: PodInfo) -> None:
        """Recompute what nodes that changed come to, and scores that depend on which nodes there are, if a node was
        added or removed.
        """
        if self._columns is not self._cluster.columns:
            self._read_changed_nodes(pod)
        if self._comings != self._cluster.membership_version:
            self._comings = self._cluster.membership_version
            if any(plugin.depends_on_node_count for plugin, _, _ in self._scorers):
                self.local = self._scores(pod, NodeView(self._cluster)) + self._same

    def _read_changed_nodes(self, pod: PodInfo) -> None:
        before, self._columns = self._columns.nodes, self._cluster.columns
        changed = [row for row, node in enumerate(self._columns.nodes) if node is not before[row]]
        rows = np.array(changed, np.intp)
        view = NodeView(self._cluster, rows)
        for held, score in list(self._even):
            raw = self._framework.run_score(held.plugin, pod, view, held.state)
            if (raw != held.raw[0]).any():
                # It is not the same everywhere any more.
                self._even.remove((held, score))
                held.raw = np.full(len(self.ok), held.raw[0])
                self.normalized.append(held)
                self.local = self.local - score
        for held in self.normalized:
            held.raw[rows] = self._framework.run_score(held.plugin, pod, view, held.state)
        # Those who follow them look for other arrays.
        self.ok, self.local = self.ok.copy(), self.local.copy()
        self.ok[rows] = self._run_filters(pod, view)
        self.local[rows] = self._scores(pod, view) + self._same
        self.passes_all = bool(self.ok.all())


class RowScopeResults(NodeResults):
    """Results of scope ROW, which follow the cluster's journal.

    Where all that is looked at are sums, it is kept what was said of each: many nodes come to the same ones.

    filters_by_sums   the filters look at nothing but what a node has and what its pods come to
    updates           rows whose answers are others, as they became so; another list means that any are
    """

    def __init__(self, panel: PluginSet, pod: PodInfo) -> None:
        super().__init__(panel, pod)
        self.updates: list[int] = []
        self._seen = len(panel.cluster.journal)
        self._stale: dict[int, None] = {}
        self._is_asked = bool(self._filters or self._scorers or self.normalized)
        sums_suffice = not panel.cluster.devices.serving
        self.filters_by_sums = sums_suffice and all(plugin.depends_on_sums_only for plugin, _ in panel.filters)
        scores_by_sums = not self.normalized and all(plugin.depends_on_sums_only for plugin, _, _ in panel.scorers)
        self._by_sums: dict[Sums, tuple[bool, int]] | None = {} if self.filters_by_sums and scores_by_sums else None

    def find_stale_rows(self) -> Collection[int]:
        """Rows whose answers are out of date, once those that are known by their sums have been looked up."""
        cluster = self._cluster
        if self._seen != len(cluster.journal):
            changed = cluster.list_changed_rows(self._seen)
            self._seen = len(cluster.journal)
            if not self._is_asked:
                pass
            elif self._by_sums is None or len(changed) > _FEW:
                self._stale.update(dict.fromkeys(changed))
            else:
                self._look_up(changed, self._by_sums)
        return self._stale

    def refresh(self, pod: PodInfo) -> None:
        """Bring the rows that changed up to date."""
        if not self.find_stale_rows():
            return
        stale = sorted(self._stale)
        self._stale.clear()
        self._ask_again(pod, np.array(stale, np.intp))
        if self._by_sums is None or len(stale) > _FEW:
            return
        for row in stale:
            self._by_sums[self.sums_of(row)] = bool(self.ok[row]), int(self.local[row])
        if len(self._by_sums) > _MOST_SUMS:
            # Hardly two nodes are alike.
            self._by_sums = None

    def _look_up(self, rows: list[int], known_answers: dict[Sums, tuple[bool, int]]) -> None:
        """Take over what was said of the same sums; rows of which nothing is known are stale."""
        for row in rows:
            answer = known_answers.get(self.sums_of(row))
            if answer is None:
                self._stale[row] = None
                continue
            self.ok[row], self.local[row] = answer
            self._stale.pop(row, None)
            self.updates.append(row)
        if len(self.updates) > _MOST_UPDATES:
            self.updates = []

    def sums_of(self, row: int) -> Sums:
        """What a node has and what its pods come to."""
        return self._cluster.columns.capacity_codes.item(row), self._cluster.sums[row].tobytes()

    def _ask_again(self, pod: PodInfo, rows: IntpArray) -> None:
        view = NodeView(self._cluster, rows)
        if self._filters:
            self.ok[rows] = self._run_filters(pod, view)
        if self._scorers:
            self.local[rows] = self._scores(pod, view)
        for held in self.normalized:
            held.raw[rows] = self._framework.run_score(held.plugin, pod, view, held.state)
        if len(rows) > _FEW or len(self.updates) > _MOST_UPDATES:
            self.updates = []
        else:
            self.updates.extend(rows.tolist())


class JoinedResults:
    """The joint results of all plugins of scope NODE and ROW.

    ok       bool[N]: nodes that pass their filters
    local    int64[N]: the weighted sum of their scores that are not normalized
    passing_rows   intp[k]: the rows that pass, in their order
    """

    def __init__(self, static: NodeScopeResults, rows: RowScopeResults) -> None:
        self._static, self._rows = static, rows
        self._join()

    def _join(self) -> None:
        static, rows = self._static, self._rows
        self.ok: BoolArray = static.ok & rows.ok
        self.local: Int64Array = static.local + rows.local
        self._passing_rows: IntpArray | None = None
        self._followed = static.local, rows.updates
        self._seen = len(rows.updates)

    def catch_up(self) -> None:
        """Take over changes since the last call."""
        static, rows = self._static, self._rows
        local, updates = self._followed
        if local is not static.local or updates is not rows.updates:
            self._join()
        elif self._seen < len(updates):
            for row in updates[self._seen :]:
                self.local[row] = static.local[row] + rows.local[row]
                ok = static.ok[row] and rows.ok[row]
                if ok != self.ok[row]:
                    self.ok[row], self._passing_rows = ok, None
            self._seen = len(updates)

    @property
    def passing_rows(self) -> IntpArray:
        if self._passing_rows is None:
            self._passing_rows = np.flatnonzero(self.ok)
        return self._passing_rows


A = TypeVar("A", bound=NodeResults)


class NodeResultCache(msgspec.Struct, eq=False):
    """Results by plugins and by what these read of a pod, kept as long as they are in use."""

    answers: WeakValueDictionary[Hashable, NodeResults] = msgspec.field(default_factory=WeakValueDictionary)

    def __len__(self) -> int:
        return len(self.answers)

    def find(self, kind: type[A], panel: PluginSet, pod: PodInfo) -> A:
        key = kind, panel.cache_key(pod)
        answer = self.answers.get(key)
        if answer is None:
            answer = self.answers[key] = kind(panel, pod)
        assert isinstance(answer, kind)
        return answer


@cached_per_cluster
def result_cache_of(cluster: Cluster, framework: Framework) -> NodeResultCache:
    """The results of one profile's plugins on one cluster."""
    return NodeResultCache()
