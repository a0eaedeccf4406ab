"""Results of ``backtest``: how far decisions agree, and what two days differ in."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, Result, ResultStruct
from kwhatif.results.diff import ClusterUse


class Agreement(ResultStruct, frozen=True, kw_only=True):
    """How far the decisions of one sort (bound, refused, preempted) agree.

    Of ``total``, ``same`` agree in the state that was most likely theirs; ``foretold`` ones of them had several best
    nodes, and took the one that the version's rule takes. ``tied`` ones took another of the nodes that were equally
    good there; ``searched`` ones come out of another search, which began elsewhere among the nodes;
    ``near`` ones agree in a state close by, and the others do not.
    """

    what: str
    total: int
    same: int
    foretold: int
    tied: int
    searched: int
    near: int

    @property
    def agreeing(self) -> int:
        return self.same + self.tied + self.searched + self.near


class BindingChoices(ResultStruct, frozen=True, kw_only=True):
    """What agreement about bindings is worth. ``decisions`` are those with a choice: more than one node passed, so that
    neither a DaemonSet nor a node name nor a full cluster settled it. ``agreeing`` ones of them come out again;
    ``chance`` is how many of them would, on average, if any node that passes had been taken.
    """

    decisions: int
    agreeing: int
    chance: float


class AgreementMoment(ResultStruct, frozen=True, kw_only=True):
    """The decisions of one of equally long spans of time, which begins ``at``: their number, and how many are
    ``agreeing``.
    """

    at: str
    decisions: int
    agreeing: int


class Disagreement(ResultStruct, frozen=True, kw_only=True):
    """A decision that no state asked agrees with: what was ``recorded``, the ``answer``, and why they may differ.

    ``version`` is the resourceVersion of what told of it, 0 without a recording; ``states`` how many states were asked.
    """

    pod: str
    what: str
    version: int
    recorded: str
    answer: str
    verdict: str
    evidence: str
    states: int


class RecordedBindings(ResultStruct, frozen=True, kw_only=True):
    """Who gave pods their nodes during a recording; those that had one when it began do not count.

    Of ``total``, ``by_other_schedulers`` were bound by schedulers that no profile of the recorded one is, by
    schedulerName; ``created_with_node`` have a node since they were created, and ``static`` are mirrors of static pods.
    The others are the recorded scheduler's: for ``confirmed`` its Event says so, for the rest only the pod's
    schedulerName. ``instances`` is how many hosts the recorded scheduler wrote Events from, 0 if no Event tells;
    ``elections`` how often one became the leader.
    """

    total: int
    by_other_schedulers: dict[str, int]
    created_with_node: int
    static: int
    confirmed: int
    instances: int
    elections: int

    @property
    def by_others(self) -> int:
        return sum(self.by_other_schedulers.values()) + self.created_with_node + self.static


class BacktestResult(Result, frozen=True, kw_only=True):
    """How far the decisions of a recording are reproduced.

    ``texts`` is the number of different texts of refusals, ``texts_agreeing`` of those that came out word for word
    whenever they were recorded. ``left_out`` counts decisions that were not asked about, by reason. ``states`` is how
    many states were asked in all. ``reach`` is how little ``searched`` says: of the nodes that pass, the share which
    comes out of one search or another; None if no decision is such. Less than ``need`` percent of any sort is a "no".
    Where there is a need, so is no decision at all that can be judged. ``choices`` says what agreement is worth.
    ``over_time`` has the agreement span by span, from the first decision to the last one. ``bindings`` says whether
    the recorded scheduler alone bound pods; None of a snapshot alone, which does not tell.
    """

    rows: ClassVar[str] = "disagreements"
    schema: ClassVar[str] = "backtest-result"
    about: ClassVar[str] = "How far the decisions of a recording are reproduced"
    view: ClassVar[str] = "backtest.text:VIEW"

    kind: str = "BacktestResult"
    agreement: tuple[Agreement, ...]
    choices: BindingChoices
    texts: int
    texts_agreeing: int
    disagreements: tuple[Disagreement, ...]
    left_out: dict[str, int]
    states: int
    reach: float | None
    need: float
    over_time: tuple[AgreementMoment, ...] = ()
    bindings: RecordedBindings | None = None
    fidelity: Fidelity

    @property
    def exit_code(self) -> int:
        judged = any(agreement.total for agreement in self.agreement)
        too_few = any(100 * agreement.agreeing < self.need * agreement.total for agreement in self.agreement)
        return int(too_few or (self.need > 0 and not judged))


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
    view: ClassVar[str] = "backtest.text:DIFF_VIEW"

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
        preemptions = [
            [(preemption.pod, preemption.seconds) for preemption in self.preemptions if preemption.side == side]
            for side in ("A", "B")
        ]
        return bool(self.changes) or self.a.pending != self.b.pending or preemptions[0] != preemptions[1]

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return self.a.fidelity, self.b.fidelity

    @property
    def exit_code(self) -> int:
        """1 if anything differs, as diff has it."""
        return int(self.differs)
