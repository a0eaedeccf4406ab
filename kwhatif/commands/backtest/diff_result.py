"""Results of a recorded day under another configuration."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, Result, ResultStruct
from kwhatif.results.diff import ClusterUse


class PendingTime(ResultStruct, frozen=True, kw_only=True):
    """How long pods waited for a node, in seconds; all of them, or those of one ``priority``.

    ``pods`` is their number; those that were not ``bound`` count with the time until they were deleted or the day
    ended.
    """

    priority: int | None
    pods: int
    bound: int
    median: float
    p95: float
    maximum: float


class DayPreemption(ResultStruct, frozen=True, kw_only=True):
    """So many ``seconds`` after the beginning a side's scheduler has ``pod`` leave ``node``, for the pod ``by``."""

    seconds: float
    side: str
    pod: str
    node: str
    by: str


class DaySide(ResultStruct, frozen=True, kw_only=True):
    """One of the two: how many pods were ``bound``, how many wait ``at_the_end``, how many were ``preempted``.

    ``pending`` has all pods first, then each priority, the highest first.
    """

    label: str
    bound: int
    at_the_end: int
    preempted: int
    pending: tuple[PendingTime, ...]
    fidelity: Fidelity


class Reality(ResultStruct, frozen=True, kw_only=True):
    """What was recorded, and how far side A is from it: of the pods bound in ``both``, ``same`` counts those that got
    the same node.
    """

    bound: int
    at_the_end: int
    preempted: int
    pending: tuple[PendingTime, ...]
    both: int
    same: int


class DayChange(ResultStruct, frozen=True, kw_only=True):
    """A pod to which the two do not do the same.

    ``what``: ``moved``, ``pending`` (only A has a node for it in the end), ``placed`` (only B has), ``evicted`` or
    ``spared`` (B, or A, preempts it, and it ends on the same node). ``waited_a`` and ``waited_b`` are seconds, of all
    pods that were made in its place together.
    """

    pod: str
    workload: str
    priority: int
    what: str
    node_a: str
    node_b: str
    waited_a: float
    waited_b: float


class WorkloadChange(ResultStruct, frozen=True, kw_only=True):
    """The changes of one workload's pods, and the number of its pods over the day."""

    workload: str
    pods: int
    moved: int
    pending: int
    placed: int
    evicted: int
    spared: int


class DayMoment(ResultStruct, frozen=True, kw_only=True):
    """Both clusters just before a moment: how full they are, and how many pods wait."""

    at: str
    seconds: float
    a: ClusterUse
    b: ClusterUse
    waiting_a: int
    waiting_b: int


class BacktestDiff(Result, frozen=True, kw_only=True):
    """A recorded day that began at ``start`` and lasted ``seconds``, simulated twice: by the recorded scheduler's
    configuration (A), and by another (B). ``changes`` are those of ``pods`` that had to be scheduled.
    """

    rows: ClassVar[str] = "changes"
    schema: ClassVar[str] = "backtest-diff"
    about: ClassVar[str] = "What another configuration would have made of a recorded day"
    view: ClassVar[str] = "backtest.diff_text:VIEW"
    page: ClassVar[str] = "backtest.diff_text:PAGE"

    kind: str = "BacktestDiff"
    start: str
    seconds: float
    a: DaySide
    b: DaySide
    recorded: Reality
    pods: int
    changes: tuple[DayChange, ...]
    workloads: tuple[WorkloadChange, ...]
    preemptions: tuple[DayPreemption, ...]
    over_time: tuple[DayMoment, ...]
    assumed: tuple[str, ...]

    @property
    def differs(self) -> bool:
        told = [[(each.pod, each.seconds) for each in self.preemptions if each.side == side] for side in ("A", "B")]
        return bool(self.changes) or self.a.pending != self.b.pending or told[0] != told[1]

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return self.a.fidelity, self.b.fidelity

    @property
    def exit_code(self) -> int:
        """1 if anything differs, as diff has it."""
        return int(self.differs)
