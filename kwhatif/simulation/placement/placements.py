"""Placements: what is said of a pod that was tried, and of one that need not be."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from kwhatif.results.place import Placement
from kwhatif.scheduling.attempt import Attempt, quota_shortage_of
from kwhatif.scheduling.describe import choice_of, devices_of, scores_at, victims_of
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
    found = session.running(pod)
    if found is not None:
        return f"it runs on {session.cluster.columns.names[found[1]]} already"
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
    preemptions = [each for each in attempts if each.nominated]
    columns = session.cluster.columns
    names = columns.names
    waits = sibling_wait_of(session, attempt)
    message, outcome = attempt.message, "unschedulable"
    if attempt.gated is not None:
        outcome = "gated" if attempt.is_made else "uncreated"
        message = session.reason_of_gate(attempt)
    elif attempt.waiting or waits is not None:
        outcome = "waiting"
    elif attempt.is_placed:
        outcome = "placed"
    in_order = attempt.best[np.argsort(columns.name_rank[attempt.best])].tolist()
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
        victims=tuple(victim for each in preemptions for victim in victims_of(each, session.budgets)),
        criterion=preemptions[-1].criterion if preemptions else "",
        origin=asked.origin,
        defaults=asked.defaults,
        devices=devices_of(session.cluster, attempt.pod) if attempt.is_placed or attempt.waiting else (),
        waits=waits or msgspec.UNSET,
        quota=quota_shortage_of(attempt) or msgspec.UNSET,
    )
