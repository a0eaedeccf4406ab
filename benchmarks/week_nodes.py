"""The nodes of a working week's cluster, and what is there before its workloads: classes, namespaces, a driver."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Spec = dict[str, Any]

REGION = "eu-west-1"
ZONES = tuple(REGION + letter for letter in "abc")
ZONE, HOST, ARCH = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "kubernetes.io/arch"
POOL, GPU, SPOT = "eks.amazonaws.com/nodegroup", "nvidia.com/gpu", "eks.amazonaws.com/capacityType"
NOW = datetime(2026, 11, 20, 16, tzinfo=UTC)
VERSION = "v1.34.2-eks-3cfe0ce"


@dataclass(frozen=True)
class Pool:
    """Nodes that are alike. Cpu is in milli-CPU, memory in MiB."""

    name: str
    size: int
    machine: str
    cpu: int
    memory: int
    pods: int
    arch: str = "amd64"
    taint: tuple[str, str] | None = None
    gpus: int = 0


POOLS = (
    Pool("general", 33, "m6i.2xlarge", 7910, 29_600, 58),
    Pool("spot", 15, "m5a.2xlarge", 7910, 29_600, 58, taint=("spot", "true")),
    Pool("arm", 9, "m7g.xlarge", 3920, 14_400, 58, arch="arm64", taint=(ARCH, "arm64")),
    Pool("gpu", 3, "g5.2xlarge", 7910, 29_600, 58, taint=(GPU, "true"), gpus=1),
)
PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
OWN_PRIORITIES = {"customer-facing": 100_000, "batch": -100}
DAEMONS = (("aws-node", 50, 64), ("kube-proxy", 100, 64), ("ebs-csi-node", 30, 120), ("agent", 150, 256))
TEAMS = ("shop", "payments", "search", "data", "ml", "platform")


@dataclass
class Machine:
    """A node, and what the pods on it ask for in all."""

    pool: Pool
    name: str
    zone: str
    cpu: int = 0
    memory: int = 0
    gpus: int = 0
    pods: int = 0
    apps: Counter[str] = field(default_factory=Counter)


def _when(days: float) -> str:
    """A moment so many days before the snapshot, as the API server writes it."""
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_before(days: float) -> str:
    """A moment so many days before the snapshot, as the API server writes it."""
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


class NodesOfWeek:
    """Objects in the order in which a cluster comes to be, beginning with its nodes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.items: list[Spec] = []
        self.machines: list[Machine] = []
        self.used: dict[str, Counter[str]] = {}
        self.addresses = 0

    def letters(self, count: int, alphabet: str = "bcdfghjklmnpqrstvwxz2456789") -> str:
        return "".join(self.random.choices(alphabet, k=count))

    def _uid(self) -> str:
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))

    def add(self, api: str, kind: str, name: str, days: float, namespace: str = "", **rest: Any) -> Spec:
        metadata: Spec = {"name": name, "creationTimestamp": moment_before(days), "uid": self._uid()}
        metadata |= {"namespace": namespace} if namespace else {}
        metadata |= rest.pop("metadata", {})
        obj = {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}
        self.items.append(obj)
        return obj

    def add_nodes(self) -> None:
        hosts = self.random.sample(range(4, 250), sum(pool.size for pool in POOLS))
        for pool in POOLS:
            for number in range(pool.size):
                zone = number % len(ZONES)
                name = f"ip-10-0-{zone * 32 + self.random.randrange(32)}-{hosts.pop()}.{REGION}.compute.internal"
                self.machines.append(Machine(pool, name, ZONES[zone]))
                self._add_node(self.machines[-1])

    def _add_node(self, machine: Machine) -> None:
        pool, name = machine.pool, machine.name
        labels = {
            "beta.kubernetes.io/arch": pool.arch,
            SPOT: "SPOT" if pool.name == "spot" else "ON_DEMAND",
            POOL: pool.name,
            "k8s.io/cloud-provider-aws": "f0b1c2d3",
            ARCH: pool.arch,
            HOST: name,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": pool.machine,
            "topology.ebs.csi.aws.com/zone": machine.zone,
            "topology.k8s.aws/zone-id": f"euw1-az{ZONES.index(machine.zone) + 1}",
            "topology.kubernetes.io/region": REGION,
            ZONE: machine.zone,
        }
        allocatable = {
            "cpu": f"{pool.cpu}m",
            "ephemeral-storage": "76224326324",
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
            "memory": f"{pool.memory}Mi",
            "pods": str(pool.pods),
            **({GPU: str(pool.gpus)} if pool.gpus else {}),
        }
        whole = {
            "cpu": str(-(-pool.cpu // 1000)),
            "memory": f"{pool.memory + 1100}Mi",
            "ephemeral-storage": "83873772Ki",
        }
        instance = f"i-0{self.random.getrandbits(64):016x}"
        spec: Spec = {"providerID": f"aws:///{machine.zone}/{instance}"}
        if pool.taint:
            spec["taints"] = [{"key": pool.taint[0], "value": pool.taint[1], "effect": "NoSchedule"}]
        days = self.random.uniform(1, 3) if pool.name == "spot" else self.random.uniform(8, 60)
        conditions = [
            {"type": kind, "status": status, "reason": reason, "lastTransitionTime": moment_before(days)}
            for kind, status, reason in (
                ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                ("PIDPressure", "False", "KubeletHasSufficientPID"),
                ("Ready", "True", "KubeletReady"),
            )
        ]
        info = {"kubeletVersion": VERSION, "architecture": pool.arch, "operatingSystem": "linux"}
        images = [
            {"names": [f"{image}:v1.20"], "sizeBytes": 48_000_000 + 1_000_000 * len(image)} for image, *_ in DAEMONS
        ]
        status = {
            "capacity": allocatable | whole,
            "allocatable": allocatable,
            "conditions": conditions,
            "nodeInfo": info,
            "images": images,
            "addresses": [{"type": "Hostname", "address": name}],
        }
        node = self.add("v1", "Node", name, days, metadata={"labels": labels}, spec=spec, status=status)
        owners = [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}]
        driver: Spec = {"name": "ebs.csi.aws.com", "nodeID": instance, "allocatable": {"count": 25}}
        driver["topologyKeys"] = [HOST, "kubernetes.io/os", "topology.ebs.csi.aws.com/zone"]
        metadata = {"ownerReferences": owners}
        self.add("storage.k8s.io/v1", "CSINode", name, days, metadata=metadata, spec={"drivers": [driver]})

    def add_surroundings(self) -> None:
        for namespace in ("default", "kube-public", "kube-system", *TEAMS):
            labels = {"kubernetes.io/metadata.name": namespace}
            space: Spec = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
            self.add("v1", "Namespace", namespace, 400, metadata={"labels": labels}, **space)
            self.add("v1", "ServiceAccount", "default", 400, namespace)
        for name, value in (PRIORITIES | OWN_PRIORITIES).items():
            rest: Spec = {"value": value, "preemptionPolicy": "PreemptLowerPriority", "globalDefault": False}
            self.add("scheduling.k8s.io/v1", "PriorityClass", name, 400, **rest)
        gp3: Spec = {"provisioner": "ebs.csi.aws.com", "parameters": {"type": "gp3"}, "reclaimPolicy": "Delete"}
        gp3 |= {"volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": True}
        default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
        self.add("storage.k8s.io/v1", "StorageClass", "gp3", 400, metadata=default, **gp3)
        driver = {"attachRequired": True, "podInfoOnMount": False, "volumeLifecycleModes": ["Persistent"]}
        self.add("storage.k8s.io/v1", "CSIDriver", "ebs.csi.aws.com", 400, spec=driver | {"storageCapacity": False})
        default_request = {"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "128Mi"}}
        self.add("v1", "LimitRange", "defaults", 300, "ml", spec={"limits": [default_request]})
