"""Lists of any length of every kind that is read or served, and of the fields that could be held against each other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from kwhatif.api.field_types import FieldType, newest_types
from tests.fuzz.good_files import documents
from tests.fuzz.places import minimal

Json = dict[str, Any]
_FILES = ("cluster.yaml", "documents.yaml", "release.yaml")


def kinds() -> dict[str, Json]:
    """One object of each kind, by ``apiVersion kind``: a good one, or one with as little in it as there may be."""
    found: dict[str, Json] = {}
    for obj in (obj for file in _FILES for obj in documents(file)):
        if (obj.get("metadata") or {}).get("name"):
            found.setdefault(f"{obj['apiVersion']} {obj['kind']}", obj)
    types = newest_types()
    for kind, versions in types.versions.items():
        served = types.api_resource_of(versions[0], kind)
        if served is not None and not any(f"{version} {kind}" in found for version in versions):
            metadata = {"name": "some"} | ({"namespace": "shop"} if served.namespaced else {})
            body = minimal(FieldType("struct", served.type), types)
            found[f"{versions[0]} {kind}"] = {
                **body,
                "apiVersion": versions[0],
                "kind": kind,
                "metadata": {**(body.get("metadata") or {}), **metadata},
            }
    return found


def many(obj: Json, number: int) -> Iterator[Json]:
    """So many objects that are alike but for their names; workloads have a pod each."""
    for i in range(number):
        other = copy.deepcopy(obj)
        other["metadata"]["name"] += f"-{i}"
        if obj["kind"] == "CustomResourceDefinition":
            names = other["spec"]["names"]
            names["plural"], names["kind"] = f"{names['plural']}x{i}", f"{names['kind']}x{i}"
            other["metadata"]["name"] = f"{names['plural']}.{other['spec']['group']}"
        if "replicas" in (obj.get("spec") or {}):
            other["spec"]["replicas"] = 1
        yield other


def container(**fields: Any) -> Json:
    return {"name": "main", "image": "registry.example/main:1", **fields}


def pod(name: str, spec: Json, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", **metadata},
        "spec": spec,
    }


def _repelling(i: int) -> Json:
    """A pod with anti-affinity over a key of its own."""
    term = {"labelSelector": {"matchLabels": {f"k{i}": "v"}}, "topologyKey": f"zone{i}"}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec = {"containers": [container()], "affinity": {"podAntiAffinity": rule}}
    return pod(f"p{i}", spec, labels={f"k{i}": "v"})


def _volume(i: int) -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "now", "capacity": {"storage": "1Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv{i}"},
        "spec": {**spec, "csi": {"driver": "d", "volumeHandle": f"h{i}"}},
    }


def _claim(i: int) -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "now", "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"c{i}", "namespace": "shop"},
        "spec": spec,
    }


def _volumes_and_claims(number: int) -> list[Json]:
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "now"},
        "provisioner": "kubernetes.io/no-provisioner",
    }
    return [storage_class, *map(_volume, range(number)), *map(_claim, range(number))]


def _in_groups(number: int) -> list[Json]:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "spec": {"schedulingPolicy": {"basic": {}}},
    }
    groups = [{**group, "metadata": {"name": f"g{i}", "namespace": "shop"}} for i in range(number)]
    members = [
        pod(f"p{i}", {"containers": [container()], "schedulingGroup": {"podGroupName": f"g{i}"}}) for i in range(number)
    ]
    return [*groups, *members]


def _ports(number: int, *, taken: bool) -> list[Json]:
    ports = [{"containerPort": 80, **({"hostPort": i + 1} if taken else {})} for i in range(number)]
    return [pod("ports", {"containers": [container(ports=ports)]})]


def _exit_codes(number: int) -> list[Json]:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": list(range(1, number + 1))}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container()]}}
    spec = {"podFailurePolicy": {"rules": [rule]}, "template": template}
    return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "shop"}, "spec": spec}]


def _files(number: int) -> list[Json]:
    items = [{"key": f"k{i}", "path": f"p{i}"} for i in range(number)]
    volume = {"name": "v", "configMap": {"name": "c", "items": items}}
    return [pod("files", {"containers": [container()], "volumes": [volume]})]


LISTS: dict[str, Callable[[int], list[Json]]] = {
    "pods with anti-affinity over keys of their own": lambda number: [_repelling(i) for i in range(number)],
    "volumes and claims for them": _volumes_and_claims,
    "pods in groups": _in_groups,
    "equal ports of a container": lambda number: _ports(number, taken=False),
    "host ports of one port": lambda number: _ports(number, taken=True),
    "exit codes of a Job": _exit_codes,
    "files of a volume": _files,
}
"""By what they are: lists of objects that depend on a number."""
