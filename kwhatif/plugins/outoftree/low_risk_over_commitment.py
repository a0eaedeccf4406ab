"""LowRiskOverCommitment: avoid nodes where limits exceed what there is, and load what was asked for.

Upstream: pkg/trimaran/lowriskovercommitment/lowriskovercommitment.go of scheduler-plugins.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.api.watcher_metrics import Metric
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.interface import MAX_SCORE, Plugin, Scope
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.watched_load import (
    CPU,
    MEMORY,
    NO_FIGURES,
    READS_LOAD,
    Amount,
    TrimaranArgs,
    amount_of,
    asked_by,
    completed_source,
    go_round_one,
    metrics_of,
    source_problems,
    stats_of,
    watcher_metrics_of,
)
from kwhatif.results.amounts import format_amount
from kwhatif.versions import Features

_DEFAULT_WEIGHT = 0.5
_MOST_VARIANCE = 0.99


class LowRiskOverCommitmentArgs(TrimaranArgs):
    smoothing_window_size: int | None = None
    risk_limit_weights: Annotated[Any, msgspec.Meta(extra={"keys": "resource"})] = None


class _Risk(msgspec.Struct, frozen=True):
    """Of one resource of a node, each risk from 0 to 1: limits of so much, of what it ``has``; load above requests."""

    limit: int
    has: int
    of_limits: float
    of_load: float
    weight: float

    @property
    def total(self) -> float:
        return min(max(self.weight * self.of_limits + (1 - self.weight) * self.of_load, 0.0), 1.0)

    def text(self, resource: str) -> str:
        limit, has = format_amount(resource, self.limit), format_amount(resource, self.has)
        return (
            f"{self.total:.2f}: {self.weight:g} * {self.of_limits:.2f} (limits {limit} of {has}) + "
            f"{1 - self.weight:g} * {self.of_load:.2f} (load above requests)"
        )


class LowRiskOverCommitment(Plugin[None, None]):
    name = "LowRiskOverCommitment"
    args = LowRiskOverCommitmentArgs
    dependencies = READS_LOAD
    offline_points = ("preScore",)
    score_scope = Scope.ROW
    depends_on_labels = False
    checked_at_start = True

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        window, weights = args.smoothing_window_size, args.risk_limit_weights
        if not weights:
            weights = {"cpu": _DEFAULT_WEIGHT, "memory": _DEFAULT_WEIGHT}
        elif _are_numbers(weights):
            weights = {name: weight if 0 <= weight <= 1 else _DEFAULT_WEIGHT for name, weight in weights.items()}
        window = 5 if window is None or window <= 0 else window
        return replace(completed_source(args), smoothing_window_size=window, risk_limit_weights=weights)

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        yield from source_problems(args)
        if not _are_numbers(args.risk_limit_weights):
            yield path.child("riskLimitWeights").invalid(args.risk_limit_weights, "must be numbers by resource")

    def __init__(self, handle: Any) -> None:
        super().__init__(handle)
        self._amounts: dict[int, tuple[Amount, Amount]] = {}

    def cache_key(self, pod: PodInfo) -> Hashable:
        return _requests_and_limits(pod.shape)

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        requests, limits = _requests_and_limits(pod.shape)
        if requests == limits == Amount():
            return np.zeros(nodes.size, np.int64)
        cluster, served = nodes.cluster, watcher_metrics_of(nodes.cluster)
        self._amounts = {} if len(self._amounts) > len(cluster.shapes) else self._amounts
        scores = []
        for row in range(nodes.size) if nodes.rows is None else nodes.rows.tolist():
            node = cluster.columns.nodes[row]
            metrics = metrics_of(served, node.name)
            if metrics is None:
                scores.append(0)
                continue
            others = self._sums([info.shape for info in cluster.pods_on[row]])
            risks = [self._risk(name, metrics, node, others, (requests, limits)) for name in (CPU, MEMORY)]
            scores.append(go_round_one((1 - max(risk.total for risk in risks)) * MAX_SCORE))
        return np.array(scores, np.int64)

    def describe_score(self, pod: PodInfo, nodes: NodeView, place: int, state: None) -> str:
        own, cluster, row = _requests_and_limits(pod.shape), nodes.cluster, nodes.row(place)
        if own == (Amount(), Amount()):
            return "the pod asks for nothing and has no limits"
        node = cluster.columns.nodes[row]
        metrics = metrics_of(watcher_metrics_of(cluster), node.name)
        if metrics is None:
            return NO_FIGURES
        others = self._sums([info.shape for info in cluster.pods_on[row]])
        risks = {name: self._risk(name, metrics, node, others, own) for name in (CPU, MEMORY)}
        parts = [f"{name.lower()} {risk.text(name.lower())}" for name, risk in risks.items()]
        return f"the higher risk of {'; '.join(parts)}"

    def _sums(self, shapes: list[PodShape]) -> tuple[Amount, Amount]:
        """Requests and limits of a node's pods."""
        requested, limited = Amount(), Amount()
        for shape in shapes:
            if shape.index not in self._amounts:
                self._amounts[shape.index] = _requests_and_limits(shape)
            requests, limits = self._amounts[shape.index]
            requested, limited = requested.plus(requests), limited.plus(limits)
        return requested, limited

    def _risk(
        self, name: str, metrics: list[Metric], node: Node, others: tuple[Amount, Amount], own: tuple[Amount, Amount]
    ) -> _Risk:
        """That of limits above capacity, and of load above what the other pods ask for."""
        attribute = "cpu" if name == CPU else "memory"
        has = getattr(amount_of(node.status.allocatable or {}), attribute)
        asked_without, limit_without = (getattr(amount, attribute) for amount in others)
        request, limit = (
            before + getattr(mine, attribute) for before, mine in zip((asked_without, limit_without), own, strict=True)
        )
        request, asked_without = min(request, has), min(asked_without, has)
        of_limits = (limit - has) / (limit - request) if limit > has else 0.0
        of_load = 0.0
        stats = stats_of(metrics, node, Amount(), name)
        if stats is not None:
            mu, sigma = stats.mu_sigma()
            sigma *= math.sqrt(float(self.handle.args.smoothing_window_size))
            most = mu * (1 - mu) if 0 < mu < 1 else 0.0
            sigma = min(sigma, math.sqrt(most * _MOST_VARIANCE))
            threshold = min(max(asked_without / has, 0.0), 1.0) if has else 0.0
            probability, fitted = _probability(mu, sigma, threshold)
            if limit_without < has and asked_without <= limit_without:
                if limit_without == 0:
                    probability = 1.0
                elif fitted is not None and (of_limit := fitted.below(limit_without / has)) > 0:
                    probability = min(max(probability / of_limit, 0.0), 1.0)
            of_load = 1 - probability
        weight = float(self.handle.args.risk_limit_weights.get(attribute, _DEFAULT_WEIGHT))
        return _Risk(limit, has, of_limits, of_load, weight)


def _requests_and_limits(shape: PodShape) -> tuple[Amount, Amount]:
    """What a pod asks for and is limited to, which is at least that."""
    requests = asked_by(shape.spec)
    return requests, asked_by(shape.spec, limits=True).at_least(requests)


def _are_numbers(weights: object) -> bool:
    return isinstance(weights, dict) and all(
        isinstance(weight, int | float) and not isinstance(weight, bool) for weight in weights.values()
    )


def _probability(mu: float, sigma: float, threshold: float) -> tuple[float, BetaDistribution | None]:
    """That load stays within the threshold, and the distribution this was worked out with, if one was."""
    if mu == 0 or (sigma == 0 and mu <= threshold):
        return 1.0, None
    if sigma == 0:
        return 0.0, None
    fitted = BetaDistribution.matching(mu, sigma)
    return (0.0, None) if fitted is None else (fitted.below(threshold), fitted)


_MOST_TERMS = 500
_CLOSE, _TINY = 1e-16, 1e-300


class BetaDistribution(msgspec.Struct, frozen=True):
    alpha: float
    beta: float

    @classmethod
    def matching(cls, mean: float, deviation: float) -> BetaDistribution | None:
        """The distribution of this mean and deviation; None where no beta distribution has them."""
        variance = (deviation * deviation + mean * mean) - mean * mean
        if not 0 <= mean <= 1 or variance < 0 or variance >= mean * (1 - mean):
            return None
        scale = math.inf if variance == 0 else mean * (1 - mean) / variance - 1
        scale = max(scale, 5e-324)
        return cls(mean * scale, (1 - mean) * scale)

    def below(self, x: float) -> float:
        """The probability of at most ``x``; 0 where it is undefined."""
        if not (self.alpha > 0 and self.beta > 0 and 0 <= x <= 1) or math.isinf(self.alpha + self.beta):
            return 0.0
        if x in (0.0, 1.0):
            return x
        if x < (self.alpha + 1) / (self.alpha + self.beta + 2):
            return _lower_tail(self.alpha, self.beta, x)
        return 1 - _lower_tail(self.beta, self.alpha, 1 - x)


def _lower_tail(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function by its continued fraction, which converges fast below the mean."""
    front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    total = d
    for m in range(1, _MOST_TERMS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 + numerator * d, 1 + numerator / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            total *= d * c
        if abs(d * c - 1) < _CLOSE:
            break
    return min(max(math.exp(front) * total / a, 0.0), 1.0)
