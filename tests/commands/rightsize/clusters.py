"""Small clusters with what their pods use, as plain values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kwhatif
from kwhatif.commands.rightsize.result import RightsizeResult, SizedContainer
from tests.usage.given import MEMORY, RATE, answer, every, series

Object = dict[str, Any]


def node(name: str, cpu: str = "4", memory: str = "16Gi", pods: int = 110) -> Object:
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"agentpool": "general"}},
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def workload(
    name: str,
    nodes: list[str],
    cpu: str | None = "500m",
    memory: str = "512Mi",
    limits: Object | None = None,
    labels: Object | None = None,
    **of_container: Any,
) -> list[Object]:
    """A Deployment with a pod on each of these nodes; on an empty name it waits."""
    requests = {**({"cpu": cpu} if cpu else {}), "memory": memory}
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    container = {"name": "main", "image": "a", "resources": resources, **of_container}
    told = {"app": name, **(labels or {})}
    template = {"metadata": {"labels": told}, "spec": {"containers": [container]}}
    spec = {"replicas": len(nodes), "selector": {"matchLabels": {"app": name}}, "template": template}
    owned = f"{name}-6d4cf56db6"
    objects: list[Object] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"}, "spec": spec},
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": owned, "namespace": "shop", "ownerReferences": [_owner("Deployment", name)]},
            "spec": spec,
        },
    ]
    for number, home in enumerate(nodes):
        pod: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{number}",
                "namespace": "shop",
                "labels": told,
                "ownerReferences": [_owner("ReplicaSet", owned)],
            },
            "spec": {"containers": [container], "schedulerName": "default-scheduler"},
            "status": {"phase": "Running" if home else "Pending"},
        }
        if home:
            pod["spec"]["nodeName"] = home
        objects.append(pod)
    return objects


def _owner(kind: str, name: str) -> Object:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}


def used(name: str, pods: int, cpu: list[float], memory: list[int]) -> list[Object]:
    """What each pod of a workload used, in cores and bytes, every minute."""
    return [
        each
        for number in range(pods)
        for each in (
            series(RATE, every(60, cpu), pod=f"{name}-{number}"),
            series(MEMORY, every(60, memory), pod=f"{name}-{number}"),
        )
    ]


def asked(folder: Path, objects: list[Object], usage: list[Object] | str, **options: Any) -> RightsizeResult:
    """The answer about a cluster of these objects."""
    cluster, samples = folder / "cluster.json", folder / "usage.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    samples.write_text(usage if isinstance(usage, str) else answer(*usage))
    for name in ("sizing", "autoscale"):
        if name in options:
            file = folder / f"{name}.yaml"
            file.write_text(options[name])
            options[name] = str(file)
    return kwhatif.rightsize(snapshot=str(cluster), usage=str(samples), **options)


def row(result: RightsizeResult, resource: str, name: str = "Deployment/shop/web") -> SizedContainer:
    (found,) = (each for each in result.workloads if (each.workload, each.resource) == (name, resource))
    return found


GROUPS = """
apiVersion: kwhatif.dev/v1
kind: NodeGroups
groups:
- {name: general, min: 1, max: 10, nodes: {labels: {agentpool: general}}, price: 0.1}
"""
