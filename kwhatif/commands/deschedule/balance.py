"""How balanced a cluster is, before and after: utilization, its deviation, and how the pods of one owner are spread;
and the nodes that autoscalers remove with the descheduler and without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import msgspec

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.deschedule.result import Balance, Measure, RemovedNode
from kwhatif.results.diff import ClusterUse, Use
from kwhatif.results.place import HOURS_A_MONTH
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.cluster_use import skews_of, use_of
from kwhatif.simulation.placement.scale_down import ShrinkingCluster, groups_of_nodes, remove_unneeded_nodes
from kwhatif.simulation.session import Session

_RESOURCES = ("cpu", "memory")


class BalanceObservation(msgspec.Struct, frozen=True):
    """How a cluster lies at one moment. ``duplicates`` are pods beside another one of their owner on the same node,
    ``skews`` by workload the pods of its fullest zone minus those of its emptiest."""

    use: ClusterUse
    duplicates: int
    skews: dict[str, int]


def observe_balance(cluster: Cluster) -> BalanceObservation:
    return BalanceObservation(use_of(cluster), _count_duplicates(cluster), skews_of(cluster))


def compare_balance(before: BalanceObservation, after: BalanceObservation) -> Balance:
    """Both moments side by side; a workload's skew counts if it lies otherwise than before."""
    return Balance(measures=tuple(_measures(before, after)))


def _measures(before: BalanceObservation, after: BalanceObservation) -> Iterator[Measure]:
    for resource in _RESOURCES:
        was, now = _use(before.use, resource), _use(after.use, resource)
        if was is not None and now is not None:
            maximum, deviation = (f"{resource} requested, {of}" for of in ("fullest node", "deviation over nodes"))
            yield Measure(name=maximum, before=was.maximum, after=now.maximum, unit="%")
            yield Measure(name=deviation, before=was.deviation, after=now.deviation, unit="%")
    yield Measure(name="nodes in use", before=before.use.used, after=after.use.used)
    yield Measure(name="duplicates", before=before.duplicates, after=after.duplicates)
    yield Measure(name="skew over zones, all workloads", before=_total_skew(before), after=_total_skew(after))


def _use(use: ClusterUse, resource: str) -> Use | None:
    return next((resource_use for resource_use in use.resources if resource_use.resource == resource), None)


def _total_skew(observed: BalanceObservation) -> int:
    return sum(observed.skews.values())


def _count_duplicates(cluster: Cluster) -> int:
    counts: Counter[tuple[str, str | None, str | None, int]] = Counter()
    for info, row in cluster.pods():
        owner = info.shape.controller
        if owner is not None and owner.kind != "DaemonSet":
            counts[info.shape.namespace, owner.kind, owner.name, row] += 1
    return sum(count - 1 for count in counts.values())


def list_removed_nodes(
    session: Session, scaler: Scaler, waiting: Sequence[Pod], empty: Collection[str], anyway: Collection[str]
) -> tuple[tuple[RemovedNode, ...], Session]:
    """The nodes that autoscalers remove after the descheduler, some of them ``anyway``, and the cluster without them.

    ``waiting`` pods find no node there, and some nodes are ``empty``.
    """
    groups, prices = groups_of_nodes(scaler, session), _prices(scaler)
    shrinking = ShrinkingCluster(session, waiting)
    removed = tuple(
        RemovedNode(
            node=name,
            group=groups.get(name, ""),
            empty=name in empty,
            anyway=name in anyway,
            cost=prices.get(groups.get(name, "")),
        )
        for name in remove_unneeded_nodes(shrinking, scaler)
    )
    return removed, shrinking.session


def _prices(scaler: Scaler) -> dict[str, float]:
    """What a node of a group costs a month, where that is known."""
    groups = [
        group
        for autoscaler in scaler.autoscalers
        if isinstance(autoscaler, GroupAutoscaler)
        for group in autoscaler.known.groups
    ]
    return {group.name: round(group.price * HOURS_A_MONTH, 2) for group in groups if group.price is not None}
