"""Time a round of Karpenter's provisioning: one JSON line for each size.

    karpenter.py [--nodes N] [--pods P] [--shapes S] [--types T] [--pools K] [--repeat R] [--profile]

Pods of so many shapes are pending: a third is spread over zones, one in ten keeps away from its like on a host, one in
five asks for an architecture. Instance types differ in family, size and architecture, with spot and on-demand offerings
in three zones. Every node that is there is three quarters full.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import time
from typing import Any

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.node_provisioning import NodeClaim, NodePool
from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, InstanceType, KarpenterOptions, Offering
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.scheduler import Provisioning, provision

Spec = dict[str, Any]
ZONES = ("zone-a", "zone-b", "zone-c")
CPUS = (2, 4, 8, 16, 32, 48)
UNSCHEDULABLE = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


def quantities(**texts: str) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}


def catalogue(types: int) -> Catalogue:
    found = []
    for i in range(types):
        cpu, gib = CPUS[i % len(CPUS)], (2, 4, 8)[i // len(CPUS) % 3]
        labels = {
            "kubernetes.io/arch": "arm64" if i % 4 == 3 else "amd64",
            "kubernetes.io/os": "linux",
            "karpenter.kwok.sh/instance-family": f"f{i // len(CPUS)}",
            "karpenter.kwok.sh/instance-cpu": str(cpu),
        }
        price = cpu * (0.04 + 0.001 * (i % 7))
        spot, on_demand = ("spot", 0.35), ("on-demand", 1.0)
        offerings = [
            Offering(zone=zone, capacity_type=kind, price=price * share * (1 + 0.01 * z))
            for z, zone in enumerate(ZONES)
            for kind, share in (spot, on_demand)
        ]
        found.append(
            InstanceType(
                name=f"f{i // len(CPUS)}.{cpu}x",
                labels=labels,
                capacity=quantities(cpu=str(cpu), memory=f"{cpu * gib}Gi", pods="110"),
                overhead=quantities(cpu="100m"),
                offerings=offerings,
            )
        )
    return Catalogue(found)


def pending(count: int, shapes: int) -> list[Spec]:
    found = []
    for i in range(count):
        shape = i % shapes
        labels = {"app": f"app-{shape}"}
        requests = {"cpu": f"{100 + 150 * (shape % 10)}m", "memory": f"{128 * (1 + shape % 13)}Mi"}
        spec: Spec = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
        selector = {"matchLabels": labels}
        if shape % 3 == 0:
            zonal = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [zonal | {"labelSelector": selector}]
        if shape % 10 == 1:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if shape % 5 == 2:
            spec["nodeSelector"] = {"kubernetes.io/arch": ("amd64", "arm64")[shape % 2]}
        metadata = {"name": f"p{i:05}", "namespace": "default", "uid": f"{i:05}", "labels": labels}
        found.append({"metadata": metadata, "spec": spec, "status": {"conditions": UNSCHEDULABLE}})
    return found


def pools(count: int) -> list[Spec]:
    return [
        {
            "metadata": {"name": f"pool-{i}"},
            "spec": {
                "weight": i,
                "template": {
                    "spec": {
                        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                        "requirements": [
                            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}
                        ],
                    }
                },
            },
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
        for i in range(count)
    ]


def there(nodes: int) -> tuple[list[Spec], list[Spec], list[Spec]]:
    """Nodes, their NodeClaims, and the pods on them."""
    made, claims, running = [], [], []
    for i in range(nodes):
        name, labels = (
            f"n{i:05}",
            {
                "kubernetes.io/hostname": f"n{i:05}",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": ZONES[i % 3],
                "karpenter.sh/nodepool": "pool-0",
                "node.kubernetes.io/instance-type": "f0.4x",
                "karpenter.sh/registered": "true",
                "karpenter.sh/initialized": "true",
            },
        )
        has = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        made.append(
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {"providerID": f"kwok:///{name}"},
                "status": {"capacity": has, "allocatable": has},
            }
        )
        claims.append(
            {"metadata": {"name": f"claim-{i}", "labels": labels}, "status": {"providerID": f"kwok:///{name}"}}
        )
        requests = {"cpu": "1500m", "memory": "6Gi"}
        running += [
            {
                "metadata": {
                    "name": f"r{i}-{k}",
                    "namespace": "default",
                    "uid": f"r{i}-{k}",
                    "labels": {"app": f"app-{k}"},
                },
                "spec": {"nodeName": name, "containers": [{"name": "c", "resources": {"requests": requests}}]},
                "status": {"phase": "Running"},
            }
            for k in range(2)
        ]
    return made, claims, running


def world(arguments: argparse.Namespace) -> KarpenterSnapshot:
    nodes, claims, running = there(arguments.nodes)
    objects = Objects()
    objects.extend(Node, [convert(each, Node) for each in nodes])
    objects.extend(Pod, [convert(each, Pod) for each in running])
    objects.extend(NodeClaim, [convert(each, NodeClaim) for each in claims])
    return KarpenterSnapshot(
        now=0,
        objects=objects,
        pending=[convert(each, Pod) for each in pending(arguments.pods, arguments.shapes)],
        pools=[convert(each, NodePool) for each in pools(arguments.pools)],
        catalogue=catalogue(arguments.types),
        offered={},
        options=KarpenterOptions(),
    )


def timed(arguments: argparse.Namespace) -> tuple[float, Provisioning]:
    best, found = float("inf"), None
    for _ in range(arguments.repeat):
        made = world(arguments)
        started = time.process_time()
        found = provision(made)
        best = min(best, time.process_time() - started)
    assert found is not None
    return best, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in (("nodes", 0), ("pods", 2000), ("shapes", 20), ("types", 60), ("pools", 3), ("repeat", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    if arguments.profile:
        made = world(arguments)
        with cProfile.Profile() as profile:
            provision(made)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    seconds, found = timed(arguments)
    result = found.results
    figures = {
        **{name: getattr(arguments, name) for name in ("nodes", "pods", "shapes", "types", "pools")},
        "seconds": round(seconds, 3),
        "onNodes": len(result.placed),
        "nodeClaims": len(result.claims),
        "without": len(result.errors),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
