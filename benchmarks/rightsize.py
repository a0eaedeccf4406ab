"""Time ``kwhatif rightsize`` as a user runs it, start-up and reading included: one JSON line each.

    rightsize.py [--nodes N] [--pods P] [--samples N] [--series N] [--autoscaled-only | --recorded-only]

``autoscaled`` asks which nodes cluster-autoscaler takes away from the cluster of load.py, with smaller nodes, once
requests follow from the usage of all pods, of which each has so many samples of CPU and of memory. ``recorded`` reads
an answer of Prometheus with so many series of a week, a sample a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from load import nodes, pods

CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
BEGIN = 1_795_000_000
WEEK = 7 * 24 * 60


def series(objects: list[dict[str, Any]], samples: int) -> Iterator[str]:
    """The series of CPU and memory of each pod, around half of what it asks for, as text."""
    draws = random.Random(7)
    for pod in objects:
        asked = pod["spec"]["containers"][0]["resources"]["requests"]
        cores, mebibytes = int(asked["cpu"][:-1]) / 1000, int(asked["memory"][:-2])
        labels = {"namespace": pod["metadata"]["namespace"], "pod": pod["metadata"]["name"], "container": "main"}
        for name, most in ((f"{CPU}:rate5m", cores * 0.6), (MEMORY, mebibytes * 0.6 * 2**20)):
            level = [draws.uniform(0.3, 1.0) * most for _ in range(64)]
            values = ",".join(
                f'[{BEGIN + 60 * at},"{level[at % 64]:.6f}"]'
                if most < 2**20
                else f'[{BEGIN + 60 * at},"{int(level[at % 64])}"]'
                for at in range(samples)
            )
            yield f'{{"metric":{json.dumps({"__name__": name, **labels})},"values":[{values}]}}'


def smaller(node: dict[str, Any]) -> dict[str, Any]:
    """The node with a quarter of its cores and memory, so that it is used by more than half."""
    room = {"cpu": "7910m", "memory": "31Gi", "ephemeral-storage": "190Gi", "pods": "110"}
    return {**node, "status": {**node["status"], "allocatable": room, "capacity": room}}


def replica_sets(bound: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The controllers of pods, without which cluster-autoscaler moves none of them."""
    counts = Counter(
        (pod["metadata"]["namespace"], pod["metadata"]["ownerReferences"][0]["name"], pod["metadata"]["labels"]["app"])
        for pod in bound
    )
    for (namespace, name, app), number in counts.items():
        spec = {"replicas": number, "selector": {"matchLabels": {"app": app}}}
        metadata = {"name": name, "namespace": namespace}
        yield {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def write(folder: Path, nodes_: int, pods_: int, samples: int) -> list[str]:
    """Files of a cluster, of its groups and of usage; the options that name them."""
    bound = list(pods(pods_, nodes_))
    items = [*map(smaller, nodes(nodes_)), *replica_sets(bound), *bound]
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with (folder / "usage.json").open("w", encoding="utf-8") as file:
        file.write('{"status":"success","data":{"resultType":"matrix","result":[')
        for number, text in enumerate(series(bound, samples)):
            file.write(f"{',' if number else ''}{text}")
        file.write("]}}")
    groups = [
        {"name": f"pool-{k}", "min": 1, "max": nodes_, "nodes": {"labels": {"pool": f"pool-{k}"}}, "price": 1.0}
        for k in range(7)
    ]
    (folder / "groups.yaml").write_text(
        json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "NodeGroups", "groups": groups})
    )
    return ["--snapshot", str(folder / "cluster.json"), "--usage", str(folder / "usage.json")]


def measure(name: str, words: list[str], folder: Path) -> dict[str, Any]:
    """One run: seconds of the processor, and the most that it held."""
    answer = folder / "answer.json"
    with answer.open("w", encoding="utf-8") as out:
        done = subprocess.Popen([sys.executable, "-m", "kwhatif", "rightsize", *words, "-o", "json"], stdout=out)
        _, status, used = os.wait4(done.pid, 0)
    if os.waitstatus_to_exitcode(status) == 2:
        raise SystemExit(2)
    found = json.loads(answer.read_text())
    return {
        "name": name,
        "samples": found["usage"]["samples"],
        "nodes": [found["before"]["nodes"], found["after"]["nodes"]],
        "pending": found["after"]["pending"],
        "cpuSeconds": round(used.ru_utime + used.ru_stime, 2),
        "peakMiB": round(used.ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--autoscaled-only", action="store_true")
    parser.add_argument("--recorded-only", action="store_true")
    given = parser.parse_args()
    if not given.recorded_only:
        with tempfile.TemporaryDirectory() as name:
            words = write(Path(name), given.nodes, given.pods, given.samples)
            words += ["--autoscale", str(Path(name) / "groups.yaml")]
            print(json.dumps(measure("autoscaled", words, Path(name))), flush=True)
    if not given.autoscaled_only:
        with tempfile.TemporaryDirectory() as name:
            words = write(Path(name), 50, given.series // 2, WEEK)
            print(json.dumps(measure("recorded", words, Path(name))), flush=True)


if __name__ == "__main__":
    main()
