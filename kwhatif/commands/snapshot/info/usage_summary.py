"""Reserved and used resources of a snapshot: by pool, and the workloads that reserve most without using it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.commands.rightsize.advice import amounts_of
from kwhatif.commands.rightsize.options import UsageOptions
from kwhatif.commands.rightsize.policy_document import default_policy
from kwhatif.commands.rightsize.usage_sources import gather_usage
from kwhatif.commands.rightsize.workload_pods import WorkloadPods
from kwhatif.commands.snapshot.info.result import InfoResult, PoolUsage, Reserved
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.node_pools import RequestSums, pods_by_node, pool_of
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.usage.book import RESOURCES, UsageBook
from kwhatif.usage.read import METRICS
from kwhatif.versions import Features

MOST = 90.0
"""Percent of the time in which pods of a pool or of a workload use no more together."""
SHOWN = 10


def add_usage(
    result: InfoResult,
    snapshot: Snapshot,
    files: Sequence[str],
    features: Features,
    now: datetime | None,
    notes: Notes,
    by: str = "",
) -> InfoResult:
    """The numbers of a snapshot with what its pods use; as they are where neither files nor the snapshot say that.

    ``by`` is the label that says the pool. Raises InputError for usage that is of another cluster.
    """
    if not files and not snapshot.whole.get(METRICS):
        return result
    pods = WorkloadPods(snapshot)
    read = gather_usage(UsageOptions(usage=files), snapshot, pods, default_policy().window, "default", now, notes)
    return replace(
        result,
        usage=tuple(_by_pool(snapshot, read.book, features, by)),
        reserved=tuple(_by_workload(pods, read.book)),
    )


def _by_pool(snapshot: Snapshot, book: UsageBook, features: Features, by: str) -> Iterator[PoolUsage]:
    pools: dict[str, list[Node]] = {}
    for node in snapshot.objects.list_all(Node):
        pools.setdefault(pool_of(node, by), []).append(node)
    there, requests = pods_by_node(snapshot.objects.list_all(Pod)), RequestSums(features)
    for pool, nodes in sorted(pools.items()):
        mine = [pod for node in nodes for pod in there.get(node.name, ())]
        for resource in RESOURCES:
            requested = sum(requests.requests_of(pod).get(resource, 0) for pod in mine)
            used = book.together((pod.key for pod in mine), resource, MOST)
            yield PoolUsage(pool=pool, resource=resource, requested=requested, used=used)


def _by_workload(pods: WorkloadPods, book: UsageBook) -> list[Reserved]:
    """Those that reserve most for nothing, some of CPU and some of memory."""
    shares: list[Reserved] = []
    for workload in pods.in_order():
        for resource in RESOURCES:
            requests = (
                amounts_of(container, resource)[0]
                for container in workload.containers
                if book.of(workload.name, container.name, resource) is not None
            )
            number = len(workload.pods)
            requested = number * sum(filter(None, requests))
            used = book.together((pod.key for pod in workload.pods), resource, MOST)
            if used is not None and requested > used:
                shares.append(
                    Reserved(workload=workload.name, resource=resource, pods=number, requested=requested, used=used)
                )
    return [
        reserved
        for resource in RESOURCES
        for reserved in sorted(
            (one for one in shares if one.resource == resource),
            key=lambda one: (one.used - one.requested, one.workload),
        )[:SHOWN]
    ]
