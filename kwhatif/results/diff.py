"""The difference between two runs over the same pods."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.outcome import Outcome, OutcomeResult
from kwhatif.results.place import RolloutPlan, ScaleUp


class Side(ResultStruct, frozen=True, kw_only=True):
    """One of the two: what it is called, how many of its pods found a node or did not, how its updates went, and what
    autoscalers add on this side, if they were asked.
    """

    label: str
    outcome: Outcome
    placed: int
    unplaced: int
    rollouts: tuple[RolloutPlan, ...] = ()
    scale_up: ScaleUp | None = None
    fidelity: Fidelity

    @property
    def growth(self) -> dict[tuple[str, str], int]:
        """(autoscaler, group or NodePool) -> how many nodes it gets."""
        groups = self.scale_up.groups if self.scale_up else ()
        return {(group.autoscaler, group.group): group.to - group.size for group in groups}


class NodeScores(ResultStruct, frozen=True, kw_only=True):
    """Weighted scores, plugin by plugin, of the nodes chosen by A and by B; None for a node that was not scored.

    ``missing`` says why this side did not score the other's node: what rejected it, or that it was not looked at.
    """

    side: str
    of_a: dict[str, int] | None
    of_b: dict[str, int] | None
    missing: str = ""


class PodChange(ResultStruct, frozen=True, kw_only=True):
    """A pod to which the two do not do the same.

    ``what``: ``moved``, ``pending`` (only A places it), ``placed`` (only B does), ``reason`` (neither does, and
    nodes give other reasons), ``evicted`` or ``spared`` (it runs, and B, or A, evicts it for another), ``only in A`` or
    ``only in B`` (the other side has no such pod). ``pod_b`` is the pod's counterpart in B where that has another name.
    ``scores`` tell why a pod moved; ``decided_by`` are the plugins that made the difference, the one that did most
    first, with how much more each gives B's node in B than in A. ``swapped`` names the workload of a pod that
    moved where its replicas only swapped nodes: each node has as many of them in B as in A.
    """

    pod: str
    pod_b: str = ""
    what: str
    node_a: str = ""
    node_b: str = ""
    message_a: str = ""
    message_b: str = ""
    scores: tuple[NodeScores, ...] = ()
    decided_by: tuple[tuple[str, int], ...] = ()
    swapped: str = ""


class Use(ResultStruct, frozen=True, kw_only=True):
    """One resource over all nodes that have it: utilisation in percent, and the largest free amount on one node.

    cpu in millicores, all else in bytes or pieces.
    """

    resource: str
    mean: float
    deviation: float
    maximum: float
    largest_free: int


class ClusterUse(ResultStruct, frozen=True, kw_only=True):
    """The cluster afterwards. A node is in use if a pod runs there that no daemon set made."""

    nodes: int
    used: int
    empty: int
    empty_nodes: tuple[str, ...] = ()
    pods: int
    resources: tuple[Use, ...]


class Skew(ResultStruct, frozen=True, kw_only=True):
    """The pods of one workload by zone, the most minus the fewest."""

    workload: str
    a: int
    b: int


class Rule(ResultStruct, frozen=True, kw_only=True):
    """A rule of one Kubernetes minor that the other has not, by the upstream source it is in.

    ``touches`` are plugins among those that decided otherwise which this rule is about.
    """

    name: str
    in_a: bool
    in_b: bool
    what: str
    source: str
    touches: tuple[str, ...] = ()


class Away(ResultStruct, frozen=True, kw_only=True):
    """What the API server or the controllers refuse on one side alone."""

    side: str
    object: str
    message: str


class DecisionDiff(OutcomeResult, frozen=True, kw_only=True):
    """Two runs compared. The ``outcome`` says whether they differ; how each run ended is in the outcome of its side.

    ``replayed`` counts pods that were taken off their nodes first, in both.
    """

    rows: ClassVar[str] = "changes"
    schema: ClassVar[str] = "diff-result"
    about: ClassVar[str] = "What differs between two ways to schedule the same pods, by kwhatif diff"
    view: ClassVar[str] = "diff.text:VIEW"

    kind: str = "Diff"
    a: Side
    b: Side
    pods: int
    replayed: int = 0
    changes: tuple[PodChange, ...] = ()
    refusals: tuple[Away, ...] = ()
    cluster_a: ClusterUse
    cluster_b: ClusterUse
    skews: tuple[Skew, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def differs(self) -> bool:
        stuck_a, stuck_b = ({plan.object for plan in side.rollouts if plan.unfinished} for side in (self.a, self.b))
        costs = [side.scale_up.cost if side.scale_up else None for side in (self.a, self.b)]
        grown = self.a.growth != self.b.growth or costs[0] != costs[1]
        waits = len(self.a.outcome.pending) != len(self.b.outcome.pending)
        return bool(self.changes or self.refusals or stuck_a != stuck_b or grown or waits)

    @property
    def lacks_nodes(self) -> bool:
        return bool(self.a.unplaced or self.b.unplaced)

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return self.a.fidelity, self.b.fidelity
