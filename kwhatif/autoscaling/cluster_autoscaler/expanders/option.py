"""The options of a scale-up, of which expanders choose.

Upstream: cluster-autoscaler/expander/expander.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroup
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.cluster.shapes import PodInfo


@dataclass(frozen=True, slots=True)
class Option:
    """A number of ``nodes`` more of a group (or of groups ``similar`` to it) help these pods."""

    group: NodeGroup
    nodes: int
    pods: tuple[PodInfo, ...]
    similar: tuple[NodeGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpanderContext:
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
        if quantity is None:
            return 0
        return quantity.milli_value() if name == "cpu" else quantity.value()


Expander = Callable[[Sequence[Option], ExpanderContext], Sequence[Option]]
"""The best of some options: one, or several that are equally good."""


def least(options: Sequence[Option], score: Callable[[Option], float]) -> list[Option]:
    """All options with the lowest score."""
    scores = [score(option) for option in options]
    lowest = min(scores)
    return [option for option, found in zip(options, scores, strict=True) if found == lowest]
