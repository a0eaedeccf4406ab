"""What a rule says of a pod that is to leave its node.

Upstream: cluster-autoscaler/simulator/drainability (status.go, context.go) and utils/drain.

Disruption budgets, of which simulated removals use up what they take.

Upstream: cluster-autoscaler/core/scaledown/pdb/basic.go.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.cluster.shapes import PodInfo, PodShape


class RemainingBudgets:
    """How many more pods each budget lets go."""

    def __init__(self, budgets: Sequence[PodDisruptionBudget]) -> None:
        self._budgets: list[tuple[str, Selector]] = []
        self._left: list[int] = []
        for budget in budgets:
            # One with a selector that no API server stores selects no pod.
            with contextlib.suppress(SelectorError):
                self._budgets.append((budget.namespace, Selector.from_label_selector(budget.spec.selector)))
                self._left.append(budget.status.disruptions_allowed or 0)
        self._about: dict[int, list[int]] = {}

    def budgets_of(self, shape: PodShape) -> list[int]:
        """The numbers of the budgets that select pods of this shape."""
        found = self._about.get(shape.index)
        if found is None:
            found = self._about[shape.index] = [
                number
                for number, (namespace, selector) in enumerate(self._budgets)
                if namespace == shape.namespace and selector.matches(shape.labels)
            ]
        return found

    def allows(self, shape: PodShape) -> bool:
        """Whether all budgets of such a pod let one go."""
        return all(self._left[number] >= 1 for number in self.budgets_of(shape))

    def allows_all(self, pods: Sequence[PodInfo]) -> bool:
        """Whether they let all these pods go at the same time."""
        counts: dict[int, int] = {}
        for pod in pods:
            for number in self.budgets_of(pod.shape):
                counts[number] = counts.get(number, 0) + 1
        return all(count <= self._left[number] for number, count in counts.items())

    def take(self, pods: Sequence[PodInfo]) -> None:
        """These pods go."""
        for pod in pods:
            for number in self.budgets_of(pod.shape):
                self._left[number] -= 1


class Outcome(Enum):
    """MOVE: it goes to another node. SKIP: it goes with its node. WAIT: the node stays until it is done."""

    MOVE = "move"
    SKIP = "skip"
    WAIT = "wait"


Verdict = Outcome | str | None
"""An outcome, the reason why the pod keeps its node, or None: the rule has nothing to say."""


@dataclass(frozen=True, slots=True)
class DrainContext:
    """What rules may look at; ``controllers`` as ``World`` has them, None where they are not asked for.

    ``of_shape`` remembers what all rules but that of budgets say of pods that differ in nothing the rules look at.
    """

    flags: Flags
    now: int
    budgets: RemainingBudgets
    controllers: Mapping[tuple[str, str, str], int | None] | None
    of_shape: dict[int, Verdict] = field(default_factory=dict)
