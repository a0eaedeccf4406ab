"""Explanations of pods and workloads."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.results.base import Fidelity, ManifestResult, ResultStruct
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.outcome import Outcome, PreemptionFailure
from kwhatif.results.place import FailedCreate, Placement, Refusal, ScaleUp, Score, Victim


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
    """A single change that was tried and lets the pod run, on ``node``. At least ``pods`` of
    the ``waiting`` ones of its workload that are like it run then.

    The ``victims`` have to leave for it, and say where they find another node. ``pending`` are the pods
    (``namespace/name``) that find none in the end, among them those that victims evicted in their turn.
    """

    change: str
    node: str
    pods: int = 1
    waiting: int = 1
    victims: tuple[Victim, ...] = ()
    pending: tuple[str, ...] = ()

    @property
    def harm(self) -> int:
        """What it costs others: nothing, an eviction, a pod that is lost, or one that stays pending."""
        lost = any(not victim.replacement for victim in self.victims)
        return 3 if self.pending else 2 if lost else int(bool(self.victims))


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

    ``refusal`` is why no node was looked at, and ``refusal_detail`` the arithmetic behind it.
    ``state`` says in which state of the cluster, if not in that of the snapshot. ``alike`` are pods of the same
    workload that come to the same, on another node maybe; they are not explained by themselves. ``limit`` says that no
    node could hold the pod even if it were empty, and what the largest offers. ``preemption`` is why no pod is to leave
    for one that finds no node: there are no victims, the pod is not allowed to preempt (now), or no plugin of its
    profile tried. A pod that has a node
    already ``runs_on`` it ``since`` a moment (empty if the snapshot does not say); the placement is where it would go
    if the scheduler were asked today.
    """

    pod: str
    placement: Placement
    refusal: str = ""
    refusal_detail: str | msgspec.UnsetType = msgspec.UNSET
    nodes: tuple[NodeReport, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    fixes: tuple[Fix, ...] = ()
    tried: int = 0
    limit: str = ""
    preemption: PreemptionFailure = ""
    comparison: Comparison | None = None
    state: str = ""
    alike: tuple[Placement, ...] = ()
    runs_on: str = ""
    since: str = ""

    @property
    def good(self) -> bool:
        """Whether the pod gets a node, if need be in others' place."""
        return self.placement.good or bool(self.placement.victims)


class WorkloadFix(ResultStruct, frozen=True, kw_only=True):
    """A change of a workload, of a quota or of the nodes that was tried and lets all pods of the workload run.

    So many of them find a node (``placed``), and so many that run are replaced, as the template is another one.
    ``victims`` have to leave for it, and ``pending`` pods wait that would not without it (``namespace/name``). The
    ``patch`` are the lines of the objects that differ, as a unified diff of their YAML.
    """

    change: str
    placed: int
    replaces: int = 0
    victims: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    patch: tuple[str, ...] = ()

    @property
    def harm(self) -> int:
        """What it costs others: nothing, an eviction, or a pod that stays pending."""
        return 2 if self.pending else int(bool(self.victims))


class WorkloadReport(ResultStruct, frozen=True, kw_only=True):
    """How the pods of a workload (``Kind/namespace/name``) come out when all that was asked about is placed.

    Of its ``pods``, ``alone`` counts those that find a node each by itself in the cluster as it is, ``together`` those
    that find one together, and ``evicting`` those of them that evict others. ``nodes`` are how many of them go where.
    ``identical``: no plugin can tell them apart. The pod that is ``explained`` is the first that finds no node, else
    the first that evicts others, else the first of all, and none where no pod is created; its ``number`` is that in the
    scheduler's order. The ``fixes``
    are those that let all of its pods run, of the changes ``tried``; those that cost others least come first.
    """

    workload: str
    pods: int
    alone: int
    together: int
    evicting: int = 0
    identical: bool = True
    explained: str = ""
    number: int = 0
    nodes: dict[str, int] = msgspec.field(default_factory=dict)
    fixes: tuple[WorkloadFix, ...] = ()
    tried: int = 0


class GroupFix(ResultStruct, frozen=True, kw_only=True):
    """A change that was tried and lets a group run: the number of its members ``bound``, and the ``domain``.

    The ``leaving`` pods have to make room for it, and say where they find another node.
    """

    change: str
    domain: str = ""
    bound: int
    leaving: tuple[Victim, ...] = ()


class GroupReport(ResultStruct, frozen=True, kw_only=True):
    """Why a group runs where it runs, or nowhere; the ``fixes`` are those that work of the changes ``tried``.

    ``priority`` is that of the PodGroup, by which room is made for a group as a whole, ``topology_key`` the label that
    the nodes of all members have in common. If all its members run already, ``runs_in`` is their domain (without a key
    their nodes), and the outcome is what would become of the group if it were taken off its nodes and scheduled today.
    """

    outcome: GroupOutcome
    priority: int = 0
    topology_key: str = ""
    runs_in: str = ""
    fixes: tuple[GroupFix, ...] = ()
    tried: int = 0


class ExplainResult(ManifestResult, frozen=True, kw_only=True):
    """The explanation of pods: of each that is named, and of one for each workload that is placed as a whole.

    Members of groups that are scheduled together are explained as ``groups``, not one by one. Where pods of manifests
    or of a workload are placed together, ``workloads`` tell how that goes, and the ``outcome`` is that of ``place``,
    with what autoscalers add as its ``scale_up``.
    """

    rows: ClassVar[str] = "pods"
    schema: ClassVar[str] = "explain-result"
    about: ClassVar[str] = "Why pods go to their nodes, or to none, by kwhatif explain"
    view: ClassVar[str] = "explain.text:VIEW"

    kind: str = "ExplainResult"
    outcome: Outcome | msgspec.UnsetType = msgspec.UNSET
    nodes: int
    workloads: tuple[WorkloadReport, ...] = ()
    groups: tuple[GroupReport, ...] | msgspec.UnsetType = msgspec.UNSET
    pods: tuple[PodReport, ...]
    fidelity: Fidelity
    warnings: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    scale_up: ScaleUp | msgspec.UnsetType = msgspec.UNSET

    @property
    def good(self) -> bool:
        """Whether the outcome is good where pods are placed together; of other pods, whether each gets a node."""
        return not self.exit_code

    @property
    def exit_code(self) -> int:
        if isinstance(self.outcome, Outcome):
            return self.outcome.exit_code
        good = all(report.good for report in self.pods) and all(report.outcome.good for report in self.group_reports)
        return 0 if good and not (self.refusals or self.failed) else 1

    @property
    def group_reports(self) -> tuple[GroupReport, ...]:
        return self.groups if isinstance(self.groups, tuple) else ()
