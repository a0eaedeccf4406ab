"""What if nodes were gone once the change is rolled out: do the pods they ran find room on the others?

Controllers make the lost pods again, all at once; they are taken up in the scheduler's order and nobody is evicted for
them. Pods that nobody would make again, and those of daemon sets, which want none elsewhere, are not asked about. The
search for nodes begins with the first one: how far it will have got by then nobody knows, and an outage with the change
is compared to one without.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.bounds import pods_to_make
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.progress import tracked
from kwhatif.scheduling.arrivals import with_claims
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.replacements import Replacements
from kwhatif.scheduling.setup import Setup


@dataclass(frozen=True, slots=True)
class Stranded:
    """A pod that ran on a node that is gone, and why the one made in its place finds no other."""

    pod: PodInfo
    message: str


def outage(cluster: Cluster, setup: Setup, nodes: Collection[str]) -> tuple[int, list[Stranded]]:
    """How many pods have to find another node when these are gone, and those that find none. Changes nothing."""
    with pods_to_make():
        lost = _lost(cluster, nodes)
    if not lost:
        return 0, []
    rest = cluster.without(nodes)
    driver = Driver(rest, setup, imagined=True)
    queue = [
        (old, rest.shapes.info(with_claims(pod, rest)))
        for old, pod in lost
        if driver.scheduler(pod.spec.scheduler_name) is not None
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


def _lost(cluster: Cluster, nodes: Collection[str]) -> list[tuple[PodInfo, Pod]]:
    """The pods of these nodes that are made again, and those made in their place."""
    replacements = Replacements()
    found = []
    for row in sorted(row for name in nodes if (row := cluster.columns.row(name)) is not None):
        for info in cluster.pods_on[row]:
            owner = info.shape.controller
            if owner is None or owner.kind in ("DaemonSet", "Node"):
                continue
            again = replacements.after(info.pod)
            if again is not None:
                found.append((info, replace(again, spec=replace(again.spec, preemption_policy="Never"))))
    return found
