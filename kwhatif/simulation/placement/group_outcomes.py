"""Outcomes of pod groups, domain by domain, and what a whole group lacks where it does not fit; and which
groups an operation leaves without members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.pod_group_states import GroupKey, group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import Quorum
from kwhatif.framework.status import Code
from kwhatif.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.results.amounts import format_count, format_in_one_unit
from kwhatif.results.group_outcome import DomainOutcome, GroupDisruption, GroupOutcome, SiblingWait
from kwhatif.results.place import Placement
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.pod_group_results import PlacementAttempt, PodGroupCycle
from kwhatif.simulation.session import PodToSchedule, Session


def outcome_of(cluster: Cluster, cycles: Sequence[PodGroupCycle], running: int) -> GroupOutcome:
    """The outcome of one group's cycles; ``running`` members had nodes before. The last cycle counts."""
    last, first = cycles[-1], cycles[0]
    group = cluster.pod_groups.objects.get(last.key)
    bound = {key for cycle in cycles for key in cycle.bound}
    status = last.status
    outcome = "scheduled"
    if status is not None:
        outcome = "error" if status.code is Code.ERROR else "unschedulable"
    tried = last.tried or first.tried
    return GroupOutcome(
        group=last.name,
        members=len(first.members),
        running=running,
        fit=max((_fitting(attempt) for attempt in tried), default=0) + len(bound - set(last.bound)),
        bound=len(bound),
        needs=(group.min_count or 0) if group is not None else 0,
        outcome=outcome,
        message=status.message if status is not None else "",
        domains=tuple(
            _domain(cluster, attempt, last.scores, is_chosen=attempt is last.chosen and status is None)
            for attempt in tried
        ),
        evicted=tuple(sorted({pod.key for cycle in cycles for pod in cycle.evicted})),
    )


def gated_groups(cluster: Cluster, pods: Iterable[PodInfo]) -> Iterator[GroupOutcome]:
    """The groups whose pods were never tried, since their quorum or their PodGroup is missing."""
    groups: dict[GroupKey, int] = {}
    for pod in pods:
        key = group_key(pod)
        if key is not None:
            groups[key] = groups.get(key, 0) + 1
    for key in sorted(groups):
        group = cluster.pod_groups.objects.get(key)
        yield GroupOutcome(
            group="/".join(key),
            members=cluster.pod_groups.all_pods_count(key, cluster.find),
            needs=(group.min_count or 0) if group is not None else 0,
            outcome="gated",
            message="" if group is not None else f"PodGroup {'/'.join(key)} does not exist",
        )


def sibling_wait_of(session: Session, attempt: Attempt) -> SiblingWait | None:
    """What a pod waits for that has a node, or waited for in vain; None of any other."""
    permit, refused = attempt.permit, attempt.refused
    if attempt.chosen is None or not isinstance(permit, Mapping) or not (attempt.waiting or attempt.lost):
        return None
    if attempt.lost and (refused is None or refused.plugin not in permit):
        return None
    quorum = session.driver.scheduler_for(attempt.pod).framework.quorum_of(attempt.pod)
    return None if quorum is None else _wait_for(quorum, session.cluster.columns.names[attempt.chosen])


def _wait_for(quorum: Quorum, node: str = "") -> SiblingWait:
    missing = max(quorum.needs - quorum.most, 0)
    return SiblingWait(
        group=quorum.group, needs=quorum.needs, missing=missing, seconds=float(quorum.seconds), node=node
    )


def gang_outcomes(
    session: Session, asked: Iterable[PodToSchedule], placements: Iterable[Placement]
) -> tuple[GroupOutcome, ...]:
    """What became of the groups whose pods were taken up one by one, and wait for one another at Permit."""
    if not any(scheduler.framework.has_quorums for scheduler in session.driver.in_use):
        return ()
    outcomes = {placement.pod: placement.outcome for placement in placements}
    quorums: dict[str, Quorum] = {}
    members: dict[str, list[str]] = {}
    for item in asked:
        outcome = outcomes.get(item.pod.key, "skipped")
        scheduler = session.driver.scheduler(item.pod.spec.scheduler_name)
        if scheduler is None or outcome == "skipped":
            continue
        quorum = scheduler.framework.quorum_of(session.info(item))
        if quorum is not None:
            quorums[quorum.group] = quorum
            members.setdefault(quorum.group, []).append(outcome)
    return tuple(_gang_outcome(quorums[group], members[group]) for group in sorted(quorums))


def _gang_outcome(quorum: Quorum, members: Sequence[str]) -> GroupOutcome:
    bound = sum(outcome in ("placed", "autoscaled") for outcome in members)
    running = max(quorum.assigned - bound, 0)
    waits = "waiting" in members and bound + running < quorum.needs
    return GroupOutcome(
        group=quorum.group,
        members=len(members),
        running=running,
        fit=max(bound, min(quorum.most - running, len(members))),
        bound=bound,
        needs=quorum.needs,
        outcome="waiting" if waits else "scheduled" if bound + running >= quorum.needs else "unschedulable",
        message=quorum.lacking if waits else "",
        waits=_wait_for(quorum) if waits else msgspec.UNSET,
    )


def _fitting(attempt: PlacementAttempt) -> int:
    return sum(member.found_node for member in attempt.members)


def _domain(
    cluster: Cluster, attempt: PlacementAttempt, scores: Mapping[str, Mapping[str, int]], *, is_chosen: bool
) -> DomainOutcome:
    without = [member for member in attempt.members if not member.found_node]
    name = attempt.placement.name
    return DomainOutcome(
        name=name,
        nodes=len(attempt.placement.rows),
        fit=_fitting(attempt),
        chosen=is_chosen,
        lacks=tuple(_shortages(cluster, attempt)) if without and not is_chosen else (),
        reason=without[0].attempt.message if without else "",
        scores=dict(scores.get(name, {})),
    )


def _shortages(cluster: Cluster, attempt: PlacementAttempt) -> Iterator[str]:
    """What is short in the domain as a whole, were its members spread over its nodes in any way.

    Nodes that are closed to the members, whatever room they have, have no room for them.
    """
    without = [member.pod for member in attempt.members if not member.found_node]
    inside = [member.pod for member in attempt.members if member.found_node]
    part = f"{len(without)} of {len(attempt.members)} members"
    rows, reasons = _open_rows(attempt)
    closed = len(attempt.placement.rows) - len(rows)
    names = sorted({name for pod in without for name, amount in pod.shape.requests.items() if amount})
    is_short = False
    for name in names:
        left = cluster.free(name)
        free = sum(left[row] for row in rows) - sum(pod.shape.requests.get(name, 0) for pod in inside)
        wanted = sum(pod.shape.requests.get(name, 0) for pod in without)
        if wanted > free and len(rows):
            is_short = True
            (short,) = format_in_one_unit(name, wanted - free)
            yield f"{short} {name} short for {part}"
    if not is_short and len(rows):
        yield f"enough in all, but on no one node for {part}"
    if closed:
        number = (
            f"all {format_count(closed, 'node')}"
            if not len(rows)
            else f"{closed} of {len(attempt.placement.rows)} nodes"
        )
        yield f"{number} closed to them{': ' if reasons else ''}{', '.join(reasons)}"


def _open_rows(attempt: PlacementAttempt) -> tuple[list[int], list[str]]:
    """The nodes of a domain that the first member without a node may use if they have room, and why not the others."""
    rows = attempt.placement.rows.tolist()
    failed = next(member for member in attempt.members if not member.found_node)
    diagnosis = failed.attempt.diagnosis
    if diagnosis is None or diagnosis.verdicts is None:
        return rows, []
    verdicts = diagnosis.verdicts
    considered = set(rows if diagnosis.considered is None else diagnosis.considered.tolist())
    first = zip(rows, verdicts.first[rows].tolist(), strict=True)
    reasons = {
        blocker.rejection.reason
        for blocker in verdicts.blockers
        if blocker.plugin != NodeResourcesFit.name and blocker.counted[rows].any()
    }
    open_ = [
        row
        for row, place in first
        if row in considered and (place < 0 or verdicts.plugins[place] == NodeResourcesFit.name)
    ]
    return open_, sorted(reasons)


GroupMembers = Mapping[GroupKey, Mapping[str, str]]
"""Group -> uid of each member with a node -> the name of that node."""


def running_members(cluster: Cluster) -> GroupMembers:
    """The members of groups that have nodes; none where groups are unknown."""
    running: dict[GroupKey, dict[str, str]] = {}
    features, names = cluster.shapes.features, cluster.columns.names
    if not (features.generic_workload and features.pod_group_cycles):
        return running
    for key in cluster.pod_groups.list_groups():
        members = cluster.pod_groups.scheduled_pods(key, cluster.find)
        if members:
            running[key] = {uid: names[row] for uid, row in members.items()}
    return running


def disrupted_groups(before: GroupMembers, after: Cluster) -> Iterator[GroupDisruption]:
    """The groups of which members that had a node do not stay there, by name, in the cluster as it is ``after``."""
    running = running_members(after)
    for key in sorted(before):
        there, now = before[key], running.get(key, {})
        stay = sum(now.get(uid) == node for uid, node in there.items())
        if stay == len(there):
            continue
        group = after.pod_groups.objects.get(key)
        yield GroupDisruption(
            group="/".join(key),
            needs=(group.min_count or 0) if group is not None else 0,
            before=len(there),
            stay=stay,
            after=len(now),
        )
