"""What draining nodes would do."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.added_nodes import ScaleUp
from kwhatif.results.parts import Fidelity, OfManifests, Value
from kwhatif.results.place import FailedCreate, Placement, Refusal, RolloutPlan, Victim, homeless


class DrainedPod(Value, frozen=True, kw_only=True):
    """A pod of a node that is drained.

    ``outcome``: ``evicted``, ``ignored`` (it stays, and that is in order), ``refused`` (kubectl would not begin) or
    ``blocked`` (the API server would not let it go); ``reason`` says why. ``turn`` counts the rounds of evictions from
    1; between two of them pods that found a new node become ready. ``replacement`` is the pod made in its place and
    ``lands_on`` its node, empty if it finds none.
    """

    pod: str
    node: str
    outcome: str
    reason: str = ""
    turn: int = 0
    budget: str = ""
    owner: str = ""
    replacement: str = ""
    lands_on: str = ""


class DrainedNode(Value, frozen=True, kw_only=True):
    """One node: whether it is emptied of all that has to go, and how many of its pods came to what."""

    node: str
    drained: bool
    evicted: int = 0
    ignored: int = 0
    refused: int = 0
    blocked: int = 0


class BudgetUse(Value, frozen=True, kw_only=True):
    """A PodDisruptionBudget that had a say: what it allowed before and after, how many evictions went through it,
    and the pods it keeps."""

    budget: str
    allowed_before: int
    allowed_after: int
    evictions: int
    blocks: tuple[str, ...] = ()


class Remaining(Value, frozen=True, kw_only=True):
    """A resource on the nodes that stay open: cpu in millicores, all else in bytes or pieces."""

    resource: str
    allocatable: int
    requested_before: int
    requested_after: int


class DrainResult(OfManifests, frozen=True, kw_only=True):
    """Nodes in the order they are drained, pods in the order they go, placements of those made in their place.

    ``before`` are the placements of pods that came with manifests or edits, ``rollouts`` the updates among them.
    ``scale_up`` is what autoscalers add, if they were asked; nodes that are drained count for their groups still.
    """

    rows: ClassVar[str] = "pods"

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
    fidelity: Fidelity

    @property
    def lacks_nodes(self) -> bool:
        return any(each.outcome == "unschedulable" for each in (*self.before, *self.placements))

    @property
    def pending(self) -> tuple[Placement, ...]:
        """Replacements that find no node."""
        return tuple(placement for placement in self.placements if not placement.good)

    @property
    def homeless(self) -> tuple[Victim, ...]:
        """Pods evicted by replacements, or before, that find no other node when they are made again."""
        return homeless((*self.before, *self.placements))

    @property
    def exit_code(self) -> int:
        """0 if every node is drained and every pod finds a node: those made anew, those evicted on the way, and those
        placed before.
        """
        stuck = any(rollout.unfinished for rollout in self.rollouts)
        good = all(node.drained for node in self.nodes) and all(placement.good for placement in self.before)
        return 1 if self.pending or self.homeless or self.refusals or self.failed or stuck or not good else 0
