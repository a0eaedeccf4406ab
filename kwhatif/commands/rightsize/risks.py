"""Risks of other requests: peaks above them, overloaded nodes, limits that kill, quotas that are full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.rightsize.advice import Advice, format_quantity
from kwhatif.commands.rightsize.limit_ranges import quota_bounds
from kwhatif.commands.rightsize.result import Risk
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.usage.book import RESOURCES, UsageBook

HOT = 99.0
"""Percent of the time in which a node may not use more than it has."""


def risks_of(advice: Sequence[Advice], book: UsageBook, cluster: Cluster, snapshot: Snapshot) -> list[Risk]:
    """The risks, the gravest first: containers that would be killed, hot nodes, full quotas, peaks above requests."""
    return [
        *_find_oom_kills(advice),
        *_hot_nodes(book, cluster),
        *_full_quotas(cluster, snapshot),
        *_peaks(advice, book),
    ]


def _find_oom_kills(advice: Sequence[Advice]) -> Iterator[Risk]:
    for each in advice:
        if each.resource == "memory" and each.new_limit is not None and (each.peak or 0) > each.new_limit:
            yield _risk("oom", each, each.peak or 0, each.new_limit, len(each.workload.pods))


def _peaks(advice: Sequence[Advice], book: UsageBook) -> Iterator[Risk]:
    """Pods count by their own peaks, not by that of their workload."""
    for each in advice:
        if not each.changes:
            continue
        peaks = (book.pod_peaks.get((pod.key, each.container, each.resource), 0) for pod in each.workload.pods)
        above = [peak for peak in peaks if peak > each.advised]
        if above:
            yield _risk("peak", each, max(above), each.advised, len(above))


def _risk(kind: str, advice: Advice, amount: int, bound: int, pods: int) -> Risk:
    resource = advice.resource
    return Risk(
        kind=kind,
        subject=advice.workload.name,
        container=advice.container,
        resource=resource,
        amount=format_quantity(resource, amount),
        bound=format_quantity(resource, bound),
        pods=pods,
    )


def _hot_nodes(book: UsageBook, cluster: Cluster) -> Iterator[Risk]:
    """Nodes whose pods used more together, at the same times, than there is; pods without samples do not count."""
    pods: dict[int, list[str]] = {}
    for info, row in cluster.pods():
        pods.setdefault(row, []).append(info.key)
    for resource in RESOURCES:
        room = cluster.shapes.resources.amounts(cluster.columns.allocatable, resource).tolist()
        for row in cluster.columns.name_rank.argsort().tolist():
            used = book.together(pods.get(row, ()), resource, HOT)
            if used is not None and used > room[row]:
                yield Risk(
                    kind="node",
                    subject=cluster.columns.names[row],
                    resource=resource,
                    amount=format_quantity(resource, used),
                    bound=format_quantity(resource, int(room[row])),
                    pods=len(pods.get(row, ())),
                )


def _full_quotas(cluster: Cluster, snapshot: Snapshot) -> Iterator[Risk]:
    sums: dict[str, Counter[str]] = {}
    amounts: dict[int, dict[str, int]] = {}
    shapes = cluster.shapes
    for info, _ in cluster.pods():
        index = info.shape.index
        if index not in amounts:
            asked = zip(shapes.resources.names, shapes.requests[index].tolist(), strict=False)
            amounts[index] = {**{name: amount for name, amount in asked if name in RESOURCES}, "pods": 1}
        sums.setdefault(info.pod.namespace, Counter()).update(amounts[index])
    for quota, namespace, resource, hard in quota_bounds(snapshot):
        wanted = sums.get(namespace, Counter())[resource]
        if wanted > hard:
            written = (
                (str(wanted), str(hard))
                if resource == "pods"
                else (format_quantity(resource, wanted), format_quantity(resource, hard))
            )
            yield Risk(kind="quota", subject=quota, resource=resource, amount=written[0], bound=written[1])
