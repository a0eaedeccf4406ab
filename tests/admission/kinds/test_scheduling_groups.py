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


# --- updates

FULL: Json = {
    **GANG,
    "schedulingConstraints": {"topology": [{"key": "rack"}]},
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    "disruptionMode": "PodGroup",
    "priority": 0,
}


def updated(old: Json, new: Json, *gates: str) -> Any:
    """What comes of an update to an object that was created with all gates on."""
    first = created(old, *ALL)
    target = ApiServer(ObjectStore((first,)), gates=dict.fromkeys(gates, True))
    return target.send("replace", new)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schedulingPolicy", {"gang": {"minCount": 3}}),
        ("schedulingPolicy", {"basic": {}}),
        ("schedulingConstraints", {"topology": [{"key": "block"}]}),
        ("schedulingConstraints", None),
        ("resourceClaims", []),
        ("disruptionMode", "Pod"),
        ("priority", 7),
        ("podGroupTemplateRef", {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}),
    ],
)
def test_what_a_group_is_made_of_never_changes(field: str, value: Any) -> None:
    answer = updated(group(**FULL), group(**{**FULL, field: value}), *ALL)
    assert isinstance(answer, RequestRefusal)
    assert (
        answer.message
        == f'PodGroup.scheduling.k8s.io "g" is invalid: spec.{field}: Invalid value: null: field is immutable'
    )


def test_a_group_may_have_other_labels_and_keeps_its_status() -> None:
    condition = {"type": "PodGroupScheduled", "status": "True", "reason": "Scheduled", "message": ""}
    first = created(group(**FULL), *ALL)
    first["status"] = {"conditions": [{**condition, "lastTransitionTime": "2026-03-01T08:00:00Z"}]}
    new = group(**FULL)
    new["metadata"]["labels"] = {"team": "a"}
    new["status"] = {"conditions": []}
    answer = ApiServer(ObjectStore((first,)), gates=dict.fromkeys(ALL, True)).send("replace", new)
    assert isinstance(answer, StoredObject), answer
    assert answer.object["metadata"]["labels"] == {"team": "a"}
    assert answer.object["status"] == first["status"]


def test_a_field_whose_gate_is_off_may_stay_or_go_but_not_change() -> None:
    gates = tuple(gate for gate in ALL if gate != "TopologyAwareWorkloadScheduling")
    same = updated(group(**FULL), group(**FULL), *gates)
    assert isinstance(same, StoredObject), same
    assert same.object["spec"]["schedulingConstraints"] == FULL["schedulingConstraints"]
    without = {key: value for key, value in FULL.items() if key != "schedulingConstraints"}
    assert isinstance(updated(group(**FULL), group(**without), *gates), StoredObject)
    other = updated(group(**FULL), group(**{**FULL, "schedulingConstraints": {"topology": [{"key": "b"}]}}), *gates)
    assert isinstance(other, RequestRefusal)
    assert other.message == 'PodGroup.scheduling.k8s.io "g" is invalid: spec.schedulingConstraints: Forbidden'


def test_a_field_that_was_never_in_use_is_dropped_where_its_gate_is_off() -> None:
    gates = tuple(gate for gate in ALL if gate != "TopologyAwareWorkloadScheduling")
    answer = updated(group(**GANG), group(**GANG, schedulingConstraints={"topology": [{"key": "b"}]}), *gates)
    assert isinstance(answer, StoredObject), answer
    assert "schedulingConstraints" not in answer.object["spec"]


def test_too_many_claims_are_told_beside_the_change() -> None:
    claims = [{"name": f"c{number}", "resourceClaimName": "x"} for number in range(5)]
    answer = updated(group(**FULL), group(**{**FULL, "resourceClaims": claims}), *ALL)
    assert isinstance(answer, RequestRefusal)
    assert [cause.message for cause in answer.causes] == [
        "Invalid value: null: field is immutable",
        "Too many: 5: must have at most 4 items",
    ]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            {"podGroupTemplates": [{"name": "u", **GANG}]},
            "spec.podGroupTemplates: Invalid value: null: field is immutable",
            id="another template",
        ),
        pytest.param(
            {"podGroupTemplates": [{"name": "t", **GANG}], "controllerRef": {"kind": "Job", "name": "j"}},
            "spec.controllerRef: Invalid value: null: field is immutable",
            id="another controller",
        ),
        pytest.param(
            {"podGroupTemplates": []},
            "[spec.podGroupTemplates: Invalid value: null: field is immutable, spec.podGroupTemplates: Required value]",
            id="no template",
        ),
    ],
)
def test_what_a_workload_is_made_of_never_changes(spec: Json, said: str) -> None:
    old = group("Workload", podGroupTemplates=[{"name": "t", **GANG}])
    answer = updated(old, group("Workload", **spec), *ALL)
    assert isinstance(answer, RequestRefusal)
    assert answer.message == f'Workload.scheduling.k8s.io "g" is invalid: {said}'
