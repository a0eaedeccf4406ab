"""How often one cycle adds up a pod's requests upstream: the one place that knows who does (docs/decisions/0003).

With every sum, the requests of some pods grow (``cluster.pod_requests.overhead_drift``). Upstream:
plugins/noderesources (fit.go, balanced_allocation.go) and plugins/dynamicresources/extendeddynamicresources.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kwhatif.framework.interface import Plugin
from kwhatif.versions import Features

AnyPlugin = Plugin[Any, Any]

_IN_PRE_FILTER: Mapping[str, Callable[[AnyPlugin], int]] = {
    "NodeResourcesFit": lambda plugin: 1,
    # It looks for extended resources that a device class serves.
    "DynamicResources": lambda plugin: int(plugin.handle.features.dra_extended_resource),
}
_IN_PRE_SCORE: Mapping[str, Callable[[AnyPlugin], int]] = {
    "NodeResourcesBalancedAllocation": lambda plugin: len(plugin.handle.args.resources),
}


def request_sums(filtering: Iterable[AnyPlugin], scoring: Iterable[AnyPlugin]) -> int:
    """How often these plugins add up the requests of a pod: those of the profile, and those asked for PreScore."""
    sums = [how_often(plugin) for plugin in filtering if (how_often := _IN_PRE_FILTER.get(plugin.name)) is not None]
    sums += [how_often(plugin) for plugin in scoring if (how_often := _IN_PRE_SCORE.get(plugin.name)) is not None]
    return sum(sums)


def grown_by_turns(
    asked: Mapping[str, int], drift: Mapping[str, int], resources: Sequence[str], features: Features
) -> Mapping[str, int]:
    """The requests as a scorer finds them that adds them up once for each of its resources, in this order."""
    if not drift:
        return asked
    turns = {name: turn for turn, name in enumerate(resources, 1 + int(features.dra_extended_resource))}
    return {name: amount + drift.get(name, 0) * turns.get(name, 0) for name, amount in asked.items()}
