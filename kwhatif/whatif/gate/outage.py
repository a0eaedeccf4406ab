"""What if nodes were gone once the change is rolled out: do the pods they ran find room on the others?

Controllers make the lost pods again, all at once; they are taken up in the scheduler's order and nobody is evicted for
them. Pods that nobody would make again, and those of daemon sets, which want none elsewhere, are not asked about. The
search for nodes begins with the first one: how far it will have got by then nobody knows, and an outage with the change
is compared to one without.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kwhatif.bounds import pods_to_make
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.progress import tracked
from kwhatif.scheduling.setup import Setup
from kwhatif.whatif.outage.failing import Failing
from kwhatif.whatif.outage.made_again import MadeAgain


@dataclass(frozen=True, slots=True)
class Stranded:
    """A pod that ran on a node that is gone, and why the one made in its place finds no other."""

    pod: PodInfo
    message: str


class Outages:
    """What nodes that are gone would mean, asked again and again of one cluster, which stays as it is."""

    def __init__(self, cluster: Cluster, setup: Setup) -> None:
        self._failing = Failing(cluster.fork(), setup)
        self._made = MadeAgain(evicting=False)

    def of(self, nodes: Collection[str]) -> tuple[int, list[Stranded]]:
        """How many pods have to find another node when these are gone, and those that find none."""
        lost = self._failing.lost(nodes)
        if not lost:
            return 0, []
        with pods_to_make(), self._failing.without(nodes) as driver:
            queue = [
                (old, info)
                for old, info in self._made.of(lost, driver.cluster)
                if driver.scheduler(info.pod.spec.scheduler_name) is not None
            ]
            stranded = []
            in_order = driver.in_order(queue, lambda entry: entry[1])
            for old, info in tracked(in_order, "Placing", "pods of lost nodes"):
                attempt = driver.attempt(info)
                if not attempt.placed and attempt.gated is None:
                    stranded.append(Stranded(old, _without_preemption(attempt.message)))
        return len(queue), stranded


def _without_preemption(message: str) -> str:
    """What kept a pod from the nodes; of evictions nobody was asked."""
    return message.partition(" preemption: ")[0].removesuffix("no new claims to deallocate,").rstrip()
