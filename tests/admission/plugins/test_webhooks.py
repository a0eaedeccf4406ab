"""Webhooks of a cluster that is only known by its snapshot: they are named, and refuse nothing, but where the server
finds no address for them.
"""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "app:1"}]},
}


def configuration(kind: str, **fields: Any) -> dict[str, Any]:
    hook = {
        "name": "h.example.com",
        "clientConfig": {"url": "https://10.0.0.1/check"},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        **fields,
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}
    return {**head, "metadata": {"name": "guard"}, "webhooks": [hook]}


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_a_webhook_that_would_be_asked_is_named_with_its_failure_policy(kind: str) -> None:
    world = ObjectStore([configuration(f"{kind}WebhookConfiguration")])
    created = ApiServer(world).send("create", POD)
    assert isinstance(created, StoredObject)
    assert [change.text for change in created.changes if change.step == f"{kind}AdmissionWebhook"] == [
        "webhook h.example.com of guard would be asked: what it answers is not known; "
        "if it cannot be reached, its failure policy Fail refuses the request"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"rules": []},
        {"matchConditions": [{"name": "c", "expression": "object.metadata.name == 'other'"}]},
    ],
    ids=["by its selector", "by its rules", "by its conditions"],
)
def test_a_webhook_that_is_about_other_objects_is_not_named(fields: dict[str, Any]) -> None:
    world = ObjectStore([configuration("ValidatingWebhookConfiguration", **fields)])
    created = ApiServer(world).send("create", POD)
    assert isinstance(created, StoredObject)
    assert not [change for change in created.changes if change.step.endswith("Webhook")]


@pytest.mark.parametrize(("policy", "lets_in"), [("Fail", False), ("Ignore", True)])
def test_a_server_that_reaches_no_webhook_goes_by_the_failure_policy(policy: str, lets_in: bool) -> None:
    world = ObjectStore([configuration("ValidatingWebhookConfiguration", failurePolicy=policy)])
    answer = ApiServer(world, alone=True).send("create", POD)
    assert isinstance(answer, StoredObject) == lets_in
    assert isinstance(answer, StoredObject | RequestRefusal)


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook", "namespace": "guards"}}
POST = 'failed to call webhook: Post "https://hook.guards.svc:443/?timeout=10s"'


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (None, 'service "hook" not found'),
        ({"clusterIP": "None", "ports": [{"port": 443}]}, 'cannot route to service with ClusterIP "None"'),
        ({"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}, 'no service port 443 found for service "hook"'),
        ({"clusterIP": "10.0.0.1", "ports": [{"port": 443}]}, ""),
    ],
    ids=["it is not there", "it is headless", "it has no such port", "somebody may listen"],
)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_whose_service_has_no_address_is_known_not_to_answer(
    spec: dict[str, Any] | None, why: str, policy: str
) -> None:
    called = {"service": {"name": "hook", "namespace": "guards"}}
    world = ObjectStore([configuration("ValidatingWebhookConfiguration", clientConfig=called, failurePolicy=policy)])
    world.cover("Service")
    if spec is not None:
        world.put({**SERVICE, "spec": spec})
    answer = ApiServer(world).send("create", POD)
    if why and policy == "Fail":
        assert isinstance(answer, RequestRefusal)
        assert answer.message == f'Internal error occurred: failed calling webhook "h.example.com": {POST}: {why}'
        return
    assert isinstance(answer, StoredObject)
    assert any("webhook h.example.com" in change.text for change in answer.changes) == (not why)


def test_of_a_service_in_a_namespace_that_was_not_looked_at_nothing_is_known() -> None:
    called = {"service": {"name": "hook", "namespace": "guards"}}
    held = configuration("ValidatingWebhookConfiguration", clientConfig=called)
    for references, is_refused in ((), False), ([("Service", "guards", "hook")], True):
        world = ObjectStore([held], homes={"", "default"}, references=references)
        world.cover("Service")
        assert isinstance(ApiServer(world).send("create", POD), RequestRefusal) == is_refused


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"timeoutSeconds": 31},
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
        (
            {"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "check"}}},
            "webhooks[0].clientConfig.service.path: Invalid value: \"check\": must start with a '/'",
        ),
        (
            {"admissionReviewVersions": ["v2"]},
            'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
        ),
    ],
    ids=["a wait that is too long", "an address without a slash", "a review that no server sends"],
)
def test_a_configuration_is_refused(fields: dict[str, Any], problem: str) -> None:
    refused = ApiServer(ObjectStore()).send("create", configuration("ValidatingWebhookConfiguration", **fields))
    assert isinstance(refused, RequestRefusal)
    assert problem in refused.message
