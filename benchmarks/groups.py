"""How long groups of pods take, by the number of domains that are tried: one JSON line each.

    python benchmarks/groups.py [--nodes 5000] [--pods 2000] [--groups 250] [--domains 1 10 100]

The first line is the same pods with the gates off, each on its own (``domains`` 0). ``domainsTried`` counts the tries
of a group in a domain, ``shareOfTrying`` is their share of the time.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Sequence

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.pod_groups import PodGroup
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.types import IntpArray
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.group_rounds import scheduled_entities
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of

GATES = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling")


def driver_of(nodes: int, domains: int, groups: int, size: int, *, gates: Sequence[str]) -> Driver:
    """A process on empty nodes, each in one of so many racks, with gangs of a size that are kept in one."""
    features = features_of("1.36", dict.fromkeys(gates, True))
    objects = Objects()
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    for i in range(nodes):
        meta = {"name": f"n{i:05d}", "labels": {"rack": f"r{i % domains:03d}"}}
        objects.add(convert({"metadata": meta, "status": {"allocatable": room}}, Node))
    for i in range(groups):
        policy = {"gang": {"minCount": size}}
        spec = {"schedulingPolicy": policy, "schedulingConstraints": {"topology": [{"key": "rack"}]}}
        objects.add(convert({"metadata": {"name": f"g{i}", "namespace": "default"}, "spec": spec}, PodGroup))
    setup = Setup(load_configuration(None, source="", features=features), features)
    driver = Driver(Cluster.load(objects, features, setup.queues), setup)
    driver.set_up_all()
    return driver


def pods_of(groups: int, size: int) -> list[Pod]:
    asked = {"requests": {"cpu": "2", "memory": "4Gi"}}
    containers = [{"name": "c", "image": "i", "resources": asked}]
    return [
        convert(
            {
                "metadata": {"name": f"g{i}-{k}", "namespace": "default", "uid": f"{i}-{k}"},
                "spec": {"schedulingGroup": {"podGroupName": f"g{i}"}, "containers": containers},
            },
            Pod,
        )
        for i in range(groups)
        for k in range(size)
    ]


class TriedDomains:
    """Looks on at a cluster: how often a group is tried in a domain, and how many seconds that takes in all."""

    def __init__(self, cluster: Cluster) -> None:
        self._assume_placement, self._begin = cluster.assume_placement, 0.0
        self.number, self.seconds = 0, 0.0
        cluster.assume_placement = self._watch  # type: ignore[method-assign]

    def _watch(self, rows: IntpArray | None) -> None:
        if rows is not None:
            self.number, self._begin = self.number + 1, time.process_time()
        self._assume_placement(rows)
        if rows is None:
            self.seconds += time.process_time() - self._begin


def measured(driver: Driver, pods: Sequence[Pod]) -> tuple[float, int]:
    """Seconds of processor time, and how many pods found a node."""
    infos = [driver.cluster.shapes.info(pod) for pod in pods]
    # What earlier lines have left is not collected in this one.
    gc.collect()
    gc.freeze()
    begin, bound = time.process_time(), 0
    for entity in scheduled_entities(driver, infos):
        if entity.key is None:
            placed = driver.schedule_with_preemption(entity.pods[0])[-1].is_placed
            entity.came_to(placed)
            bound += placed
        else:
            bound += sum(len(cycle.bound) for cycle in entity.run())
    return time.process_time() - begin, bound


def main() -> None:
    parser = argparse.ArgumentParser(description="Time groups of pods.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--groups", type=int, default=250)
    parser.add_argument("--domains", type=int, nargs="+", default=[1, 10, 100])
    given = parser.parse_args()
    size = given.pods // given.groups
    for domains in (0, *given.domains):
        driver = driver_of(given.nodes, max(domains, 1), given.groups, size, gates=GATES if domains else ())
        tried = TriedDomains(driver.cluster)
        seconds, bound = measured(driver, pods_of(given.groups, size))
        speed, share = round(given.pods / seconds, 1), round(tried.seconds / seconds, 3)
        told = {"domains": domains, "bound": bound, "seconds": round(seconds, 4), "podsPerSecond": speed}
        print(json.dumps({**told, "domainsTried": tried.number, "shareOfTrying": share}))


if __name__ == "__main__":
    main()
