"""Results of ``backtest``: how far decisions agree."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, Result, ResultStruct


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
    """How far the decisions of a recording come out again.

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
    about: ClassVar[str] = "How far the decisions of a recording come out again"
    view: ClassVar[str] = "backtest.text:VIEW"
    page: ClassVar[str] = "backtest.text:PAGE"

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
        judged = any(each.total for each in self.agreement)
        too_few = any(100 * each.agreeing < self.need * each.total for each in self.agreement)
        return int(too_few or (self.need > 0 and not judged))
