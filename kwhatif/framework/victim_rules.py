"""Who may be evicted for a pod, where a PostFilter plugin has other rules than lower priority.

Upstream: preemption.Interface in pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Diagnosis


class Account:
    """What a plugin counts while pods of one node are imagined away and put back. This one counts nothing."""

    def remove(self, info: PodInfo) -> None:
        """A pod is imagined away."""

    def add(self, info: PodInfo) -> None:
        """A pod is put back."""

    @property
    def refusal(self) -> str:
        """Why the pod could not be taken though all that may go were gone."""
        return ""

    @property
    def is_exceeded(self) -> bool:
        """Whether the pod that was put back last has to go after all."""
        return False


class VictimRules(Protocol):
    """A plugin's own rules of preemption."""

    def ineligible(self, pod: PodInfo, diagnosis: Diagnosis) -> str:
        """Why the pod may not preempt at all, or nothing."""

    def victims(self, pod: PodInfo, others: Sequence[PodInfo]) -> list[bool] | str:
        """Which pods of a node may go; a text is an error that speaks for the node."""

    def describe_no_victims(self, pod: PodInfo, node: str) -> str:
        """What is said of a node where no pod may be evicted."""

    def account(self, pod: PodInfo) -> Account:
        """A new account, for one node."""
