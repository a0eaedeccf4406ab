"""Groups whose nodes are alike, and how they share the nodes of a scale-up.

Upstream: cluster-autoscaler/processors/nodegroupset (balancing_processor.go, compare_nodegroups.go,
label_nodegroups.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroup
from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.plugins.shared.spread_constraints import HOSTNAME

_IGNORED = (
    HOSTNAME,
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "beta.kubernetes.io/fluentd-ds-ready",
    "kops.k8s.io/instancegroup",
)


@dataclass(slots=True)
class Resize:
    """A group, its size and the one it is to have."""

    group: NodeGroup
    size: int
    to: int

    def __str__(self) -> str:
        return f"{{{self.group.name} {self.size}->{self.to} (max: {self.group.most})}}"


def are_similar(one: NodeTemplate, other: NodeTemplate, flags: Flags) -> bool:
    """Whether nodes of two groups may stand in for each other."""
    labels = [template.node.metadata.labels or {} for template in (one, other)]
    if flags.balancing_label:
        return all(key in labels[0] and labels[0][key] == labels[1].get(key) for key in flags.balancing_label)
    capacity = [template.node.status.capacity or {} for template in (one, other)]
    allocatable = [template.node.status.allocatable or {} for template in (one, other)]
    return (
        _same_capacity(capacity[0], capacity[1], flags.memory_difference_ratio)
        and _within(_thousandths(allocatable[0]), _thousandths(allocatable[1]), flags.max_allocatable_difference_ratio)
        and _within(_left(one), _left(other), flags.max_free_difference_ratio)
        and _without(labels[0], flags) == _without(labels[1], flags)
    )


def _same_capacity(one: Mapping[str, Quantity], other: Mapping[str, Quantity], ratio: float) -> bool:
    if one.keys() != other.keys():
        return False
    if any(one[name] != other[name] for name in one if name != "memory"):
        return False
    return "memory" not in one or _close(one["memory"].milli_value(), other["memory"].milli_value(), ratio)


def _within(one: Mapping[str, int], other: Mapping[str, int], ratio: float) -> bool:
    return one.keys() == other.keys() and all(_close(one[name], other[name], ratio) for name in one)


def _close(one: int, other: int, ratio: float) -> bool:
    larger, smaller = float(max(one, other)), float(min(one, other))
    return larger - smaller <= larger * ratio


def _thousandths(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: quantity.milli_value() for name, quantity in quantities.items()}


def _left(template: NodeTemplate) -> dict[str, int]:
    """Thousandths of what the pods leave of resources, of those that the scheduler sums up for every node."""
    quantities = template.node.status.allocatable or {}
    asked: dict[str, int] = dict.fromkeys(("cpu", "memory", "ephemeral-storage", "pods"), 0)
    for pod in template.pods:
        for name, amount in pod.shape.score_requests.items():
            asked[name] = asked.get(name, 0) + amount * (1 if name == "cpu" else 1000)
    return {
        name: (quantities[name].milli_value() if name in quantities else 0) - amount for name, amount in asked.items()
    }


def _without(labels: Mapping[str, str], flags: Flags) -> dict[str, str]:
    ignored = {*_IGNORED, *flags.balancing_ignore_label}
    return {key: value for key, value in labels.items() if key not in ignored}


def balanced(groups: Sequence[NodeGroup], count: int) -> list[Resize]:
    """Share out new nodes: the smallest group grows first, each up to its maximum."""
    sizes = [Resize(group, group.target, group.target) for group in groups if group.target != group.most]
    count = min(count, sum(max(each.group.most - each.size, 0) for each in sizes))
    sizes.sort(key=lambda each: each.size)
    first = current = 0
    while count > 0:
        resize = sizes[current]
        if resize.to < resize.group.most:
            resize.to += 1
            count -= 1
        else:
            sizes[first], sizes[current] = sizes[current], sizes[first]
            first += 1
        # As upstream, what stands in the place now is compared, not the group that just grew.
        if current < len(sizes) - 1 and sizes[current].to > sizes[current + 1].to:
            current += 1
        else:
            current = first
    return [each for each in sizes if each.to != each.size]
