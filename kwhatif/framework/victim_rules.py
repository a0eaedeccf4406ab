"""Victim selection by a PostFilter plugin's own rules instead of lower priority.

Upstream: preemption.Interface in pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Diagnosis


class Account:
    """A plugin's bookkeeping while pods of one node are removed and reprieved. This one counts nothing."""

    def remove(self, info: PodInfo) -> None:
        """A pod is removed hypothetically."""

    def add(self, info: PodInfo) -> None:
        """A pod is reprieved."""

    @property
    def refusal(self) -> str:
        """Why the pod would not fit even without all possible victims."""
        return ""

    @property
    def is_exceeded(self) -> bool:
        """Whether the pod that was reprieved last has to be a victim after all."""
        return False


class VictimRules(Protocol):
    """A plugin's own rules of preemption."""

    def ineligible(self, pod: PodInfo, diagnosis: Diagnosis) -> str:
        """Why the pod may not preempt at all, or None."""

    def victims(self, pod: PodInfo, others: Sequence[PodInfo]) -> list[bool] | str:
        """The possible victims on a node; a text is an error that becomes the node's status."""

    def describe_no_victims(self, pod: PodInfo, node: str) -> str:
        """The status message of a node without possible victims."""

    def account(self, pod: PodInfo) -> Account:
        """A new account, for one node."""
