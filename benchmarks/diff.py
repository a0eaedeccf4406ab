"""Time ``kwhatif diff --replay all`` as a user runs it, start-up and reading included: one JSON line.

    diff.py [--nodes N] [--pods P] [--repeat N]

The ``pods`` of 200 replica sets, half of which have a service, run on ``nodes`` nodes. All of them are taken off and
scheduled again twice: as kube-scheduler does by default, and with NodeResourcesFit packing them (MostAllocated).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workloads import node, pod

Spec = dict[str, Any]

APPS = 200
CPU = ("50m", "100m", "150m", "200m")
PACKING: Spec = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}
    ],
}


def replica_set(name: str) -> Spec:
    metadata = {"name": name, "namespace": "bench", "uid": name}
    selector = {"matchLabels": {"app": name}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": {"selector": selector}}


def service(name: str) -> Spec:
    metadata = {"name": name, "namespace": "bench"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"app": name}}}


def running(number: int, nodes: int) -> Spec:
    """A pod with a token as every pod has it, in a volume with a name of its own."""
    app = f"app-{number % APPS:03d}"
    token = {"name": f"kube-api-access-{number:05x}", "projected": {"sources": []}}
    extra = {"volumes": [token]}
    made = pod(f"{app}-{number:05d}", app, cpu=CPU[number % APPS % 4], on=f"n{number % nodes:05d}", extra=extra)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    made["metadata"] |= {"uid": f"uid-{number}", "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def cluster(nodes: int, pods: int) -> Iterator[Spec]:
    for number in range(nodes):
        yield node(number)
    for number in range(APPS):
        yield replica_set(f"app-{number:03d}")
        if number % 2:
            yield service(f"app-{number:03d}")
    for number in range(pods):
        yield running(number, nodes)


def measure(snapshot: Path, policy: Path) -> Spec:
    command = [sys.executable, "-m", "kwhatif", "diff", "--snapshot", str(snapshot), "--replay", "all", "-o", "json"]
    before, started = os.times().children_user, time.perf_counter()
    done = subprocess.run(
        [*command, "--policy", "default", "--policy", str(policy), "--exit-zero"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    seconds, user = time.perf_counter() - started, os.times().children_user - before
    result = json.loads(done.stdout)
    return {
        "pods": result["pods"],
        "moved": sum(change["what"] == "moved" for change in result["changes"]),
        "unplaced": result["a"]["unplaced"] + result["b"]["unplaced"],
        "seconds": round(seconds, 2),
        "userSeconds": round(user, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        snapshot, policy = Path(folder, "cluster.json"), Path(folder, "packing.json")
        items = list(cluster(arguments.nodes, arguments.pods))
        snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        policy.write_text(json.dumps(PACKING), encoding="utf-8")
        runs = [measure(snapshot, policy) for _ in range(arguments.repeat)]
    print(json.dumps({"nodes": arguments.nodes, **min(runs, key=lambda run: float(run["seconds"]))}))


if __name__ == "__main__":
    main()
