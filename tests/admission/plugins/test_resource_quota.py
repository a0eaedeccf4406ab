"""Resource quotas: what counts, for whom, and what is said when it is too much."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.response import RequestRefusal, StoredObject
from tests.admission.objects import asking, claim, created, in_cluster, make, pod, quota, refused, server, workload

Json = dict[str, Any]


def service(type_: str, *ports: Json, **more: Any) -> Json:
    spec = {"type": type_, "ports": [{"name": f"p{port['port']}", **port} for port in ports], **more}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": spec}


def devices(*requests: Json) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": list(requests)}},
    }


COUNTED: list[tuple[str, Json, Json, str]] = [
    (
        "a request counts under both of its names",
        {"cpu": "1", "requests.cpu": "1"},
        pod(containers=[asking({"cpu": "1500m"})]),
        "requested: cpu=1500m,requests.cpu=1500m, used: cpu=0,requests.cpu=0, limited: cpu=1,requests.cpu=1",
    ),
    (
        "a limit counts",
        {"limits.memory": "1Gi"},
        pod(containers=[asking(None, {"memory": "2Gi"})]),
        "requested: limits.memory=2Gi, used: limits.memory=0, limited: limits.memory=1Gi",
    ),
    (
        "an extended resource counts by its request",
        {"requests.example.com/gpu": "1"},
        pod(containers=[asking({"example.com/gpu": "2"}, {"example.com/gpu": "2"})]),
        "requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, limited: requests.example.com/gpu=1",
    ),
    (
        "huge pages count",
        {"hugepages-2Mi": "2Mi"},
        pod(containers=[asking(None, {"cpu": "1", "hugepages-2Mi": "4Mi"})]),
        "requested: hugepages-2Mi=4Mi, used: hugepages-2Mi=0, limited: hugepages-2Mi=2Mi",
    ),
    (
        "an init container counts if it needs more",
        {"requests.cpu": "1"},
        pod(containers=[asking({"cpu": "100m"})], initContainers=[asking({"cpu": "2"}, name="i")]),
        "requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1",
    ),
    (
        "a whole pod's request counts in place of its containers'",
        {"requests.cpu": "1"},
        pod(resources={"requests": {"cpu": "2"}}),
        "requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1",
    ),
    (
        "storage counts",
        {"requests.storage": "500Mi"},
        claim(),
        "requested: requests.storage=1Gi, used: requests.storage=0, limited: requests.storage=500Mi",
    ),
    (
        "storage counts for its class",
        {"gold.storageclass.storage.k8s.io/requests.storage": "500Mi"},
        claim(storageClassName="gold"),
        "requested: gold.storageclass.storage.k8s.io/requests.storage=1Gi, "
        "used: gold.storageclass.storage.k8s.io/requests.storage=0, "
        "limited: gold.storageclass.storage.k8s.io/requests.storage=500Mi",
    ),
    (
        "objects of any kind can be counted",
        {"count/configmaps": "0"},
        make("ConfigMap", "m"),
        "requested: count/configmaps=1, used: count/configmaps=0, limited: count/configmaps=0",
    ),
    (
        "some kinds are counted by their name alone",
        {"secrets": "0"},
        make("Secret", "s"),
        "requested: secrets=1, used: secrets=0, limited: secrets=0",
    ),
    (
        "every port of a service that nodes open counts",
        {"services.nodeports": "1"},
        service("NodePort", {"port": 80}, {"port": 81}),
        "requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1",
    ),
    (
        "a load balancer counts, and so do its ports",
        {"services.loadbalancers": "0", "services.nodeports": "0"},
        service("LoadBalancer", {"port": 80}),
        "requested: services.loadbalancers=1,services.nodeports=1, used: services.loadbalancers=0,"
        "services.nodeports=0, limited: services.loadbalancers=0,services.nodeports=0",
    ),
    (
        "devices count by their class, those that substitute each other once",
        {"gpu.deviceclass.resource.k8s.io/devices": "3"},
        devices(
            {"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}},
            {
                "name": "b",
                "firstAvailable": [
                    {"name": "x", "deviceClassName": "gpu", "count": 2},
                    {"name": "y", "deviceClassName": "gpu"},
                ],
            },
        ),
        "requested: gpu.deviceclass.resource.k8s.io/devices=4, used: gpu.deviceclass.resource.k8s.io/devices=0, "
        "limited: gpu.deviceclass.resource.k8s.io/devices=3",
    ),
    (
        "a request for all devices counts as the most there can be",
        {"gpu.deviceclass.resource.k8s.io/devices": "31"},
        devices({"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}),
        "requested: gpu.deviceclass.resource.k8s.io/devices=32, used: gpu.deviceclass.resource.k8s.io/devices=0, "
        "limited: gpu.deviceclass.resource.k8s.io/devices=31",
    ),
]


@pytest.mark.parametrize(("hard", "obj", "why"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_counted(hard: Json, obj: Json, why: str) -> None:
    assert refused(server(quota(hard)), obj).endswith(f" is forbidden: exceeded quota: q, {why}")


UNCOUNTED: list[tuple[str, Json, Json]] = [
    ("a claim of another class", {"gold.storageclass.storage.k8s.io/persistentvolumeclaims": "0"}, claim()),
    ("what has no part in it", {"pods": "0"}, claim()),
    ("a quota of another kind", {"count/deployments.apps": "0"}, workload("StatefulSet")),
]


@pytest.mark.parametrize(("hard", "obj"), [row[1:] for row in UNCOUNTED], ids=[row[0] for row in UNCOUNTED])
def test_not_counted(hard: Json, obj: Json) -> None:
    assert created(server(quota(hard)), obj)


def priority(operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": list(values)}]}


CRITICAL = pod(priorityClassName="system-node-critical")
ACROSS = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "namespaces": ["b"]}]}
}
SCOPES: list[tuple[str, Json, Json, bool]] = [
    ("a pod with a deadline is terminating", {"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), True),
    ("a pod without a deadline is not terminating", {"scopes": ["Terminating"]}, pod(), False),
    ("a pod without requests is best effort", {"scopes": ["BestEffort"]}, pod(), True),
    (
        "a pod with requests is not best effort",
        {"scopes": ["NotBestEffort"]},
        pod(containers=[asking({"cpu": "1"})]),
        True,
    ),
    (
        "a request of zero is no request",
        {"scopes": ["NotBestEffort"]},
        pod(containers=[asking({"cpu": "0"})]),
        False,
    ),
    ("a class among others", {"scopeSelector": priority("In", "x", "system-node-critical")}, CRITICAL, True),
    ("a class that is left out", {"scopeSelector": priority("NotIn", "system-node-critical")}, CRITICAL, False),
    ("no class is not among those left out", {"scopeSelector": priority("NotIn", "x")}, pod(), True),
    ("any class", {"scopeSelector": priority("Exists")}, pod(), False),
    ("affinity across namespaces", {"scopes": ["CrossNamespacePodAffinity"]}, pod(affinity=ACROSS), True),
    ("all scopes at once", {"scopes": ["BestEffort", "Terminating"]}, pod(), False),
]


@pytest.mark.parametrize(("scope", "obj", "counts"), [row[1:] for row in SCOPES], ids=[row[0] for row in SCOPES])
def test_scopes(scope: Json, obj: Json, counts: bool) -> None:
    api = server(quota({"pods": "0"}, **scope))
    if counts:
        assert "exceeded quota" in refused(api, obj)
    else:
        assert created(api, obj)


def test_a_pod_that_gets_a_deadline_counts_as_a_whole_for_the_quota_whose_scope_it_enters() -> None:
    api = server(quota({"pods": "1"}, scopes=["Terminating"]), quota({"pods": "2"}, "all"), pod("a"), pod("b"))
    assert isinstance(api.update(pod("a", activeDeadlineSeconds=5)), StoredObject)
    answer = api.update(pod("b", activeDeadlineSeconds=5))
    assert isinstance(answer, RequestRefusal)
    assert answer.message.endswith("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")


def running(name: str, **status: Any) -> Json:
    return {**pod(name, containers=[asking({"cpu": "400m"})]), "status": status}


def test_what_is_in_the_world_is_counted_and_what_has_ended_is_not() -> None:
    api = server(quota({"pods": "2"}), running("a"), running("b", phase="Succeeded"), running("c", phase="Failed"))
    created(api, pod("d"))
    assert refused(api, pod("e")).endswith("requested: pods=1, used: pods=2, limited: pods=2")


def test_pods_that_go_make_room() -> None:
    api = server(quota({"requests.cpu": "1"}), running("a"), running("b"))
    assert refused(api, running("c")).endswith("used: requests.cpu=800m, limited: requests.cpu=1")
    api.world.remove("Pod", "default", "a")
    created(api, running("c"))
    assert refused(api, running("d")).endswith("used: requests.cpu=800m, limited: requests.cpu=1")


def test_another_namespace_has_its_own_quota() -> None:
    elsewhere = pod()
    elsewhere["metadata"]["namespace"] = "other"
    assert created(server(quota({"pods": "0"})), elsewhere)


def test_of_kinds_that_were_never_looked_at_the_status_is_believed() -> None:
    found = {**quota({"count/deployments.apps": "5"}), "status": {"used": {"count/deployments.apps": "4"}}}
    api = server(found)
    created(api, workload("Deployment", "a"))
    assert refused(api, workload("Deployment", "b")).endswith(
        "used: count/deployments.apps=5, limited: count/deployments.apps=5"
    )


def test_a_bound_claim_that_grows_counts_by_what_it_grows() -> None:
    api = server(quota({"requests.storage": "3Gi"}))
    for name in ("a", "b"):
        created(api, claim(name))
        api.world.put({**claim(name), "status": {"phase": "Bound"}})
    assert isinstance(api.update(claim("a", "2Gi")), StoredObject)
    answer = api.update(claim("b", "2Gi"))
    assert isinstance(answer, RequestRefusal)
    assert answer.message.endswith(
        "requested: requests.storage=1Gi, used: requests.storage=3Gi, limited: requests.storage=3Gi"
    )


def test_every_container_must_name_what_is_bounded_unless_the_pod_does() -> None:
    api = server(quota({"limits.memory": "8Gi", "requests.cpu": "8"}))
    two = [asking({"cpu": "1"}, name="a"), asking(None, {"memory": "1Gi"}, name="b")]
    assert refused(api, pod(containers=two)).endswith(
        "failed quota: q: must specify limits.memory for: a; requests.cpu for: b"
    )
    assert created(api, pod(resources={"limits": {"memory": "1Gi"}}))


def test_the_first_quota_that_objects_is_named() -> None:
    api = server(quota({"pods": "1"}, "a"), quota({"count/pods": "0"}, "b"))
    assert "exceeded quota: b, requested: count/pods=1" in refused(api, pod())


def test_quota_can_be_switched_off() -> None:
    assert created(server(quota({"pods": "0"}), plugins=("Priority",)), pod())


def test_node_ports_of_services_that_are_known_in_part_are_those_that_the_status_tells() -> None:
    api = server({**quota({"services.nodeports": "5"}), "status": {"used": {"services.nodeports": "4"}}})
    api.world.cover("Service")
    there = service("NodePort", {"port": 80})
    there["metadata"]["name"] = "there"
    del there["spec"]
    api.world.put(there, sketched=True)
    message = refused(api, service("NodePort", {"port": 80}, {"port": 81}))
    assert message.endswith(
        "requested: services.nodeports=2, used: services.nodeports=4, limited: services.nodeports=5"
    )
    assert created(api, service("NodePort", {"port": 80}))


def test_devices_count_as_the_resource_that_their_class_serves_together_with_pods() -> None:
    served = in_cluster("DeviceClass", "gpu", "resource.k8s.io/v1", spec={"extendedResourceName": "example.com/gpu"})
    running = pod("other", containers=[asking({"example.com/gpu": "1"}, {"example.com/gpu": "1"})])
    there = devices({"name": "a", "exactly": {"deviceClassName": "gpu"}})
    there["metadata"]["name"] = "there"
    api = server(served, running, there, quota({"requests.example.com/gpu": "3"}))
    assert "used: requests.example.com/gpu=2" in refused(
        api, devices({"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}})
    )
    assert isinstance(api.create(devices({"name": "a", "exactly": {"deviceClassName": "gpu"}})), StoredObject)
    assert "used: requests.example.com/gpu=3" in refused(api, pod(containers=running["spec"]["containers"]))


def test_devices_of_a_class_count_by_the_name_that_it_has_as_a_resource() -> None:
    served = in_cluster("DeviceClass", "gpu", "resource.k8s.io/v1", spec={"extendedResourceName": "example.com/gpu"})
    name = "requests.deviceclass.resource.kubernetes.io/gpu"
    claim_ = devices({"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}})
    assert f"requested: {name}=2" in refused(server(served, quota({name: "1"})), claim_)
    assert isinstance(server(quota({name: "1"})).create(claim_), StoredObject)
