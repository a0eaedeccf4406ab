"""LoadVariationRiskBalancing: prefer nodes whose use is low and steady.

Upstream: pkg/trimaran/loadvariationriskbalancing (loadvariationriskbalancing.go, analysis.go) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.api.watcher_metrics import Metric
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.interface import MAX_SCORE, Plugin, Scope
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.watched_load import (
    CPU,
    MEMORY,
    NO_FIGURES,
    READS_LOAD,
    Amount,
    ResourceStats,
    TrimaranArgs,
    asked_by,
    completed_source,
    format_stats,
    go_round_one,
    metrics_of,
    source_problems,
    stats_of,
    watcher_metrics_of,
)
from kwhatif.versions import Features


class LoadVariationRiskBalancingArgs(TrimaranArgs):
    safe_variance_margin: float | None = None
    safe_variance_sensitivity: float | None = None


class LoadVariationRiskBalancing(Plugin[None, None]):
    name = "LoadVariationRiskBalancing"
    args = LoadVariationRiskBalancingArgs
    dependencies = READS_LOAD
    score_scope = Scope.NODE
    depends_on_labels = False
    checked_at_start = True

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        margin, sensitivity = args.safe_variance_margin, args.safe_variance_sensitivity
        return replace(
            completed_source(args),
            safe_variance_margin=1.0 if margin is None or margin < 0 else margin,
            safe_variance_sensitivity=1.0 if sensitivity is None or sensitivity < 0 else sensitivity,
        )

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        yield from source_problems(args)

    def cache_key(self, pod: PodInfo) -> Hashable:
        return asked_by(pod.shape.spec)

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        served, requests = watcher_metrics_of(nodes.cluster), asked_by(pod.shape.spec)
        rows = range(nodes.size) if nodes.rows is None else nodes.rows.tolist()
        of = nodes.cluster.columns.nodes
        return np.array([self._score(of[row], metrics_of(served, of[row].name), requests) for row in rows], np.int64)

    def describe_score(self, pod: PodInfo, nodes: NodeView, place: int, state: None) -> str:
        node, requests = nodes.columns.nodes[nodes.row(place)], asked_by(pod.shape.spec)
        metrics = metrics_of(watcher_metrics_of(nodes.cluster), node.name) or []
        parts = [
            f"{format_stats(name, stats)}: {self._calm(stats):.1f}"
            for name in (CPU, MEMORY)
            if (stats := stats_of(metrics, node, requests, name)) is not None
        ]
        return ("the lower of " * (len(parts) == 2) + "; ".join(parts)) or NO_FIGURES

    def _score(self, node: Node, metrics: list[Metric] | None, requests: Amount) -> int:
        known = [
            stats for name in (CPU, MEMORY) if (stats := stats_of(metrics or [], node, requests, name)) is not None
        ]
        if not known:
            return 0
        # A figure that is missing counts as 0 beside the other.
        scores = [self._calm(stats) for stats in known]
        return go_round_one(min(scores) if len(scores) == 2 else max(scores[0], 0.0))

    def _calm(self, stats: ResourceStats) -> float:
        """From 100 for a node that does nothing to 0."""
        if stats.capacity <= 0:
            return 0.0
        mu, sigma = structs.replace(
            stats,
            asked=max(stats.asked, 0.0),
            used=max(min(stats.used, stats.capacity), 0.0),
            deviation=max(min(stats.deviation, stats.capacity), 0.0),
        ).mu_sigma()
        sensitivity = float(self.handle.args.safe_variance_sensitivity)
        if sensitivity == 0:
            sigma = 1.0 if sigma == 1 else 0.0
        elif sensitivity > 0:
            sigma = sigma ** (1 / sensitivity)
        sigma = max(min(sigma * float(self.handle.args.safe_variance_margin), 1.0), 0.0)
        return (1.0 - (mu + sigma) / 2) * MAX_SCORE
