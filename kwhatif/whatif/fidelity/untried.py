"""Pods that came between: they wait in the snapshot, and the scheduler had not tried them yet when it was taken.

It takes them up before pods of the same priority that come after them. One that was tried and found no node takes no
room until something changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.results.amounts import counted, some
from kwhatif.results.parts import Gap
from kwhatif.whatif.session import Asked, Session, is_untried, pending_pods


def untried_gaps(session: Session, asked: Sequence[Asked]) -> Iterator[Gap]:
    """They are left out unless they are asked about: a gap for all that come after them and wait for a node."""
    known = {item.pod.key for item in asked}
    between = [
        item.pod
        for item in pending_pods(session.snapshot)
        if is_untried(item.pod) and item.pod.key not in known and session.setup.queues(item.pod)
    ]
    most = max((pod.spec.priority or 0 for pod in between), default=0)
    after = [item.pod for item in asked if not item.pod.spec.node_name and (item.pod.spec.priority or 0) <= most]
    if between and after:
        yield Gap(
            what=f"{counted(len(between), 'pod')} of the snapshot came before and had not been tried yet: "
            f"{some(sorted(pod.key for pod in between))}",
            effect="the room they find first counts as free; place and gate try them, too, --with-pending",
            pods=tuple(pod.key for pod in after),
        )
