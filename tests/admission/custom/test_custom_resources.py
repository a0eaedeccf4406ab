"""Custom resources: branches that no recorded case shows."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer

Json = dict[str, Any]


def definition(inner: Json, **version: Any) -> Json:
    root = {"type": "object", "properties": {"spec": {"type": "object", **inner}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}, **version}]
    names = {"plural": "gears", "singular": "gear", "kind": "Gear", "listKind": "GearList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gears.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions},
    }


def send(schema: Json, spec: Json, old: Json | None = None, verb: str = "create") -> StoredObject | RequestRefusal:
    def gear(spec: Json) -> Json:
        metadata = {"name": "g", "namespace": "n"}
        return {"apiVersion": "example.com/v1", "kind": "Gear", "metadata": metadata, "spec": spec}

    world = ObjectStore([definition(schema), *([gear(old)] if old is not None else [])])
    return ApiServer(world).send(verb, gear(spec))


def fields(**schemas: Json) -> Json:
    return {"properties": schemas}


def rule(text: str, **more: Any) -> Json:
    return {"x-kubernetes-validations": [{"rule": text, **more}]}


@pytest.mark.parametrize(
    ("name", "schema", "spec", "problem"),
    [
        ("One of any", fields(a={"anyOf": [{"type": "string"}, {"type": "integer"}]}), {"a": True}, "(anyOf)"),
        ("All of all", fields(a={"type": "integer", "allOf": [{"minimum": 3}]}), {"a": 1}, "(allOf). None validated"),
        ("None of what must not be", fields(a={"type": "string", "not": {"enum": ["x"]}}), {"a": "x"}, "(not)"),
        ("Whole numbers", fields(a={"type": "integer"}), {"a": 1.5}, 'must be of type integer: "number"'),
        ("A float that is whole is one", fields(a={"type": "integer"}), {"a": 2.0}, ""),
        ("An address", fields(a={"type": "string", "format": "ipv4"}), {"a": "1.2.3"}, 'of type ipv4: "1.2.3"'),
        ("No mail address", fields(a={"type": "string", "format": "email"}), {"a": "x"}, 'of type email: "x"'),
        ("A host", fields(a={"type": "string", "format": "hostname"}), {"a": "bücher.example"}, ""),
        ("No host", fields(a={"type": "string", "format": "hostname"}), {"a": "a_b.example"}, 'of type hostname: "a_b'),
        (
            "No name",
            fields(a={"type": "string", "format": "k8s-short-name"}),
            {"a": "A"},
            'of type k8s-short-name: "A"',
        ),
        ("A book", fields(a={"type": "string", "format": "isbn"}), {"a": "978-0321751041"}, ""),
        ("No book", fields(a={"type": "string", "format": "isbn10"}), {"a": "0321751044"}, "of type isbn10"),
        ("A duration", fields(a={"type": "string", "format": "duration"}), {"a": "1h"}, ""),
        (
            "Too few items",
            fields(a={"type": "array", "minItems": 1, "items": {"type": "string"}}),
            {"a": []},
            "at least 1",
        ),
        (
            "A field whose name is a word of the language",
            fields(namespace={"type": "string"}) | rule("self.__namespace__ == 'x'"),
            {"namespace": "y"},
            "spec: Invalid value: failed rule: self.__namespace__ == 'x'",
        ),
        (
            "A word of the language is a field as it is, too",
            fields(namespace={"type": "string"}) | rule("has(self.namespace) && self.namespace == 'x'"),
            {"namespace": "x"},
            "",
        ),
        (
            "Rules wait until the rest is right",
            fields(a={"type": "string"}) | rule("self.a == 'x'"),
            {"a": 1},
            "some validation rules were not checked",
        ),
        (
            "A time is one in a rule",
            fields(t={"type": "string", "format": "date-time"}) | rule("self.t.getFullYear() > 2000"),
            {"t": "1999-01-01T00:00:00Z"},
            "failed rule",
        ),
        (
            "An object within an object",
            fields(o={"type": "object", "x-kubernetes-embedded-resource": True}),
            {"o": {"kind": "X"}},
            "spec.o.apiVersion: Required value",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_a_new_resource(name: str, schema: Json, spec: Json, problem: str) -> None:
    answer = send(schema, spec)
    if problem:
        assert isinstance(answer, RequestRefusal)
        assert problem in answer.message
    else:
        assert isinstance(answer, StoredObject), answer


def test_what_an_update_leaves_as_it_was_is_not_refused() -> None:
    schema = fields(a={"type": "integer", "maximum": 3}, b={"type": "integer"})
    assert isinstance(send(schema, {"a": 9, "b": 2}, {"a": 9, "b": 1}, "apply"), StoredObject)
    assert isinstance(send(schema, {"a": 8, "b": 1}, {"a": 9, "b": 1}, "apply"), RequestRefusal)


def test_defaults_are_filled_in_at_every_depth() -> None:
    inner = {"type": "object", "default": {}, "properties": {"x": {"type": "integer", "default": 7}}}
    answer = send(fields(o=inner), {})
    assert isinstance(answer, StoredObject)
    assert answer.object["spec"] == {"o": {"x": 7}}


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("No storage version", {"storage": False}, "must have exactly one version marked as storage version"),
        ("A warning of what is not deprecated", {"deprecationWarning": "x"}, "can only be set for deprecated versions"),
        ("A schema is needed", {"schema": {}}, "spec.versions[0].schema.openAPIV3Schema: Required value"),
        ("A list says what it holds", {"type": "array"}, "items: Required value: must be specified"),
        (
            "Keys are fields of the items",
            {
                "type": "array",
                "items": {"type": "object"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["id"],
            },
            "entries must all be names of item properties",
        ),
        (
            "Fields by name or by anything",
            {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            "A default is a value of its schema",
            {"type": "string", "default": 1},
            "properties[a].default in body must be of type string",
        ),
        (
            "A default is not completed before it is judged",
            {
                "type": "object",
                "default": {},
                "required": ["x"],
                "properties": {"x": {"type": "string", "default": ""}},
            },
            "properties[a].default.x: Required value",
        ),
        ("A rule gives yes or no", {"type": "string", **rule("self + 'x'")}, "cel expression must evaluate to a bool"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_definition_that_is_wrong(name: str, change: Json, problem: str) -> None:
    found = definition(fields(a=change)) if "type" in change else definition({}, **change)
    answer = ApiServer(ObjectStore([])).send("create", found)
    assert isinstance(answer, RequestRefusal)
    assert problem in answer.message


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("", "Required value: protected groups must have approval annotation"),
        ("yes", 'with either a URL or a reason starting with "unapproved"'),
        ("unapproved, an experiment", ""),
        ("https://github.com/kubernetes/enhancements/pull/1", ""),
    ],
)
def test_groups_of_kubernetes_own_need_an_approval(said: str, problem: str) -> None:
    found = definition({})
    name = found["spec"]["names"]["plural"]
    found["spec"]["group"] = "shop.k8s.io"
    found["metadata"] |= {"name": f"{name}.shop.k8s.io", "annotations": {"api-approved.kubernetes.io": said}}
    answer = ApiServer(ObjectStore([])).send("create", found)
    assert problem in answer.message if isinstance(answer, RequestRefusal) else not problem


def test_the_schema_of_metadata_is_given() -> None:
    found = definition({})
    schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}
    assert isinstance(ApiServer(ObjectStore([])).send("create", found), StoredObject)
    schema["properties"]["metadata"]["properties"]["labels"] = {"type": "object"}
    answer = ApiServer(ObjectStore([])).send("create", found)
    assert isinstance(answer, RequestRefusal)
    assert "properties[metadata]: Forbidden: must not specify anything other than name" in answer.message


def test_a_kind_of_a_group_that_other_servers_often_serve_is_not_judged() -> None:
    world = ObjectStore([])
    world.cover("CustomResourceDefinition")
    server = ApiServer(world)
    assert not server.judges({"apiVersion": "route.openshift.io/v1", "kind": "Route"})
    assert server.judges({"apiVersion": "example.com/v1", "kind": "Gear"})
    assert not ApiServer(ObjectStore([])).judges({"apiVersion": "example.com/v1", "kind": "Gear"})
