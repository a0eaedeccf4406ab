"""Pods that are alike hold what they have in common once, so that memory grows by what a pod has of its own."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from kwhatif.api.quantity import Quantity
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest, load_manifests

Json = dict[str, Any]
FEW, MANY = 200, 400
BYTES_EACH = 5_000
"""What a pod may take before it is scheduled; with a spec of its own this one takes more than 13 kB."""


def manifests(kind: str, replicas: int) -> list[Manifest]:
    """A workload whose pods have lists of everything."""
    container = {
        "name": "main",
        "image": "registry.example/main:1",
        "env": [{"name": f"E{i}", "value": f"v{i}"} for i in range(8)],
        "ports": [{"containerPort": 80}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}},
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    spec = {
        "containers": [container, {**container, "name": "other", "ports": []}],
        "topologySpreadConstraints": [spread],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    whole: Json = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}}
    if kind == "StatefulSet":
        whole |= {"serviceName": "web", "podManagementPolicy": "Parallel"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    metadata = {"name": "web", "namespace": "shop"}
    workload = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": {**whole, "template": template}}
    return load_manifests([workload])


def expanded(kind: str, replicas: int) -> ExpandedManifests:
    return expand(manifests(kind, replicas), Snapshot())


def held_by(kind: str, replicas: int) -> int:
    """The bytes that are held by what a workload has become."""
    gc.collect()
    tracemalloc.start()
    try:
        found = expanded(kind, replicas)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(found.pods) == replicas
    return held


@pytest.mark.long
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_further_replica_takes_what_is_its_own(kind: str) -> None:
    expanded(kind, 1)
    each = (held_by(kind, MANY) - held_by(kind, FEW)) / (MANY - FEW)
    assert each < BYTES_EACH, f"{each:,.0f} bytes a pod"


def test_replicas_have_one_spec_one_set_of_labels_and_one_trail_of_changes() -> None:
    found = expanded("Deployment", 2)
    first, second = (item.pod for item in found.pods)
    assert first.spec is second.spec
    assert first.metadata.labels is second.metadata.labels
    assert first.metadata.name != second.metadata.name
    assert found.whole[first.key]["spec"] is found.whole[second.key]["spec"]
    assert found.trails[first.key] is found.trails[second.key]


def test_pods_with_names_in_their_specs_share_their_containers() -> None:
    first, second = (item.pod.spec for item in expanded("StatefulSet", 2).pods)
    assert first is not second
    assert first.containers is second.containers


def test_values_that_are_equal_and_of_two_sorts_are_read_as_both() -> None:
    values = {"example.com/size": "1"}
    container = {"name": "main", "image": "app", "resources": {"requests": values, "limits": values}}
    spec = {"containers": [container], "nodeSelector": values, "overhead": None}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": values}, "spec": spec}
    found = expand(load_manifests([pod]), Snapshot()).pods[0].pod
    assert found.metadata.labels == found.spec.node_selector == values
    assert found.spec.containers is not None
    resources = found.spec.containers[0].resources
    assert resources is not None
    assert resources.requests == {"example.com/size": Quantity.parse("1")}
