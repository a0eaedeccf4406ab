"""What a rule says of a pod that is to leave its node.

Upstream: cluster-autoscaler/simulator/drainability (status.go, context.go) and utils/drain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.remaining_budgets import RemainingBudgets


class Outcome(Enum):
    """MOVE: it goes to another node. SKIP: it goes with its node. WAIT: the node stays until it is done."""

    MOVE = "move"
    SKIP = "skip"
    WAIT = "wait"


Verdict = Outcome | str | None
"""An outcome, the reason why the pod keeps its node, or None: the rule has nothing to say."""


@dataclass(frozen=True, slots=True)
class DrainContext:
    """What rules may look at; ``controllers`` as ``World`` has them, None where nobody asks for them.

    ``of_shape`` remembers what all rules but that of budgets say of pods that differ in nothing the rules look at.
    """

    flags: Flags
    now: int
    budgets: RemainingBudgets
    controllers: Mapping[tuple[str, str, str], int | None] | None
    of_shape: dict[int, Verdict] = field(default_factory=dict)
