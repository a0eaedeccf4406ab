"""Time ``kwhatif sweep --replay all`` as a user runs it, on one worker and on several: one JSON line for each.

    sweep.py [--nodes N] [--pods P] [--policies W] [--workers 1 2]

The cluster is that of ``diff.py``. Each policy is one world of a study: all pods are taken off and scheduled again, by
other weights, another strategy and another percentage of nodes. ``userSeconds`` are those of the workers and of the
process that hands out; ``parentSeconds`` are its own, in which no worker can help.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from diff import cluster

Spec = dict[str, Any]

PERCENTAGES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90)
STRATEGIES = ("LeastAllocated", "MostAllocated")


def space(policies: int) -> Spec:
    """A grid of so many policies, rounded up to what fits."""
    weights = -(-policies // (len(PERCENTAGES) * len(STRATEGIES)))
    return {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "SweepSpace",
        "weights": {"NodeResourcesFit": {"min": 1, "max": weights}},
        "scoringStrategies": {name: {"type": name} for name in STRATEGIES},
        "percentageOfNodesToScore": list(PERCENTAGES),
    }


_OWN = """
import atexit, os, runpy, sys
atexit.register(lambda: print(f"parent {os.times().user}", file=sys.stderr))
sys.argv[0] = "kwhatif"
runpy.run_module("kwhatif", run_name="__main__", alter_sys=True)
"""
"""kwhatif, telling in the end how long it took itself, without its workers."""


def measure(snapshot: Path, settings: Path, workers: int) -> Spec:
    command = [sys.executable, "-c", _OWN, "sweep", "--snapshot", str(snapshot), "--space", str(settings)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.perf_counter()
    done = subprocess.run(
        [*command, "--replay", "all", "--workers", str(workers), "-o", "json"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    seconds = time.perf_counter() - started
    user = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    result = json.loads(done.stdout)
    (own,) = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("parent ")]
    return {
        "workers": workers,
        "policies": len(result["points"]),
        "pods": result["pods"],
        "pending": sum(point["measures"]["pending"] for point in result["points"]),
        "seconds": round(seconds, 2),
        "userSeconds": round(user, 2),
        "parentSeconds": round(float(own), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--policies", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        snapshot, settings = Path(folder, "cluster.json"), Path(folder, "space.json")
        items = list(cluster(arguments.nodes, arguments.pods))
        snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        settings.write_text(json.dumps(space(arguments.policies)), encoding="utf-8")
        for workers in arguments.workers:
            print(json.dumps({"nodes": arguments.nodes, **measure(snapshot, settings, workers)}), flush=True)


if __name__ == "__main__":
    main()
