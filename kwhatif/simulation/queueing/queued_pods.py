"""What Kueue has decided about pods, for every run of the scheduler after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kwhatif.results.outcome import EvictedPod, PendingPod


@dataclass(frozen=True)
class QueuedPods:
    """``held`` are the pods (``namespace/name``) that Kueue does not let start, and why.

    ``evicted`` are the pods of workloads that lost their quota, ``pending`` those of them that stay away. ``words`` are
    for the verdict.
    """

    held: Mapping[str, str] = field(default_factory=dict)
    evicted: tuple[EvictedPod, ...] = ()
    pending: tuple[PendingPod, ...] = ()
    words: tuple[str, ...] = ()


NO_QUEUES = QueuedPods()
