"""Results of ``upgrade``."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.disruption import BudgetUse
from kwhatif.results.outcome import Concluded
from kwhatif.results.place import FailedCreate, Placement, Refusal, ScaleUp, TimelineEntry

Phase = Literal["done", "hangs", "failed"]
"""How far an upgrade comes: to its end, to where nothing will happen any more, or to a drain that takes too long and at
which its strategy gives up."""


class UpgradedNode(ResultStruct, frozen=True, kw_only=True):
    """A node of the pool, in seconds from the beginning: when it was cordoned, drained and deleted; None is never."""

    node: str
    cordoned: float | None = None
    drained: float | None = None
    deleted: float | None = None
    evicted: int = 0
    forced: int = 0


class Obstacle(ResultStruct, frozen=True, kw_only=True):
    """What keeps a node: a pod that cannot be evicted and why, by the name of the budget where it is one.

    ``since`` is when it was refused first; None where the drain of its node has not begun. ``helpers`` are pods
    whose readiness the budget waits for, and what keeps those.
    """

    node: str
    pod: str
    reason: str
    budget: str = ""
    owner: str = ""
    since: float | None = None
    helpers: tuple[str, ...] = ()


class PendingSpan(ResultStruct, frozen=True, kw_only=True):
    """A pod that was recreated and had no node from ``since`` until ``until``; None is to the end. The ``message`` is
    why it has none in the end, or had none at first.
    """

    pod: str
    owner: str
    since: float
    until: float | None
    message: str = ""


class WorkloadReadiness(ResultStruct, frozen=True, kw_only=True):
    """The ready replicas of a workload: how many there were, the ``lowest`` number and when; what its budget needs."""

    owner: str
    before: int
    lowest: int
    at: float
    after: int
    budget: str = ""
    needed: int | None = None

    @property
    def below(self) -> bool:
        """Whether the budget was not met at some time, though it was in the beginning."""
        return self.needed is not None and self.lowest < self.needed <= self.before


class PoolMoment(ResultStruct, frozen=True, kw_only=True):
    """How many nodes of the pool there were from a time on: old ones, new ones, and pods without a node."""

    time: float
    old: int
    new: int
    pending: int


class UpgradeCost(ResultStruct, frozen=True, kw_only=True):
    """What the pool costs an hour, usually and at its peak, and how much ``more`` the upgrade takes until its end;
    None if it has none.

    If prices of instance types are ``unknown``, there are no sums.
    """

    usual: float | None = None
    peak: float | None = None
    more: float | None = None
    unknown: tuple[str, ...] = ()


class UpgradeResult(Concluded, frozen=True, kw_only=True):
    """An upgrade of a pool, or how far it came. It is good if the pool is replaced in time, nothing had to be forced,
    and every pod has a node in the end.

    ``phase``: ``done``, ``hangs`` (nothing will happen any more), or ``failed`` (a drain took too long, and the
    strategy gives up). ``time`` is how long it took, or came; ``within`` what it may take. ``replacements`` are the
    evicted pods with what was made in the place of each. An upgrade that hangs has no ``more_node_hours``: they grow.
    """

    rows: ClassVar[str] = "nodes"
    schema: ClassVar[str] = "upgrade-result"
    about: ClassVar[str] = "How the nodes of a pool are replaced, by kwhatif upgrade"
    view: ClassVar[str] = "upgrade.text:VIEW"

    kind: str = "Upgrade"
    pool: str
    strategy: str
    surge: int
    unavailable: int
    drain_timeout: float | None = None
    phase: Phase
    time: float
    within: float | None = None
    nodes: tuple[UpgradedNode, ...]
    obstacles: tuple[Obstacle, ...] = ()
    forced: tuple[str, ...] = ()
    not_made_again: tuple[str, ...] = ()
    replacements: dict[str, str] = msgspec.field(default_factory=dict)
    pending: tuple[PendingSpan, ...] = ()
    workloads: tuple[WorkloadReadiness, ...] = ()
    budgets: tuple[BudgetUse, ...] = ()
    placements: tuple[Placement, ...] = ()
    moments: tuple[PoolMoment, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    peak_nodes: int = 0
    more_node_hours: float | None = None
    cost: UpgradeCost | None = None
    scale_up: ScaleUp | None = None
    remarks: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: Fidelity

    @property
    def late(self) -> bool:
        return self.within is not None and self.time > self.within

    @property
    def homeless(self) -> tuple[PendingSpan, ...]:
        """Pods that have no node in the end."""
        return tuple(span for span in self.pending if span.until is None)

    @property
    def lacks_nodes(self) -> bool:
        return bool(self.homeless)
