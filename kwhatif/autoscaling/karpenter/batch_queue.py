"""The pods of a round in the order in which they are tried: the largest first, again while that gets anywhere.

Upstream: pkg/controllers/provisioning/scheduling/queue.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from kwhatif.autoscaling.karpenter.wants import Wants


class Queue:
    """Pods by falling CPU, then memory, then age, then UID. The round ends when a pod comes up again and the queue is
    as long as when it was put back."""

    def __init__(self, pods: Iterable[Wants]) -> None:
        self._pods = deque(sorted(pods, key=_size))
        self._length_then: dict[int, int] = {}

    def pop(self) -> Wants | None:
        if not self._pods or self._length_then.get(id(self._pods[0].pod)) == len(self._pods):
            return None
        return self._pods.popleft()

    def push(self, wants: Wants) -> None:
        self._pods.append(wants)
        self._length_then[id(wants.pod)] = len(self._pods)


def _size(wants: Wants) -> tuple[int, int, str, str]:
    metadata = wants.pod.metadata
    requests = wants.requests
    return (-requests.get("cpu", 0), -requests.get("memory", 0), metadata.creation_timestamp or "", metadata.uid or "")
