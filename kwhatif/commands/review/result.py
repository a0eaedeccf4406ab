"""What one change does, costs and puts at risk."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.gate import Change, GateFiles
from kwhatif.results.node_costs import words_of_cost
from kwhatif.results.outcome import Concluded
from kwhatif.results.place import FailedCreate, Refusal, RolloutPlan, ScaleUp


class RequestChange(ResultStruct, frozen=True, kw_only=True):
    """What the running pods of a namespace, or on the nodes of a pool, request of a resource: cpu in millicores, all
    else in bytes or pieces. ``room`` is what a pool has.
    """

    scope: Literal["namespace", "pool"]
    name: str
    resource: str
    before: int
    after: int
    room: int | None = None


class WorkloadPlacement(ResultStruct, frozen=True, kw_only=True):
    """Where the new pods of a workload go: how many to which pool, how many wait, and why the first of these does."""

    workload: str
    pods: int
    placed: int
    pools: dict[str, int] = msgspec.field(default_factory=dict)
    why: str = ""
    pod: str = ""
    command: str = ""


class BudgetChange(ResultStruct, frozen=True, kw_only=True):
    """How many disruptions a PodDisruptionBudget allows; None where there is none."""

    budget: str
    before: int | None
    after: int | None


class QuotaChange(ResultStruct, frozen=True, kw_only=True):
    """What pods use of a ResourceQuota, as the API server writes amounts; ``hard_before`` is None if it is new."""

    quota: str
    resource: str
    before: str
    after: str
    hard: str
    hard_before: str | None = None

    @property
    def at_most(self) -> str:
        """``20``, or ``30 -> 20`` where that changes."""
        before = self.hard_before
        return self.hard if before in (None, self.hard) else f"{before} -> {self.hard}"


class EvictedByChange(ResultStruct, frozen=True, kw_only=True):
    """A pod that loses its node to one of the change, or its quota, which Kueue takes. Its ``replacement``, if one is
    made, ``lands_on`` a node or on none: it stays pending.
    """

    pod: str
    taken_by: str
    replacement: str = ""
    lands_on: str = ""


class Risk(ResultStruct, frozen=True, kw_only=True):
    """Something that may happen once the change is in: the loss of a ``node`` or a ``zone``, the ``upgrade`` of a pool,
    the next ``rollout`` of a workload.

    ``before`` and ``after`` are how many pods have no node then, without the change and with it; None where that was
    not looked at.
    """

    kind: Literal["node", "zone", "upgrade", "rollout"]
    name: str
    before: int | None = None
    after: int
    what: str
    command: str = ""


class Remedy(ResultStruct, frozen=True, kw_only=True):
    """A single change that was tried and lets ``pods`` of the ``waiting`` ones of a workload run, the first on
    ``node``; pods it ``evicts``.
    """

    workload: str
    change: str
    node: str
    pods: int = 1
    waiting: int = 1
    evicts: tuple[str, ...] = ()
    command: str = ""


def words_of_bill(cost: float | None, scale_up: ScaleUp) -> str:
    """What changes by the month, without nodes that only Jobs need; those by the hour."""
    if cost is None:
        return "unknown: a price is missing"
    of_jobs = [node for node in scale_up.nodes if node.only_jobs]
    stays = round(cost - sum(node.cost or 0.0 for node in of_jobs), 2)
    monthly = [f"{stays:+,.2f} a month"] if stays or not of_jobs else []
    return ", ".join(filter(None, [*monthly, words_of_cost(of_jobs)]))


class ReviewResult(Concluded, frozen=True, kw_only=True):
    """What a change does.

    ``files`` is the account of all files; what of the change was not read makes the exit code 2. ``workloads`` are
    those with new pods, ``risks`` what the change makes worse, the worst first; ``examined`` says in sentences what was
    tried to find them. ``remedies`` were tried one by one. Each ``command`` says more of a row, and ``more`` of the
    whole.
    """

    rows: ClassVar[str] = "workloads"
    schema: ClassVar[str] = "review-result"
    about: ClassVar[str] = "What kwhatif review says of a change"
    view: ClassVar[str] = "review.text:VIEW"

    kind: str = "Review"
    files: GateFiles = GateFiles()
    changes: tuple[Change, ...] = ()
    requests: tuple[RequestChange, ...] = ()
    workloads: tuple[WorkloadPlacement, ...] = ()
    evicted: tuple[EvictedByChange, ...] = ()
    budgets: tuple[BudgetChange, ...] = ()
    quotas: tuple[QuotaChange, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    scale_up: ScaleUp | None = None
    risks: tuple[Risk, ...] = ()
    examined: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: Fidelity
    more: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands that say more, those about what is wrong first."""
        named = [workload.command for workload in self.workloads]
        named += [risk.command for risk in self.risks]
        named += [remedy.command for remedy in self.remedies]
        return tuple(dict.fromkeys(filter(None, (*named, self.more))))

    @property
    def exit_code(self) -> int:
        """0 if the outcome is good, 2 if files of the change were not read, else 1."""
        return 2 if self.files.missing else self.outcome.exit_code
