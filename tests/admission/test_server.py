"""Objects that come and objects that change."""

from __future__ import annotations

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer
from tests.admission.objects import created, make, pod, refused, server, workload


def named(prefix: str) -> dict[str, object]:
    return {**pod(), "metadata": {"generateName": prefix, "namespace": "default"}}


def test_generated_names_are_numbers_that_are_free() -> None:
    api = server(pod("web-2"))
    assert [created(api, named("web-"))["metadata"]["name"] for _ in range(3)] == ["web-1", "web-3", "web-4"]
    assert created(api, named("db-"))["metadata"]["name"] == "db-1"


def test_what_was_created_is_in_the_world_with_a_uid_that_is_the_same_in_every_run() -> None:
    first, second = server(), server()
    made = created(first, pod())
    assert first.world.get("Pod", "default", "p") is made
    assert made["metadata"]["uid"] == created(second, pod())["metadata"]["uid"]
    assert made["metadata"]["uid"] != created(second, pod("q"))["metadata"]["uid"]


def test_what_is_refused_is_not_in_the_world() -> None:
    api = server()
    refused(api, pod(containers=[]))
    assert api.world.get("Pod", "default", "p") is None


def test_an_object_that_is_there_already_is_refused() -> None:
    api = server()
    created(api, workload("Deployment"))
    answer = api.create(workload("Deployment"))
    assert answer == RequestRefusal(409, "AlreadyExists", 'deployments.apps "w" already exists')


def test_an_update_of_nothing_is_refused() -> None:
    answer = server().update(workload("Deployment"))
    assert answer == RequestRefusal(404, "NotFound", 'deployments.apps "w" not found')


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def test_a_replaced_object_of_a_kind_that_snapshots_leave_out_may_be_there() -> None:
    api = ApiServer(ObjectStore(pruned=True))
    assert isinstance(api.send("replace", CONFIG_MAP), StoredObject)
    assert [doubt.what for doubt in api.doubts] == ["ConfigMap c may be there: the snapshot holds no ConfigMap"]


@pytest.mark.parametrize(
    ("covered", "doubts"),
    [
        pytest.param(False, 1, id="files without any ConfigMap may lack it"),
        pytest.param(True, 0, id="where all are known it is not there"),
    ],
)
def test_a_replaced_object_that_files_lack_is_not_found(covered: bool, doubts: int) -> None:
    world = ObjectStore()
    if covered:
        world.cover("ConfigMap")
    api = ApiServer(world)
    answer = api.send("replace", CONFIG_MAP)
    assert answer == RequestRefusal(404, "NotFound", 'configmaps "c" not found')
    assert len(api.doubts) == doubts


def test_an_update_keeps_what_its_manifest_does_not_speak_of() -> None:
    there = workload("Deployment", replicas=7)
    there["metadata"]["uid"] = "u1"
    there["status"] = {"replicas": 7}
    api = server(there)
    answer = api.update(workload("Deployment", minReadySeconds=5))
    assert isinstance(answer, StoredObject)
    assert answer.object["spec"]["replicas"] == 7
    assert answer.object["metadata"]["uid"] == "u1"
    assert answer.object["status"] == {"replicas": 7}
    assert [change.text for change in answer.changes if change.path == "spec.replicas"] == [
        "7, as it is in the cluster"
    ]
    assert api.world.get("Deployment", "default", "w") is answer.object


def test_an_update_is_judged_like_a_new_object() -> None:
    api = server(workload("Deployment"))
    answer = api.update(workload("Deployment", selector={}))
    assert isinstance(answer, RequestRefusal)
    assert answer.causes[0].field == "spec.selector"


def test_plurals_are_those_of_the_api() -> None:
    api = server()
    for kind, version, resource in (
        ("IngressClass", "networking.k8s.io/v1", "ingressclasses.networking.k8s.io"),
        ("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies.networking.k8s.io"),
        ("Gateway", "gateway.networking.k8s.io/v1", "gateways.gateway.networking.k8s.io"),
        ("Endpoints", "v1", "endpoints"),
    ):
        obj = make(kind, "x", version, spec={"controller": "acme.io/balancer"})
        created(api, obj)
        assert refused(api, obj) == f'{resource} "x" already exists'


def test_a_job_of_another_group_is_none_of_our_jobs() -> None:
    queued = make("Job", "j", "batch.volcano.sh/v1alpha1", spec={"minAvailable": 1, "tasks": []})
    assert created(server(), queued)["spec"] == {"minAvailable": 1, "tasks": []}
