"""Results of plugins of scope NODE and ROW on all nodes, shared by all pods that are equal to these plugins.

What depends on Node objects alone is computed once; what also depends on a node's own pods, again for the rows that
changed. A thousand templates with the same requests share the latter, and differ in tolerations, node affinity or
images only.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakValueDictionary

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


Sums = tuple[bytes, bytes, bytes, int, int]
"""What a node has, what its pods ask for without and with defaults, how many it may have, and how many it has."""

_MOST_SUMS = 8192
_FEW = 24
"""So few rows are looked up; more are asked about again faster."""


@dataclass(frozen=True, slots=True, eq=False)
class PluginSet:
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


@dataclass(slots=True, eq=False)
class RawScore:
    """Raw scores, int64[N], that are normalised among the nodes that are compared."""

    plugin: AnyPlugin
    weight: int
    state: object
    raw: Int64Array


class NodeResults:
    """Results of some plugins on all nodes.

    ok           bool[N]: nodes that pass the filters local        int64[N]: the weighted sum of the scores that are not
    normalized normalized   the others error        PreScore's, which ends every cycle that scores
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
    """Results of scope NODE. Scores that are normalised over all nodes are added up in ``local``."""

    def __init__(self, panel: PluginSet, pod: PodInfo) -> None:
        super().__init__(panel, pod)
        self._comings, self._same = panel.cluster.membership_version, 0
        one = NodeView(panel.cluster, np.zeros(1, np.intp))
        for held in list(self.normalized):
            if len(held.raw) and (held.raw == held.raw[0]).all():
                score = panel.framework.run_normalize(held.plugin, pod, one, held.state, held.raw[:1])
                self._same += held.weight * int(score[0])
                self.normalized.remove(held)
        self.local += self._same

    def catch_up(self, pod: PodInfo) -> None:
        """Recompute scores that depend on which nodes there are, if a node was added or removed."""
        if self._comings != self._cluster.membership_version:
            self._comings = self._cluster.membership_version
            if any(plugin.depends_on_node_count for plugin, _, _ in self._scorers):
                self.local = self._scores(pod, NodeView(self._cluster)) + self._same


class RowScopeResults(NodeResults):
    """Results of scope ROW, which follow the cluster's journal.

    For plugins that read sums only, the result of each distinct sum is kept, since many nodes have the same ones.
    """

    def __init__(self, panel: PluginSet, pod: PodInfo) -> None:
        super().__init__(panel, pod)
        self._seen = len(panel.cluster.journal)
        asked = [*(plugin for plugin, _ in panel.filters), *(plugin for plugin, _, _ in panel.scorers)]
        sums = all(plugin.depends_on_sums_only for plugin in asked)
        self._by_sums: dict[Sums, tuple[bool, int]] | None = (
            {} if sums and not self.normalized and not panel.cluster.devices.serving else None
        )

    def stale_rows(self) -> list[int]:
        """Rows whose results are out of date."""
        return self._cluster.list_changed_rows(self._seen)

    def refresh(self, pod: PodInfo) -> None:
        """Bring the rows that changed up to date."""
        changed = self.stale_rows()
        self._seen = len(self._cluster.journal)
        if not changed or not (self._filters or self._scorers or self.normalized):
            return
        stale = sorted(set(changed))
        if self._by_sums is None or len(stale) > _FEW:
            self._ask_again(pod, np.array(stale, np.intp))
            return
        unknown, new = self._recall(stale, self._by_sums)
        if not unknown:
            return
        self._ask_again(pod, np.array(unknown, np.intp))
        said = [(bool(self.ok[row]), int(self.local[row])) for row in unknown]
        self._by_sums.update(zip(new, said, strict=True))
        if len(self._by_sums) > _MOST_SUMS:
            # Hardly two nodes are alike.
            self._by_sums = None

    def _recall(self, rows: list[int], said: dict[Sums, tuple[bool, int]]) -> tuple[list[int], list[Sums]]:
        """The rows without a known result, and the sums of those."""
        cluster, columns = self._cluster, self._cluster.columns
        allocatable, allowed = columns.allocatable, columns.allowed_pods
        requested, non_zero, count = cluster.requested, cluster.non_zero, cluster.pod_count
        unknown, new = [], []
        for row in rows:
            has, asked = allocatable[row].tobytes(), requested[row].tobytes()
            sums = has, asked, non_zero[row].tobytes(), allowed.item(row), count.item(row)
            answer = said.get(sums)
            if answer is None:
                unknown.append(row)
                new.append(sums)
            else:
                self.ok[row], self.local[row] = answer
        return unknown, new

    def _ask_again(self, pod: PodInfo, rows: IntpArray) -> None:
        view = NodeView(self._cluster, rows)
        if self._filters:
            self.ok[rows] = self._run_filters(pod, view)
        if self._scorers:
            self.local[rows] = self._scores(pod, view)
        for held in self.normalized:
            held.raw[rows] = self._framework.run_score(held.plugin, pod, view, held.state)


A = TypeVar("A", bound=NodeResults)


@dataclass(slots=True, eq=False)
class NodeResultCache:
    """Results by plugins and by what these read of a pod, kept as long as they are in use."""

    answers: WeakValueDictionary[Hashable, NodeResults] = field(default_factory=WeakValueDictionary)

    def __len__(self) -> int:
        return len(self.answers)

    def find(self, kind: type[A], panel: PluginSet, pod: PodInfo) -> A:
        key = kind, panel.cache_key(pod)
        found = self.answers.get(key)
        if found is None:
            found = self.answers[key] = kind(panel, pod)
        assert isinstance(found, kind)
        return found


@cached_per_cluster
def result_cache_of(cluster: Cluster, framework: Framework) -> NodeResultCache:
    """The results of one profile's plugins on one cluster."""
    return NodeResultCache()
