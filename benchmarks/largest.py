"""Schedule as many pods as the largest clusters that Kubernetes supports hold, and more: one JSON line.

    largest.py [--nodes 15000] [--pods 150000] [--workload templates] [--every 10000]

Pods come one after the other and are made as they come, so that memory is what a cluster of that size takes, and not
what its manifests would. ``cpuSeconds`` are the processor time of scheduling alone, without the making of pods;
``slowest`` is the fewest pods a second of any ``--every`` pods, which tells whether it slows down as the cluster fills.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from typing import Any

from workloads import KINDS, MIXED, TEMPLATES, node, pod

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.cluster.cluster import Cluster
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of


def pending(workload: str, index: int) -> Pod:
    """The pod that comes after so many others; ``templates`` are of many apps taking turns, of five sorts."""
    app = f"t{index % TEMPLATES}" if workload == "templates" else workload
    kind = MIXED[index % TEMPLATES % len(MIXED)] if workload == "templates" else workload
    return convert(pod(f"p{index}", app, extra=KINDS[kind](app)), Pod)


def measure(workload: str, nodes: int, pods: int, every: int) -> dict[str, Any]:
    features = features_of()
    objects = Objects()
    for index in range(nodes):
        objects.add(convert(node(index), Node))
    cluster = Cluster.load(objects, features)
    driver = Driver(cluster, Setup(load_configuration(None, source="", features=features), features))
    driver.set_up_all()
    gc.collect()
    gc.freeze()
    spent: list[float] = []
    placed = 0
    for first in range(0, pods, every):
        some = [pending(workload, index) for index in range(first, min(first + every, pods))]
        started = time.process_time()
        for each in some:
            placed += driver.schedule_with_preemption(cluster.shapes.info(each))[-1].is_placed
        spent.append(time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    last = pods - every * (len(spent) - 1)
    rates = [every / seconds for seconds in spent[:-1]] + [last / spent[-1]]
    return {
        "name": f"{workload}-{nodes}-{pods}",
        "nodes": nodes,
        "pods": pods,
        "placed": placed,
        "cpuSeconds": round(sum(spent), 2),
        "podsPerSecond": round(pods / sum(spent), 1),
        "slowest": round(min(rates), 1),
        "peakMemoryMiB": round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Schedule as many pods as the largest clusters hold.")
    parser.add_argument("--nodes", type=int, default=15_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--workload", choices=("templates", *KINDS), default="templates")
    parser.add_argument("--every", type=int, default=10_000)
    asked = parser.parse_args()
    print(json.dumps(measure(asked.workload, asked.nodes, asked.pods, asked.every)), flush=True)


if __name__ == "__main__":
    main()
