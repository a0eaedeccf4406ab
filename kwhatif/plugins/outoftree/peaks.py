"""Peaks: prefer nodes whose power consumption rises least.

Upstream: pkg/trimaran/peaks/peaks.go of scheduler-plugins.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Annotated, Any

import msgspec
import numpy as np

from kwhatif.api.core import Node
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.arithmetic import invert_costs
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.golang.field_validation import Path
from kwhatif.golang.numbers import int64_of
from kwhatif.plugins.shared.watched_load import (
    AVERAGE,
    CPU,
    LATEST,
    NO_FIGURES,
    READS_LOAD,
    format_share,
    metrics_of,
    watcher_metrics_of,
)
from kwhatif.results.amounts import format_amount
from kwhatif.versions import Features

_SCALE = 10.0**15


class PeaksArgs(Args):
    """Its keys begin with a capital letter, since upstream's tags are malformed."""

    watcher_address: Annotated[str, msgspec.Meta(extra={"names": "free", "always": True})] = msgspec.field(
        default="", name="WatcherAddress"
    )
    node_power_model: Annotated[Any, msgspec.Meta(extra={"keys": "node"})] = msgspec.field(
        default=None, name="NodePowerModel"
    )


class Peaks(Plugin[None, None]):
    name = "Peaks"
    args = PeaksArgs
    dependencies = READS_LOAD
    score_scope = Scope.NODE
    depends_on_labels = False
    checked_at_start = True

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        if not args.watcher_address:
            yield "invalid MetricProvider.Type, got "
        model = args.node_power_model
        if not model:
            yield "open : no such file or directory"
        elif not isinstance(model, dict) or not all(map(_is_model, model.values())):
            yield path.child("NodePowerModel").invalid(model, "must have the numbers k0, k1 and k2 by node")

    def cache_key(self, pod: PodInfo) -> Hashable:
        return _request_of(pod)

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        served, request = watcher_metrics_of(nodes.cluster), _request_of(pod)
        rows = range(nodes.size) if nodes.rows is None else nodes.rows.tolist()
        of = nodes.cluster.columns.nodes
        costs = [self._rise(of[row], metrics_of(served, of[row].name) or [], request) for row in rows]
        return np.array(costs, np.int64)

    def describe_score(self, pod: PodInfo, nodes: NodeView, place: int, state: None) -> str:
        node, request = nodes.columns.nodes[nodes.row(place)], _request_of(pod)
        metrics = metrics_of(watcher_metrics_of(nodes.cluster), node.name) or []
        use = _use_of(metrics)
        if use is None:
            return f"{NO_FIGURES}, which costs nothing"
        predicted = _predict_utilisation(node, use, request)
        cpu = f"cpu {format_share(use)} in use, {format_amount('cpu', request)} by this pod"
        if predicted > 100:
            return f"{cpu}: {format_share(predicted)} predicted, more than there is, which costs nothing"
        k1, k2 = self._model_of(node)
        rise = self._rise(node, metrics, request) / _SCALE
        return f"{cpu}: {format_share(predicted)} predicted; power rises by {rise:.4g} (k1 {k1:g}, k2 {k2:g})"

    def _rise(self, node: Node, metrics: list[Any], request: int) -> int:
        use = _use_of(metrics)
        if use is None:
            return 0
        predicted = _predict_utilisation(node, use, request)
        if predicted > 100:
            return 0
        k1, k2 = self._model_of(node)
        return int64_of(k1 * (math.exp(k2 * predicted) - math.exp(k2 * use)) * _SCALE)

    def _model_of(self, node: Node) -> tuple[float, float]:
        """``k1`` and ``k2``: power is ``k0 + k1 * exp(k2 * use)``."""
        model = (self.handle.args.node_power_model or {}).get(node.name) or {}
        return float(model.get("k1", 0)), float(model.get("k2", 0))

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        return invert_costs(scores)


def _use_of(metrics: list[Any]) -> float | None:
    """Cpu in use in percent, if it is known."""
    return next((float(m.value) for m in metrics if m.type == CPU and m.operator in (AVERAGE, LATEST)), None)


def _predict_utilisation(node: Node, use: float, request: int) -> float:
    """Percent of its cpu that a node uses with a pod that asks for so many millicores."""
    capacity = (node.status.capacity or {}).get("cpu")
    has = float(capacity.milli_value()) if capacity is not None else 0.0
    return 100 * (use / 100 * has + float(request)) / has if has else 0.0


def _request_of(pod: PodInfo) -> int:
    """Millicores that the pod asks for."""
    return pod.shape.requests.get("cpu", 0)


def _is_model(model: object) -> bool:
    """Null is a model of which every number is 0."""
    return model is None or (
        isinstance(model, dict) and all(isinstance(number, int | float) for number in model.values())
    )
