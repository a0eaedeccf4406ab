"""What a snapshot holds of the API server's own configuration counts in every command that takes manifests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, run

Json = dict[str, Any]

_GROUP = "admissionregistration.k8s.io"
PODS = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def an(kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    head = {"kind": kind} if kind else {}
    return {**head, "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **fields}


def a_policy(verb: str = "Validating", **spec: Any) -> Json:
    """A policy about pods and what binds it, by kind."""
    constraints = {"resourceRules": [PODS]}
    binding: Json = {"policyName": "rule", **({"validationActions": ["Deny"]} if verb == "Validating" else {})}
    return {
        f"{verb}AdmissionPolicy": [an("", "rule", spec={"matchConstraints": constraints, **spec})],
        f"{verb}AdmissionPolicyBinding": [an("", "rule", spec=binding)],
    }


def a_definition() -> Json:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 9}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Widget", "plural": "widgets"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return an("CustomResourceDefinition", "widgets.example.com", spec=spec)


NODE = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
KNOWN = (
    *("APIService", "CustomResourceDefinition", "LimitRange", "ResourceQuota", "RuntimeClass", "Deployment"),
    *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "Service"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
    *("PriorityClass", "ReplicaSet", "ReplicationController", "StatefulSet", "Pod", "PodDisruptionBudget"),
)


def a_snapshot(**objects: Any) -> Json:
    """A cluster of which everything is known, by kind, with one node and the namespace ``shop``."""
    kinds: Json = {kind: [] for kind in KNOWN}
    kinds["Node"] = [NODE]
    kinds["Namespace"] = [an("", "shop"), an("", "kube-system")]
    kinds["ServiceAccount"] = [an("", "default", home) for home in ("shop", "kube-system")]
    versions = dict.fromkeys((*KNOWN, *kinds), "7")
    metadata = {"kubernetesVersion": "v1.36.0", "resourceVersions": versions}
    return {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "ClusterSnapshot",
        "metadata": metadata,
        "objects": kinds | objects,
    }


def a_pod(name: str = "web", **spec: Any) -> Json:
    containers = [{"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]
    return {"apiVersion": "v1", **an("Pod", name, "shop", spec={"containers": containers, **spec})}


def asked(folder: Path, command: str, cluster: Json, *manifests: Json, words: tuple[str, ...] = ()) -> Ran:
    (folder / "cluster.json").write_text(json.dumps(cluster))
    (folder / "pod.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}))
    return run(command, str(folder / "pod.json"), "--snapshot", str(folder / "cluster.json"), *words)


COMMANDS = ("expand", "place", "gate")

DENIED = a_policy(validations=[{"expression": "object.metadata.name != 'web'", "message": "not by that name"}])
STRICT = [{"metadata": {"name": "shop", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}]
GOING = [{"metadata": {"name": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"}}]
REFUSED: dict[str, tuple[Json, Json, str]] = {
    "a policy denies a pod": (DENIED, a_pod(), "'rule' with binding 'rule' denied request: not by that name"),
    "a service account is not there": (
        {},
        a_pod(serviceAccountName="robot"),
        'error looking up service account shop/robot: serviceaccount "robot" not found',
    ),
    "a namespace asks for more security": ({"Namespace": STRICT}, a_pod(), 'violates PodSecurity "restricted:latest"'),
    "a namespace goes away": ({"Namespace": GOING}, a_pod(), "because it is being terminated"),
    "a namespace is not there": ({"Namespace": []}, a_pod(), 'namespaces "shop" not found'),
    "a custom resource is not what its definition says": (
        {"CustomResourceDefinition": [a_definition()]},
        {"apiVersion": "example.com/v1", **an("Widget", "w", "shop", spec={"size": 10})},
        "spec.size in body should be less than or equal to 9",
    ),
    "a custom resource has a field that its definition lacks": (
        {"CustomResourceDefinition": [a_definition()]},
        {"apiVersion": "example.com/v1", **an("Widget", "w", "shop", spec={"sizes": 1})},
        'unknown field "spec.sizes"',
    ),
    "a kind is defined nowhere": (
        {},
        {"apiVersion": "example.com/v1", **an("Gadget", "w", "shop", spec={})},
        "404 page not found",
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("there", "manifest", "why"), REFUSED.values(), ids=list(REFUSED))
def test_a_manifest_is_refused_since(there: Json, manifest: Json, why: str, command: str, tmp_path: Path) -> None:
    ran = asked(tmp_path, command, a_snapshot(**there), a_pod("other"), manifest, words=("-o", "json"))
    assert ran.code == 1, ran.err
    assert why in json.dumps(json.loads(ran.out)).replace("\\", "").replace('""', '"')


TAKEN: dict[str, tuple[Json, Json]] = {
    "an account is there": ({"ServiceAccount": [an("", "robot", "shop")]}, a_pod(serviceAccountName="robot")),
    "its definition allows it": (
        {"CustomResourceDefinition": [a_definition()]},
        {"apiVersion": "example.com/v1", **an("Widget", "w", "shop", spec={"size": 9})},
    ),
    "another server may serve its kind": (
        {"APIService": [an("", "v1.example.com", spec={"group": "example.com", "service": {"name": "s"}})]},
        {"apiVersion": "example.com/v1", **an("Gadget", "w", "shop", spec={})},
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("there", "manifest"), TAKEN.values(), ids=list(TAKEN))
def test_a_manifest_is_taken_since(there: Json, manifest: Json, command: str, tmp_path: Path) -> None:
    manifests = [a_pod("first", serviceAccountName="robot") if "ServiceAccount" in there else a_pod("first"), manifest]
    ran = asked(tmp_path, command, a_snapshot(**there), *manifests, words=("-o", "json"))
    assert ran.code == 0, ran.err + ran.out


def test_a_policy_of_the_snapshot_sets_what_the_scheduler_reads(tmp_path: Path) -> None:
    expression = "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'pool': 'spot'}}]"
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    policy = a_policy("Mutating", reinvocationPolicy="Never", mutations=[mutation])
    ran = asked(tmp_path, "place", a_snapshot(**policy), a_pod(), words=("-o", "json"))
    (placement,) = json.loads(ran.out)["placements"]
    assert placement["outcome"] == "unschedulable"
    assert "node affinity/selector" in placement["message"]


def test_accounts_of_one_namespace_alone_say_nothing_of_the_others(tmp_path: Path) -> None:
    accounts = [{"apiVersion": "v1", **an("ServiceAccount", "default", "tools")}]
    cluster = [{"apiVersion": "v1", "kind": "Node", **NODE}, *accounts]
    ran = asked(tmp_path, "expand", {"apiVersion": "v1", "kind": "List", "items": cluster}, a_pod())
    assert ran.code == 0, ran.out


def test_some_definitions_say_nothing_of_kinds_that_are_not_among_them(tmp_path: Path) -> None:
    definition = {"apiVersion": "apiextensions.k8s.io/v1", **a_definition()}
    cluster = [{"apiVersion": "v1", "kind": "Node", **NODE}, definition]
    gadget = {"apiVersion": "example.org/v1", **an("Gadget", "w", "shop", spec={})}
    ran = asked(tmp_path, "expand", {"apiVersion": "v1", "kind": "List", "items": cluster}, a_pod(), gadget)
    assert ran.code == 0, ran.out


# --- what cannot be asked is said


def a_webhook(verb: str = "Validating", **fields: Any) -> Json:
    hook = {"name": "h.example.com", "rules": [PODS], "failurePolicy": "Ignore", **fields}
    return {f"{verb}WebhookConfiguration": [an("", "guard", webhooks=[hook])]}


OTHERS: Any = {"matchConditions": [{"name": "c", "expression": "object.metadata.name != 'web'"}]}
PARAMETERS: Any = {"spec": {"policyName": "rule", "validationActions": ["Deny"], "paramRef": {"name": "p"}}}
WITH_PARAMETERS = {
    **a_policy(
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        validations=[{"expression": "object.metadata.name != params.data.name"}],
    ),
    "ValidatingAdmissionPolicyBinding": [an("", "rule", **PARAMETERS)],
}
UNASKED: dict[str, tuple[Json, str]] = {
    "a webhook": (
        a_webhook(),
        "webhook h.example.com of guard would be asked: what it answers is not known: "
        "if it cannot be reached, its failure policy Ignore lets the request in",
    ),
    "a webhook that changes pods": (
        a_webhook("Mutating", failurePolicy="Fail"),
        "if it cannot be reached, its failure policy Fail refuses the request",
    ),
    "a policy that asks what users may do": (
        a_policy(validations=[{"expression": "authorizer.group('').resource('pods').check('get').allowed()"}]),
        "ValidatingAdmissionPolicy rule is not asked: its expressions ask what users may do",
    ),
    "a policy whose parameters are not there": (
        WITH_PARAMETERS,
        "ValidatingAdmissionPolicy rule is not asked: its parameters are not known (ConfigMap)",
    ),
    "a policy whose expressions redaction has taken away": (
        a_policy(validations=[{"expression": "left_out"}]),
        "ValidatingAdmissionPolicy rule is not asked: the snapshot leaves out its expressions",
    ),
    "a policy that looks at annotations of namespaces": (
        a_policy(validations=[{"expression": "namespaceObject.metadata.annotations['a'] == 'b'"}]),
        "it looks at annotations of namespaces, which the snapshot leaves out",
    ),
}
TOLD = {"expand": "expand", "place": "place", "explain": "explain", "capacity": "capacity", "gate": "gate"}


@pytest.mark.parametrize("command", TOLD)
@pytest.mark.parametrize(("there", "said"), UNASKED.values(), ids=list(UNASKED))
def test_who_cannot_be_asked_is_named_and_under_strict_there_is_no_answer(
    there: Json, said: str, command: str, tmp_path: Path
) -> None:
    ran = asked(tmp_path, command, a_snapshot(**there), a_pod())
    told = " ".join((ran.out + ran.err).split())
    assert said.split(": if it")[0] in told
    assert ran.code == 0
    ran = asked(tmp_path, command, a_snapshot(**there), a_pod(), words=("--strict",))
    assert (ran.code, ran.out) == (2, "")
    assert "touches shop/web" in ran.err


@pytest.mark.parametrize("command", TOLD)
def test_a_webhook_that_would_not_be_asked_is_no_gap(command: str, tmp_path: Path) -> None:
    ran = asked(tmp_path, command, a_snapshot(**a_webhook(**OTHERS)), a_pod(), words=("--strict",))
    assert ran.code == 0, ran.err


def test_a_webhook_has_one_line_however_many_pods_it_is_about(tmp_path: Path) -> None:
    pods = [a_pod(f"web-{number}") for number in range(5)]
    ran = asked(tmp_path, "place", a_snapshot(**a_webhook()), *pods)
    (line,) = [line for line in ran.lines if "h.example.com" in line]
    assert line.endswith("[shop/web-0, shop/web-1, shop/web-2 and 2 more]")


def test_parameters_among_the_manifests_are_known(tmp_path: Path) -> None:
    parameters = {"apiVersion": "v1", **an("ConfigMap", "p", "shop"), "data": {"name": "web"}}
    ran = asked(tmp_path, "place", a_snapshot(**WITH_PARAMETERS), parameters, a_pod())
    assert ran.code == 1
    assert "denied request" in ran.out


def test_a_custom_resource_whose_definition_judges_changes_may_be_one(tmp_path: Path) -> None:
    definition = a_definition()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    widget = {"apiVersion": "example.com/v1", **an("Widget", "w", "shop", spec={"size": 9})}
    for rules, code in (([], 0), ([{"rule": "self == oldSelf"}], 2)):
        schema["x-kubernetes-validations"] = rules
        cluster = a_snapshot(CustomResourceDefinition=[definition])
        ran = asked(tmp_path, "place", cluster, a_pod(), widget, words=("--ignore-unknown", "--strict"))
        assert ran.code == code, ran.err
    assert "Widget w is taken to be new: snapshots hold no custom resources: touches Widget shop/w" in ran.err
