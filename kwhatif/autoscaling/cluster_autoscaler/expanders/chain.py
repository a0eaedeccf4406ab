"""The chain of expanders that ``--expander`` names, and those of them that look at numbers alone; a random choice
decides between the remaining options.

Upstream: cluster-autoscaler/expander (factory/chain.go, factory/expander_factory.go, leastnodes, waste, mostpods,
random).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kwhatif.autoscaling.cluster_autoscaler.expanders.option import Expander, ExpanderContext, Option, least
from kwhatif.autoscaling.cluster_autoscaler.expanders.price import price
from kwhatif.autoscaling.cluster_autoscaler.expanders.priority_list import priority


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
