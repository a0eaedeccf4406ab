"""Time ``kwhatif outage`` and ``kwhatif chances`` as a user runs them, start-up and reading included: one line each.

    outage.py [--nodes N] [--pods P] [--trials N] [--workers N] [--repeat N]
    outage.py --zones [--nodes N] [--each P] [--workers N]

Any node is lost on the cluster of load.py. ``chances`` places 50 pods of two Deployments and a StatefulSet on it. With
``--zones`` any zone is lost of the full cluster of fleet.py, where most pods of the zone find no other node.
``cpuSeconds`` and ``peakMemoryMiB`` are those of all processes, and of the largest of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import fleet
from load import nodes, pods

NEW = (
    ("Deployment", "fresh-a", 20, "300m"),
    ("Deployment", "fresh-b", 20, "200m"),
    ("StatefulSet", "fresh-c", 10, "1"),
)


def workload(kind: str, name: str, replicas: int, cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example/app3:1.0", "resources": {"requests": {"cpu": cpu}}}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "team-1"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            **({"serviceName": name} if kind == "StatefulSet" else {}),
        },
    }


def measure(words: list[str], counted: str) -> dict[str, Any]:
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "kwhatif", *words, "-o", "json"], capture_output=True, encoding="utf-8"
    )
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode == 2:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout)[counted]
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "name": words[0],
        counted: found if isinstance(found, int) else len(found),
        "seconds": round(seconds, 2),
        "cpuSeconds": round(spent, 2),
        "peakMemoryMiB": round(after.ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", action="store_true")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    workers = [] if given.workers is None else ["--workers", str(given.workers)]
    with tempfile.TemporaryDirectory() as name:
        cluster, manifests = Path(name) / "cluster.json", Path(name) / "new.json"
        common = ["--snapshot", str(cluster), *workers]
        if given.zones:
            size = {"nodes": given.nodes or 1980, "pods": (given.nodes or 1980) * given.each}
            fleet.write(cluster, size["nodes"], given.each)
            asked = [(["outage", "--each", "zones", *common], "failures")]
        else:
            size = {"nodes": given.nodes or 1000, "pods": given.pods}
            items = [*nodes(size["nodes"]), *pods(size["pods"], size["nodes"])]
            cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
            new = [workload(*each) for each in NEW]
            manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": new}), encoding="utf-8")
            asked = [
                (["outage", "--each", "nodes", *common], "failures"),
                (["chances", str(manifests), "--trials", str(given.trials), *common], "trials"),
            ]
        for words, counted in asked:
            runs = [measure(words, counted) for _ in range(given.repeat)]
            best = min(runs, key=lambda each: float(each["seconds"]))
            print(json.dumps({**size, **best}), flush=True)


if __name__ == "__main__":
    main()
