"""Time Kueue's cycles until nothing moves any more: one JSON line.

    kueue.py [--workloads N] [--queues N] [--cohorts N]

Each ClusterQueue has two flavors with cpu and GPUs, and may take back from its cohort what is its own. All workloads
wait at the beginning, some of them of a high priority.
"""

from __future__ import annotations

import argparse
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


def _objects(workloads: int, queues: int, cohorts: int) -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    yield from (_kueue("ResourceFlavor", name) for name in _FLAVORS)
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
        pod_set = {
            "name": "main",
            "count": chance.choice((1, 2, 4, 8)),
            "template": {"spec": {"containers": containers}},
        }
        priority, queue = chance.choice((0, 0, 0, 100)), f"queue-{number % queues}"
        made = _kueue("Workload", f"job-{number}", "ml", queueName=queue, priority=priority, podSets=[pod_set])
        created = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        made["metadata"] |= {"uid": f"{number}", "creationTimestamp": created}
        yield made


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=10_000)
    parser.add_argument("--queues", type=int, default=200)
    parser.add_argument("--cohorts", type=int, default=20)
    given = parser.parse_args()
    snapshot = Snapshot(objects=decode_objects(_objects(given.workloads, given.queues, given.cohorts)))
    began = time.process_time()
    result = kwhatif.queue(snapshot=snapshot)
    seconds = time.process_time() - began
    admitted = sum(each.status == "admitted" for each in result.workloads)
    told = {**vars(given), "seconds": round(seconds, 2), "cycles": result.cycles, "admitted": admitted}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
