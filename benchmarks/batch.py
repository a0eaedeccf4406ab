"""Time a batch of deployments over simulated time, until nothing more can change: one JSON line.

    batch.py [--nodes N] [--deployments D] [--pods P] [--repeat N] [--profile]

``pods`` pods of ``deployments`` deployments arrive at once. ``seconds`` is from the first arrival to quiescence;
``expandSeconds`` is what the controllers and the API server take to make the pods of the manifests.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from typing import Any

from workloads import node

from kwhatif.api.core import Node
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.policy.configuration_file import default_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.placement.runs import simulate_timeline
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest, Origin
from kwhatif.versions import features_of


def deployment(number: int, replicas: int) -> Manifest:
    name = f"app-{number}"
    requests = {"cpu": f"{100 + number % 50 * 10}m", "memory": "200Mi"}
    raw: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}]},
            },
        },
    }
    return Manifest(convert(raw, Resource), Origin("benchmark"), raw)


def measure(nodes: int, deployments: int, pods: int) -> dict[str, Any]:
    objects = Objects()
    for number in range(nodes):
        objects.add(convert(node(number), Node))
    snapshot = Snapshot(objects=objects)
    started = time.perf_counter()
    expanded = expand([deployment(number, pods // deployments) for number in range(deployments)], snapshot)
    ready = time.perf_counter()
    session = Session(snapshot, Setup(default_configuration(), features_of()))
    result = simulate_timeline(session, expanded.pods)
    seconds = time.perf_counter() - ready
    return {
        "name": f"batch-{nodes}-{deployments}-{pods}",
        "nodes": nodes,
        "pods": len(expanded.pods),
        "placed": sum(placement.outcome == "placed" for placement in result.placements),
        "expandSeconds": round(ready - started, 4),
        "seconds": round(seconds, 4),
        "podsPerSecond": round(len(expanded.pods) / seconds, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Time a batch of deployments over simulated time.")
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--deployments", type=int, default=50)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="best of N runs")
    parser.add_argument("--profile", action="store_true", help="print where the time goes to standard error")
    asked = parser.parse_args()
    profile = cProfile.Profile()
    if asked.profile:
        profile.enable()
    runs = [measure(asked.nodes, asked.deployments, asked.pods) for _ in range(asked.repeat)]
    if asked.profile:
        profile.disable()
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(12)
    print(json.dumps(max(runs, key=lambda figures: float(figures["podsPerSecond"]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
