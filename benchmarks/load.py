"""Time loading a large cluster: one JSON line a file format.

    load.py [--nodes N] [--pods P] [--format snapshot|kubectl|both] [--repeat N] [--keep DIRECTORY]

Writes a made-up cluster as kwhatif's own snapshot, or as the list that ``kubectl get ... -o json`` prints
with all that nobody here reads, and loads it in a process of its own. ``seconds`` is what it takes from the
file to a cluster ready to schedule on, imports left out.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Spec = dict[str, Any]

ZONES = ("north", "middle", "south")
REPLICAS = 50


def _uid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def nodes(count: int) -> Iterator[Spec]:
    for index in range(count):
        name = f"n{index:05d}"
        resources = {"cpu": "31850m", "memory": "127Gi", "ephemeral-storage": "190Gi", "pods": "110"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": _uid(index),
                "creationTimestamp": "2026-10-01T08:00:00Z",
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "topology.kubernetes.io/zone": ZONES[index % 3],
                    "topology.kubernetes.io/region": "land",
                    "pool": f"pool-{index % 7}",
                },
            },
            "spec": {"podCIDR": f"10.{index // 256}.{index % 256}.0/24"},
            "status": {
                "allocatable": resources,
                "capacity": {**resources, "cpu": "32"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                "images": [
                    {"names": [f"registry.example/app{(index + k) % 200}:1.0"], "sizeBytes": 90_000_000 + k}
                    for k in range(10)
                ],
            },
        }


def pods(count: int, node_count: int) -> Iterator[Spec]:
    for index in range(count):
        app = index // REPLICAS
        owner = f"app{app}-7c9d"
        labels = {
            "app": f"app{app}",
            "pod-template-hash": "7c9d",
            "tier": ("web", "worker", "batch")[app % 3],
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{owner}-{index % REPLICAS:05d}",
                "namespace": f"team-{app % 40}",
                "uid": _uid(1_000_000 + index),
                "creationTimestamp": "2026-11-01T08:00:00Z",
                "labels": labels,
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": owner,
                        "uid": _uid(2_000_000 + app),
                        "controller": True,
                    }
                ],
            },
            "spec": {
                "nodeName": f"n{(index * 7919) % node_count:05d}",
                "schedulerName": "default-scheduler",
                "priority": 0,
                "containers": [
                    {
                        "name": "main",
                        "image": f"registry.example/app{app % 200}:1.0",
                        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                        "resources": {
                            "requests": {
                                "cpu": f"{100 + app % 9 * 50}m",
                                "memory": f"{256 + app % 5 * 128}Mi",
                            },
                            "limits": {"memory": "1Gi"},
                        },
                    }
                ],
                "tolerations": [
                    {
                        "key": f"node.kubernetes.io/{what}",
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": 300,
                    }
                    for what in ("not-ready", "unreachable")
                ],
            },
            "status": {"phase": "Running", "startTime": "2026-11-01T08:00:03Z"},
        }


def _as_kubectl(obj: Spec) -> Spec:
    """A pod with the parts that make up most of what kubectl prints and that scheduling does not read."""
    if obj["kind"] != "Pod":
        return obj
    spec, name = obj["spec"], obj["metadata"]["name"]
    token = {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "token", "readOnly": True}
    moment = {"lastProbeTime": None, "lastTransitionTime": "2026-11-01T08:00:09Z", "status": "True"}
    main = {
        **spec["containers"][0],
        "env": [{"name": f"SETTING_{k}", "value": f"value-{k}"} for k in range(8)],
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": {
            "failureThreshold": 3,
            "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        },
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [token],
    }
    projected = {
        "defaultMode": 420,
        "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
    }
    return {
        **obj,
        "spec": {
            **spec,
            "containers": [main],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "serviceAccountName": "default",
            "volumes": [{"name": "token", "projected": projected}],
        },
        "status": {
            **obj["status"],
            "conditions": [{**moment, "type": t} for t in ("Initialized", "Ready", "ContainersReady", "PodScheduled")],
            "containerStatuses": [
                {
                    "containerID": f"containerd://{name}",
                    "image": main["image"],
                    "imageID": main["image"],
                    "name": "main",
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": "2026-11-01T08:00:08Z"}},
                }
            ],
            "hostIP": "10.0.0.1",
            "podIP": "10.0.0.2",
            "qosClass": "Burstable",
        },
    }


def write(path: Path, form: str, node_count: int, pod_count: int) -> None:
    if form == "snapshot":
        objects = {"Node": list(nodes(node_count)), "Pod": list(pods(pod_count, node_count))}
        metadata = {"source": "benchmark", "takenAt": "2026-11-20T00:00:00Z", "kubernetesVersion": "v1.36.0"}
        document = {
            "apiVersion": "kwhatif.dev/v1",
            "kind": "ClusterSnapshot",
            "metadata": metadata,
            "objects": objects,
        }
        text = json.dumps(document, separators=(",", ":"))
    else:
        items = [_as_kubectl(obj) for obj in (*nodes(node_count), *pods(pod_count, node_count))]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4)
    path.write_text(text)


def load(path: Path) -> dict[str, Any]:
    """The figures of one load; meant for a process of its own."""
    from kwhatif.cluster.cluster import Cluster
    from kwhatif.snapshot.load import load_snapshot
    from kwhatif.versions import features_of

    started = time.perf_counter()
    snapshot = load_snapshot([str(path)])
    read = time.perf_counter()
    cluster = Cluster.load(snapshot.objects, features_of())
    ready = time.perf_counter()
    return {
        "nodes": len(cluster),
        "pods": sum(1 for _ in cluster.pods()),
        "fileMiB": round(path.stat().st_size / 2**20, 1),
        "seconds": round(ready - started, 3),
        "readSeconds": round(read - started, 3),
        "clusterSeconds": round(ready - read, 3),
        "peakMemoryMiB": _peak_mebibytes(),
    }


def _peak_mebibytes() -> float:
    """The most this process held. On Linux ru_maxrss begins with what the process that started this one held."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)
        if found:
            return round(int(found[1]) / 2**10, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time loading a large cluster.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--format", choices=("snapshot", "kubectl", "both"), default="snapshot")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="best of N loads")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="write the files there and leave them")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.load:
        print(json.dumps(load(asked.load)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        directory = asked.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        for form in ("snapshot", "kubectl") if asked.format == "both" else (asked.format,):
            path = directory / f"{form}-{asked.nodes}-{asked.pods}.json"
            write(path, form, asked.nodes, asked.pods)
            runs = [_in_own_process(path) for _ in range(asked.repeat)]
            best = min(runs, key=lambda figures: float(figures["seconds"]))
            print(json.dumps({"format": form, **best}), flush=True)
    return 0


def _in_own_process(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--load", str(path)], check=True, stdout=subprocess.PIPE, text=True
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    sys.exit(main())
