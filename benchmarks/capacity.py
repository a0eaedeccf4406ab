"""Time ``kwhatif capacity`` as a user runs it, start-up and reading included: one JSON line.

    capacity.py [--nodes N] [--each P] [--repeat N]

Every one of ``nodes`` nodes has room for ``each`` pods of the deployment asked about.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workloads import node


def deployment() -> dict[str, Any]:
    labels = {"app": "web"}
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "100m", "memory": "200Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def roomy(number: int, each: int) -> dict[str, Any]:
    """A node with room for so many of those pods."""
    made = node(number)
    room = {"cpu": f"{each * 100}m", "memory": "64Gi", "pods": "110"}
    return {**made, "status": {**made.get("status", {}), "capacity": room, "allocatable": room}}


def measure(nodes: int, each: int, folder: Path) -> dict[str, Any]:
    cluster, manifest = folder / "cluster.json", folder / "web.json"
    items = [{"apiVersion": "v1", "kind": "Node", **roomy(number, each)} for number in range(nodes)]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    manifest.write_text(json.dumps(deployment()), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "kwhatif",
        "capacity",
        "--pod",
        str(manifest),
        "--snapshot",
        str(cluster),
        "--assume-empty",
        "-o",
        "json",
    ]
    before, started = os.times().children_user, time.perf_counter()
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    seconds, user = time.perf_counter() - started, os.times().children_user - before
    fits = json.loads(done.stdout)["fits"]
    return {"nodes": nodes, "fits": fits, "seconds": round(seconds, 2), "userSeconds": round(user, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--each", type=int, default=30)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = [measure(arguments.nodes, arguments.each, Path(folder)) for _ in range(arguments.repeat)]
    print(json.dumps(min(runs, key=lambda run: float(run["seconds"]))))


if __name__ == "__main__":
    main()
