"""Expanders, which choose among the options of a scale-up. They run in the chain that ``--expander`` names, and a
random choice decides between the options that remain.

Upstream: cluster-autoscaler/expander (expander.go, factory, leastnodes, waste, mostpods, random, price/price.go,
price/preferred.go, priority/priority.go).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType

import msgspec

from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import GIB
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroup, Prices
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import gpu_resource
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.cel.patterns import search
from kwhatif.cel.values import Fault
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import InputError
from kwhatif.snapshot.read.yaml_reader import read_yaml


class Option(msgspec.Struct, frozen=True):
    """A number of ``nodes`` more of a group (or of groups ``similar`` to it) help these pods."""

    group: NodeGroup
    nodes: int
    pods: tuple[PodInfo, ...]
    similar: tuple[NodeGroup, ...] = ()


class ExpanderContext(msgspec.Struct, frozen=True):
    """The input of expanders. Without ``chance`` the first of equal options is taken."""

    world: AutoscalingContext
    templates: Mapping[str, NodeTemplate]
    chance: Random | None = None

    def sum_requests(self, option: Option, name: str) -> int:
        """What an option's pods ask for together."""
        return sum(pod.shape.score_requests.get(name, 0) for pod in option.pods)

    def capacity(self, option: Option, name: str) -> int:
        """What a fresh node of an option's group has in all: millicores for cpu, units for all else."""
        quantity = (self.templates[option.group.name].node.status.capacity or {}).get(name)
        return 0 if quantity is None else quantity.amount_of(name)


Expander = Callable[[Sequence[Option], ExpanderContext], Sequence[Option]]
"""The best of some options: one, or several that are equally good."""


def least(options: Sequence[Option], score: Callable[[Option], float]) -> list[Option]:
    """All options with the lowest score."""
    scores = [score(option) for option in options]
    lowest = min(scores)
    return [option for option, score_of_option in zip(options, scores, strict=True) if score_of_option == lowest]


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
    option_price = node_price(option, choice)
    assert option_price is not None
    stabilizing = _pod_price(*_STABILIZING, prices)
    of_pods = sum(
        _pod_price(pod.shape.score_requests.get("cpu", 0), pod.shape.score_requests.get("memory", 0), prices)
        for pod in option.pods
    )
    ratio = (option_price * option.nodes + stabilizing) / (of_pods + stabilizing)
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


CONFIG_MAP = "cluster-autoscaler-priority-expander"
KEY = "priorities"


def priority(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """All options, where the ConfigMap is missing, cannot be read or names none of the groups."""
    patterns = _patterns(choice.world.priorities)
    ranked = [(_rank(option.group.name, patterns), option) for option in options]
    best = max((rank for rank, _ in ranked if rank is not None), default=None)
    if best is None or best < 0:
        return options
    return [option for rank, option in ranked if rank == best]


def _rank(group: str, patterns: Sequence[tuple[int, Sequence[str]]]) -> int | None:
    ranks = (rank for rank, some in patterns if any(search(group, pattern) for pattern in some))
    return max(ranks, default=None)


def _patterns(text: str | None) -> list[tuple[int, list[str]]]:
    """Priorities with their patterns; none if the ConfigMap is invalid anywhere."""
    try:
        documents = [document.value for document in read_yaml((text or "").encode(), CONFIG_MAP)]
        by_rank = [(int(rank), [str(pattern) for pattern in some]) for rank, some in documents[0].items()]
        for _, some in by_rank:
            for pattern in some:
                search("", pattern)
    except (InputError, Fault, IndexError, AttributeError, TypeError, ValueError):
        return []
    return by_rank


def least_nodes(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """The smallest number of new nodes."""
    return least(options, lambda option: option.nodes)


def least_waste(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """The smallest share of idle cpu and memory."""
    return least(options, lambda option: waste(option, choice))


def waste(option: Option, choice: ExpanderContext) -> float:
    """The idle shares of cpu and of memory, added up: 0 to 2."""
    return sum(_idle(option, choice, name) for name in ("cpu", "memory"))


def _idle(option: Option, choice: ExpanderContext, name: str) -> float:
    whole = choice.capacity(option, name) * option.nodes
    return float(whole - choice.sum_requests(option, name)) / whole if whole else math.inf


def most_pods(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """The largest number of pods helped."""
    return least(options, lambda option: -len(option.pods))


def random_choice(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    """A random option if there is a random generator; else the first."""
    place = 0 if choice.chance is None or not options else choice.chance.randrange(len(options))
    return options[place : place + 1]


EXPANDERS: Mapping[str, Expander] = MappingProxyType(
    {
        "least-nodes": least_nodes,
        "least-waste": least_waste,
        "most-pods": most_pods,
        "price": price,
        "priority": priority,
        "random": random_choice,
    }
)


def best_option(options: Sequence[Option], choice: ExpanderContext) -> Option | None:
    """The chosen option; None if an expander rejects all of them."""
    for name in choice.world.flags.expander:
        options = EXPANDERS[name](options, choice)
        if len(options) <= 1:
            break
    chosen = random_choice(options, choice)
    return chosen[0] if chosen else None
