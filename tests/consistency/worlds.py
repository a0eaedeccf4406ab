"""Small clusters of every kind of trouble, and a change to each: what laws between answers are held against.

Three zones with nodes of two pools; Deployments with budgets and autoscalers, a StatefulSet whose claims are bound, a
DaemonSet, quotas and priorities; node groups with prices. The same seed is always the same world.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ZONE, CSI = "topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"
POOLS = {"general": (3800, 14, 0.19), "spot": (3800, 7, 0.07)}
"""Pool -> millicores, GiB, price an hour of a node."""
SPOT = [{"key": "spot", "value": "true", "effect": "NoSchedule"}]
PRIORITIES = {"high": 1000, "batch-low": -100}
SINCE = "2026-10-01T08:00:00Z"


def an(api: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    metadata: Json = {"name": name, "creationTimestamp": SINCE, **fields.pop("metadata", {})}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {**metadata, **({"namespace": namespace} if namespace else {})},
    } | fields


def owner(api: str, kind: str, name: str) -> Json:
    return {"apiVersion": api, "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}


@dataclass
class World:
    """``items`` are the cluster, ``change`` the manifests, ``groups`` what may grow, ``usage`` what containers used;
    ``scaled`` is the Deployment whose replicas the change sets, and how many.
    """

    seed: int
    items: list[Json] = field(default_factory=list)
    change: list[Json] = field(default_factory=list)
    groups: Json = field(default_factory=dict)
    usage: list[Json] = field(default_factory=list)
    scaled: tuple[str, int] = ("", 0)

    def write(self, folder: Path) -> None:
        """``cluster.json``, ``change/``, ``groups.json``, ``usage.json`` and ``scaled.json`` for the command line."""
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}
        (folder / "cluster.json").write_text(json.dumps({**listed, "items": self.items}))
        (folder / "groups.json").write_text(json.dumps(self.groups))
        metrics = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList", "items": self.usage}
        (folder / "usage.json").write_text(json.dumps(metrics))
        (folder / "change").mkdir()
        for number, document in enumerate(self.change):
            (folder / "change" / f"{number}.json").write_text(json.dumps(document))
        name, replicas = self.scaled
        (there,) = (obj for obj in self.items if obj["kind"] == "Deployment" and obj["metadata"]["name"] == name)
        more = {**there, "spec": {**there["spec"], "replicas": replicas}}
        (folder / "scaled.json").write_text(json.dumps(more))


class Builder:
    """Makes the world of a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.world = World(seed)
        self.room: dict[str, list[Any]] = {}
        self.deployments: list[Json] = []
        self.used: Counter[str] = Counter()

    def build(self) -> World:
        self._add_nodes(self.draw.randint(6, 9))
        self._add_classes()
        self._add_daemons()
        fill = self.draw.uniform(0.5, 0.95)
        for number in range(self.draw.randint(3, 6)):
            self._add_deployment(f"web-{number}", fill)
        self._add_database()
        self._add_quota_and_autoscaler()
        self._change()
        return self.world

    def _put(self, obj: Json) -> Json:
        obj["metadata"].setdefault("uid", f"{obj['kind']}-{obj['metadata']['name']}")
        self.world.items.append(obj)
        return obj

    def _add_nodes(self, count: int) -> None:
        for number in range(count):
            pool, zone = ("general", "general", "spot")[number % 3], "abc"[number // 3 % 3]
            cpu, memory, _ = POOLS[pool]
            name = f"{pool}-{zone}-{number}"
            labels = {"kubernetes.io/hostname": name, "pool": pool, ZONE: zone, CSI: zone, "kubernetes.io/os": "linux"}
            amounts = {"cpu": f"{cpu}m", "memory": f"{memory}Gi", "pods": "20"}
            ready = [{"type": "Ready", "status": "True"}]
            status: Json = {"allocatable": amounts, "capacity": amounts, "conditions": ready}
            status["nodeInfo"] = {"kubeletVersion": "v1.36.1"}
            spec = {"taints": SPOT} if pool == "spot" else {}
            self._put(an("v1", "Node", name, metadata={"labels": labels}, spec=spec, status=status))
            drivers = [{"name": "ebs.csi.aws.com", "nodeID": name, "topologyKeys": [CSI], "allocatable": {"count": 20}}]
            self._put(an("storage.k8s.io/v1", "CSINode", name, spec={"drivers": drivers}))
            self.room[name] = [cpu, memory * 1024, pool, zone]
        groups = [
            {
                "name": f"{pool}-{zone}",
                "min": 0,
                "max": sum(name.startswith(f"{pool}-{zone}") for name in self.room) + self.draw.randint(0, 3),
                "nodes": {"labels": {"pool": pool, ZONE: zone}},
                "price": POOLS[pool][2],
            }
            for pool, zone in sorted({(pool, zone) for _, _, pool, zone in self.room.values()})
        ]
        self.world.groups = {"apiVersion": "kwhatif.dev/v1", "kind": "NodeGroups", "groups": groups}

    def _add_classes(self) -> None:
        for name in ("shop", "data", "kube-system"):
            labels = {"kubernetes.io/metadata.name": name}
            self._put(an("v1", "Namespace", name, metadata={"labels": labels}, status={"phase": "Active"}))
            self._put(an("v1", "ServiceAccount", "default", name))
        for name, value in PRIORITIES.items():
            policy = "Never" if value < 0 else "PreemptLowerPriority"
            self._put(an("scheduling.k8s.io/v1", "PriorityClass", name, value=value, preemptionPolicy=policy))
        driver = {"provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer"}
        self._put(an("storage.k8s.io/v1", "StorageClass", "gp3", reclaimPolicy="Delete", **driver))
        self._put(an("storage.k8s.io/v1", "CSIDriver", "ebs.csi.aws.com", spec={"attachRequired": True}))

    def _template(self, app: str, cpu: int, memory: int, **spec: Any) -> Json:
        requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
        containers = [{"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}]
        return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **spec}}

    def _run(self, name: str, namespace: str, template: Json, node: str, made_by: Json, **labels: str) -> None:
        cpu, memory = self._requests_of(template)
        self.room[node][0] -= cpu
        self.room[node][1] -= memory
        self.used[f"{namespace} pods"] += 1
        self.used[f"{namespace} cpu"] += cpu
        value = PRIORITIES.get(template["spec"].get("priorityClassName"), 0)
        kept = {"nodeName": node, "priority": value, "schedulerName": "default-scheduler", "restartPolicy": "Always"}
        metadata = {"labels": {**template["metadata"]["labels"], **labels}, "ownerReferences": [made_by]}
        conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")]
        status = {"phase": "Running", "startTime": SINCE, "conditions": conditions}
        spec = {**json.loads(json.dumps(template["spec"])), **kept, "serviceAccountName": "default"}
        self._put(an("v1", "Pod", name, namespace, metadata=metadata, spec=spec, status=status))
        share = self.draw.uniform(0.2, 1.1)
        use = {"cpu": f"{int(cpu * share)}m", "memory": f"{int(memory * share)}Mi"}
        figures = {"timestamp": SINCE, "window": "30s", "containers": [{"name": "main", "usage": use}]}
        self.world.usage.append(an("metrics.k8s.io/v1beta1", "PodMetrics", name, namespace, **figures))

    def _requests_of(self, template: Json) -> tuple[int, int]:
        requests = template["spec"]["containers"][0]["resources"]["requests"]
        return int(requests["cpu"][:-1]), int(requests["memory"][:-2])

    def _home(self, template: Json, fill: float, zone: str = "") -> str | None:
        """The emptiest node that takes the template and stays within this share of it."""
        cpu, memory = self._requests_of(template)
        tolerant = bool(template["spec"].get("tolerations"))
        fits = [
            (-left_cpu, name)
            for name, (left_cpu, left_memory, pool, at) in self.room.items()
            if left_cpu - cpu >= (1 - fill) * POOLS[pool][0]
            and left_memory >= memory
            and (pool != "spot" or tolerant)
            and (not zone or at == zone)
        ]
        return min(fits)[1] if fits else None

    def _add_daemons(self) -> None:
        template = self._template("agent", 100, 128, tolerations=[{"operator": "Exists"}])
        spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
        self._put(an("apps/v1", "DaemonSet", "agent", "kube-system", spec=spec))
        for node in list(self.room):
            self._run(f"agent-{node}", "kube-system", template, node, owner("apps/v1", "DaemonSet", "agent"))

    def _add_deployment(self, app: str, fill: float) -> None:
        draw, namespace = self.draw, self.draw.choice(["shop", "data"])
        how: Json = {}
        if draw.random() < 0.4:
            how["tolerations"] = [{"key": "spot", "operator": "Exists"}]
        if priority := draw.choice([None, None, "high", "batch-low"]):
            how["priorityClassName"] = priority
        if draw.random() < 0.3:
            spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            how["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {"app": app}}}]
        template = self._template(app, draw.choice([150, 400, 900, 1500]), draw.choice([256, 1024, 2048]), **how)
        homes: list[str] = []
        for number in range(draw.randint(1, 5)):
            node = self._home(template, fill, "abc"[number % 3] if "topologySpreadConstraints" in how else "")
            if node is None:
                break
            homes.append(node)
            hashed = owner("apps/v1", "ReplicaSet", f"{app}-5d9")
            self._run(f"{app}-5d9-{number}", namespace, template, node, hashed, **{"pod-template-hash": "5d9"})
        spec = {"replicas": len(homes), "selector": {"matchLabels": {"app": app}}, "template": template}
        counts = {each: len(homes) for each in ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")}
        made = self._put(an("apps/v1", "Deployment", app, namespace, spec=spec, status=counts))
        labels = {"app": app, "pod-template-hash": "5d9"}
        whole = {**template, "metadata": {"labels": labels}}
        metadata = {
            "labels": labels,
            "ownerReferences": [owner("apps/v1", "Deployment", app)],
            "annotations": {"deployment.kubernetes.io/revision": "1"},
        }
        of_set = {**spec, "selector": {"matchLabels": labels}, "template": whole}
        self._put(an("apps/v1", "ReplicaSet", f"{app}-5d9", namespace, metadata=metadata, spec=of_set, status=counts))
        self.deployments.append(made)
        if homes and draw.random() < 0.4:
            budget = {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": 1}
            healthy = {"currentHealthy": len(homes), "desiredHealthy": len(homes) - 1, "disruptionsAllowed": 1}
            status = {**healthy, "expectedPods": len(homes)}
            self._put(an("policy/v1", "PodDisruptionBudget", app, namespace, spec=budget, status=status))

    def _add_database(self) -> None:
        template = self._template("db", 500, 1024)
        template["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        size = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3"}
        size["resources"] = {"requests": {"storage": "10Gi"}}  # type: ignore[assignment]
        claim = {
            "metadata": {"name": "data"},
            "spec": {**size, "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        }
        made_by, replicas = owner("apps/v1", "StatefulSet", "db"), 0
        for number in range(self.draw.randint(1, 3)):
            node = self._home(template, 1.0)
            if node is None:
                break
            zone, replicas = self.room[node][3], replicas + 1
            term = {"matchExpressions": [{"key": CSI, "operator": "In", "values": [zone]}]}
            volume = {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "gp3",
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{number}"},
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "data", "name": f"data-db-{number}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            }
            self._put(an("v1", "PersistentVolume", f"pv-{number}", spec=volume, status={"phase": "Bound"}))
            bound = {"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": node}
            spec = {**size, "volumeMode": "Filesystem", "volumeName": f"pv-{number}"}
            status = {"phase": "Bound", "capacity": {"storage": "10Gi"}}
            metadata = {"annotations": bound}
            name = f"data-db-{number}"
            self._put(an("v1", "PersistentVolumeClaim", name, "data", metadata=metadata, spec=spec, status=status))
            mounted = json.loads(json.dumps(template))
            mounted["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
            ordinal = {"statefulset.kubernetes.io/pod-name": f"db-{number}", "controller-revision-hash": "db-1"}
            self._run(f"db-{number}", "data", mounted, node, made_by, **ordinal)
        selector = {"matchLabels": {"app": "db"}}
        of_set: Json = {"replicas": replicas, "serviceName": "db", "selector": selector, "template": template}
        whole = {**of_set, "volumeClaimTemplates": [claim], "updateStrategy": {"type": "RollingUpdate"}}
        counts: Json = {"replicas": replicas, "readyReplicas": replicas}
        counts |= {"currentRevision": "db-1", "updateRevision": "db-1"}
        self.database = self._put(an("apps/v1", "StatefulSet", "db", "data", spec=whole, status=counts))

    def _add_quota_and_autoscaler(self) -> None:
        scaled = self.draw.choice(self.deployments)
        name, namespace = scaled["metadata"]["name"], scaled["metadata"]["namespace"]
        replicas = scaled["spec"]["replicas"]
        if self.draw.random() < 0.6:
            pods = self.used[f"{namespace} pods"]
            hard = {"pods": str(pods + self.draw.randint(1, 6))}
            status = {"hard": hard, "used": {"pods": str(pods)}}
            self._put(an("v1", "ResourceQuota", "quota", namespace, spec={"hard": hard}, status=status))
        if self.draw.random() < 0.5:
            target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
            spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": replicas + self.draw.randint(1, 4)}
            status = {"currentReplicas": replicas, "desiredReplicas": replicas}
            hpa = an("autoscaling/v2", "HorizontalPodAutoscaler", name, namespace, spec=spec, status=status)
            self._put(hpa)
        self.world.scaled = name, replicas + self.draw.randint(1, 8)

    def _change(self) -> None:
        draw = self.draw
        for number in range(draw.randint(1, 2)):
            labels = {"matchLabels": {"app": f"new-{number}"}}
            how: Json = {"priorityClassName": "high"} if draw.random() < 0.3 else {}
            template = self._template(f"new-{number}", draw.choice([300, 900, 2500, 5000]), 512, **how)
            spec = {"replicas": draw.randint(1, 5), "selector": labels, "template": template}
            self.world.change.append(
                an("apps/v1", "Deployment", f"new-{number}", draw.choice(["shop", "data"]), spec=spec)
            )
        if draw.random() < 0.5:
            old = json.loads(json.dumps(draw.choice(self.deployments)))
            container = old["spec"]["template"]["spec"]["containers"][0]
            container["image"] = "registry.example/app:2"
            if draw.random() < 0.5:
                container["resources"]["requests"]["cpu"] = "1700m"
            self.world.change.append(_manifest(old))
        if draw.random() < 0.4:
            database = json.loads(json.dumps(self.database))
            database["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:2"
            database["spec"]["replicas"] += draw.randint(0, 2)
            self.world.change.append(_manifest(database))


def _manifest(stored: Json) -> Json:
    """As it stands in a repository: without what the API server adds."""
    metadata = {key: stored["metadata"][key] for key in ("name", "namespace")}
    return {**{key: value for key, value in stored.items() if key != "status"}, "metadata": metadata}


def build_world(seed: int) -> World:
    """The world of a seed."""
    return Builder(seed).build()
