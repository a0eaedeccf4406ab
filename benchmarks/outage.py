"""Time ``kwhatif outage --each nodes`` and ``kwhatif chances`` as a user runs them, start-up and reading included: one
JSON line each.

    outage.py [--nodes N] [--pods P] [--trials N] [--workers N] [--repeat N]

The cluster is that of load.py. ``chances`` places 50 pods of two Deployments and a StatefulSet on it.
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
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "kwhatif", *words, "-o", "json"], capture_output=True, encoding="utf-8"
    )
    seconds, after = time.perf_counter() - started, os.times()
    if done.returncode == 2:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout)[counted]
    return {
        "name": words[0],
        counted: found if isinstance(found, int) else len(found),
        "seconds": round(seconds, 2),
        "userSeconds": round(after.children_user - before.children_user, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    workers = [] if given.workers is None else ["--workers", str(given.workers)]
    with tempfile.TemporaryDirectory() as name:
        cluster, manifests = Path(name) / "cluster.json", Path(name) / "new.json"
        items = [*nodes(given.nodes), *pods(given.pods, given.nodes)]
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        new = [workload(*each) for each in NEW]
        manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": new}), encoding="utf-8")
        common = ["--snapshot", str(cluster), *workers]
        asked = [
            (["outage", "--each", "nodes", *common], "failures"),
            (["chances", str(manifests), "--trials", str(given.trials), *common], "trials"),
        ]
        for words, counted in asked:
            runs = [measure(words, counted) for _ in range(given.repeat)]
            best = min(runs, key=lambda each: float(each["seconds"]))
            print(json.dumps({"nodes": given.nodes, "pods": given.pods, **best}), flush=True)


if __name__ == "__main__":
    main()
