"""Time scheduling pods that bring a claim each: one JSON line a workload.

    volumes.py [--nodes N] [--pods P] [--workload NAME] [--repeat N] [--profile]

Claims wait for their first consumer. ``dynamic`` has a CSI driver make the volumes, with a capacity reported for
each node and a limit to what a node can attach; ``local`` has as many volumes ready as there are pods, dealt out
to the nodes, of a class that nobody provisions; ``exclusive`` is ``local`` with claims for one pod only.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
from collections.abc import Callable, Iterator
from typing import Any

from engine import Run
from workloads import HOSTNAME, node, pod

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects, struct_for
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of

Spec = dict[str, Any]

DRIVER = "disk.csi.example"
CLASS = "standard"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def _storage_class(provisioner: str) -> Spec:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _driver() -> Spec:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"storageCapacity": True, "attachRequired": True},
    }


def _csi_node(name: str) -> Spec:
    installed = {"name": DRIVER, "nodeID": name, "topologyKeys": [HOSTNAME], "allocatable": {"count": 25}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [installed]},
    }


def _capacity(name: str) -> Spec:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"capacity-{name}", "namespace": "kube-system"},
        "nodeTopology": {"matchLabels": {HOSTNAME: name}},
        "storageClassName": CLASS,
        "capacity": "500Gi",
    }


def _volume(index: int, name: str) -> Spec:
    here = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [name]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv{index:05d}"},
        "spec": {
            "capacity": {"storage": f"{10 + index % 7}Gi"},
            "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
            "storageClassName": CLASS,
            "volumeMode": "Filesystem",
            "local": {"path": f"/disks/{index}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}},
        },
        "status": {"phase": "Available"},
    }


def _claim(index: int, mode: str) -> Spec:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"data-{index}", "namespace": "bench", "uid": f"claim-{index}"},
        "spec": {
            "accessModes": [mode],
            "storageClassName": CLASS,
            "resources": {"requests": {"storage": f"{5 + index % 5}Gi"}},
        },
        "status": {"phase": "Pending"},
    }


def _dynamic(names: list[str], pods: int) -> Iterator[Spec]:
    yield _storage_class(DRIVER)
    yield _driver()
    for name in names:
        yield _csi_node(name)
        yield _capacity(name)
    yield from (_claim(index, "ReadWriteOnce") for index in range(pods))


def _local(names: list[str], pods: int, mode: str = "ReadWriteOnce") -> Iterator[Spec]:
    yield _storage_class(NO_PROVISIONER)
    yield from (_volume(index, names[index % len(names)]) for index in range(pods))
    yield from (_claim(index, mode) for index in range(pods))


WORKLOADS: dict[str, Callable[[list[str], int], Iterator[Spec]]] = {
    "dynamic": _dynamic,
    "local": _local,
    "exclusive": lambda names, pods: _local(names, pods, "ReadWriteOncePod"),
}
"""Workload -> the storage objects that go with so many nodes and pods."""


def _pod(index: int) -> Pod:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{index}"}}
    return convert(pod(f"p{index}", "volumes", extra={"volumes": [volume]}), Pod)


def _objects(workload: str, nodes: int, pods: int) -> Objects:
    homes = [node(index) for index in range(nodes)]
    found = Objects()
    for raw in (*homes, *WORKLOADS[workload]([home["metadata"]["name"] for home in homes], pods)):
        struct = struct_for(raw["apiVersion"], raw["kind"])
        assert struct is not None
        found.add(convert(raw, struct))
    return found


def measure(workload: str, nodes: int, pods: int, *, repeat: int, profile: bool) -> Spec:
    """The figures of one workload, the best of so many runs, each on a cluster built anew."""
    objects, setup = _objects(workload, nodes, pods), Setup(load_configuration(None, source=workload), features_of())
    waiting = [_pod(index) for index in range(pods)]
    if profile:
        _print_profile(Run(objects, setup), waiting)
    best = min((Run(objects, setup).time(waiting) for _ in range(repeat)), key=lambda outcome: outcome.seconds)
    return {
        "name": f"volumes-{workload}-{nodes}-{pods}",
        "nodes": nodes,
        "pods": pods,
        "placed": best.placed,
        "seconds": round(best.seconds, 4),
        "podsPerSecond": round(pods / best.seconds, 1),
    }


def _print_profile(run: Run, pods: list[Pod]) -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    run.time(pods)
    profiler.disable()
    pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(20)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time scheduling pods that bring a claim each.")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--workload", choices=tuple(WORKLOADS), help="one of them only")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="best of N runs")
    parser.add_argument("--profile", action="store_true", help="print where the time goes to standard error")
    asked = parser.parse_args()
    for workload in (asked.workload,) if asked.workload else WORKLOADS:
        figures = measure(workload, asked.nodes, asked.pods, repeat=asked.repeat, profile=asked.profile)
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
