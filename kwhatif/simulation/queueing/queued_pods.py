"""What Kueue has decided about pods, for every run of the scheduler after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.results.outcome import EvictedPod, PendingPod


@dataclass(frozen=True)
class QueuedCopies:
    """So many copies of all workloads ``fit`` the quota of a ClusterQueue, the first included; ``why`` no more.

    ``domains`` are those of the copies after the first, by pod (``namespace/name``) the labels of its domain.
    ``elsewhere`` are the flavors of the next copy, if it is admitted, but not in those of the first.
    """

    fits: int
    cluster_queue: str
    why: str
    domains: Sequence[Mapping[str, Mapping[str, str]]] = ()
    elsewhere: str = ""

    def domain_of(self, pod: str, number: int) -> Mapping[str, str]:
        """The labels of the domain of a pod's copy, where it is another one than the first has."""
        return self.domains[number - 2].get(pod, {}) if 2 <= number < len(self.domains) + 2 else {}


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
