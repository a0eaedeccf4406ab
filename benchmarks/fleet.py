"""Make a rather full cluster as a cloud makes it: names that fill a line, zones, pools, daemon sets, budgets.

    fleet.py [--nodes N] [--each P] -o FILE

Writes a snapshot of ``nodes`` nodes with ``each`` pods on every one of them, two of which are of daemon sets. One pool
in ten has GPUs and a taint. Every fifth Deployment has a budget, every seventh has to spread over zones, and some
workloads are more important than others. The same arguments make the same file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kwhatif.api.kinds import READ_KINDS

Spec = dict[str, Any]

REGION = "eu-central-1"
ZONES = tuple(REGION + letter for letter in "abc")
POOLS = (*(f"general-purpose-{number}" for number in range(9)), "accelerated")
TEAMS = tuple(f"team-{name}" for name in ("checkout", "search", "payments", "recommendations", "identity"))
REPLICAS = 40
NAMES: dict[str, list[tuple[str, ...]]] = {
    "Namespace": [(name,) for name in (*TEAMS, "kube-system")],
    "ServiceAccount": [("default", name) for name in (*TEAMS, "kube-system")],
}
"""The objects that are no more than their names: name, and namespace."""

DAEMONS = ("aws-node", "kube-proxy")
# Of a node's 7,910m and 29 GiB eighteen of these take nine tenths.
SIZES = (("150m", "512Mi"), ("250m", "1Gi"), ("400m", "1536Mi"), ("500m", "2Gi"), ("650m", "2560Mi"))
DUMPED = [kind.name for kind in READ_KINDS]
"""A dump asks for all kinds, and most clusters have none of some."""

ZONE = "topology.kubernetes.io/zone"


def node_name(number: int) -> str:
    return f"ip-10-{12 + number // 4096}-{number // 16 % 256}-{number * 37 % 256}.{REGION}.compute.internal"


def _node(number: int) -> Spec:
    pool = POOLS[number // len(ZONES) % len(POOLS)]
    gpu = pool == "accelerated"
    amounts = {"cpu": "7910m", "memory": "29Gi", "pods": "58", "ephemeral-storage": "76Gi"}
    amounts |= {"nvidia.com/gpu": "1"} if gpu else {}
    name = node_name(number)
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "g5.2xlarge" if gpu else "m5.2xlarge",
        "eks.amazonaws.com/nodegroup": pool,
        "topology.kubernetes.io/region": REGION,
        ZONE: ZONES[number % len(ZONES)],
    }
    taints = [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}] if gpu else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{number}", "labels": labels},
        "spec": {"taints": taints, "providerID": f"aws:///{labels[ZONE]}/i-{number:017x}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _workload(app: int) -> str:
    return f"{('storefront', 'orders', 'catalogue', 'ledger')[app % 4]}-api-{app}"


def _owner(kind: str, name: str) -> list[Spec]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}]


def _pod(namespace: str, name: str, app: str, owner: list[Spec], size: tuple[str, str], **spec: Any) -> Spec:
    container = {
        "name": "main",
        "image": f"registry.example/{app}:1.0",
        "resources": {"requests": dict(zip(("cpu", "memory"), size, strict=True))},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}-{name}",
            "labels": {"app": app},
            "ownerReferences": owner,
        },
        "spec": {"schedulerName": "default-scheduler", "priority": 0, "containers": [container], **spec},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _namespace(app: int) -> str:
    return TEAMS[app % len(TEAMS)]


def _replica(index: int, node: str) -> Spec:
    app = index // REPLICAS
    name = _workload(app)
    spec: Spec = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    if app % 7 == 0:
        selector = {"matchLabels": {"app": name}}
        constraint = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [{**constraint, "labelSelector": selector}]
    # Only those that run beside GPUs tolerate the taint there.
    if "accelerated" not in node:
        del spec["tolerations"]
    suffix = "".join("bcdfghjklm"[int(digit)] for digit in f"{index % REPLICAS:05d}")
    owner = _owner("ReplicaSet", f"{name}-7c9d5bbf64")
    return _pod(
        _namespace(app),
        f"{name}-7c9d5bbf64-{suffix}",
        name,
        owner,
        SIZES[app % len(SIZES)],
        nodeName=node,
        priority=1000 if app % 14 == 3 else 0,
        **spec,
    )


def _pods(nodes: int, each: int) -> Iterator[Spec]:
    tolerations = [{"operator": "Exists"}]
    for number in range(nodes):
        name = node_name(number)
        for daemon in DAEMONS:
            pod = _pod(
                "kube-system", f"{daemon}-{number}", daemon, _owner("DaemonSet", daemon), ("50m", "64Mi"), nodeName=name
            )
            pod["spec"]["tolerations"] = tolerations
            yield pod
    for index in range(nodes * (each - len(DAEMONS))):
        # Replicas are on nodes of all zones, and each round goes on with another workload: every node gets all sizes.
        step = 7 if nodes % 7 else 1
        yield _replica(index, node_name((index + index // nodes * REPLICAS) * step % nodes))


def _daemon_set(name: str) -> Spec:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system", "uid": f"DaemonSet-{name}"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": f"registry.example/{name}:1.0"}]},
            },
        },
    }


def _named(kind: str, name: str, namespace: str = "") -> Spec:
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "uid": f"{kind}-{namespace}-{name}", **where}}


def _budget(app: int) -> Spec:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": _workload(app), "namespace": _namespace(app)},
        "spec": {"maxUnavailable": 2, "selector": {"matchLabels": {"app": _workload(app)}}},
        "status": {
            "disruptionsAllowed": 2,
            "currentHealthy": REPLICAS,
            "desiredHealthy": REPLICAS - 2,
            "expectedPods": REPLICAS,
        },
    }


def fleet(nodes: int, each: int) -> Spec:
    """The snapshot as a document."""
    apps = nodes * (each - len(DAEMONS)) // REPLICAS
    return {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "ClusterSnapshot",
        "metadata": {"source": "made", "takenAt": "2026-11-20T00:00:00Z", "kubernetesVersion": "v1.34.0"},
        "objects": {
            **dict.fromkeys(DUMPED, ()),
            **{kind: [_named(kind, *names) for names in known] for kind, known in NAMES.items()},
            "Node": list(map(_node, range(nodes))),
            "Pod": list(_pods(nodes, each)),
            "DaemonSet": list(map(_daemon_set, DAEMONS)),
            "PodDisruptionBudget": [_budget(app) for app in range(0, apps, 5)],
        },
    }


def deployment(replicas: int, cpu: str = "250m", **spec: Any) -> Spec:
    """A Deployment of which so many replicas are asked for."""
    labels = {"app": "newcomer"}
    pod = _pod("team-search", "newcomer", "newcomer", [], (cpu, "1Gi"), **spec)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "newcomer", "namespace": "team-search"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": pod["spec"]["containers"], **spec}},
        },
    }


def write(path: Path, nodes: int, each: int) -> None:
    path.write_text(json.dumps(fleet(nodes, each), separators=(",", ":")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    write(given.output, given.nodes, given.each)


if __name__ == "__main__":
    main()
