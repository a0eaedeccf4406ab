"""Make benchmark scenarios, in the format of docs/contributing/conformance.md.

    workloads.py WORKLOAD NODES PODS [--percentage P] [--bound B] [--named] [-o FILE]

Nodes stand in three zones and have 4 cpus and 32 GiB; pods ask for 100m and 500Mi. One small pod runs on each
node already, or as many as ``--bound`` says, or, for ``preempt``, ten pods of low priority that leave hardly any cpu.
With ``--named`` every pod has its name as a label, too, as those of a StatefulSet have. The same arguments give the
same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["WORKLOADS", "scenario"]

Spec = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ZONES = ("north", "middle", "south")
IMAGE = "registry.example/bench:1"
POD_NAME = "statefulset.kubernetes.io/pod-name"
BOUND_APPS = 25
"""Pods that run already belong to so many apps."""


def node(index: int) -> Spec:
    """A node; zones take turns."""
    name = f"n{index:05d}"
    resources = {"cpu": "4", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    labels = {HOSTNAME: name, ZONE: ZONES[index % len(ZONES)], "kubernetes.io/os": "linux"}
    held = [{"names": [f"registry.example/layer{k}:1"], "sizeBytes": 150_000_000} for k in range(index % 3)]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": resources, "capacity": resources, "images": held},
    }


def pod(name: str, app: str, *, cpu: str = "100m", priority: int = 0, on: str = "", extra: Spec | None = None) -> Spec:
    """A pod, running if it is ``on`` a node; ``extra`` goes into its spec."""
    requests = {"cpu": cpu, "memory": "500Mi"}
    spec: Spec = {
        "schedulerName": "default-scheduler",
        "priority": priority,
        "containers": [{"name": "main", "image": IMAGE, "resources": {"requests": requests}}],
        **(extra or {}),
    }
    status: Spec = {"phase": "Pending"}
    if on:
        spec["nodeName"] = on
        status = {"phase": "Running", "startTime": "2026-11-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "bench", "uid": name, "labels": {"app": app}},
        "spec": spec,
        "status": status,
    }


def _selecting(app: str) -> Spec:
    return {"labelSelector": {"matchLabels": {"app": app}}}


def _spread(app: str, when_unsatisfiable: str) -> Spec:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when_unsatisfiable,
        **_selecting(app),
    }
    return {"topologySpreadConstraints": [constraint]}


def _near(app: str, side: str, key: str) -> Spec:
    term = {"topologyKey": key, **_selecting(app)}
    return {"affinity": {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _rather_near(app: str, key: str) -> Spec:
    term = {"weight": 1, "podAffinityTerm": {"topologyKey": key, **_selecting(app)}}
    return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _in_zones(*zones: str) -> Spec:
    expression = {"key": ZONE, "operator": "In", "values": list(zones)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


KINDS: dict[str, Callable[[str], Spec]] = {
    "basic": lambda app: {},
    "spread": lambda app: _spread(app, "DoNotSchedule"),
    "prefspread": lambda app: _spread(app, "ScheduleAnyway"),
    "affinity": lambda app: _near(app, "podAffinity", ZONE),
    "antiaffinity": lambda app: _near(app, "podAntiAffinity", HOSTNAME),
    "prefaffinity": lambda app: _rather_near(app, HOSTNAME),
    "nodeaffinity": lambda app: _in_zones("north", "middle"),
}
"""Workload -> what the pods of an app have in their spec."""

MIXED = ("basic", "spread", "affinity", "prefaffinity", "nodeaffinity")
WORKLOADS = (*KINDS, "mixed", "templates", "preempt")
TEMPLATES = 50
"""``templates`` is ``mixed`` with pods of so many apps taking turns."""


def _bound(workload: str, nodes: list[Spec], count: int) -> Iterator[Spec]:
    names = [home["metadata"]["name"] for home in nodes]
    if workload == "preempt":
        for index, name in enumerate(names):
            for k in range(10):
                yield pod(f"low-{index}-{k}", f"app{k}", cpu="390m", on=name)
    else:
        for index in range(count):
            yield pod(f"init-{index}", f"app{index % BOUND_APPS}", on=names[index % len(names)])


def _pending(workload: str, count: int) -> Iterator[Spec]:
    for index in range(count):
        name = f"p{index}"
        if workload == "preempt":
            yield pod(name, "urgent", cpu="1", priority=1000)
        elif workload == "mixed":
            kind = MIXED[index % len(MIXED)]
            yield pod(name, kind, extra=KINDS[kind](kind))
        elif workload == "templates":
            app = f"t{index % TEMPLATES}"
            yield pod(name, app, extra=KINDS[MIXED[index % TEMPLATES % len(MIXED)]](app))
        else:
            yield pod(name, workload, extra=KINDS[workload](workload))


def scenario(
    workload: str,
    nodes: int,
    pods: int,
    percentage: int | None = None,
    *,
    bound: int | None = None,
    named: bool = False,
) -> Spec:
    """One scenario; ``percentage`` is percentageOfNodesToScore, and ``bound`` pods run already, one a node by default.

    ``named`` pods have their names as a label.
    """
    homes = [node(index) for index in range(nodes)]
    running, waiting = list(_bound(workload, homes, nodes if bound is None else bound)), list(_pending(workload, pods))
    if named:
        for each in (*running, *waiting):
            each["metadata"]["labels"][POD_NAME] = each["metadata"]["name"]
    config = None
    if percentage is not None:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": percentage,
        }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench"}}
    return {
        "name": f"{workload}-{nodes}-{pods}{'-named' if named else ''}",
        "config": config,
        "objects": [namespace, *homes, *running],
        "pods": waiting,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a benchmark scenario.")
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("nodes", type=int)
    parser.add_argument("pods", type=int)
    parser.add_argument("--percentage", type=int, help="percentageOfNodesToScore")
    parser.add_argument("--bound", type=int, metavar="B", help="so many pods run already, in place of one a node")
    parser.add_argument("--named", action="store_true", help="every pod has its own name as a label")
    parser.add_argument("-o", "--output", type=Path, help="a file instead of standard output")
    asked = parser.parse_args()
    made = scenario(asked.workload, asked.nodes, asked.pods, asked.percentage, bound=asked.bound, named=asked.named)
    text = json.dumps(made) + "\n"
    if asked.output:
        asked.output.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
