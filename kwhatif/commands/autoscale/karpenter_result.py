"""Results of Karpenter: new machines, pods, consolidation, and comparisons of NodePools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import msgspec

from kwhatif.commands.autoscale.result import AutoscaleResult, PodsResult
from kwhatif.results.base import Fidelity, Result, ResultStruct
from kwhatif.results.outcome import OutcomeResult
from kwhatif.results.place import Chance, FailedCreate, Refusal, ScaleUp


class Machine(ResultStruct, frozen=True, kw_only=True):
    """A NodeClaim to be: ``types`` are those left, the cheapest first; ``price`` is the least by the hour, that of
    ``type`` in ``zone`` as ``capacity_type``. ``cost`` is that a month.

    ``requirements`` are in Karpenter's words, ``requests`` those of its pods and daemons together.

    ``firm`` unless some other order of Karpenter's maps led to no machine for the very same pods, types and
    requirements.
    """

    node_pool: str
    pods: tuple[str, ...]
    requests: dict[str, str]
    requirements: tuple[str, ...]
    types: tuple[str, ...]
    type: str = ""
    zone: str = ""
    capacity_type: str = ""
    price: float | None = None
    cost: float | None = None
    firm: bool = True


class PoolRefusal(ResultStruct, frozen=True, kw_only=True):
    """Why a NodePool buys no machine for a pod, in Karpenter's words; ``nearest`` is what alone stands in the way."""

    node_pool: str
    reasons: tuple[str, ...]
    nearest: str = ""


class PodPlan(ResultStruct, frozen=True, kw_only=True):
    """What becomes of a pod.

    ``outcome`` is ``placed`` (by the scheduler, on ``node``), ``existing`` (Karpenter expects it on ``node``), ``new``
    (a machine of ``node_pool`` is bought for it, the one of number ``machine``, from 1), ``helpless`` (no NodePool can
    help, by ``refusals``) or ``ignored`` (for what ``message`` says). ``given_up`` are the preferences that it had to
    let go, with how many of each.
    """

    pod: str
    outcome: str
    node: str = ""
    node_pool: str = ""
    machine: int | None = None
    given_up: dict[str, int]
    message: str = ""
    refusals: tuple[PoolRefusal, ...] = ()

    @property
    def good(self) -> bool:
        return self.outcome in ("placed", "existing", "new")


class Consolidation(ResultStruct, frozen=True, kw_only=True):
    """What a ``method`` (``empty``, ``multi`` or ``single``) comes to by itself: ``decision`` is ``delete``,
    ``replace`` or ``nothing``. ``moves`` says where pods go; ``savings`` are by the hour, ``monthly`` by the month.
    ``firm`` unless another order of Karpenter's maps led to another command.
    """

    method: str
    decision: str
    nodes: tuple[str, ...] = ()
    moves: dict[str, str]
    replacements: tuple[Machine, ...] = ()
    savings: float = 0.0
    monthly: float = 0.0
    firm: bool = True


class NodePlan(ResultStruct, frozen=True, kw_only=True):
    """Whether a node goes with the command that comes first; if not, ``reasons`` say why."""

    node: str
    node_pool: str
    type: str
    price: float | None = None
    goes: bool
    reasons: tuple[str, ...] = ()


class KarpenterResult(PodsResult, frozen=True, kw_only=True):
    """What the first round of Karpenter would do, and what buying leads to in the end.

    ``incomplete`` is what the catalogue says is missing. ``machines`` are those of the first round, which cost
    ``price`` by the hour, each at its cheapest. ``scale_up`` has all nodes that come until no pod is helped any more,
    and ``cost`` is what they cost a month. ``skipped`` are NodePools that take no part, with the reason.
    ``consolidations`` and ``nodes`` are there if consolidation was asked for: the first command of the three methods
    is what is carried out. ``chance`` tells what else other orders of Karpenter's maps lead to, if any were tried.
    """

    schema: ClassVar[str] = "karpenter-result"
    about: ClassVar[str] = "What Karpenter would do, by kwhatif autoscale"
    view: ClassVar[str] = "autoscale.karpenter_text:VIEW"

    kind: str = "Karpenter"
    catalogue: str
    incomplete: str = ""
    machines: tuple[Machine, ...] = ()
    price: float | None = None
    scale_up: ScaleUp | None = None
    cost: float | None = None
    pods: tuple[PodPlan, ...] = ()
    skipped: dict[str, str]
    consolidations: tuple[Consolidation, ...] = ()
    nodes: tuple[NodePlan, ...] = ()
    chance: Chance | None = None
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: Fidelity


class MachineCount(ResultStruct, frozen=True, kw_only=True):
    """How many machines each side buys of one NodePool, cheapest type and capacity type, and what they cost a month."""

    node_pool: str
    type: str
    capacity_type: str
    a: int = 0
    b: int = 0
    cost_a: float = 0.0
    cost_b: float = 0.0


class PodMove(ResultStruct, frozen=True, kw_only=True):
    """A pod of which something else becomes in B, in words."""

    pod: str
    a: str
    b: str


class PoolsDiff(Result, frozen=True, kw_only=True):
    """What Karpenter does with two sets of NodePools, or two catalogues.

    ``rebuilt``: as if none of Karpenter's nodes were there, so that all are bought anew. ``difference`` is what B costs
    more a month, None where not all prices are known. ``moves`` are the pods of which something else becomes.
    """

    schema: ClassVar[str] = "pools-diff"
    about: ClassVar[str] = "What Karpenter buys with two sets of NodePools, by kwhatif diff"
    view: ClassVar[str] = "autoscale.karpenter_text:POOLS_VIEW"

    kind: str = "PoolsDiff"
    label_a: str
    label_b: str
    rebuilt: bool = False
    a: KarpenterResult
    b: KarpenterResult
    difference: float | None = None
    machines: tuple[MachineCount, ...] = ()
    moves: tuple[PodMove, ...] = ()

    @property
    def differs(self) -> bool:
        return bool(self.difference or self.moves or any(machine.a != machine.b for machine in self.machines))

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return (self.a.fidelity,)

    def with_refusals(self, **refused: Sequence[Any]) -> Self:
        return msgspec.structs.replace(self, a=self.a.with_refusals(**refused), b=self.b.with_refusals(**refused))

    @property
    def exit_code(self) -> int:
        """0 if nothing differs."""
        return 1 if self.differs else 0


class NodeConsolidation(ResultStruct, frozen=True, kw_only=True):
    """Whether Karpenter gives a node back, and what would become of its pods if it were asked alone.

    ``decision`` is ``delete``, ``replace`` or ``keep``; ``now`` whether the first command is about it. ``cost`` is that
    of disruption, by which nodes are ordered; ``budget`` how many nodes its NodePool's budgets let go now.
    """

    node: str
    node_pool: str
    type: str
    price: float | None = None
    cost: float | None = None
    budget: int | None = None
    decision: str
    now: bool = False
    reasons: tuple[str, ...] = ()
    moves: dict[str, str]
    replacements: tuple[Machine, ...] = ()
    monthly: float = 0.0


class NodesExplained(Result, frozen=True, kw_only=True):
    """Why Karpenter gives these nodes back, or keeps them."""

    schema: ClassVar[str] = "nodes-explained"
    about: ClassVar[str] = "Why Karpenter removes or keeps nodes, by kwhatif explain"
    view: ClassVar[str] = "autoscale.karpenter_text:NODES_VIEW"

    kind: str = "NodesExplained"
    catalogue: str
    incomplete: str = ""
    nodes: tuple[NodeConsolidation, ...] = ()
    fidelity: Fidelity

    @property
    def exit_code(self) -> int:
        """0 if each of them goes now."""
        return 0 if all(node.now for node in self.nodes) else 1


class AutoscalersResult(OutcomeResult, frozen=True, kw_only=True):
    """What both autoscalers would do, each for its own nodes and all pods that find none."""

    schema: ClassVar[str] = "autoscalers-result"
    about: ClassVar[str] = "What both autoscalers would do, by kwhatif autoscale"
    view: ClassVar[str] = "autoscale.karpenter_text:BOTH_VIEW"

    kind: str = "Autoscalers"
    cluster_autoscaler: AutoscaleResult
    karpenter: KarpenterResult

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return (self.karpenter.fidelity,)

    def with_refusals(self, **refused: Sequence[Any]) -> Self:
        both = self.cluster_autoscaler.with_refusals(**refused), self.karpenter.with_refusals(**refused)
        return msgspec.structs.replace(self, cluster_autoscaler=both[0], karpenter=both[1])
