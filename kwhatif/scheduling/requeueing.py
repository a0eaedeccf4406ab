"""Which pods move to the active queue when the cluster changes, or time passes.

Upstream: MoveAllToActiveOrBackoffQueue in pkg/scheduler/backend/queue/scheduling_queue.go, which the handlers of
pkg/scheduler/eventhandlers.go call, and the queueing hints of plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_group_states import group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.interface import ClusterEvent, EventOccurrence
from kwhatif.scheduling.attempt import NOT_MADE_YET
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.queue import LEFTOVER_AFTER, QueuedPod, SchedulingQueue
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.scheduling.timeline import EventLog, next_tick

BACKOFF_TICK, LEFTOVER_TICK = 1.0, 30.0


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
        self._bound_claims: set[tuple[str, str]] = set()

    def stale_pods(self) -> list[QueuedPod]:
        """Waiting pods for which the cluster has changed since they were tried."""
        return [
            pod for pod in self._queue.waiting() if pod.gate is None and self.tried_at[pod.info.uid] != self.changes
        ]

    def next_flushes(self, *, leftovers: bool) -> list[float]:
        """When the periodic flushes come that could matter, those of ``leftovers`` among them."""
        queue, now, moments = self._queue, self._queue.now, []
        if backing_off := self._retried_pods():
            end = min(queue.backoff_end(pod) for pod in backing_off)
            on_time = self._cluster.shapes.features.backoff_ends_on_time and end > now and end % BACKOFF_TICK == 0
            moments.append(end if on_time else next_tick(max(end, now), BACKOFF_TICK))
        if stale := self.stale_pods() if leftovers else ():
            due = min(pod.timestamp for pod in stale) + LEFTOVER_AFTER
            moments.append(next_tick(max(due, now), LEFTOVER_TICK))
        return moments

    def _retried_pods(self) -> list[QueuedPod]:
        """The pods that back off and may come to another end.

        A cluster without nodes is an error to the scheduler, which tries again forever; nothing can change there. So do
        members that found a node and failed with their group, until something has changed.
        """
        pods = self._queue.backing_off() if len(self._cluster) else []
        if not takes_groups(self._driver):
            return pods
        return [pod for pod in pods if group_key(pod.info) is None or self.tried_at[pod.info.uid] != self.changes]

    def flush(self) -> None:
        """Bring back the pods whose backoff is over (every second), and those that have waited for long."""
        now = self._queue.now
        if now % BACKOFF_TICK == 0:
            self.note_active(self._queue.flush_backoff(), "its backoff is over")
        if now % LEFTOVER_TICK == 0:
            self.note_active(self._queue.flush_leftover(self.stale_pods()), "it has waited for five minutes")

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

    def handle_claims(self, pod: PodInfo) -> None:
        """Tell of the claims of a pod that was bound: of devices, and of volumes that are bound for it."""
        for device_claim in self._cluster.devices.of_pod(pod.pod):
            key = (device_claim.namespace, device_claim.name)
            self.handle_event(EventOccurrence(ClusterEvent.DEVICE_CLAIM_CHANGED, self._cluster, pod, key))
        storage = self._cluster.storage
        for name, _ in claim_names(pod.pod):
            key = (pod.shape.namespace, name)
            claim = storage.claims.get(key)
            if claim is not None and not storage.fully_bound(claim) and key not in self._bound_claims:
                self._bound_claims.add(key)
                self.handle_event(EventOccurrence(ClusterEvent.VOLUME_CHANGED, self._cluster, pod))
                self.handle_event(EventOccurrence(ClusterEvent.CLAIM_CHANGED, self._cluster, pod, key))

    def handle_changes(self, nodes: Iterable[str], readers: Collection[str] = ()) -> None:
        """Requeue pods after objects of the cluster changed: these nodes were added or changed, and objects that these
        plugins read.
        """
        self.handle_new_nodes(nodes, "changed")
        back = self._queue.bring_back(lambda queued: not queued.rejectors.isdisjoint(readers)) if readers else []
        self.note_active(back, "what a plugin reads has changed")

    def take_next_turn(self, pod: PodInfo) -> list[QueuedPod]:
        """The pods that are made, and become active, now that this one is bound."""
        turns = self._cluster.creation_turns
        if turns is None or not turns.concerns(pod):
            return []
        made: list[QueuedPod] = []
        for queued in self._queue.waiting():
            if queued.gate is not None and queued.gate.plugin == NOT_MADE_YET:
                self._queue.activate(queued)
                if queued.gate is None:
                    made.append(queued)
        return made

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
