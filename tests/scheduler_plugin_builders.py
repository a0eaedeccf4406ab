"""Clusters and configurations with plugins of scheduler-plugins, in few words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.builders import write_objects

Json = dict[str, Any]

NOTHING: Mapping[str, Any] = {}


def policy_with(plugin: str, args: Mapping[str, Any] = NOTHING, *, sorts: bool = False) -> Json:
    """A configuration whose only profile has the plugin at all its extension points."""
    plugins: Json = {"multiPoint": {"enabled": [{"name": plugin}]}}
    if sorts:
        plugins["queueSort"] = {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}
    profile: Json = {"schedulerName": "default-scheduler", "plugins": plugins}
    if args:
        profile["pluginConfig"] = [{"name": plugin, "args": dict(args)}]
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**kind, "profiles": [profile]}


def write_cluster(directory: Path, *objects: Json) -> str:
    """A file of these objects, by its path."""
    return write_objects(directory / "cluster.json", *objects)


def plain_node(name: str, cpu: str = "16", memory: str = "32Gi", zone: str = "") -> Json:
    room = {"cpu": cpu, "memory": memory, "pods": "110"}
    labels = {"kubernetes.io/hostname": name}
    if zone:
        labels |= {"topology.kubernetes.io/region": "eu", "topology.kubernetes.io/zone": zone}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": room, "allocatable": room},
    }


def plain_pod(
    name: str,
    cpu: str = "1",
    *,
    namespace: str = "default",
    node: str = "",
    memory: str = "1Gi",
    guaranteed: bool = False,
    labels: Mapping[str, str] = NOTHING,
    **spec: Any,
) -> Json:
    requests = {"cpu": cpu, "memory": memory}
    resources = {"requests": requests, **({"limits": requests} if guaranteed else {})}
    found: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": dict(labels)},
        "spec": {"containers": [{"name": "main", "image": "app", "resources": resources}], **spec},
    }
    if node:
        found["spec"]["nodeName"] = node
        found["status"] = {"phase": "Running", "startTime": "2026-03-01T10:00:00Z"}
    return found


def namespace_named(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def elastic_quota(namespace: str, *, least: Json | None = None, most: Json | None = None) -> Json:
    spec = {key: value for key, value in (("min", least), ("max", most)) if value is not None}
    meta = {"name": f"quota-of-{namespace}", "namespace": namespace}
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": meta, "spec": spec}


def pod_group(name: str, members: int, **spec: Any) -> Json:
    meta = {"name": name, "namespace": "default", "creationTimestamp": "2026-03-01T09:00:00Z"}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": meta,
        "spec": {"minMember": members, **spec},
    }


def numa_cells(node: str, *cells: Mapping[str, str], policy: str = "SingleNUMANodeContainerLevel") -> Json:
    """What each cell has available."""
    zones = [
        {
            "name": f"node-{number}",
            "type": "Node",
            "resources": [
                {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
                for name, amount in cell.items()
            ],
        }
        for number, cell in enumerate(cells)
    ]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "topologyPolicies": [policy],
        "zones": zones,
    }


def write_load(directory: Path, **percent: tuple[float, float]) -> str:
    """What load-watcher serves: mean and deviation of the cpu of each node, in percent. By its path."""
    nodes = {
        name: {
            "metrics": [
                {"type": "CPU", "operator": "AVG", "value": mean},
                {"type": "CPU", "operator": "STD", "value": deviation},
            ]
        }
        for name, (mean, deviation) in percent.items()
    }
    window = {"duration": "15m", "start": 1772365500, "end": 1772366400}
    path = directory / "load.json"
    path.write_text(json.dumps({"timestamp": 1772366400, "window": window, "data": {"NodeMetricsMap": nodes}}))
    return str(path)
