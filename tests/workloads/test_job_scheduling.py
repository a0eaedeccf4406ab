"""Jobs whose pods run together: the Workload and the PodGroup that their controller makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import ApiResponse, Object, RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.workloads.controllers import reconcile
from kwhatif.workloads.object_creation import CreatedObjects
from kwhatif.workloads.objects import controller_of
from tests.workloads.builders import Json, job

GATES = {"GenericWorkload": True, "GangScheduling": True, "WorkloadWithJob": True}
ALL_AT_ONCE = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}


def made_of(body: Json, *others: Json, gates: dict[str, bool] | None = None) -> CreatedObjects:
    server = ApiServer(ObjectStore(), gates=GATES if gates is None else gates)
    for each in others:
        assert isinstance(server.create(each), StoredObject)
    stored = server.create(body)
    assert isinstance(stored, StoredObject)
    return reconcile(server, stored.object, [])


def groups_of(made: CreatedObjects) -> set[str]:
    return {(pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "") for pod in made.pods}


def test_a_job_whose_pods_all_run_at_once_becomes_a_gang() -> None:
    made = made_of(job(**ALL_AT_ONCE))
    workload, group = made.objects
    assert workload["kind"] == "Workload"
    assert workload["spec"]["controllerRef"] == {"apiGroup": "batch", "kind": "Job", "name": "work"}
    assert group["kind"] == "PodGroup"
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert group["spec"]["podGroupTemplateRef"]["workload"] == {
        "workloadName": workload["metadata"]["name"],
        "podGroupTemplateName": "work-pgt-0",
    }
    assert {controller_of(each)["name"] for each in made.objects} == {"work"}
    assert len(made.pods) == 3
    assert groups_of(made) == {group["metadata"]["name"]}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"completions": 3, "parallelism": 3}, id="its pods have no index"),
        pytest.param({**ALL_AT_ONCE, "parallelism": 2}, id="some pods run later"),
        pytest.param({**ALL_AT_ONCE, "completions": 1, "parallelism": 1}, id="it has one pod"),
    ],
)
def test_other_jobs_are_left_alone(spec: dict[str, Any]) -> None:
    made = made_of(job(**spec))
    assert not made.objects
    assert groups_of(made) == {""}


def test_without_the_gate_there_is_no_gang() -> None:
    made = made_of(job(**ALL_AT_ONCE), gates={"GenericWorkload": True, "GangScheduling": True})
    assert not made.objects
    assert groups_of(made) == {""}


def test_a_job_whose_template_names_a_group_keeps_it() -> None:
    body = job(**ALL_AT_ONCE)
    body["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "mine"}
    made = made_of(body)
    assert not made.objects
    assert groups_of(made) == {"mine"}


def test_a_workload_of_somebody_else_for_the_job_stops_its_controller() -> None:
    """The controller falls back to pods without a group."""
    template = {"name": "t", "schedulingPolicy": {"basic": {}}}
    other = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": "mine", "namespace": "default"},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "work"},
            "podGroupTemplates": [template],
        },
    }
    made = made_of(job(**ALL_AT_ONCE), other)
    assert not made.objects
    assert groups_of(made) == {""}


def test_a_job_that_has_run_is_no_new_one() -> None:
    server = ApiServer(ObjectStore(), gates=GATES)
    stored = server.create(job(**ALL_AT_ONCE))
    assert isinstance(stored, StoredObject)
    begun = {**stored.object, "status": {"startTime": "2026-03-01T08:00:00Z"}}
    assert groups_of(reconcile(server, begun, [])) == {""}


class Refusing(ApiServer):
    """A server that lets in no PodGroup."""

    def create(self, obj: Object) -> ApiResponse:
        if obj["kind"] == "PodGroup":
            return RequestRefusal(403, "Forbidden", "exceeded quota")
        return super().create(obj)


def test_a_group_that_is_refused_leaves_the_job_without_pods() -> None:
    server = Refusing(ObjectStore(), gates=GATES)
    stored = server.create(job(**ALL_AT_ONCE))
    assert isinstance(stored, StoredObject)
    made = reconcile(server, stored.object, [])
    assert not made.pods
    (failure,) = made.refusals
    assert failure.pods == 3
    assert failure.message == "ensuring Workload and PodGroup for Job default/work: exceeded quota"
