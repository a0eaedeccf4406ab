"""Time Kueue's cycles until nothing moves any more: one JSON line.

    kueue.py [--workloads N] [--queues N] [--cohorts N] [--nodes N]

Each ClusterQueue has two flavors with cpu and GPUs, and may take back from its cohort what is its own. All workloads
wait at the beginning, some of them of a high priority; ``admissions`` are those of workloads that were preempted
later, too, and ``a thousand`` is how long so many of them take. Then the state is asked for, and one more workload,
with all others as they came to rest. With ``nodes`` the flavors have a topology of blocks, racks and hosts, and each
workload requires a rack.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import kwhatif
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.objects import decode_objects

_FLAVORS = ("a100", "h100")


def _kueue(kind: str, name: str, namespace: str = "", /, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


_LEVELS = ("cloud/block", "cloud/rack", "kubernetes.io/hostname")


def _racks(nodes: int) -> Iterator[dict[str, Any]]:
    """Nodes of two flavors, 16 to a rack and 8 racks to a block, and the flavors with their topology."""
    yield _kueue("Topology", "racks", levels=[{"nodeLabel": label} for label in _LEVELS])
    for name in _FLAVORS:
        yield _kueue("ResourceFlavor", name, nodeLabels={"gpu": name}, topologyName="racks")
    for number in range(nodes):
        name, rack = f"node-{number}", number // 16
        places = dict(zip(_LEVELS, (f"block-{rack // 8}", f"rack-{rack}", name), strict=True))
        room = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"gpu": _FLAVORS[rack % 2], **places}},
            "status": {
                "allocatable": room,
                "capacity": room,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }


def _objects(workloads: int, queues: int, cohorts: int, nodes: int) -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    yield from _racks(nodes) if nodes else (_kueue("ResourceFlavor", name) for name in _FLAVORS)
    resources = [{"name": "cpu", "nominalQuota": "100"}, {"name": "nvidia.com/gpu", "nominalQuota": "20"}]
    flavors = [{"name": name, "resources": resources} for name in _FLAVORS]
    groups = [{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": flavors}]
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    for number in range(queues):
        spec = {"cohortName": f"cohort-{number % cohorts}", "preemption": preemption, "resourceGroups": groups}
        yield _kueue("ClusterQueue", f"queue-{number}", namespaceSelector={}, **spec)
        yield _kueue("LocalQueue", f"queue-{number}", "ml", clusterQueue=f"queue-{number}")
    chance = random.Random(1)
    for number in range(workloads):
        requests = {"cpu": chance.choice("124"), "nvidia.com/gpu": chance.choice("112")}
        containers = [{"name": "main", "resources": {"requests": requests}}]
        pod_set: dict[str, Any] = {
            "name": "main",
            "count": chance.choice((1, 2, 4, 8)),
            "template": {"spec": {"containers": containers}},
        }
        if nodes:
            pod_set["topologyRequest"] = {"required": "cloud/rack"}
        priority, queue = chance.choice((0, 0, 0, 100)), f"queue-{number % queues}"
        made = _kueue("Workload", f"job-{number}", "ml", queueName=queue, priority=priority, podSets=[pod_set])
        created = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        made["metadata"] |= {"uid": f"{number}", "creationTimestamp": created}
        yield made


def _settle(objects: list[dict[str, Any]], result: kwhatif.QueueResult) -> None:
    """Write into the Workloads what became of them, as a snapshot has it."""
    found = {each.workload: each for each in result.workloads}
    for obj in objects:
        each = found.get(f"ml/{obj['metadata']['name']}") if obj["kind"] == "Workload" else None
        if each is None:
            continue
        is_in = each.status == "admitted"
        time_ = "2026-01-02T00:00:00Z"
        conditions = [
            {"type": name, "status": str(is_in), "reason": name, "message": each.message, "lastTransitionTime": time_}
            for name in ("QuotaReserved", "Admitted")
        ]
        obj["status"] = {"conditions": conditions}
        if is_in:
            assigned = []
            for pods in each.pod_sets:
                made: dict[str, Any] = {
                    "name": pods.pod_set,
                    "count": pods.count,
                    "flavors": pods.flavors,
                    "resourceUsage": pods.usage,
                }
                if pods.topology:
                    domains = [text.rpartition(": ") for text in pods.topology]
                    made["topologyAssignment"] = {
                        "levels": [_LEVELS[-1]],
                        "domains": [{"values": [host], "count": int(count)} for host, _, count in domains],
                    }
                assigned.append(made)
            obj["status"]["admission"] = {"clusterQueue": each.cluster_queue, "podSetAssignments": assigned}


def _ask(objects: list[dict[str, Any]], *asked: dict[str, Any]) -> tuple[kwhatif.QueueResult, float]:
    """The answer, and the processor time that it took once the objects were read."""
    snapshot = Snapshot(objects=decode_objects(objects))
    gc.collect()
    gc.freeze()
    began = time.process_time()
    result = kwhatif.queue(asked, snapshot=snapshot)
    return result, round(time.process_time() - began, 2)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=10_000)
    parser.add_argument("--queues", type=int, default=200)
    parser.add_argument("--cohorts", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=0)
    given = parser.parse_args()
    objects = list(_objects(**vars(given)))
    result, seconds = _ask(objects)
    admitted = sum(each.status == "admitted" for each in result.workloads)
    admissions = admitted + len(result.evicted)
    figures = {**vars(given), "seconds": seconds, "cycles": result.cycles, "admitted": admitted}
    figures |= {"admissions": admissions, "a thousand": round(1000 * seconds / max(admissions, 1), 2)}
    one = next(each for each in reversed(objects) if each["kind"] == "Workload")
    one = {**one, "metadata": {**one["metadata"], "name": "one-more", "uid": "one-more"}}
    _settle(objects, result)
    figures["state"] = _ask(objects)[1]
    figures["one more"] = _ask(objects, one)[1]
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
