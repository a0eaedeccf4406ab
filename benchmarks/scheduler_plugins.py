"""How many pods a second plugins of scheduler-plugins decide: NUMA cells, and gangs. One JSON line each.

    python benchmarks/scheduler_plugins.py [--nodes 5000] [--pods 2000] [--templates 200] [--gangs 100]

Cells: each node has 2 to 8, pods are Guaranteed, of so many templates; with the cache of NodeResourceTopologyMatch and
without. Gangs: so many groups of 20 pods under Coscheduling.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.api.scheduler_plugins import CoschedulingPodGroup, NodeResourceTopology
from kwhatif.cluster.cluster import Cluster
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of

GROUP = "scheduling.x-k8s.io/pod-group"
GANG = 20


def configuration_of(plugin: str, args: dict[str, Any], *, sorts: bool = False) -> dict[str, Any]:
    enabled: dict[str, Any] = {"multiPoint": {"enabled": [{"name": plugin}]}}
    if sorts:
        enabled["queueSort"] = {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": enabled,
                "pluginConfig": [{"name": plugin, "args": args}],
            }
        ],
    }


def nodes_of(count: int) -> Iterator[Node]:
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    for i in range(count):
        meta = {"name": f"n{i:05d}", "labels": {"kubernetes.io/hostname": f"n{i:05d}"}}
        yield convert({"metadata": meta, "status": {"capacity": room, "allocatable": room}}, Node)


def topologies_of(count: int) -> Iterator[NodeResourceTopology]:
    for i in range(count):
        cells = 2 + i % 7
        has = {"cpu": str(64 // cells), "memory": f"{256 // cells}Gi"}
        resources = [{"name": name, "capacity": v, "allocatable": v, "available": v} for name, v in has.items()]
        costs = [{"name": f"node-{k}", "value": 21} for k in range(cells)]
        zones = [
            {
                "name": f"node-{z}",
                "type": "Node",
                "resources": resources,
                "costs": [{**cost, "value": 10} if k == z else cost for k, cost in enumerate(costs)],
            }
            for z in range(cells)
        ]
        scope = "SingleNUMANodePodLevel" if i % 2 else "SingleNUMANodeContainerLevel"
        value = {"metadata": {"name": f"n{i:05d}"}, "topologyPolicies": [scope], "zones": zones}
        yield convert(value, NodeResourceTopology)


def guaranteed_pods(count: int, templates: int) -> list[Pod]:
    made = []
    for i in range(count):
        asked = {"cpu": str(1 + i % templates % 4), "memory": f"{256 + 16 * (i % templates)}Mi"}
        containers = [{"name": "c", "image": "i", "resources": {"requests": asked, "limits": asked}}]
        meta = {"name": f"p{i}", "namespace": "default", "uid": f"p{i}", "labels": {"app": f"t{i % templates}"}}
        made.append(convert({"metadata": meta, "spec": {"containers": containers}}, Pod))
    return made


def gang_pods(gangs: int) -> list[Pod]:
    asked = {"requests": {"cpu": "2", "memory": "4Gi"}}
    spec = {"containers": [{"name": "c", "image": "i", "resources": asked}]}
    return [
        convert(
            {
                "metadata": {
                    "name": f"g{i}-{k}",
                    "namespace": "default",
                    "uid": f"{i}-{k}",
                    "labels": {GROUP: f"g{i}"},
                },
                "spec": spec,
            },
            Pod,
        )
        for i in range(gangs)
        for k in range(GANG)
    ]


def groups_of(gangs: int) -> Iterator[CoschedulingPodGroup]:
    for i in range(gangs):
        made = f"2026-01-01T00:{i // 60 % 60:02d}:{i % 60:02d}Z"
        meta = {"name": f"g{i}", "namespace": "default", "creationTimestamp": made}
        yield convert({"metadata": meta, "spec": {"minMember": GANG}}, CoschedulingPodGroup)


def time_pods(name: str, document: dict[str, Any], objects: Sequence[Resource], pods: Sequence[Pod]) -> dict[str, Any]:
    """Schedule the pods in the order of the queue, and say how long that took in processor time."""
    features = features_of("1.35")
    found = Objects()
    for obj in objects:
        found.add(obj)
    setup = Setup(load_configuration(document, source="", features=features), features)
    driver = Driver(Cluster.load(found, features, setup.queues), setup)
    driver.set_up_all()
    begin = time.process_time()
    for info in driver.in_order([driver.cluster.shapes.info(pod) for pod in pods], lambda info: info):
        driver.schedule_with_preemption(info)
        driver.settle()
    seconds = time.process_time() - begin
    bound = sum(len(on) for on in driver.cluster.pods_on)
    speed = round(len(pods) / seconds, 1)
    return {"name": name, "bound": bound, "seconds": round(seconds, 4), "podsPerSecond": speed}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time plugins of scheduler-plugins.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--templates", type=int, default=200)
    parser.add_argument("--gangs", type=int, default=100)
    given = parser.parse_args()
    nodes = list(nodes_of(given.nodes))
    cells = [*nodes, *topologies_of(given.nodes)]
    pods = guaranteed_pods(given.pods, given.templates)
    for strategy in ("LeastAllocated", "LeastNUMANodes"):
        for cache in (0, 5):
            args = {"cacheResyncPeriodSeconds": cache, "scoringStrategy": {"type": strategy}}
            document = configuration_of("NodeResourceTopologyMatch", args)
            name = f"cells, {strategy}, {'with' if cache else 'without'} cache"
            print(json.dumps(time_pods(name, document, cells, pods)), flush=True)
    document = configuration_of("Coscheduling", {}, sorts=True)
    objects = [*nodes, *groups_of(given.gangs)]
    print(json.dumps(time_pods("gangs", document, objects, gang_pods(given.gangs))), flush=True)


if __name__ == "__main__":
    main()
