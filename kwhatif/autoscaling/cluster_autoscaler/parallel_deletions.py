"""How many of the nodes that may go are deleted at once.

Upstream: cluster-autoscaler/core/scaledown/budgets/budgets.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroup, NodeGroups

Buckets = dict[str, list[str]]
"""Group -> its nodes; groups in the order in which they first appear."""


def cropped(
    empty: Sequence[str], drained: Sequence[str], groups: NodeGroups, flags: Flags, registered: Mapping[str, int]
) -> tuple[list[str], list[str]]:
    """The empty nodes and those with pods whose deletion is begun: whole zero-or-max groups first, then the others.

    ``registered`` is how many nodes of each group are there.
    """
    budget, drain_budget = flags.max_scale_down_parallelism, flags.max_drain_parallelism
    empty_single, empty_whole = _by_group(empty, groups)
    drain_single, drain_whole = _by_group(drained, groups)
    going: list[str] = []
    drain_going: list[str] = []
    overflow = True
    for name, nodes in empty_whole.items():
        with_pods = drain_whole.get(name, [])
        count = len(nodes) + len(with_pods)
        tight = budget < count or drain_budget < len(with_pods)
        if tight and (budget == 0 or (with_pods and drain_budget == 0) or not overflow):
            break
        if count not in (groups[name].target, registered.get(name, 0)):
            continue
        going += nodes
        drain_going += with_pods
        budget, drain_budget, overflow = budget - count, drain_budget - len(with_pods), False
    drain_budget = min(budget, drain_budget)
    for name, nodes in drain_whole.items():
        if name in empty_whole:
            continue
        if drain_budget < len(nodes) and (drain_budget == 0 or not overflow):
            break
        if len(nodes) not in (groups[name].target, registered.get(name, 0)):
            continue
        drain_going += nodes
        budget, drain_budget, overflow = budget - len(nodes), drain_budget - len(nodes), False
    some = [node for nodes in empty_single.values() for node in nodes][: max(budget, 0)]
    drain_budget = min(budget - len(some), drain_budget)
    others = [node for nodes in drain_single.values() for node in nodes][: max(drain_budget, 0)]
    return going + some, drain_going + others


def _by_group(nodes: Sequence[str], groups: NodeGroups) -> tuple[Buckets, Buckets]:
    """The nodes of ordinary groups, and those of zero-or-max ones."""
    single: Buckets = {}
    whole: Buckets = {}
    for node in nodes:
        group = groups.of(node)
        if group is not None:
            _bucket(single, whole, group).append(node)
    return single, whole


def _bucket(single: Buckets, whole: Buckets, group: NodeGroup) -> list[str]:
    return (whole if group.settings.zero_or_max_node_scaling else single).setdefault(group.name, [])
