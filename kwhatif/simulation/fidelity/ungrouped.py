"""Gaps about pod groups: members that are scheduled one by one, and pods that are not retried since groups are
scheduled in one round.
"""

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


def one_round_gaps(pods: Sequence[str]) -> Iterator[Gap]:
    """A gap for pods without a node that might find one now, where all pods were tried in one round."""
    if pods:
        yield Gap(
            what="where there are groups, everybody is tried in one round",
            effect="a pod that found no node is not tried again, though things have changed for it since",
            pods=tuple(pods),
        )
