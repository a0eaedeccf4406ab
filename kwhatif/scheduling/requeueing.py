"""Which pods move to the active queue when the cluster changes.

Upstream: MoveAllToActiveOrBackoffQueue in pkg/scheduler/backend/queue/scheduling_queue.go, which the handlers of
pkg/scheduler/eventhandlers.go call, and the queueing hints of plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.queue import QueuedPod, SchedulingQueue
from kwhatif.scheduling.timeline import EventLog


class Requeueing:
    """Brings waiting pods back into a queue when the cluster has changed in a way that may help them.

    changes     how often the cluster has changed
    tried_at    by uid, the number of changes when a pod was last tried
    meanwhile   by uid, what has happened since a pod began to wait for its permit
    """

    def __init__(self, driver: Driver, queue: SchedulingQueue, diary: EventLog) -> None:
        self._cluster, self._driver, self._queue, self._diary = driver.cluster, driver, queue, diary
        self.changes = 0
        self.tried_at: dict[str, int] = {}
        self.meanwhile: dict[str, list[EventOccurrence]] = {}

    def stale_pods(self) -> list[QueuedPod]:
        """Waiting pods for which the cluster has changed since they were tried."""
        return [
            pod for pod in self._queue.waiting() if pod.gate is None and self.tried_at[pod.info.uid] != self.changes
        ]

    def note_active(self, pods: Sequence[QueuedPod], why: str) -> None:
        """Log where these pods were moved, and why."""
        for pod in pods:
            self._diary.say(pod.info.key, pod.place, why)

    def handle_new_nodes(self, names: Iterable[str], what: str) -> None:
        """Bring back waiting pods that these new nodes may help."""
        self.changes += 1
        there = {name: row for name in names if (row := self._cluster.columns.row(name)) is not None}
        rows = np.array(list(there.values()), np.intp)
        for name in there:
            self._diary.say("", what, node=name)
        if there:
            why = "NodeAdd" if what == "joined" else "NodeUpdate"
            self.note_active(self._queue.bring_back(lambda queued: self._may_help(queued, rows)), why)

    def _may_help(self, queued: QueuedPod, rows: IntpArray) -> bool:
        """Whether a plugin that rejected the pod accepts one of these nodes.

        Upstream: the queueing hints for Node/Add of each plugin.
        """
        pod = queued.info
        evaluation = self._driver.scheduler_for(pod).evaluation(pod)
        evaluation.begin(pod)
        if evaluation.refusal is not None:
            return True
        verdicts = evaluation.verdicts_on(pod, NodeView(self._cluster, rows))
        return any(
            queued.rejectors - {blocker.plugin for blocker in verdicts.blockers if blocker.where[place]}
            for place in range(len(rows))
        )

    def clear_nomination(self, pod: PodInfo) -> None:
        """Clear the pod's nomination, which counts as an event for pods that had to respect it."""
        if not self._cluster.shapes.features.lost_nominations_are_told:
            return
        happening = EventOccurrence(ClusterEvent.POD_DELETED, self._cluster, pod, unbound=True)
        self.handle_event(happening, lambda other: other.info.priority <= pod.priority)

    def handle_event(self, happening: EventOccurrence, among: Callable[[QueuedPod], bool] | None = None) -> None:
        """Bring back waiting pods that this event may help."""
        self.changes += 1
        for heard in self.meanwhile.values():
            heard.append(happening)
        assert happening.pod is not None
        self.note_active(self._queue.move_on_event(happening, among), f"{happening.event} {happening.pod.key}")
