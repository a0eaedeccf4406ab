"""Makes samples/usage: four clusters with what their pods use, each of which has something else to tell.

python .ci/usage_samples.py samples/usage
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TAKEN = "2026-11-20T12:00:00Z"
END = 1795176000
"""The same moment, in seconds."""
STEP, STEPS = 1800, 48
HOUR = 3600

Object = dict[str, Any]


@dataclass
class Workload:
    """A Deployment. Of its request (millicores, MiB) it uses these shares: on average, and at its daily peak."""

    name: str
    replicas: int
    cpu: int
    memory: int
    cpu_mean: float
    memory_peak: float
    swing: float = 0.3


@dataclass
class Story:
    """Nodes that are alike, workloads on them one after the other, and what makes the cluster particular."""

    name: str
    nodes: int
    workloads: list[Workload]
    pods: int = 58
    autoscaled: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    most_nodes: int = 12


STORIES = [
    Story(
        "memory-binds",
        6,
        [
            Workload("cart", 12, 700, 2560, 0.3, 0.82),
            Workload("search", 8, 900, 3584, 0.35, 0.84),
            Workload("mail", 10, 500, 2048, 0.25, 0.85),
        ],
    ),
    Story(
        "pods-bind",
        5,
        [
            Workload("relay", 70, 150, 256, 0.2, 0.4),
            Workload("probe", 40, 80, 128, 0.25, 0.5),
            Workload("queue", 30, 100, 256, 0.3, 0.4),
        ],
        pods=29,
    ),
    Story(
        "replicas-follow",
        4,
        [
            Workload("web", 12, 500, 1024, 0.7, 0.8, 0.05),
            Workload("api", 8, 700, 2048, 0.7, 0.85, 0.05),
        ],
        autoscaled={"web": (70, 4, 40), "api": (70, 4, 30)},
    ),
    Story(
        "saves-40",
        10,
        [
            Workload("frontend", 20, 600, 1024, 0.3, 0.5),
            Workload("billing", 10, 800, 2048, 0.3, 0.5),
            Workload("reports", 8, 900, 3072, 0.25, 0.45),
            Workload("ingest", 12, 400, 1024, 0.35, 0.5),
        ],
    ),
]

CPU, MEMORY = 3920, 15 * 1024


def snapshot_of(story: Story) -> Object:
    """The cluster in the snapshot's own format; pods are dealt to the nodes in turns."""
    room = {"cpu": f"{CPU}m", "memory": f"{MEMORY}Mi", "pods": str(story.pods)}
    names = [f"general-{number + 1}" for number in range(story.nodes)]
    nodes = [
        {
            "metadata": {"name": name, "labels": {"agentpool": "general", "kubernetes.io/hostname": name}},
            "spec": {},
            "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for name in names
    ]
    objects: dict[str, list[Object]] = {"Node": nodes, "Pod": [], "Deployment": [], "ReplicaSet": []}
    place = 0
    for workload in story.workloads:
        template = _template(workload)
        selector = {"matchLabels": {"app": workload.name}}
        spec = {"replicas": workload.replicas, "selector": selector, "template": template}
        objects["Deployment"].append({"metadata": _meta(workload.name), "spec": spec})
        owner = _owner("Deployment", workload.name)
        objects["ReplicaSet"].append(
            {"metadata": {**_meta(_set_of(workload)), "ownerReferences": [owner]}, "spec": spec}
        )
        for name in pods_of(workload):
            meta = {
                **_meta(name),
                "labels": {"app": workload.name},
                "ownerReferences": [_owner("ReplicaSet", _set_of(workload))],
            }
            of_pod = {"nodeName": names[place % len(names)], "schedulerName": "default-scheduler", "priority": 0}
            objects["Pod"].append(
                {"metadata": meta, "spec": {**of_pod, **template["spec"]}, "status": {"phase": "Running"}}
            )
            place += 1
    objects["HorizontalPodAutoscaler"] = [_autoscaler(name, *of) for name, of in story.autoscaled.items()]
    for kind in (
        "DaemonSet",
        "StatefulSet",
        "Job",
        "ReplicationController",
        "PodDisruptionBudget",
        "Service",
        "Namespace",
    ):
        objects[kind] = [{"metadata": {"name": "shop"}}] if kind == "Namespace" else []
    metadata = {"source": f"the sample {story.name}", "takenAt": TAKEN, "kubernetesVersion": "v1.36.2"}
    return {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "metadata": metadata, "objects": objects}


def _meta(name: str) -> Object:
    return {"name": name, "namespace": "shop", "uid": name}


def _owner(kind: str, name: str) -> Object:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}


def _set_of(workload: Workload) -> str:
    return f"{workload.name}-6d4cf56db6"


def pods_of(workload: Workload) -> Iterator[str]:
    """The names of its pods."""
    letters = "bcdfghjklmnpqrstvwxz"
    for number in range(workload.replicas):
        yield f"{_set_of(workload)}-x{letters[number // 20]}{letters[number % 20]}42"


def _template(workload: Workload) -> Object:
    requests = {"cpu": f"{workload.cpu}m", "memory": f"{workload.memory}Mi"}
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}
    return {"metadata": {"labels": {"app": workload.name}}, "spec": {"containers": [container]}}


def _autoscaler(name: str, percent: int, least: int, most: int) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
    }
    return {
        "apiVersion": "autoscaling/v2",
        "metadata": _meta(name),
        "spec": {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most, "metrics": [metric]},
    }


def use_of(workload: Workload, pod: int, step: int) -> tuple[int, int]:
    """What a pod uses at a step, in millicores and bytes: the day goes up and down, and pods differ a little."""
    day = math.sin(2 * math.pi * step / STEPS)
    own = 1 + 0.04 * math.sin(2.4 * pod)
    cpu = workload.cpu * workload.cpu_mean * (1 + workload.swing * day) * own
    memory = workload.memory * 2**20 * workload.memory_peak * (0.96 + 0.04 * day) * own / 1.04
    return round(cpu), round(memory)


def answer_of(story: Story) -> Object:
    """What Prometheus answers to a query of ranges: a day, every half an hour."""
    result = []
    for workload in story.workloads:
        for number, name in enumerate(pods_of(workload)):
            used = [use_of(workload, number, step) for step in range(STEPS)]
            times = [END - (STEPS - 1 - step) * STEP for step in range(STEPS)]
            labels = {"namespace": "shop", "pod": name, "container": "main"}
            cpu = [[time, f"{each[0] / 1000:g}"] for time, each in zip(times, used, strict=True)]
            memory = [[time, str(each[1])] for time, each in zip(times, used, strict=True)]
            rate = "namespace:container_cpu_usage_seconds_total:rate"
            result.append({"metric": {"__name__": rate, **labels}, "values": cpu})
            result.append({"metric": {"__name__": "container_memory_working_set_bytes", **labels}, "values": memory})
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def top_of(story: Story) -> str:
    """What ``kubectl top pods -A --containers`` prints."""
    lines = [f"{'NAMESPACE':<10} {'POD':<28} {'NAME':<6} {'CPU(cores)':<11} MEMORY(bytes)"]
    for workload in story.workloads:
        for number, name in enumerate(pods_of(workload)):
            cpu, memory = use_of(workload, number, STEPS // 4)
            lines.append(f"{'shop':<10} {name:<28} {'main':<6} {f'{cpu}m':<11} {memory // 2**20}Mi")
    return "\n".join(lines) + "\n"


def groups_of(story: Story) -> str:
    """The node group, with its price."""
    return (
        "apiVersion: kwhatif.dev/v1\nkind: NodeGroups\ngroups:\n"
        f"- {{name: general, min: 1, max: {story.most_nodes}, nodes: {{labels: {{agentpool: general}}}}, price: 0.2}}\n"
    )


def main(folder: Path) -> None:
    for story in STORIES:
        home = folder / story.name
        home.mkdir(parents=True, exist_ok=True)
        (home / "cluster.json").write_text(json.dumps(snapshot_of(story)) + "\n", encoding="utf-8")
        (home / "groups.yaml").write_text(groups_of(story), encoding="utf-8")
        if story.name == "pods-bind":
            (home / "usage.txt").write_text(top_of(story), encoding="utf-8")
        else:
            (home / "usage.json").write_text(json.dumps(answer_of(story)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
