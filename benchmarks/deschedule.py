"""How long the descheduler's cycle takes, and the replacement of a pool: 1,000 nodes, 20,000 pods.

    python benchmarks/deschedule.py [--nodes N] [--pods N] [--pool N]

Five plugins run with node fit, minimum replicas and spread constraints; a fifth of the nodes is replaced, five at a
time, with budgets that allow it. Seconds are of CPU, without reading files.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from typing import Any

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.upgrade.run import Upgrade
from kwhatif.descheduling.descheduler import ClusterObjects, Descheduler
from kwhatif.descheduling.policy_reading import read_policy
from kwhatif.simulation.inputs import Inputs, SchedulerOptions
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import features_of

ZONES = 3
REPLICAS = 20

POLICY = {
    "apiVersion": "descheduler/v1alpha2",
    "kind": "DeschedulerPolicy",
    "profiles": [
        {
            "name": "bench",
            "pluginConfig": [
                {"name": "DefaultEvictor", "args": {"nodeFit": True, "minReplicas": 2}},
                {"name": "RemoveDuplicates", "args": {}},
                {"name": "RemovePodsViolatingTopologySpreadConstraint", "args": {}},
                {"name": "RemovePodsViolatingInterPodAntiAffinity", "args": {}},
                {"name": "RemovePodsViolatingNodeTaints", "args": {}},
                {
                    "name": "LowNodeUtilization",
                    "args": {"thresholds": {"cpu": 40}, "targetThresholds": {"cpu": 60}},
                },
            ],
            "plugins": {
                "deschedule": {"enabled": ["RemovePodsViolatingInterPodAntiAffinity", "RemovePodsViolatingNodeTaints"]},
                "balance": {
                    "enabled": [
                        "RemoveDuplicates",
                        "RemovePodsViolatingTopologySpreadConstraint",
                        "LowNodeUtilization",
                    ]
                },
            },
        }
    ],
}


def cluster_of(nodes: int, pods: int) -> Snapshot:
    """Nodes of three zones, the first fifth of which is a pool; pods of replica sets, spread by chance."""
    chance = random.Random(7)
    objects = Objects()
    objects.put(Node, [convert(_node(number, nodes), Node) for number in range(nodes)])
    placed = [convert(_pod(number, chance.randrange(nodes)), Pod) for number in range(pods)]
    objects.put(Pod, placed)
    sets = range(pods // REPLICAS)
    objects.put(PodDisruptionBudget, [convert(_budget(number), PodDisruptionBudget) for number in sets])
    return Snapshot(objects=objects, source="benchmark", kubernetes_version="1.35", taken_at="2026-01-02T00:00:00Z")


def _node(number: int, nodes: int) -> dict[str, Any]:
    name = f"node-{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"zone-{number % ZONES}",
        "pool": "old" if number < nodes // 5 else "other",
    }
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pod(number: int, node: int) -> dict[str, Any]:
    name = f"app-{number // REPLICAS}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    spec: dict[str, Any] = {
        "nodeName": f"node-{node}",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}}}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 2,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": name}},
            }
        ],
    }
    return {
        "metadata": {
            "name": f"{name}-{number % REPLICAS}",
            "namespace": "bench",
            "uid": f"pod-{number}",
            "labels": {"app": name},
            "ownerReferences": [owner],
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": spec,
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"},
    }


def _budget(number: int) -> dict[str, Any]:
    name = f"app-{number}"
    return {
        "metadata": {"name": name, "namespace": "bench"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "maxUnavailable": 2},
        "status": {"currentHealthy": REPLICAS, "desiredHealthy": REPLICAS - 2, "disruptionsAllowed": 2},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20000)
    asked = parser.parse_args()
    snapshot = cluster_of(asked.nodes, asked.pods)
    start = time.process_time()
    world = ClusterObjects(
        nodes=snapshot.objects.list_all(Node),
        pods=snapshot.objects.list_all(Pod),
        now=1_767_312_000 * 10**9,
        features=features_of("1.35"),
    )
    cycle = Descheduler(read_policy(POLICY, {}), world).cycle()
    took = time.process_time() - start
    line = {"name": "deschedule", "nodes": asked.nodes, "pods": asked.pods, "evicted": len(cycle.evictions)}
    print(json.dumps({**line, "seconds": round(took, 3)}))
    start = time.process_time()
    question = Upgrade("pool=old", surge=5)
    result = ask(question, Scenario(Inputs(snapshot), SchedulerOptions(policy="default")))
    took = time.process_time() - start
    done = sum(node.deleted is not None for node in result.nodes)
    line = {"name": "upgrade", "nodes": asked.nodes, "pods": asked.pods, "replaced": done}
    print(json.dumps({**line, "simulatedSeconds": result.time, "seconds": round(took, 3)}))


if __name__ == "__main__":
    main()
