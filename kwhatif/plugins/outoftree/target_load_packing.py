"""TargetLoadPacking: fill nodes up to a share of their cpu in use, and avoid those beyond it.

Upstream: pkg/trimaran/targetloadpacking/targetloadpacking.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Container, PodSpec
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.api.watcher_metrics import Moments, WatcherMetrics
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.interface import Plugin
from kwhatif.golang.field_validation import Path
from kwhatif.golang.formatting import go_quote
from kwhatif.golang.numbers import parse_float
from kwhatif.plugins.shared.bound_before import bound_before
from kwhatif.plugins.shared.pod_qos import limits_of, requests_of
from kwhatif.plugins.shared.watched_load import (
    AVERAGE,
    CPU,
    LATEST,
    NO_FIGURES,
    READS_LOAD,
    TrimaranArgs,
    completed_source,
    format_share,
    go_round_one,
    metrics_of,
    source_problems,
    watcher_metrics_of,
)
from kwhatif.results.amounts import format_amount
from kwhatif.versions import Features

_REPORTED_AFTER = 60
"""Pods placed less than this many seconds before the end of the metrics are not in them yet."""


class TargetLoadPackingArgs(TrimaranArgs):
    default_requests: Annotated[Any, msgspec.Meta(extra={"go": "v1.ResourceList", "keys": "resource"})] = None
    default_requests_multiplier: str | None = None
    target_utilization: int | None = None


class _Load(msgspec.Struct, frozen=True):
    """Cpu of a node: ``used`` in percent, its ``capacity`` and what pods use that are ``unreported`` in millicores."""

    used: float
    capacity: float
    unreported: int

    def share_with(self, request: int) -> float:
        """In percent of the capacity, with a pod that uses so many millicores."""
        has = self.capacity
        return 100 * (self.used / 100 * has + float(request) + float(self.unreported)) / has if has else 0.0


class TargetLoadPacking(Plugin[None, None]):
    name = "TargetLoadPacking"
    args = TargetLoadPackingArgs
    dependencies = READS_LOAD
    depends_on_labels = False
    checked_at_start = True

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        args = completed_source(args)
        target = args.target_utilization
        return replace(
            args,
            default_requests={"cpu": "1"} if args.default_requests is None else args.default_requests,
            default_requests_multiplier="1.5"
            if args.default_requests_multiplier is None
            else args.default_requests_multiplier,
            target_utilization=40 if target is None or target <= 0 else target,
        )

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        yield from source_problems(args)
        multiplier = args.default_requests_multiplier
        if parse_float(multiplier) is None:
            why = f"strconv.ParseFloat: parsing {go_quote(multiplier)}: invalid syntax"
            yield f"unable to parse DefaultRequestsMultiplier: {why}"
        if _default_millicores(args.default_requests) is None:
            yield path.child("defaultRequests").invalid(args.default_requests, "must be quantities by resource")

    def __init__(self, handle: Any) -> None:
        super().__init__(handle)
        args: TargetLoadPackingArgs = handle.args
        self._target = float(args.target_utilization or 40)
        self._millicores = _default_millicores(args.default_requests) or 0
        self._multiplier = parse_float(args.default_requests_multiplier or "1.5") or 0.0

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        cluster, served = nodes.cluster, watcher_metrics_of(nodes.cluster)
        request = self._predict_utilisation(pod.shape.spec)
        rows = range(nodes.size) if nodes.rows is None else nodes.rows.tolist()
        return np.array([self._score(cluster, row, served, request) for row in rows], np.int64)

    def describe_score(self, pod: PodInfo, nodes: NodeView, place: int, state: None) -> str:
        cluster, row = nodes.cluster, nodes.row(place)
        request = self._predict_utilisation(pod.shape.spec)
        load = self._load(cluster, row, watcher_metrics_of(cluster))
        if load is None:
            return NO_FIGURES
        others = f", {format_amount('cpu', load.unreported)} by pods not in it yet" if load.unreported else ""
        return (
            f"cpu {format_share(load.used)} of {format_amount('cpu', int(load.capacity))} in use{others}, "
            f"{format_amount('cpu', request)} by this pod: {format_share(load.share_with(request))} predicted, "
            f"target {format_share(self._target)}"
        )

    def _load(self, cluster: Cluster, row: int, served: WatcherMetrics | None) -> _Load | None:
        """What a node uses; None where there are no figures of it."""
        metrics = metrics_of(served, cluster.columns.names[row])
        last = [m.value for m in metrics or () if m.type == CPU and m.operator in (AVERAGE, LATEST)]
        if served is None or not last:
            return None
        capacity = (cluster.columns.nodes[row].status.capacity or {}).get("cpu")
        unreported = sum(self._predict_utilisation(spec) for spec in _list_unreported(cluster, row, served.window.end))
        return _Load(last[-1], float(capacity.milli_value()) if capacity is not None else 0.0, unreported)

    def _score(self, cluster: Cluster, row: int, served: WatcherMetrics | None, request: int) -> int:
        load = self._load(cluster, row, served)
        if load is None:
            return 0
        share, target = load.share_with(request), self._target
        if share > target:
            return 0 if share > 100 else go_round_one(target * (100 - share) / (100 - target))
        return go_round_one((100 - target) * share / target + target)

    def _predict_utilisation(self, spec: PodSpec) -> int:
        """Millicores that a pod is expected to use; init containers do not count."""
        overhead = (spec.overhead or {}).get("cpu")
        return sum(map(self._predicted_of, spec.containers or ())) + (overhead.milli_value() if overhead else 0)

    def _predicted_of(self, container: Container) -> int:
        limit, request = limits_of(container).get("cpu"), requests_of(container).get("cpu")
        if limit is not None:
            return limit.milli_value()
        if request is not None:
            return go_round_one(float(request.milli_value()) * self._multiplier)
        return self._millicores


def _default_millicores(requests: Any) -> int | None:
    """None where the requests are none."""
    if not isinstance(requests, dict):
        return None
    try:
        amounts = {name: Quantity.from_json(value) for name, value in requests.items()}
    except QuantityError:
        return None
    return amounts["cpu"].milli_value() if "cpu" in amounts else 0


@cached_per_cluster
def _moments(cluster: Cluster) -> tuple[float, float]:
    """When the scheduler saw the pods that ran before, and when it sees those that are placed here.

    Where it is not given, that was before the figures begin, and is after they end.
    """
    moments = next(iter(cluster.objects.list_all(Moments)), Moments())
    return (
        float("-inf") if moments.started is None else moments.started,
        float("inf") if moments.now is None else moments.now,
    )


def _list_unreported(cluster: Cluster, row: int, end: int) -> Iterator[PodSpec]:
    """Pods of a node that the figures do not have yet: those placed here, and those seen shortly before they end."""
    known = bound_before(cluster)
    before, since = (moment > end or end - moment < _REPORTED_AFTER for moment in _moments(cluster))
    for info in cluster.pods_on[row]:
        if before if info.uid in known else since:
            yield info.shape.spec
