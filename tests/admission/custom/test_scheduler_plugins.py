"""Objects of scheduler-plugins are held to their definition: that of the cluster, or what is known of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal
from kwhatif.admission.server import ApiServer
from tests.scheduler_plugin_builders import Json, plain_node, plain_pod, pod_group, policy_with, write_cluster


def obj(group: str, kind: str, version: str = "v1alpha1", **body: Any) -> Json:
    return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "x", "namespace": "default"}, **body}


def refusal(sent: Json, *there: Json, knows: bool = False) -> str:
    """What the API server says; nothing if it takes the object."""
    world = ObjectStore(there)
    if knows:
        world.cover("CustomResourceDefinition")
    server = ApiServer(world)
    assert server.judges(sent)
    answer = server.send("create", sent)
    return answer.message if isinstance(answer, RequestRefusal) else ""


GROUP, QUOTA = ("scheduling.x-k8s.io", "PodGroup"), ("scheduling.x-k8s.io", "ElasticQuota")
CELLS = ("topology.node.k8s.io", "NodeResourceTopology", "v1alpha2")
APP, NETWORK = ("appgroup.diktyo.x-k8s.io", "AppGroup"), ("networktopology.diktyo.x-k8s.io", "NetworkTopology")
PROFILE = ("security-profiles-operator.x-k8s.io", "SeccompProfile", "v1beta1")
WEB = {"kind": "Deployment", "name": "web", "selector": "web"}


def members(number: object, **dependency: Any) -> Json:
    workload = {"workload": WEB, "dependencies": [{"workload": WEB, **dependency}]}
    return {"numMembers": number, "topologySortingAlgorithm": "KahnSort", "workloads": [workload]}


def costs(cost: object) -> Json:
    origin = {"origin": "a", "costList": [{"destination": "b", "networkCost": cost}]}
    levels = [{"topologyKey": "zone", "originList": [origin]}]
    return {"weights": [{"name": "UserDefined", "topologyList": levels}], "configmapName": "costs"}


def cell(**resource: Any) -> list[Json]:
    return [{"name": "node-0", "type": "Node", "resources": [{"name": "cpu", **resource}]}]


AMOUNTS = {"capacity": "8", "allocatable": 8, "available": "7500m"}


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        pytest.param(obj(*GROUP, spec={"minMember": 3, "minResources": {"cpu": 1}}), "", id="a group that is sound"),
        pytest.param(
            obj(*GROUP, spec={"minMember": "3"}), "spec.minMember in body must be of type integer", id="a text"
        ),
        pytest.param(obj(*GROUP, spec={"minMember": 2**31}), "spec.minMember", id="more than an int32"),
        pytest.param(obj(*GROUP, spec={"minMembers": 3}), 'unknown field "spec.minMembers"', id="a slip of the pen"),
        pytest.param(obj(*QUOTA, spec={"max": {"cpu": "4", "memory": "8Gi"}}), "", id="a quota that is sound"),
        pytest.param(obj(*QUOTA, spec={"max": {"cpu": "four"}}), "spec.max.cpu in body should match", id="no quantity"),
        pytest.param(obj(*CELLS, zones=cell(**AMOUNTS)), "", id="cells that are sound"),
        pytest.param(obj(*CELLS), "zones: Required value", id="no cells"),
        pytest.param(
            obj(*CELLS, zones=cell(capacity="8", allocatable="8")),
            "zones[0].resources[0].available: Required value",
            id="nothing about what is available",
        ),
        pytest.param(obj(*APP, spec=members(2, maxNetworkCost=30)), "", id="an application that is sound"),
        pytest.param(obj(*APP, spec=members(0)), "should be greater than or equal to 1", id="without members"),
        pytest.param(
            obj(*APP, spec=members(2, maxNetworkCost=10_001)), "less than or equal to 10000", id="a cost beyond bounds"
        ),
        pytest.param(obj(*NETWORK, spec=costs(20)), "", id="a network that is sound"),
        pytest.param(obj(*NETWORK, spec=costs(-1)), "greater than or equal to 0", id="a negative cost"),
        pytest.param(
            obj(*PROFILE, spec={"defaultAction": "SCMP_ACT_LOG", "disabled": True}), "", id="fields of later releases"
        ),
        pytest.param(obj(*PROFILE, spec={}), "spec.defaultAction: Required value", id="a profile without an action"),
    ],
)
def test_without_definitions_types_and_bounds_are_known(sent: Json, problem: str) -> None:
    told = refusal(sent)
    assert problem in told
    assert bool(told) == bool(problem)


def test_the_definition_of_the_cluster_counts_more() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"minMember": {"type": "integer", "minimum": 2}}},
        },
    }
    names = {"kind": "PodGroup", "plural": "podgroups"}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "podgroups.scheduling.x-k8s.io"},
        "spec": {"group": "scheduling.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    assert "greater than or equal to 2" in refusal(obj(*GROUP, spec={"minMember": 1}), definition)
    assert 'unknown field "spec.scheduleTimeoutSeconds"' in refusal(
        obj(*GROUP, spec={"minMember": 2, "scheduleTimeoutSeconds": 3}), definition
    )


def test_a_cluster_without_the_kind_does_not_know_it() -> None:
    assert refusal(obj(*GROUP, spec={}), knows=True) == "404 page not found"


def test_a_group_of_kubernetes_own_is_not_taken_for_one() -> None:
    own = {**obj("scheduling.k8s.io", "PodGroup", "v1alpha2"), "spec": {}}
    assert not ApiServer(ObjectStore([own])).judges(obj(*GROUP, spec={"minMember": 3}))


@pytest.mark.parametrize(
    ("there", "number", "outcomes"),
    [
        pytest.param([], 2, {"placed"}, id="a new one is there when the pods are tried"),
        pytest.param([], 3, {"unschedulable"}, id="and is held to"),
        pytest.param([pod_group("train", 9)], 2, {"placed"}, id="one that is there is replaced"),
    ],
)
def test_objects_of_manifests_come_to_the_cluster(
    tmp_path: Path, there: list[Json], number: int, outcomes: set[str]
) -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    pods = [plain_pod(f"train-{i}", labels=labels) for i in range(2)]
    group = pod_group("train", number)
    del group["metadata"]["creationTimestamp"]
    cluster = write_cluster(tmp_path, plain_node("n1"), *there)
    result = kwhatif.place([*pods, group], snapshot=cluster, policy=policy_with("Coscheduling", sorts=True))
    assert {each.outcome for each in result.placements} == outcomes
    assert not any("nobody here knows" in gap.what for gap in result.fidelity.gaps)
