"""Admission policies: branches that no recorded case shows."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.policies.patching import PatchError, apply_json_patch
from kwhatif.admission.policies.policy_expressions import asks_authorizer
from kwhatif.admission.policies.request_view import to_unstructured
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer

Json = dict[str, Any]

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"], "scope": "*"}


def policy(kind: str = "Validating", match: Json | None = None, **spec: Any) -> list[Json]:
    constraints = {"resourceRules": [RULE], "matchPolicy": "Equivalent", **(match or {})}
    spec = {"failurePolicy": "Fail", "matchConstraints": constraints, **spec}
    binding = {"policyName": "p"} | ({"validationActions": ["Deny"]} if kind == "Validating" else {})
    group = "admissionregistration.k8s.io/v1"
    return [
        {"apiVersion": group, "kind": f"{kind}AdmissionPolicy", "metadata": {"name": "p"}, "spec": spec},
        {"apiVersion": group, "kind": f"{kind}AdmissionPolicyBinding", "metadata": {"name": "b"}, "spec": binding},
    ]


def validating(expression: str, **spec: Any) -> list[Json]:
    return policy(validations=[{"expression": expression}], **spec)


def mutating(*expressions: str, **spec: Any) -> list[Json]:
    mutations = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}
        if text.startswith("[")
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
        for text in expressions
    ]
    return policy("Mutating", mutations=mutations, **({"reinvocationPolicy": "Never"} | spec))


def config_map(name: str, **fields: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, **fields}


def send(objects: list[Json], **data: str) -> StoredObject | RequestRefusal:
    return ApiServer(ObjectStore(objects)).send("create", config_map("c", data=data))


@pytest.mark.parametrize(
    ("name", "objects", "refused"),
    [
        ("What holds is let through", validating("object.data.a == '1'"), False),
        ("What does not hold is denied", validating("object.data.a == '2'"), True),
        ("Without rules every request is meant", validating("false", match={"resourceRules": []}), True),
        (
            "An excluded name is not asked about",
            validating("false", match={"excludeResourceRules": [{**RULE, "resourceNames": ["c"]}]}),
            False,
        ),
        (
            "What is in a namespace is not cluster-wide",
            validating("false", match={"resourceRules": [{**RULE, "scope": "Cluster"}]}),
            False,
        ),
        (
            "Of a namespace that nobody knows only the name is known",
            validating("false", match={"namespaceSelector": {"matchLabels": {"env": "prod"}}}),
            False,
        ),
        (
            "A condition that says no outweighs one that fails",
            validating(
                "false",
                matchConditions=[
                    {"name": "broken", "expression": "object.none == 1"},
                    {"name": "no", "expression": "false"},
                ],
            ),
            False,
        ),
        (
            "A variable that fails is an error",
            validating("variables.x == 1", variables=[{"name": "x", "expression": "object.none"}]),
            True,
        ),
        (
            "A variable that nobody looks at may fail",
            validating("true", variables=[{"name": "x", "expression": "object.none"}]),
            False,
        ),
        ("A policy that asks what users may do is not asked", validating("authorizer.group('').check()"), False),
        ("What an expression makes of a format", validating("!format.uuid().validate('x').hasValue()"), True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_validating_policy(name: str, objects: list[Json], refused: bool) -> None:
    assert isinstance(send(objects, a="1"), RequestRefusal) is refused


@pytest.mark.parametrize(
    ("name", "objects", "data"),
    [
        (
            "A configuration adds to a map",
            mutating("Object{data: {'b': '2'}}"),
            {"a": "1", "b": "2"},
        ),
        (
            "A patch adds and removes",
            mutating("[JSONPatch{op: 'add', path: '/data/b', value: 'x'}, JSONPatch{op: 'remove', path: '/data/a'}]"),
            {"b": "x"},
        ),
        (
            "A later mutation sees what an earlier one has done",
            mutating("Object{data: {'b': '2'}}", "Object{data: {'c': object.data.b}}"),
            {"a": "1", "b": "2", "c": "2"},
        ),
        (
            "A patch that tests in vain does nothing",
            mutating("[JSONPatch{op: 'test', path: '/data/a', value: 'x'}, JSONPatch{op: 'remove', path: '/data/a'}]"),
            {"a": "1"},
        ),
        (
            "What fails is passed over where the policy says so",
            mutating("Object{data: {'b': object.none}}", failurePolicy="Ignore"),
            {"a": "1"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mutating_policy(name: str, objects: list[Json], data: Json) -> None:
    answer = send(objects, a="1")
    assert isinstance(answer, StoredObject), answer
    assert answer.object["data"] == data


def test_the_parts_of_an_object_are_called_as_the_path_to_them() -> None:
    answer = send(mutating("Object{metadata: Object.spec{labels: {'a': 'b'}}}"))
    assert isinstance(answer, RequestRefusal)
    assert 'type mismatch: unexpected type name "Object.spec", expected "Object.metadata"' in answer.message


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ({"op": "remove", "path": "/b"}, "error in remove for path: '/b': Unable to remove nonexistent key: b"),
        (
            {"op": "add", "path": "/list/7", "value": 1},
            "error in add for path: '/list/7': Unable to access invalid index",
        ),
        (
            {"op": "replace", "path": "/list/7", "value": 1},
            "replace operation does not apply: doc is missing key: /list/7",
        ),
        ({"op": "move", "path": "/x", "from": "/none/x"}, "move operation does not apply: doc is missing from path"),
    ],
)
def test_a_patch_that_cannot_be_applied(operation: Json, problem: str) -> None:
    with pytest.raises(PatchError) as raised:
        apply_json_patch({"a": 1, "list": [1]}, [operation])
    assert str(raised.value).startswith(f"JSON Patch: {problem}")


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


OF_ALL_PODS: Json = {"dnsPolicy": "ClusterFirst", "securityContext": {}}


@pytest.mark.parametrize(
    ("name", "obj", "seen_as"),
    [
        (
            "What is given as zero is there only behind a pointer",
            POD | {"spec": {"hostNetwork": False, "priority": 0, "containers": [], "nodeSelector": {}, "affinity": {}}},
            {"priority": 0, "containers": [], "affinity": {}, **OF_ALL_PODS},
        ),
        (
            "A list that Go always writes is null without items",
            POD | {"spec": {}},
            {"containers": None, **OF_ALL_PODS},
        ),
        (
            "What the API server fills in is there, and an amount is a text as Go writes it",
            POD | {"spec": {"containers": [{"name": "c", "image": "a", "resources": {"requests": {"cpu": 1}}}]}},
            {
                "containers": [
                    {
                        "name": "c",
                        "image": "a",
                        "resources": {"requests": {"cpu": "1"}},
                        "imagePullPolicy": "Always",
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                    }
                ],
                **OF_ALL_PODS,
            },
        ),
        (
            "Structs are written, and in them what always is",
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {}, "spec": {"replicas": 0}},
            {
                "replicas": 0,
                "selector": None,
                "serviceName": "",
                "template": {"metadata": {}, "spec": {"containers": None, **OF_ALL_PODS}},
                "updateStrategy": {},
                "revisionHistoryLimit": 10,
            },
        ),
        (
            "A number of ports or a name is never empty",
            {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"ports": [{"port": 0}]}},
            {"ports": [{"port": 0, "targetPort": 0}]},
        ),
    ],
)
def test_expressions_see_fields_as_go_writes_them(name: str, obj: Json, seen_as: Json) -> None:
    assert to_unstructured(obj)["spec"] == seen_as


def test_an_object_that_go_has_no_type_for_is_seen_as_it_is() -> None:
    obj: Json = {"apiVersion": "example.com/v1", "kind": "Pod", "spec": {"on": False, "list": []}}
    assert to_unstructured(obj) is obj


def test_a_status_has_the_counts_that_are_always_written() -> None:
    obj: Json = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {}, "spec": {}}
    assert to_unstructured(obj)["status"] == {"replicas": 0, "availableReplicas": 0}


def test_whoever_asks_the_authorizer_is_found_at_any_depth() -> None:
    assert asks_authorizer("[1].all(x, {'a': [authorizer.path('/').check('get').allowed()]}['a'][0])")
    assert not asks_authorizer("object.authorizer == 'authorizer'")


@pytest.mark.parametrize(
    "expression",
    [
        "object.data.a == 'good'",
        "object['data']['a'] == 'good'",
        "object.?data.?a.orValue('') == 'good'",
        "has(object.data.b) ? false : object.data.a == 'good'",
        "variables.whole.data.a == 'good'",
        "[object].all(o, o.data.a == 'good')",
        "request.name != 'c2'",
        "object.data.exists(object, object != 'good') ? object.data.a == 'good' : request.name != 'c2'",
    ],
)
def test_an_expression_is_asked_again_where_what_it_reads_differs(expression: str) -> None:
    variables = [{"name": "whole", "expression": "object"}]
    policies = policy(validations=[{"expression": expression}], variables=variables)
    configs = {"c": {"a": "good"}, "c1": {"a": "good"}, "c2": {"a": "bad", "b": ""}}
    server = ApiServer(ObjectStore(policies))
    answers = {
        name: server.send(
            "create",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, "data": data},
        )
        for name, data in configs.items()
    }
    assert [type(answer) for answer in answers.values()] == [StoredObject, StoredObject, RequestRefusal]


def test_a_message_names_each_object_that_is_denied() -> None:
    text = {"expression": "false", "messageExpression": "object.metadata.name + ' of ' + string(object.data.size())"}
    server = ApiServer(ObjectStore(policy(validations=[text])))
    for name in ("one", "two"):
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "n"},
            "data": {"a": "1"},
        }
        answer = server.send("create", config)
        assert isinstance(answer, RequestRefusal)
        assert answer.message.endswith(f"denied request: {name} of 1")


def test_a_policy_that_is_changed_is_asked_as_it_is_now() -> None:
    world = ObjectStore(validating("true"))
    server = ApiServer(world)
    config = config_map("c")
    assert isinstance(server.send("create", config), StoredObject)
    for obj in validating("false"):
        world.put(obj)
    world.remove("ConfigMap", "n", "c")
    assert isinstance(server.send("create", config), RequestRefusal)


def test_a_resource_is_called_as_its_definition_calls_it() -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Redis", "plural": "redis"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [served]}
    definition = {"kind": "CustomResourceDefinition", "metadata": {"name": "redis.example.com"}, "spec": spec}
    rule = {**RULE, "apiGroups": ["example.com"], "resources": ["redis"]}
    world = ObjectStore(
        [definition, *validating("request.resource.resource != 'redis'", match={"resourceRules": [rule]})]
    )
    obj = {"apiVersion": "example.com/v1", "kind": "Redis", "metadata": {"name": "r", "namespace": "n"}}
    assert isinstance(ApiServer(world).send("create", obj), RequestRefusal)
