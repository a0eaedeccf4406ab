"""The gaps that members of pod groups are scheduled one by one, or that autoscalers see them so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.results.base import Gap
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.simulation.session import PodToSchedule, Session


def ungrouped_gaps(session: Session, pods: Sequence[PodToSchedule], *, by_group: bool) -> Iterator[Gap]:
    """A gap for all pods that name a group, unless groups were scheduled as such."""
    if by_group or not takes_groups(session.driver):
        return
    members = tuple(item.pod.key for item in pods if item.pod.spec.scheduling_group is not None)
    if members:
        yield Gap(
            what="pods of groups are taken one by one, each waiting at Permit for the quorum",
            effect="whether a group runs as a whole, and in which domain, is what `kwhatif place` tells",
            pods=members,
        )


def autoscaled_gaps(session: Session, pods: Sequence[PodToSchedule], *, by_group: bool) -> Iterator[Gap]:
    """A gap for members of groups where autoscalers, which know of none, are asked for nodes."""
    if not by_group or not takes_groups(session.driver):
        return
    members = tuple(item.pod.key for item in pods if item.pod.spec.scheduling_group is not None)
    if members:
        yield Gap(
            what="autoscalers see the members of groups one by one, as cluster-autoscaler and Karpenter do",
            effect="nodes may come for a part of a group, and not in one domain",
            pods=members,
        )
