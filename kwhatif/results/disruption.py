"""Results of outages and of drains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import msgspec

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.group_outcome import GroupDisruption
from kwhatif.results.outcome import Concluded, Outcome
from kwhatif.results.place import FailedCreate, Placement, Refusal, RolloutPlan, ScaleUp, Victim, homeless_victims

Requirement = Literal["back", "replicas", "quorum", "budgets"]
"""What surviving takes: every pod that is recreated finds a node; no workload loses all its replicas, no StatefulSet
half of them and no gang its minCount, no PodDisruptionBudget a pod too many."""

LossOutcome = Literal["back", "pending", "uncreated", "waiting", "lost", "bound"]


class LostPod(ResultStruct, frozen=True, kw_only=True):
    """A pod that ran on a failed node.

    ``outcome``: ``back`` if the pod in its place, ``replacement``, ``lands_on`` another node, perhaps after others, the
    ``victims``, have left for it; ``pending`` if it finds none, for a ``cause`` where no room can cure it,
    ``uncreated`` if its StatefulSet makes none before others are ready, for the reason of the ``message``;
    ``waiting`` if its controller makes none while it is unknown whether the pod still runs; ``lost`` if no controller
    recreates it; ``bound`` if it belongs to that node and has no business elsewhere.
    """

    pod: str
    node: str
    workload: str
    outcome: LossOutcome
    replacement: str = ""
    lands_on: str = ""
    message: str = ""
    cause: str = ""
    victims: tuple[Victim, ...] = ()


class Hit(ResultStruct, frozen=True, kw_only=True):
    """A workload that a failure hits: of its ``replicas`` that run, so many are on failed nodes (``lost``) and come to
    what their outcomes say (``gone`` are those that no controller makes again); ``evicted`` have to leave for pods that
    come back, of which ``homeless`` find no other node.

    ``down``: none of its replicas is left until one is back. ``quorum_lost``: of a StatefulSet's replicas no more than
    half are.
    """

    workload: str
    replicas: int
    lost: int = 0
    back: int = 0
    pending: int = 0
    uncreated: int = 0
    waiting: int = 0
    gone: int = 0
    evicted: int = 0
    homeless: int = 0
    down: bool = False
    quorum_lost: bool = False


class BrokenFloor(ResultStruct, frozen=True, kw_only=True):
    """A PodDisruptionBudget that wants ``desired`` healthy pods: the number of healthy pods before, and right after."""

    budget: str
    desired: int
    before: int
    after: int


class Headroom(ResultStruct, frozen=True, kw_only=True):
    """A resource on the nodes that are left and take pods, once all replacements have their nodes: cpu in millicores,
    all else in bytes or pieces.
    """

    resource: str
    allocatable: int
    requested: int


class Failure(ResultStruct, frozen=True, kw_only=True):
    """What is gone together: a ``kind`` (``node``, ``zone``, ``pool``, ``pair`` or the key of a label), its ``name``
    and its ``nodes``; and what happens to the ``pods`` that ran there.

    The ``outcome`` is how it leaves the cluster; ``groups`` are the groups of pods that lose members. The numbers count
    pods by what becomes of them, as ``hits`` do by workload.
    """

    kind: str
    name: str
    outcome: Outcome
    nodes: tuple[str, ...]
    pods: int
    back: int = 0
    pending: int = 0
    uncreated: int = 0
    waiting: int = 0
    lost: int = 0
    bound: int = 0
    evicted: int = 0
    homeless: int = 0
    hits: tuple[Hit, ...] = ()
    budgets: tuple[BrokenFloor, ...] = ()
    headroom: tuple[Headroom, ...] = ()
    lost_pods: tuple[LostPod, ...] = ()
    groups: tuple[GroupDisruption, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def title(self) -> str:
        """``node worker-3``."""
        return f"{self.kind} {self.name}"

    @property
    def down(self) -> int:
        """How many workloads lose all their replicas."""
        return sum(hit.down for hit in self.hits)

    @property
    def quorums_lost(self) -> int:
        """How many StatefulSets and gangs lose their quorum."""
        gangs = self.groups if isinstance(self.groups, tuple) else ()
        return sum(hit.quorum_lost for hit in self.hits) + sum(gang.loses_quorum for gang in gangs)

    @property
    def new_nodes(self) -> int:
        """How many nodes autoscalers add for its pods."""
        return sum(added_node.nodes for added_node in self.outcome.added_nodes)

    @property
    def stuck(self) -> int:
        """Pods that have no node in the end, of those that are or would be recreated."""
        return self.pending + self.uncreated + self.waiting + self.homeless

    @property
    def badness(self) -> tuple[int, ...]:
        """The sort key by severity, the most important part first."""
        return (self.stuck, self.lost, self.down, self.quorums_lost, len(self.budgets), self.evicted, self.pods)

    def breaks(self, required: Sequence[Requirement]) -> tuple[Requirement, ...]:
        """The requirements that it violates."""
        return tuple(part for part in required if _BROKEN[part](self))


_BROKEN: dict[Requirement, Callable[[Failure], int]] = {
    "back": lambda failure: failure.stuck,
    "replicas": lambda failure: failure.down,
    "quorum": lambda failure: failure.quorums_lost,
    "budgets": lambda failure: len(failure.budgets),
}


class Cure(ResultStruct, frozen=True, kw_only=True):
    """How many ``nodes`` more have a failure (``kind`` and ``name``) survived: the fewest ``like`` one that is left, of
    a ``pool`` and in a ``zone``. Each number was tried by failing the cluster with them. 0: none helps, or none was
    tried, for a ``reason``.
    """

    kind: str
    name: str
    nodes: int = 0
    like: str = ""
    pool: str = ""
    zone: str = ""
    reason: str = ""


class Scope(ResultStruct, frozen=True, kw_only=True):
    """How many failures of a ``kind`` were asked about, of how many there are, and how many break nothing ``required``.

    ``survivable``: all of them must.
    """

    kind: str
    asked: int
    there_are: int
    survived: int
    required: bool = False


class FailedWorld(ResultStruct, frozen=True, kw_only=True):
    """A failure that could not be worked out, and the error."""

    kind: str
    name: str
    error: str


class OutageResult(Concluded, frozen=True, kw_only=True):
    """Failures, the worst first, with what they do to pods and workloads.

    The ``outcome`` is that of the whole: pods wait in it that do after one of the failures. ``survive`` are kinds of
    failures that must be survived, all if empty; ``require`` is what that takes. ``cures`` are of the worst that
    are not. ``before`` are placements of pods that came with manifests or edits, before anything failed,
    ``rollouts`` the updates among them. ``assumed`` says in sentences what was taken for granted.
    """

    rows: ClassVar[str] = "failures"
    schema: ClassVar[str] = "outage-result"
    about: ClassVar[str] = "What kwhatif outage says that failures would do"
    view: ClassVar[str] = "outage.text:VIEW"

    kind: str = "Outage"
    nodes: int
    scopes: tuple[Scope, ...]
    failures: tuple[Failure, ...]
    cures: tuple[Cure, ...] = ()
    survive: tuple[str, ...] = ()
    require: tuple[Requirement, ...] = ("back",)
    errors: tuple[FailedWorld, ...] = ()
    assumed: tuple[str, ...] = ()
    before: tuple[Placement, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: Fidelity

    @property
    def unsurvived_failures(self) -> tuple[Failure, ...]:
        """The failures that must be survived and are not."""
        return tuple(
            failure for failure in self.failures if self.must_survive(failure.kind) and failure.breaks(self.require)
        )

    def must_survive(self, kind: str) -> bool:
        """Whether failures of a kind must be survived for the answer to be good."""
        return not self.survive or kind in self.survive


class DrainedPod(ResultStruct, frozen=True, kw_only=True):
    """A pod of a node that is drained.

    ``outcome``: ``evicted``, ``ignored`` (it stays, and that is in order), ``refused`` (kubectl would not begin) or
    ``blocked`` (the API server would not let it go); ``reason`` says why. ``turn`` counts the rounds of evictions from
    1; between two of them pods that found a new node become ready. ``replacement`` is the pod made in its place and
    ``lands_on`` its node, empty if it finds none. ``waits``: it found none before a drained node came back.
    """

    pod: str
    node: str
    outcome: str
    waits: bool = False
    reason: str = ""
    turn: int = 0
    budget: str = ""
    owner: str = ""
    replacement: str = ""
    lands_on: str = ""


class DrainedNode(ResultStruct, frozen=True, kw_only=True):
    """One node: whether it is emptied of all that has to go, and how many of its pods came to what."""

    node: str
    drained: bool
    evicted: int = 0
    ignored: int = 0
    refused: int = 0
    blocked: int = 0


class BudgetUse(ResultStruct, frozen=True, kw_only=True):
    """A PodDisruptionBudget that had a say: what it allowed before and after, how many evictions went through it,
    and the pods it keeps. With each of the ``fixes``, which were tried, it keeps none, and no more pods are pending.
    """

    budget: str
    allowed_before: int
    allowed_after: int
    evictions: int
    blocks: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()


class Remaining(ResultStruct, frozen=True, kw_only=True):
    """A resource on the nodes that stay open: cpu in millicores, all else in bytes or pieces."""

    resource: str
    allocatable: int
    requested_before: int
    requested_after: int


class DrainResult(Concluded, frozen=True, kw_only=True):
    """Nodes in the order they are drained, pods in the order they go, placements of those made in their place.

    ``before`` are the placements of pods that came with manifests or edits, ``rollouts`` the updates among them.
    ``scale_up`` is what autoscalers add, if they were asked; nodes that are drained count for their groups still.
    ``groups`` are the groups of pods that lose members.
    """

    rows: ClassVar[str] = "pods"
    schema: ClassVar[str] = "drain-result"
    about: ClassVar[str] = "What kwhatif drain says that draining nodes would do"
    view: ClassVar[str] = "drain.text:VIEW"

    kind: str = "Drain"
    nodes: tuple[DrainedNode, ...]
    pods: tuple[DrainedPod, ...]
    budgets: tuple[BudgetUse, ...] = ()
    placements: tuple[Placement, ...] = ()
    remaining: tuple[Remaining, ...] = ()
    before: tuple[Placement, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    warnings: tuple[str, ...] = ()
    scale_up: ScaleUp | None = None
    groups: tuple[GroupDisruption, ...] | msgspec.UnsetType = msgspec.UNSET
    fidelity: Fidelity

    @property
    def lacks_nodes(self) -> bool:
        return any(placement.outcome == "unschedulable" for placement in (*self.before, *self.placements))

    @property
    def pending(self) -> tuple[Placement, ...]:
        """Replacements that find no node."""
        return tuple(
            placement for placement in self.placements if not placement.good and placement.outcome != "preempted"
        )

    @property
    def homeless(self) -> tuple[Victim, ...]:
        """Pods evicted by replacements, or before, that find no other node when they are recreated."""
        return homeless_victims((*self.before, *self.placements))


class PodVerdict(ResultStruct, frozen=True, kw_only=True):
    """What one plugin makes of a pod: ``evicts``, ``refused`` (by a limit or a budget), ``protected`` (by the evictor),
    ``leaves`` (nothing in it calls for an eviction) or ``gone`` (another plugin was first)."""

    profile: str
    plugin: str
    verdict: str
    reason: str
