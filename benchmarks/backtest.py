"""Time a backtest of a made-up day: one JSON line.

    backtest.py [--nodes N] [--pods P] [--deployments D] [--race SEED] [--keep DIRECTORY] [--profile]

The day is what our own scheduler makes of it: Deployments come one after the other, each with its ReplicaSet and a
third of them with a Service; their pods are bound, and running a little later. One Deployment in ten is spread over
zones, one in ten asks for more than any node has. With ``--race`` the scheduler's workers race, and its first search
begins at any node; without it one worker searches, from the first node on. ``seconds`` is the time of one core for all
of ``kwhatif backtest``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from workloads import ZONE, node

from kwhatif.api.core import Node, Pod, Service
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import ReplicaSet
from kwhatif.cluster.cluster import Cluster
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of

Spec = dict[str, Any]
KINDS = ("v1/nodes", "v1/pods", "v1/services", "apps/v1/replicasets", "policy/v1/poddisruptionbudgets", "v1/events")
RUNNING_AFTER = 40
"""So many pods later is a pod told to run."""


class Day:
    """Lines of a recording, with one counter for all kinds."""

    def __init__(self, nodes: list[Spec]) -> None:
        self.version = len(nodes)
        self._nodes = nodes

    def begin(self) -> Iterator[Spec]:
        for kind in KINDS:
            items = self._nodes if kind == "v1/nodes" else []
            listed = {"metadata": {"resourceVersion": str(self.version)}, "items": items}
            yield {"at": self._at(), "kind": kind, "list": listed}

    def tell(self, kind: str, type_: str, obj: Spec) -> Spec:
        self.version += 1
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        return {"at": self._at(), "kind": kind, "event": {"type": type_, "object": obj}}

    def _at(self) -> float:
        return 1_000_000 + self.version * 0.01


def day(nodes: int, pods: int, deployments: int, race: int | None = None) -> Iterator[Spec]:
    """The lines; pods are placed while they are made. ``race`` is the seed of racing workers, None for one worker."""
    listed = [node(i) for i in range(nodes)]
    for i, each in enumerate(listed):
        each["metadata"]["resourceVersion"] = str(i + 1)
    told = Day(listed)
    yield from told.begin()
    objects = Objects({"Node": [convert(each, Node) for each in listed]})
    setup = Setup(load_configuration(None, source=""), features_of())
    driver = Driver(Cluster.load(objects, setup.features), setup)
    if race is not None:
        driver.take_chances(Random(race), nodes_in_order=True)
    bound: list[Spec] = []
    for number in range(deployments):
        app = f"app-{number}"
        metadata = {"name": app, "namespace": "default", "uid": app}
        selector = {"matchLabels": {"app": app}}
        replica_set = {"metadata": metadata, "spec": {"selector": selector}}
        yield told.tell("apps/v1/replicasets", "ADDED", replica_set)
        objects.add(convert(replica_set, ReplicaSet))
        if number % 3 == 0:
            service = {"metadata": metadata, "spec": {"selector": {"app": app}}}
            yield told.tell("v1/services", "ADDED", service)
            objects.add(convert(service, Service))
        driver.reread({"ReplicaSet", "Service"})
        for replica in range(pods // deployments):
            obj = _pod(f"{app}-{replica}", app, number)
            yield told.tell("v1/pods", "ADDED", obj)
            attempt = driver.attempt(driver.cluster.shapes.info(convert(obj, Pod)))
            if attempt.row is not None:
                obj["spec"]["nodeName"] = driver.cluster.columns.names[attempt.row]
                bound.append(obj)
            else:
                obj["status"] = {"conditions": [_refused(attempt.message)]}
            yield told.tell("v1/pods", "MODIFIED", obj)
            if len(bound) > RUNNING_AFTER:
                first = bound.pop(0)
                first["status"] = {"phase": "Running", "startTime": "2026-11-20T08:00:00Z"}
                yield told.tell("v1/pods", "MODIFIED", first)


def _pod(name: str, app: str, number: int) -> Spec:
    cpu = "64" if number % 10 == 9 else f"{50 + 10 * (number % 5)}m"
    spec: Spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}]}
    if number % 10 == 1:
        spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [spread | {"labelSelector": {"matchLabels": {"app": app}}}]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": app}, "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": spec}


def _refused(message: str) -> Spec:
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}


def main() -> int:
    parser = argparse.ArgumentParser(description="Time a backtest of a made-up day.")
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--deployments", type=int, default=40)
    parser.add_argument("--race", type=int, metavar="SEED", help="let the scheduler's workers race, by this seed")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="write the day there, and leave it")
    parser.add_argument("--profile", action="store_true", help="print where the time goes to standard error")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = (asked.keep or Path(temporary)) / "day.jsonl"
        with path.open("w") as file:
            file.writelines(
                json.dumps(line) + "\n" for line in day(asked.nodes, asked.pods, asked.deployments, asked.race)
            )
        profiler = ["-m", "cProfile", "-s", "tottime"] if asked.profile else []
        command = [sys.executable, *profiler, "-m", "kwhatif", "backtest", str(path), "-o", "json"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = path.stat().st_size
    if asked.profile:
        print(done.stdout[done.stdout.rindex("function calls") :][:6000], file=sys.stderr)
        return 0
    result = json.loads(done.stdout)
    columns = ("total", "same", "tied", "searched", "near")
    counts = {each["what"]: {column: each[column] for column in columns} for each in result["agreement"]}
    peak = after.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    figures = {
        "nodes": asked.nodes,
        "pods": asked.pods,
        "recordingMiB": round(size / 2**20, 1),
        "seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "states": result["states"],
        "peakMemoryMiB": round(peak, 1),
        **counts,
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
