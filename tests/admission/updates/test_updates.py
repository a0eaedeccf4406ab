"""What becomes of objects that are there: whose fields change, and what must not change."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import Object, RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer


def an(api: str, kind: str, **fields: Any) -> Object:
    metadata = {"name": "x", "namespace": "shop", **fields.pop("metadata", {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def deployment(spec: Object | None = None, **container: Any) -> Object:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "a:1", **container}]},
    }
    return an(
        "apps/v1",
        "Deployment",
        spec={"selector": {"matchLabels": {"app": "x"}}, "template": template, **(spec or {})},
    )


def service(**spec: Any) -> Object:
    return an("v1", "Service", spec={"selector": {"app": "x"}, "ports": [{"port": 80}], **spec})


def claim(**spec: Any) -> Object:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "a"}
    return an("v1", "PersistentVolumeClaim", spec={**wanted, **spec})


def job(**spec: Any) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a:1"}]}
    return an("batch/v1", "Job", spec={"template": {"spec": pod}, **spec})


def sent(stored: Object, verb: str, manifest: Object, manager: str = "kubectl") -> StoredObject | RequestRefusal:
    """What is answered to a manifest, where ``stored`` is in the cluster as the server made it."""
    server = ApiServer(ObjectStore())
    if "status" in stored or "managedFields" in stored["metadata"] or stored["metadata"].get("resourceVersion"):
        server.world.put(stored)
    else:
        made = server.create(stored)
        assert isinstance(made, StoredObject), made
    return server.send(verb, manifest, namespace="shop", manager=manager)


def accepted(*given: Any) -> Object:
    answer = sent(*given)
    assert isinstance(answer, StoredObject), answer
    return answer.object


# --- whose fields change


def test_what_an_applied_manifest_leaves_out_goes_away_and_defaults_stay() -> None:
    stored = deployment({"replicas": 3, "minReadySeconds": 5}, env=[{"name": "A", "value": "1"}], command=["run"])
    spec = accepted(stored, "apply", deployment(env=[{"name": "B", "value": "2"}]))["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "B", "value": "2"}]
    assert "command" not in container
    assert "minReadySeconds" not in spec
    assert spec["replicas"] == 1
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}


def test_kubectl_by_itself_leaves_the_number_of_replicas_alone() -> None:
    assert accepted(deployment({"replicas": 3}), "", deployment())["spec"]["replicas"] == 3


def test_the_default_rolling_update_is_in_the_way_of_recreate_only_on_the_server() -> None:
    recreate = deployment({"strategy": {"type": "Recreate"}})
    refused = sent(deployment(), "apply", recreate)
    assert isinstance(refused, RequestRefusal)
    assert [cause.field for cause in refused.causes] == ["spec.strategy.rollingUpdate"]
    assert accepted(deployment(), "", recreate)["spec"]["strategy"] == {"type": "Recreate"}


def test_kubectl_takes_away_what_it_applied_last() -> None:
    last = '{"metadata":{"annotations":{}},"data":{"a":"1","b":"2"}}'
    noted = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": last}, "resourceVersion": "7"}
    stored = an("v1", "ConfigMap", metadata=noted, data={"a": "1", "b": "2", "c": "3"})
    assert accepted(stored, "", an("v1", "ConfigMap", data={"a": "0"}))["data"] == {"a": "0", "c": "3"}


def owned(*names: str, manager: str = "kubectl", operation: str = "Apply") -> Object:
    fields: Object = {"f:data": {f"f:{name}": {} for name in names}}
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields}


@pytest.mark.parametrize(
    ("entries", "data", "message"),
    [
        ([owned("a")], {"a": "9"}, 'Apply failed with 1 conflict: conflict with "kubectl": .data.a'),
        (
            [owned("a"), owned("b", manager="helm", operation="Update")],
            {"a": "9", "b": "9"},
            'Apply failed with 2 conflicts: conflicts with "helm" using v1:\n- .data.b\n'
            'conflicts with "kubectl":\n- .data.a',
        ),
    ],
    ids=["one field of one manager", "fields of two managers, one of which updates"],
)
def test_fields_of_other_managers_are_in_conflict(entries: list[Object], data: Object, message: str) -> None:
    stored = an("v1", "ConfigMap", metadata={"managedFields": entries}, data={"a": "1", "b": "2"})
    refused = sent(stored, "apply", an("v1", "ConfigMap", data=data), "argocd")
    assert isinstance(refused, RequestRefusal)
    assert (refused.code, refused.reason, refused.message) == (409, "Conflict", message)


def test_a_field_that_somebody_else_owns_too_stays_when_it_is_left_out() -> None:
    entries = [owned("a", "b"), owned("b", manager="argocd")]
    stored = an("v1", "ConfigMap", metadata={"managedFields": entries}, data={"a": "1", "b": "2"})
    assert accepted(stored, "apply", an("v1", "ConfigMap", data={"c": "3"}))["data"] == {"b": "2", "c": "3"}


def test_a_replaced_object_is_the_manifest_and_counts_its_generations() -> None:
    stored = accepted(deployment({"replicas": 3, "paused": True}), "replace", deployment())
    assert "paused" not in stored["spec"]
    assert stored["spec"]["replicas"] == 1
    assert stored["metadata"]["generation"] == 2


@pytest.mark.parametrize("verb", ["", "apply", "replace"])
def test_another_version_of_the_object_is_a_conflict(verb: str) -> None:
    stored = an("v1", "ConfigMap", metadata={"resourceVersion": "7"})
    refused = sent(stored, verb, an("v1", "ConfigMap", metadata={"resourceVersion": "6"}))
    assert isinstance(refused, RequestRefusal)
    assert (refused.code, refused.reason) == (409, "Conflict")


# --- what must not change


SET = {"immutable": True}


def pod(**spec: Any) -> Object:
    return an("v1", "Pod", spec={"containers": [{"name": "c", "image": "a:1"}], **spec})


@pytest.mark.parametrize(
    ("stored", "manifest", "field"),
    [
        (pod(), pod(nodeName="n"), "spec"),
        (pod(), pod(containers=[{"name": "c", "image": "a:1"}, {"name": "d", "image": "a:1"}]), "spec.containers"),
        (pod(activeDeadlineSeconds=5), pod(activeDeadlineSeconds=6), "spec.activeDeadlineSeconds"),
        (pod(tolerations=[{"key": "a", "operator": "Exists"}]), pod(), "spec.tolerations"),
        (pod(), pod(schedulingGates=[{"name": "a"}]), "spec.schedulingGates[0].name"),
        (
            pod(schedulingGates=[{"name": "a"}], nodeSelector={"a": "b"}),
            pod(schedulingGates=[{"name": "a"}], nodeSelector={"a": "c"}),
            "spec.nodeSelector",
        ),
        (job(), job(completions=2), "spec.completions"),
        (job(), job(backoffLimitPerIndex=1, completionMode="Indexed", completions=1), "spec.completionMode"),
        (claim(), claim(accessModes=["ReadWriteMany"]), "spec"),
        (claim(), claim(resources={"requests": {"storage": "2Gi"}}), "spec"),
        (service(clusterIP="10.96.0.9"), service(clusterIP="10.96.0.8"), "spec.clusterIPs[0]"),
        (an("v1", "ConfigMap", **SET, data={"a": "1"}), an("v1", "ConfigMap", **SET, data={"a": "2"}), "data"),
        (an("v1", "ConfigMap", **SET), an("v1", "ConfigMap", immutable=False), "immutable"),
    ],
    ids=[
        "the node of a pod",
        "the number of a pod's containers",
        "a pod's deadline, but for a shorter one",
        "tolerations that a pod has",
        "gates that a pod did not begin with",
        "the node selector of a gated pod, but for additions",
        "the completions of a job without an index",
        "the completion mode of a job",
        "the access modes of a claim",
        "the size of a claim that is not bound",
        "the address of a service",
        "the data of a config map that is set",
        "that a config map is set",
    ],
)
def test_what_must_not_change(stored: Object, manifest: Object, field: str) -> None:
    refused = sent(stored, "apply", manifest)
    assert isinstance(refused, RequestRefusal)
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.causes[0].field == field


@pytest.mark.parametrize(
    ("stored", "manifest"),
    [
        (pod(), pod(containers=[{"name": "c", "image": "a:2"}])),
        (pod(), pod(tolerations=[{"key": "a", "operator": "Exists"}])),
        (pod(schedulingGates=[{"name": "a"}]), pod(schedulingGates=[{"name": "a"}], nodeSelector={"a": "b"})),
        (job(), job(backoffLimit=3)),
        (
            job(suspend=True),
            job(suspend=True, template={"spec": {**job()["spec"]["template"]["spec"], "nodeSelector": {"a": "b"}}}),
        ),
        ({**claim(volumeName="v"), "status": {"phase": "Bound"}}, claim(resources={"requests": {"storage": "2Gi"}})),
        (service(type="NodePort"), service(type="ExternalName", externalName="a.example")),
    ],
    ids=[
        "a pod's image",
        "more tolerations",
        "more of a node selector while a pod is gated",
        "how often a job is tried",
        "where a suspended job may run",
        "the size of a bound claim",
        "a service that only becomes a name",
    ],
)
def test_what_may_change(stored: Object, manifest: Object) -> None:
    accepted(stored, "apply", manifest)


def test_a_manifest_that_is_applied_again_changes_nothing() -> None:
    for manifest in (pod(), job(), claim(), service(type="LoadBalancer"), deployment({"replicas": 2})):
        for verb in ("", "apply"):
            assert accepted(manifest, verb, manifest)["metadata"]["generation"] == 1


def test_a_claim_whose_class_was_filled_in_takes_its_manifest_again() -> None:
    bound = claim(storageClassName="standard", volumeMode="Filesystem", volumeName="pv-1") | {
        "status": {"phase": "Bound"}
    }
    manifest = claim()
    del manifest["spec"]["storageClassName"]
    for verb in ("", "apply"):
        assert accepted(bound, verb, manifest)["spec"] == bound["spec"]


APPLIED = {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:completions": {}}}}


@pytest.mark.parametrize(
    ("verb", "metadata", "doubted"),
    [
        ("apply", {}, "Job x has no managedFields: what was applied before is not known"),
        ("", {}, "Job x has no last-applied-configuration: what was applied before is not known"),
        ("replace", {}, ""),
        (
            "apply",
            {
                "managedFields": [
                    {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:completions": {}}}}
                ]
            },
            "",
        ),
    ],
)
def test_a_refusal_for_what_a_manifest_leaves_out_is_doubted_where_nobody_says_who_owned_it(
    verb: str, metadata: Object, doubted: str
) -> None:
    server = ApiServer(ObjectStore())
    made = server.create(job(completions=3))
    assert isinstance(made, StoredObject), made
    made.object["metadata"] |= metadata
    answer = server.send(verb, job(), namespace="shop")
    assert isinstance(answer, RequestRefusal), answer
    assert "field is immutable" in answer.message
    assert "".join(doubt.what for doubt in server.doubts) == doubted
    assert isinstance(server.send(verb, job(completions=4), namespace="shop"), RequestRefusal)
    assert len(server.doubts) == bool(doubted), "what the manifest says itself is refused without a doubt"


def test_a_divisor_that_the_api_server_filled_in_is_no_change_of_a_pod() -> None:
    def showing(**reference: str) -> Object:
        field = {"resourceFieldRef": {"resource": "limits.cpu", **reference}}
        return pod(containers=[{"name": "c", "image": "a:1", "env": [{"name": "CPU", "valueFrom": field}]}])

    server = ApiServer(ObjectStore([showing(divisor="0")]))
    assert isinstance(server.send("replace", showing(), namespace="shop"), StoredObject)
