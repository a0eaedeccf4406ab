"""Single pods and groups in the order of the queue, until all that is not gated was tried once.

Upstream: ScheduleOne in pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.cluster.pod_group_states import GroupKey
from kwhatif.cluster.shapes import PodInfo
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import MOST_ATTEMPTS, Driver
from kwhatif.scheduling.pod_group_outcome import pod_group_at_once
from kwhatif.scheduling.pod_group_results import PodGroupCycle
from kwhatif.scheduling.round_queue import RoundQueue


class ScheduledEntity(msgspec.Struct, frozen=True):
    """A pod, or the members of a group, taken from the queue. The caller reports its outcome by ``came_to``, or calls
    ``run``.
    """

    key: GroupKey | None
    pods: tuple[PodInfo, ...]
    driver: Driver
    queue: RoundQueue

    def came_to(self, is_bound: bool) -> None:
        """Report the outcome of a single pod: it has a node, or goes back to the queue."""
        if is_bound:
            self.queue.mark_bound(self.pods)
        else:
            self.queue.requeue_failed(self.pods)

    def run(self) -> list[PodGroupCycle]:
        """Run the cycles of a group, which is retried at once after it has evicted pods."""
        assert self.key is not None
        cycles = pod_group_at_once(self.driver, self.key, self.pods, MOST_ATTEMPTS)
        failed = cycles[-1].failed
        self.queue.mark_bound(pod for pod in self.pods if pod.key not in failed)
        self.queue.requeue_failed(failure.pod for failure in failed.values())
        for cycle in cycles:
            self.queue.activate(cycle.activated)
        return cycles


def scheduled_entities(driver: Driver, pods: Sequence[PodInfo]) -> Iterator[ScheduledEntity]:
    """The entities in the order in which they leave the queue, if these pods enter it in this order."""
    queue = RoundQueue(driver)
    for pod in pods:
        queue.add(pod)
    while (entity := queue.pop()) is not None:
        yield ScheduledEntity(entity.key, entity.pods, driver, queue)


def attempts_of(cycles: Iterable[PodGroupCycle]) -> Iterator[tuple[PodInfo, list[Attempt]]]:
    """Each member that was tried with its attempts, one for each cycle."""
    by_pod: dict[str, tuple[PodInfo, list[Attempt]]] = {}
    for cycle in cycles:
        by_uid = {result.pod.uid: result.attempt for result in cycle.results}
        held = {attempt.pod.uid: attempt for attempt in cycle.held}
        for pod in cycle.members:
            attempt = held.get(pod.uid) or replace(by_uid.get(pod.uid) or Attempt(pod))
            failure = cycle.failed.get(pod.key)
            if failure is not None:
                attempt.row, attempt.message = None, failure.message
            by_pod.setdefault(pod.uid, (pod, []))[1].append(attempt)
    yield from by_pod.values()
