"""Pod groups before and after an operation: which of them lose members, and which lose their quorum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.results.group_outcome import GroupDisruption

GroupMembers = Mapping[GroupKey, Mapping[str, str]]
"""Group -> uid of each member with a node -> the name of that node."""


def running_members(cluster: Cluster) -> GroupMembers:
    """The members of groups that have nodes; none where groups are unknown."""
    found: dict[GroupKey, dict[str, str]] = {}
    features, names = cluster.shapes.features, cluster.columns.names
    if not (features.generic_workload and features.pod_group_cycles):
        return found
    for key in cluster.pod_groups.list_groups():
        members = cluster.pod_groups.scheduled_pods(key, cluster.find)
        if members:
            found[key] = {uid: names[row] for uid, row in members.items()}
    return found


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
