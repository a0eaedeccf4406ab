"""Time a loop of cluster-autoscaler: one JSON line for scale-up, and one for scale-down.

    autoscaler.py [--nodes N] [--pods P] [--pending P] [--groups G] [--repeat N] [--profile]

``up``: ``--pending`` pods of twenty shapes find no room on ``--nodes`` full nodes, and each of ``--groups`` groups is
an option. ``down``: the same nodes are hardly used, and the removal of all of them is simulated. ``seconds`` are of the
processor, for one loop, from the scheduler's view of the cluster to the plan.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from dataclasses import dataclass
from typing import Any

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import ReplicaSet
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import flags_of, group_settings
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroup, NodeGroups
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import LoopResult, StaticAutoscaler
from kwhatif.cluster.cluster import Cluster
from kwhatif.policy.configuration_file import default_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of

NOW, EARLIER = "2026-03-02T12:00:00Z", "2026-02-20T08:00:00Z"
CORES = (4, 8, 16, 2, 32)
SHAPES = 20


@dataclass(frozen=True)
class Size:
    nodes: int
    pods: int
    pending: int
    groups: int


def node(name: str, group: int, cores: int) -> dict[str, Any]:
    zone = f"zone-{group % 3}"
    amounts = {"cpu": str(cores), "memory": f"{4 * cores}Gi", "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": zone,
                "node.kubernetes.io/instance-type": f"std-{cores}",
                "group": f"g{group}",
            },
            "creationTimestamp": EARLIER,
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": EARLIER}],
        },
    }


def pod(name: str, app: str, cpu: int, memory: int, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"app": app},
            "creationTimestamp": EARLIER,
            "ownerReferences": [owner],
        },
        "spec": {"priority": 0, "containers": [{"name": "main", "resources": {"requests": requests}}], **spec},
        "status": status,
    }


def shape(number: int, app: str) -> dict[str, Any]:
    """One of twenty: most ask for amounts alone, some for a zone, some for room between them."""
    selector = {"matchLabels": {"app": app}}
    match number % 10:
        case 3:
            return {"nodeSelector": {"topology.kubernetes.io/zone": f"zone-{number % 3}"}}
        case 6:
            spread = {
                "maxSkew": 5,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": selector,
            }
            return {"topologySpreadConstraints": [spread]}
        case 9:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
            return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    return {}


def world(size: Size, cpu_of_running: int, flags: dict[str, Any]) -> AutoscalingContext:
    """Nodes of four cores, dealt out to the groups, with pods that use as much of them as is said."""
    objects, features = Objects(), features_of()
    members: list[list[str]] = [[] for _ in range(size.groups)]
    for number in range(size.nodes):
        group = number % size.groups
        members[group].append(f"node-{number}")
        objects.add(convert(node(f"node-{number}", group, CORES[group % len(CORES)]), Node))
    for number in range(SHAPES):
        for app in (f"old-{number}", f"new-{number}"):
            raw = {
                "metadata": {"name": app, "namespace": "default"},
                "spec": {"selector": {"matchLabels": {"app": app}}},
            }
            objects.add(convert(raw, ReplicaSet))
    for number in range(size.pods):
        home, app = number % size.nodes, f"old-{number % SHAPES}"
        cores = CORES[home % size.groups % len(CORES)]
        each = size.pods / size.nodes
        spec = {"nodeName": f"node-{home}"}
        cpu = int(cpu_of_running * cores / each)
        objects.add(convert(pod(f"r-{number}", app, cpu, 64, spec, {"phase": "Running"}), Pod))
    unschedulable = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    pending = [
        convert(
            pod(
                f"p-{number}",
                f"new-{number % SHAPES}",
                600 + 70 * (number % SHAPES),
                512 + 100 * (number % SHAPES),
                shape(number % SHAPES, f"new-{number % SHAPES}"),
                {"phase": "Pending", "conditions": unschedulable},
            ),
            Pod,
        )
        for number in range(size.pending)
    ]
    known = flags_of(flags)
    settings = group_settings({}, known)
    groups = [
        NodeGroup(f"g{number}", 0, len(names) + 1000, len(names), tuple(names), settings=settings)
        for number, names in enumerate(members)
    ]
    configuration = default_configuration()
    return AutoscalingContext(
        now=moment(NOW),
        cluster=Cluster.load(objects, features),
        pending=pending,
        groups=NodeGroups(groups),
        flags=known,
        framework=Setup(configuration, features).profile(configuration.profiles[0]).framework.filters_only(),
    )


def measure(part: str, size: Size, *, profile: bool) -> dict[str, Any]:
    if part == "up":
        seen = world(size, 970, {})
    else:
        seen = world(Size(size.nodes, size.pods, 0, size.groups), 250, {"max-scale-down-parallelism": size.nodes})
    profiler = cProfile.Profile()
    started = time.process_time()
    if profile:
        profiler.enable()
    found = StaticAutoscaler().loop(seen, up=part == "up", down=part == "down")
    profiler.disable()
    seconds = time.process_time() - started
    if profile:
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats(45)
    return {
        "name": f"autoscaler-{part}-{size.nodes}-{size.pending}",
        "seconds": round(seconds, 4),
        **outcome(found, size),
    }


def outcome(found: LoopResult, size: Size) -> dict[str, Any]:
    if found.scale_down.candidates:
        return {
            "nodes": size.nodes,
            "pods": size.pods,
            "candidates": len(found.scale_down.candidates),
            "unneeded": len(found.scale_down.unneeded),
            "unremovable": len([why for why in found.scale_down.unremovable.values() if "Long" not in why.reason]),
        }
    return {
        "nodes": size.nodes,
        "pods": size.pods,
        "pending": size.pending,
        "options": {option.group.name: [option.nodes, len(option.pods)] for option in found.scale_up.options},
        "triggered": len(found.scale_up.triggered),
        "grown": sum(each.new_size - each.current_size for each in found.scale_up.plan),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Time a loop of cluster-autoscaler.")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--pending", type=int, default=2000)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    size = Size(given.nodes, given.pods, given.pending, given.groups)
    for part in ("up", "down"):
        runs = [measure(part, size, profile=given.profile) for _ in range(given.repeat)]
        print(json.dumps(min(runs, key=lambda run: run["seconds"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
