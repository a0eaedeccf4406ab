"""price: the lowest price for the pods' requests, with a preference for nodes that suit the cluster's size.

Upstream: cluster-autoscaler/expander/price (price.go, preferred.go).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import GIB
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import Prices
from kwhatif.autoscaling.cluster_autoscaler.expanders.option import ExpanderContext, Option, least
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import gpu_resource

_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_PREFERRED = ((2, 1000), (6, 2000), (20, 4000), (60, 8000), (200, 16_000))
"""(most nodes of the cluster, millicores of the preferred node), in ascending order."""
_LARGE = 32_000
_STABILIZING = (500, 500 * 1024 * 1024)
"""Millicores and bytes of an imagined pod, so that small differences weigh little."""
_WITH_GPUS = 1000.0


def price(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """Options without a known price are left out."""
    prices = choice.world.prices
    if prices is None:
        return []
    priced = [option for option in options if node_price(option, choice) is not None]
    return least(priced, lambda option: _score(option, choice, prices)) if priced else []


def node_price(option: Option, choice: ExpanderContext) -> float | None:
    """What a node of the option's group costs an hour."""
    labels = choice.templates[option.group.name].node.metadata.labels or {}
    prices = choice.world.prices
    if option.group.price is not None or prices is None:
        return option.group.price
    return prices.nodes.get(labels.get(_INSTANCE_TYPE, ""))


def _score(option: Option, choice: ExpanderContext, prices: Prices) -> float:
    each = node_price(option, choice)
    assert each is not None
    stabilizing = _pod_price(*_STABILIZING, prices)
    of_pods = sum(
        _pod_price(pod.shape.score_requests.get("cpu", 0), pod.shape.score_requests.get("memory", 0), prices)
        for pod in option.pods
    )
    ratio = (each * option.nodes + stabilizing) / (of_pods + stabilizing)
    return _unfitness(option, choice) * ratio


def _pod_price(millicores: int, memory: int, prices: Prices) -> float:
    return millicores / 1000 * prices.core + memory / GIB * prices.gibibyte


def _unfitness(option: Option, choice: ExpanderContext) -> float:
    """1 for nodes of the preferred size, more for others; less so the more nodes are needed."""
    if gpu_resource(choice.templates[option.group.name].node, choice.world.gpu_label) is not None:
        return _WITH_GPUS
    size = len(choice.world.nodes)
    preferred = next((cores for nodes, cores in _PREFERRED if size <= nodes), _LARGE)
    cores = choice.capacity(option, "cpu")
    unfitness = max(preferred / cores, cores / preferred) if cores else math.inf
    return (unfitness - 1.0) * (1.0 - math.tanh((option.nodes - 1) / 15.0)) + 1.0
