"""QOSSort: higher priority first, then Guaranteed before Burstable before BestEffort, then who came first.

Upstream: pkg/qos/queue_sort.go of scheduler-plugins.
"""

from __future__ import annotations

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import Plugin
from kwhatif.plugins.shared.pod_qos import qos_class_of


class QOSSort(Plugin[None, None]):
    name = "QOSSort"

    def queue_key(self, pod: PodInfo, order: int) -> tuple[int, int, int]:
        return -pod.priority, -qos_class_of(pod.shape.spec), order
