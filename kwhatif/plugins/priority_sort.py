"""PrioritySort: higher priority first, then the one that came first. Upstream: plugins/queuesort/priority_sort.go."""

from __future__ import annotations

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import Plugin


class PrioritySort(Plugin[None, None]):
    name = "PrioritySort"
    default = DefaultPlugin(20)

    def queue_key(self, pod: PodInfo, order: int) -> tuple[int, int]:
        return -pod.priority, order
