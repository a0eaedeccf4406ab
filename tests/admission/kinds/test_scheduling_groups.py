"""Groups of pods as the API server of 1.36 takes, completes and refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer

Json = dict[str, Any]

ALL = (
    *("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling"),
    *("WorkloadAwarePreemption", "DRAWorkloadResourceClaims"),
)
GANG: Json = {"schedulingPolicy": {"gang": {"minCount": 2}}}


def group(kind: str = "PodGroup", /, **spec: Any) -> Json:
    meta = {"name": "g", "namespace": "default"}
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": kind, "metadata": meta, "spec": spec}


def server(*gates: str, objects: tuple[Json, ...] = (), minor: str = "1.36") -> ApiServer:
    return ApiServer(ObjectStore(objects), minor=minor, gates=dict.fromkeys(gates, True))


def created(manifest: Json, *gates: str, objects: tuple[Json, ...] = ()) -> Json:
    answer = server(*gates, objects=objects).send("create", manifest)
    assert isinstance(answer, StoredObject), answer
    return answer.object


def refused(manifest: Json, *gates: str, objects: tuple[Json, ...] = ()) -> RequestRefusal:
    answer = server(*gates, objects=objects).send("create", manifest)
    assert isinstance(answer, RequestRefusal), answer
    return answer


@pytest.mark.parametrize("kind", ["PodGroup", "Workload"])
def test_without_its_gate_the_kind_is_unknown(kind: str) -> None:
    assert refused(group(kind, **GANG)).reason == "NotFound"


def test_a_group_is_disrupted_pod_by_pod_unless_it_says_otherwise() -> None:
    assert created(group(**GANG), *ALL)["spec"]["disruptionMode"] == "Pod"


def test_a_group_is_protected_as_long_as_pods_need_it() -> None:
    made = created(group(**GANG), *ALL)
    assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]


def test_fields_behind_other_gates_are_dropped() -> None:
    spec = created(
        group(**GANG, schedulingConstraints={"topology": [{"key": "rack"}]}, priority=5, disruptionMode="PodGroup"),
        "GenericWorkload",
    )["spec"]
    assert spec == GANG


def test_a_pod_names_no_group_where_there_are_none() -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "c", "image": "i"}]},
    }
    assert "schedulingGroup" not in created(manifest)["spec"]
    assert created(manifest, "GenericWorkload")["spec"]["schedulingGroup"] == {"podGroupName": "g"}


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        pytest.param({}, "spec.schedulingPolicy", "must specify one of: `basic`, `gang`", id="no policy"),
        pytest.param(
            {"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}},
            "spec.schedulingPolicy",
            "must specify exactly one of: `basic`, `gang`",
            id="two policies",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": {}}},
            "spec.schedulingPolicy.gang.minCount",
            "Required value",
            id="a gang without a quorum",
        ),
        pytest.param(
            {"schedulingPolicy": {"gang": {"minCount": -1}}},
            "spec.schedulingPolicy.gang.minCount",
            "must be greater than or equal to 1",
            id="a quorum below one",
        ),
        pytest.param(
            {**GANG, "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
            "spec.schedulingConstraints.topology",
            "must have at most 1 items",
            id="two constraints",
        ),
        pytest.param(
            {**GANG, "disruptionMode": "Never"},
            "spec.disruptionMode",
            'supported values: "Pod", "PodGroup"',
            id="a mode",
        ),
        pytest.param(
            {**GANG, "resourceClaims": [{"name": "c"}]},
            "spec.resourceClaims[0]",
            "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            id="a claim of nothing",
        ),
    ],
)
def test_what_is_wrong_with_a_group_is_told(spec: Json, field: str, said: str) -> None:
    causes = refused(group(**spec), *ALL).causes
    assert [cause.field for cause in causes] == [field]
    assert said in causes[0].message


def test_a_workload_has_templates_and_each_has_a_name() -> None:
    assert [cause.field for cause in refused(group("Workload"), *ALL).causes] == ["spec.podGroupTemplates"]
    twice = [{"name": "t", **GANG}, {"name": "t", **GANG}]
    assert "Duplicate value" in refused(group("Workload", podGroupTemplates=twice), *ALL).message


WORKLOAD = {
    **group("Workload", podGroupTemplates=[{"name": "t", **GANG}]),
    "metadata": {"name": "w", "namespace": "default"},
}


@pytest.mark.parametrize(
    ("workload", "template", "said"),
    [
        ("x", "t", 'PodGroup rejected: Workload "x" not found'),
        ("w", "x", 'PodGroup rejected: PodGroupTemplate "x" not found in Workload "w"'),
    ],
)
def test_the_template_that_a_group_names_has_to_exist(workload: str, template: str, said: str) -> None:
    reference = {"workload": {"workloadName": workload, "podGroupTemplateName": template}}
    answer = refused(group(**GANG, podGroupTemplateRef=reference), *ALL, objects=(WORKLOAD,))
    assert answer.message.endswith(said)


def test_a_groups_priority_comes_from_its_class() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    assert created(group(**GANG, priorityClassName="high"), *ALL, objects=(high,))["spec"]["priority"] == 7
    wrong = refused(group(**GANG, priorityClassName="high", priority=8), *ALL, objects=(high,))
    assert "priority set in the pod group (8) must match the priority computed (7)" in wrong.message
    unknown = refused(group(**GANG, priorityClassName="low"), *ALL, objects=(high,))
    assert unknown.message.endswith("no PriorityClass with name low was found")
