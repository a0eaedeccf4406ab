"""What Kueue has decided about pods, for every run of the scheduler after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kwhatif.results.outcome import EvictedPod, PendingPod


@dataclass(frozen=True)
class QueuedCopies:
    """So many copies of all workloads ``fit`` the quota of a ClusterQueue, the first included; ``why`` no more.

    ``has_topology``: each copy has domains of its own. ``elsewhere`` are the flavors of the next copy, if it is
    admitted, but not in those of the first.
    """

    fits: int
    cluster_queue: str
    why: str
    has_topology: bool = False
    elsewhere: str = ""


@dataclass(frozen=True)
class QueuedPods:
    """``held`` are the pods (``namespace/name``) that Kueue does not let start, and why.

    ``evicted`` are the pods of workloads that lost their quota, ``pending`` those of them that stay away. ``words`` are
    for the verdict. ``copies`` are counted for a question about them, where Kueue is a limit.
    """

    held: Mapping[str, str] = field(default_factory=dict)
    evicted: tuple[EvictedPod, ...] = ()
    pending: tuple[PendingPod, ...] = ()
    words: tuple[str, ...] = ()
    copies: QueuedCopies | None = None


NO_QUEUES = QueuedPods()
