"""Failures that are repeated while nothing changes: of pods that look alike, one runs through the cycle."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.scheduling.attempt import Attempt

State = tuple[Any, ...]


class RepeatedFailures:
    """Failed attempts by the shape of their pods, in one state of the cluster."""

    def __init__(self) -> None:
        self._state: State = ()
        self._attempts: dict[int, Attempt] = {}

    def find(self, state: State, pod: PodInfo) -> Attempt | None:
        """The failure of a pod that looks like this one, as this one's."""
        failed = self._attempts.get(pod.shape.index) if state == self._state else None
        return None if failed is None else replace(failed, pod=pod)

    def add(self, state: State, attempt: Attempt) -> None:
        if state != self._state:
            self._state, self._attempts = state, {}
        self._attempts[attempt.pod.shape.index] = attempt
