"""Placements: what is said of a pod that was tried, and of one that need not be; and their totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from kwhatif.api.core import Node
from kwhatif.cluster.cluster import Cluster
from kwhatif.results.place import Allocation, Placement, PoolAllocation, Totals, UnplacedCause
from kwhatif.scheduling.attempt import Attempt, quota_shortage_of
from kwhatif.scheduling.describe import choice_of, devices_of, scores_at, victims_of
from kwhatif.simulation.node_pools import pool_of
from kwhatif.simulation.placement.group_outcomes import sibling_wait_of
from kwhatif.simulation.session import PodToSchedule, Session

MOST_TIED = 10
"""How many names of tied nodes are kept."""


def skip_reason_of(session: Session, asked: PodToSchedule) -> str:
    """Why the scheduler would not try the pod at all."""
    pod = asked.pod
    if session.driver.scheduler(pod.spec.scheduler_name) is None:
        return f"schedulerName {pod.spec.scheduler_name} is none of the configuration's profiles"
    if pod.metadata.deletion_timestamp:
        return "the pod is being deleted"
    pod_and_row = session.running(pod)
    if pod_and_row is not None:
        return f"it runs on {session.cluster.columns.names[pod_and_row[1]]} already"
    if pod.spec.node_name:
        session.cluster.add(session.info(asked, bound=True), pod.spec.node_name)
        return f"spec.nodeName binds it to {pod.spec.node_name} without the scheduler"
    return ""


def skip_pod(session: Session, asked: PodToSchedule, reason: str) -> Placement:
    """The placement of a pod that is not scheduled, since it need not be or belongs to another scheduler."""
    pod = asked.pod
    return Placement(
        pod=pod.key,
        outcome="unclaimed" if session.driver.scheduler(pod.spec.scheduler_name) is None else "skipped",
        priority=pod.spec.priority or 0,
        scheduler=pod.spec.scheduler_name or "",
        message=reason,
        origin=asked.origin,
        defaults=asked.defaults,
    )


def placement_of(session: Session, asked: PodToSchedule, attempts: Sequence[Attempt]) -> Placement:
    """The placement by the last of a pod's attempts, and the victims of all of them."""
    attempt = attempts[-1]
    preemptions = [try_ for try_ in attempts if try_.nominated]
    names = session.cluster.columns.names
    waits = sibling_wait_of(session, attempt)
    message, outcome = attempt.message, "unschedulable"
    if attempt.gated is not None:
        outcome = "gated" if attempt.is_made else "uncreated"
        message = session.reason_of_gate(attempt)
    elif attempt.waiting or waits is not None:
        outcome = "waiting"
    elif attempt.is_placed:
        outcome = "placed"
    in_order = sorted(attempt.best.tolist(), key=lambda row: names[row])
    return Placement(
        pod=asked.pod.key,
        outcome=outcome,
        priority=attempt.pod.priority,
        scheduler=asked.pod.spec.scheduler_name or "",
        node="" if attempt.row is None else names[attempt.row],
        score=attempt.score,
        feasible=len(attempt.sampled),
        evaluated=attempt.evaluated,
        ties=max(len(attempt.best), 1) if attempt.is_placed else 0,
        tied=tuple(names[row] for row in in_order[:MOST_TIED]) if len(in_order) > 1 else (),
        choice=choice_of(attempt),
        scores=scores_at(attempt),
        message=message,
        victims=tuple(victim for preemption in preemptions for victim in victims_of(preemption, session.budgets)),
        criterion=preemptions[-1].criterion if preemptions else "",
        origin=asked.origin,
        defaults=asked.defaults,
        devices=devices_of(session.cluster, attempt.pod) if attempt.is_placed or attempt.waiting else (),
        waits=waits or msgspec.UNSET,
        quota=quota_shortage_of(attempt) or msgspec.UNSET,
    )


_OF_NODES = re.compile(r"0/\d+ nodes are available: ")
_NUMBER = re.compile(r"(?:^|, )\d+ ")


def totals(placements: Sequence[Placement], cluster: Cluster) -> Totals:
    """Count ``placements`` that have led to this ``cluster``."""
    outcomes = Counter(placement.outcome for placement in placements)
    causes = Counter(cause(placement.reason) for placement in placements if not placement.good)
    pools: dict[str, list[int]] = {}
    nodes = cluster.objects.list_all(Node)
    known = cluster.objects.share(pool_of, (Node.__name__,), lambda: {node.name: pool_of(node) for node in nodes})
    for row, node in enumerate(cluster.columns.nodes):
        pool = known.get(node.name)
        pools.setdefault(pool_of(node) if pool is None else pool, []).append(row)
    ranked = sorted(causes.items(), key=lambda entry: (-entry[1], entry[0]))
    return Totals(
        pods=len(placements),
        placed=outcomes["placed"],
        autoscaled=outcomes["autoscaled"],
        skipped=outcomes["skipped"],
        unplaced=sum(causes.values()),
        causes=tuple(UnplacedCause(reason=reason, pods=number) for reason, number in ranked),
        pools=tuple(_pool(name, rows, cluster) for name, rows in sorted(pools.items())),
    )


def cause(reason: str) -> str:
    """A failure message's reasons without their numbers, which differ from pod to pod; else the reason itself.

    ``0/6 nodes are available: 2 Insufficient cpu, 4 node(s) were unschedulable.`` is ``Insufficient cpu, node(s) were
    unschedulable``.
    """
    match = _OF_NODES.match(reason)
    if match is None:
        return reason
    # What preemption says comes after a full stop.
    reasons = reason[match.end() :].partition(". ")[0].removesuffix(".")
    return ", ".join(sorted(filter(None, _NUMBER.split(reasons))))


def _pool(name: str, rows: Sequence[int], cluster: Cluster) -> PoolAllocation:
    amounts = cluster.totals(rows)
    _, pods = amounts.get("pods", (0, 0))
    resources = (
        Allocation(resource=resource, allocatable=has, requested=requests)
        for resource, (has, requests) in amounts.items()
        if has or requests
    )
    return PoolAllocation(pool=name, nodes=len(rows), pods=pods, resources=tuple(resources))
