"""Results of a recorded day under other objects of Kueue."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Result, ResultStruct


class QueueWaits(ResultStruct, frozen=True, kw_only=True):
    """What became of the workloads of a ClusterQueue, or of all of them where it is empty.

    ``admitted`` counts admissions, ``at_the_end`` who waits when the day is over, ``preempted`` evictions for others.
    Times are seconds until the first admission; who got none waits until it was deleted or the day ended.
    """

    cluster_queue: str
    admitted: int
    at_the_end: int
    preempted: int
    median: float
    p95: float
    maximum: float


class QueueDaySide(ResultStruct, frozen=True, kw_only=True):
    """One of the three: what was ``recorded``, the recorded queues (A), or the other ones (B). ``waits`` begin with all
    workloads.
    """

    label: str
    waits: tuple[QueueWaits, ...]


class WorkloadDay(ResultStruct, frozen=True, kw_only=True):
    """What one side does with a workload: seconds until its first admission (None without one), the flavors of the last
    one, whom it was preempted for, and its status at the end.
    """

    admitted_after: float | None
    flavors: tuple[str, ...]
    preempted_by: tuple[str, ...]
    status: str


class WorkloadDayChange(ResultStruct, frozen=True, kw_only=True):
    """A workload to which the two do not do the same.

    ``what``: ``waits`` (only A admits it), ``admitted`` (only B does), ``preempted`` or ``spared`` (B does so more
    often, or less), ``flavor`` (another one), ``sooner`` or ``later``.
    """

    workload: str
    cluster_queue: str
    priority: int
    what: str
    a: WorkloadDay
    b: WorkloadDay


class QueueDayDiff(Result, frozen=True, kw_only=True):
    """A recorded day that began at ``start`` and lasted ``seconds``, with the recorded queues (A) and with others (B).

    Kueue decides about ``workloads`` of them; ``assumed`` is what holds on both sides.
    """

    rows: ClassVar[str] = "changes"
    schema: ClassVar[str] = "queue-day-diff"
    about: ClassVar[str] = "What other queues of Kueue would have made of a recorded day"
    view: ClassVar[str] = "backtest.queue_day_text:VIEW"

    kind: str = "QueueDayDiff"
    start: str
    seconds: float
    workloads: int
    recorded: QueueDaySide
    a: QueueDaySide
    b: QueueDaySide
    changes: tuple[WorkloadDayChange, ...]
    assumed: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """1 if anything differs, as diff has it."""
        return int(bool(self.changes))
