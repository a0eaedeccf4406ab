"""Why pods go where they go."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.results.base import Fidelity, ManifestResult, ResultStruct
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import FailedCreate, Placement, Refusal, Score, Victim


class Blocker(ResultStruct, frozen=True, kw_only=True):
    """One reason why a node is out. ``reported`` marks those that upstream's message counts.

    ``short`` is how much of what the pod asks for is missing there, as a share: 0.25 of its cpu; 0 where nothing is
    counted.
    """

    plugin: str
    reason: str
    detail: str = ""
    reported: bool = False
    resolvable: bool = True
    short: float = 0.0


class NodeReport(ResultStruct, frozen=True, kw_only=True):
    """One node's verdict on one pod: all blockers, or all scores with their total and rank (1 is best)."""

    node: str
    feasible: bool
    blockers: tuple[Blocker, ...] = ()
    scores: tuple[Score, ...] = ()
    total: int | None = None
    rank: int | None = None
    chosen: bool = False


class Fix(ResultStruct, frozen=True, kw_only=True):
    """A single change that was tried and lets the pod run, on ``node``."""

    change: str
    node: str


class Eviction(ResultStruct, frozen=True, kw_only=True):
    """A node where evictions would make room, with what the choice between such nodes looks at.

    ``sum_of_priorities`` is of the victims', each raised by 2^31, as kube-scheduler compares it: more victims weigh
    more, whatever their priorities. ``earliest_start`` is that of the victims with the ``top_priority``; empty if it
    has not started. ``behind`` is the measure that puts the node behind the one before; empty for the best.
    """

    node: str
    victims: tuple[Victim, ...]
    violations: int
    top_priority: int
    sum_of_priorities: int
    earliest_start: str = ""
    chosen: bool = False
    behind: str = ""


class Comparison(ResultStruct, frozen=True, kw_only=True):
    """Two nodes side by side: what decides between them."""

    left: NodeReport
    right: NodeReport
    verdict: str


class PodReport(ResultStruct, frozen=True, kw_only=True):
    """Why a pod goes where it goes, or why it goes nowhere.

    ``state`` says in which state of the cluster, if not in that of the snapshot. ``alike`` are pods of the same
    workload that come to the same, on another node maybe; they are not explained by themselves.
    """

    pod: str
    placement: Placement
    refusal: str = ""
    nodes: tuple[NodeReport, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    fixes: tuple[Fix, ...] = ()
    tried: int = 0
    comparison: Comparison | None = None
    state: str = ""
    alike: tuple[Placement, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the pod gets a node, if need be in others' place."""
        return self.placement.good or bool(self.placement.victims)


class ExplainResult(ManifestResult, frozen=True, kw_only=True):
    """The explanation of each pod asked about, and the ``outcome`` of placing those of manifests together."""

    rows: ClassVar[str] = "pods"

    kind: str = "ExplainResult"
    outcome: Outcome | msgspec.UnsetType = msgspec.UNSET
    nodes: int
    pods: tuple[PodReport, ...]
    fidelity: Fidelity
    warnings: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the pods of manifests all have a node once they are placed together; of other pods, whether each gets
        one.
        """
        return not self.exit_code

    @property
    def exit_code(self) -> int:
        if isinstance(self.outcome, Outcome):
            return self.outcome.exit_code
        return 0 if all(report.good for report in self.pods) and not (self.refusals or self.failed) else 1
