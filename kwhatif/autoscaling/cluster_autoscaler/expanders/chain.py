"""The chain of expanders that ``--expander`` names; a random choice decides between the remaining options.

Upstream: cluster-autoscaler/expander/factory (chain.go, expander_factory.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kwhatif.autoscaling.cluster_autoscaler.expanders.least_nodes import least_nodes
from kwhatif.autoscaling.cluster_autoscaler.expanders.least_waste import least_waste
from kwhatif.autoscaling.cluster_autoscaler.expanders.most_pods import most_pods
from kwhatif.autoscaling.cluster_autoscaler.expanders.option import Expander, ExpanderContext, Option
from kwhatif.autoscaling.cluster_autoscaler.expanders.price import price
from kwhatif.autoscaling.cluster_autoscaler.expanders.priority_list import priority
from kwhatif.autoscaling.cluster_autoscaler.expanders.random_choice import random_choice

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
