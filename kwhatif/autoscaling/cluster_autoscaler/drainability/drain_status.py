"""The verdict of a drainability rule, and disruption budgets that simulated removals use up.

Upstream: cluster-autoscaler/simulator/drainability (status.go, context.go) and utils/drain;
core/scaledown/pdb/basic.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.scheduling.selected_budgets import SelectedBudgets


class RemainingBudgets:
    """How many more pods each budget lets go.

    Other than the eviction API, cluster-autoscaler lets a pod of several budgets go if all of them allow it, counts
    unready pods like ready ones, and gives nothing back: its removals are planned, and no pod becomes ready meanwhile.
    """

    def __init__(self, budgets: Sequence[PodDisruptionBudget]) -> None:
        numbers = count()
        self._selected = SelectedBudgets(
            budgets, lambda budget: (next(numbers), budget.status.disruptions_allowed or 0)
        )
        self._left = [allowed for _, allowed in self._selected.values]
        self._about: dict[int, list[int]] = {}

    def budgets_of(self, shape: PodShape) -> list[int]:
        """The numbers of the budgets that select pods of this shape."""
        found = self._about.get(shape.index)
        if found is None:
            selected = self._selected.of(shape.namespace, shape.labels)
            found = self._about[shape.index] = [number for number, _ in selected]
        return found

    def allows(self, shape: PodShape) -> bool:
        """Whether all budgets of such a pod let one go."""
        return all(self._left[number] >= 1 for number in self.budgets_of(shape))

    def allows_all(self, pods: Sequence[PodInfo]) -> bool:
        """Whether they let all these pods go at the same time."""
        taken: Counter[int] = Counter(number for pod in pods for number in self.budgets_of(pod.shape))
        return all(much <= self._left[number] for number, much in taken.items())

    def take(self, pods: Sequence[PodInfo]) -> None:
        """Count these pods as evicted."""
        for pod in pods:
            for number in self.budgets_of(pod.shape):
                self._left[number] -= 1


class Outcome(Enum):
    """MOVE: the pod is rescheduled. SKIP: it goes with its node. WAIT: the node stays until it is done."""

    MOVE = "move"
    SKIP = "skip"
    WAIT = "wait"


Verdict = Outcome | str | None
"""An outcome, the reason why the pod keeps its node, or None: the rule has nothing to say."""


@dataclass(frozen=True, slots=True)
class DrainContext:
    """The input of rules; ``controllers`` as ``AutoscalingContext`` has them, None where they are not checked.

    ``of_shape`` caches the verdict of all rules but that of budgets for pods that differ in nothing the rules read.
    """

    flags: Flags
    now: int
    budgets: RemainingBudgets
    controllers: Mapping[tuple[str, str, str], int | None] | None
    of_shape: dict[int, Verdict] = field(default_factory=dict)
