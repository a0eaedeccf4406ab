"""Pods that differ in their names alone are judged once, and come to what each would by itself."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from unittest import mock

import pytest

from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import Request
from kwhatif.admission.response import RequestRefusal
from kwhatif.admission.server import ApiServer
from tests.admission.objects import Json, asking, created, in_cluster, limit_range, make, pod, quota, refused, server

_LIMITS = limit_range({"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}})


def _generated(prefix: str = "p-") -> Json:
    body = pod(labels={"app": "a"})
    del body["metadata"]["name"]
    body["metadata"]["generateName"] = prefix
    return body


def _named(*names: str) -> list[Json]:
    return [pod(name, labels={"app": "a"}) for name in names]


@pytest.fixture
def judged() -> Iterator[list[str]]:
    """The names of the pods that go through all of admission."""
    names: list[str] = []
    through = ApiServer._through

    def record(api: ApiServer, request: Request) -> RequestRefusal | None:
        names.append(name_of(request.object))
        return through(api, request)

    with mock.patch.object(ApiServer, "_through", record):
        yield names


@pytest.mark.parametrize("bodies", [_named("p-0", "p-1", "p-10"), [_generated() for _ in range(3)]])
def test_of_many_that_are_alike_one_is_judged_and_all_are_as_if_they_were(
    bodies: list[Json], judged: list[str]
) -> None:
    api = server(_LIMITS)
    found = [created(api, copy.deepcopy(body)) for body in bodies]
    assert len(judged) == 1
    for body, whole in zip(bodies, found, strict=True):
        alone = created(server(_LIMITS), {**body, "metadata": {**body["metadata"], "name": whole["metadata"]["name"]}})
        assert whole["spec"] == alone["spec"]
        assert whole["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
        assert whole["metadata"]["uid"] == alone["metadata"]["uid"]
        assert {**whole["metadata"], "generateName": ""} == {**alone["metadata"], "generateName": ""}
    assert len({whole["metadata"]["name"] for whole in found}) == 3


def test_quotas_count_each(judged: list[str]) -> None:
    api = server(quota({"pods": "2"}))
    for name in ("p-0", "p-1"):
        created(api, pod(name))
    assert "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in refused(api, pod("p-2"))
    assert judged == ["p-0"]


def test_a_name_that_is_taken_or_no_name_is_refused() -> None:
    api = server()
    created(api, pod("p-0"))
    assert refused(api, pod("p-0")) == 'pods "p-0" already exists'
    assert "a lowercase RFC 1123 subdomain" in refused(api, pod("P_1"))
    assert "must be no more than 253" in refused(api, pod("p" * 254))


def test_what_changes_in_between_is_seen(judged: list[str]) -> None:
    api = server()
    assert "resources" not in created(api, pod("p-0"))["spec"]["containers"][0]
    created(api, _LIMITS)
    assert created(api, pod("p-1"))["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2"}
    other = pod("p-2", containers=[asking({"cpu": "500m"})])
    assert created(api, other)["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m"}
    assert judged == ["p-0", "lr", "p-1", "p-2"]


def test_a_policy_may_ask_for_the_name() -> None:
    match = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]}
    spec = {"matchConstraints": match, "validations": [{"expression": "object.metadata.name != 'p-1'"}]}
    group = "admissionregistration.k8s.io/v1"
    api = server(
        in_cluster("ValidatingAdmissionPolicy", "no-one", group, spec=spec),
        in_cluster("ValidatingAdmissionPolicyBinding", "no-one", group,
                   spec={"policyName": "no-one", "validationActions": ["Deny"]}),
    )  # fmt: skip
    created(api, pod("p-0"))
    assert "ValidatingAdmissionPolicy 'no-one'" in refused(api, pod("p-1"))
    created(api, pod("p-2"))


def test_a_copy_of_the_server_begins_anew(judged: list[str]) -> None:
    api = server()
    created(api, pod("p-0"))
    fork = api.fork()
    created(fork, pod("p-1"))
    assert not isinstance(api.create(make("ConfigMap", "c", data={})), RequestRefusal)
    created(api, pod("p-1"))
    assert judged == ["p-0", "p-1", "c", "p-1"]
