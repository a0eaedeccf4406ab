"""A running profile, and the state that the profiles of one process share.

Upstream: pkg/scheduler/profile/profile.go, and the fields of Scheduler in pkg/scheduler/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from kwhatif.framework.interface import WaitingPod
from kwhatif.framework.runner import Framework
from kwhatif.scheduling.node_sampling import Search, sample

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import Extenders
    from kwhatif.scheduling.preemption import Preemption


class Profile(msgspec.Struct):
    """A framework with its percentage of nodes to score and the waiting pods of its permit plugins.

    ``extenders`` are called, if there are any; its plugins preempt by ``preemption``.
    """

    framework: Framework
    percentage: int
    waiting: dict[str, WaitingPod]
    extenders: Extenders | None = None
    preemption: Preemption | None = None

    def start_over(self) -> None:
        """No pod waits, and preemption draws nothing any more."""
        self.waiting.clear()
        if self.preemption is not None:
            self.preemption.random = None


class SharedState(msgspec.Struct):
    """What the schedulers of one process share besides their cluster.

    next_start   where the next search for nodes begins
    cycle        how many pods have been taken from the queue
    now          the moment, in seconds
    prefers      for pods by uid or key, the node to take if it is among the best
    search       which of the nodes that pass are found
    """

    next_start: int = 0
    cycle: int = 0
    now: float = 0.0
    prefers: Mapping[str, str] = {}
    search: Search = sample
