"""Definitions of custom resources: what the server refuses of them, by field."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kwhatif.admission.response import RequestRefusal, StoredObject
from tests.admission.objects import in_cluster, server

Json = dict[str, Any]

TEXT = {"type": "string"}
VERSION = "apiextensions.k8s.io/v1"
SCHEMA = "spec.validation.openAPIV3Schema"
SPEC = f"{SCHEMA}.properties[spec]"


def definition(schema: Json | None = None, version: Json | None = None, **spec: Any) -> Json:
    """One of the kind Gear with one version; ``schema`` is that of its spec."""
    whole = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": TEXT}, **(schema or {})}}}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}, **(version or {})}
    names = {"kind": "Gear", "plural": "gears"}
    fields = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [served], **spec}
    return in_cluster("CustomResourceDefinition", "gears.example.com", VERSION, spec=deepcopy(fields))


def listed(item: Json, kind: str = "set", **more: Any) -> Json:
    return definition({"properties": {"a": {"type": "array", "items": item, "x-kubernetes-list-type": kind, **more}}})


def ruled(**rule: Any) -> Json:
    return definition({"x-kubernetes-validations": [{"rule": "self.a != ''", **rule}]})


def webhook(**fields: Any) -> Json:
    return definition(conversion={"strategy": "Webhook", "webhook": fields})


CLIENT = {"service": {"name": "hook", "namespace": "default", "path": "/convert"}}
OBJECT = {"type": "object", "properties": {"a": TEXT}}

TAKEN: list[tuple[str, Json]] = [
    ("nothing special", definition()),
    ("a conversion", webhook(clientConfig=CLIENT, conversionReviewVersions=["v1"])),
    (
        "columns",
        definition(version={"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}]}),
    ),
    ("a field to select by", definition(version={"selectableFields": [{"jsonPath": ".spec.a"}]})),
    ("a rule's field", ruled(fieldPath=".a")),
    ("a set of atoms", listed({**OBJECT, "x-kubernetes-map-type": "atomic"})),
    ("no more properties", definition({"properties": None, "additionalProperties": False})),
    (
        "either of two types",
        definition({"properties": {"a": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, TEXT]}}}),
    ),
    ("one of two fields", definition({"oneOf": [{"required": ["a"]}, {"properties": {"a": {"minLength": 2}}}]})),
    (
        "a whole object inside",
        definition(
            {
                "properties": {
                    "a": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
                    }
                }
            }
        ),
    ),
]

REFUSED: list[tuple[str, Json, str, str]] = [
    ("a conversion by nobody", webhook(), "spec.conversion.webhookClientConfig", "when strategy is set to Webhook"),
    ("a conversion of nothing", webhook(clientConfig=CLIENT), "spec.conversion.conversionReviewVersions", "Required"),
    (
        "a client without a strategy",
        definition(conversion={"strategy": "None", "webhook": {"clientConfig": CLIENT}}),
        "spec.conversion.webhookClientConfig",
        "should not be set when strategy is not set to Webhook",
    ),
    (
        "a strategy there is not",
        definition(conversion={"strategy": "Both"}),
        "spec.conversion.strategy",
        '"None", "Webhook"',
    ),
    (
        "a column of no type",
        definition(version={"additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".spec.a"}]}),
        "spec.additionalPrinterColumns[0].type",
        "must be one of boolean,date,integer,number,string",
    ),
    (
        "a column of no path",
        definition(version={"additionalPrinterColumns": [{"name": "A", "type": "date", "jsonPath": "spec.a"}]}),
        "spec.additionalPrinterColumns[0].JSONPath",
        "must be a simple json path starting with .",
    ),
    (
        "a scale beside the spec",
        definition(
            version={"subresources": {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ".status.n"}}}
        ),
        "spec.subresources.scale.specReplicasPath",
        "should be a json path under .spec",
    ),
    (
        "a field that there is not to select by",
        definition(version={"selectableFields": [{"jsonPath": ".spec.b"}]}),
        "spec.selectableFields[0].jsonPath",
        "is an invalid path: does not refer to a valid field",
    ),
    (
        "an object to select by",
        definition(version={"selectableFields": [{"jsonPath": ".spec"}]}),
        "spec.selectableFields[0].jsonPath",
        "must point to a field of type string, boolean or integer",
    ),
    (
        "a rule's field that there is not",
        ruled(fieldPath=".b"),
        f"{SPEC}.x-kubernetes-validations[0].fieldPath",
        "valid path",
    ),
    (
        "no old value to be optional",
        ruled(optionalOldSelf=True),
        f"{SPEC}.x-kubernetes-validations[0].optionalOldSelf",
        "may not be set if oldSelf is not used in rule",
    ),
    (
        "what an item of a list was",
        listed({**TEXT, "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}, maxItems=3),
        f"{SPEC}.properties[a].items.x-kubernetes-validations[0].rule",
        "oldSelf cannot be used on the uncorrelatable portion of the schema within",
    ),
    ("a set of objects", listed(OBJECT), f"{SPEC}.properties[a].items.x-kubernetes-map-type", "must be atomic as item"),
    (
        "a set of what may be null",
        listed({**TEXT, "nullable": True}),
        f"{SPEC}.properties[a].items.nullable",
        "be nullable",
    ),
    (
        "a key that may be null",
        listed(
            {"type": "object", "required": ["a"], "properties": {"a": {**TEXT, "nullable": True}}},
            "map",
            **{"x-kubernetes-list-map-keys": ["a"]},
        ),
        f"{SPEC}.properties[a].items.properties[a].nullable",
        "so it cannot be nullable",
    ),
    (
        "a type in a choice",
        definition({"anyOf": [{"type": "object"}]}),
        f"{SPEC}.anyOf[0].type",
        "empty to be structural",
    ),
    (
        "a field that only a choice has",
        definition({"oneOf": [{"properties": {"b": {"minLength": 1}}}]}),
        f"{SPEC}.properties[b]",
        "because it is defined in spec.validation.openAPIV3Schema.properties[spec].oneOf[0].properties[b]",
    ),
    (
        "a reference",
        definition({"properties": {"a": {**TEXT, "$ref": "#/b"}}}),
        f"{SPEC}.properties[a].$ref",
        "not supported",
    ),
    (
        "a default in a name",
        definition(
            version={
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "metadata": {"type": "object", "properties": {"name": {**TEXT, "default": "a"}}}
                        },
                    }
                }
            }
        ),
        f"{SCHEMA}.properties[metadata].properties[name].default",
        "must not be set in top-level metadata",
    ),
    (
        "any field at the root",
        definition(version={"schema": {"openAPIV3Schema": {"type": "object", "additionalProperties": TEXT}}}),
        f"{SCHEMA}.additionalProperties",
        "must not be used at the root",
    ),
    (
        "a choice where the status is judged by itself",
        definition(
            version={
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "not": {"required": ["a"]}}},
            }
        ),
        SCHEMA,
        "fields are allowed at the root of the schema if the status subresource is enabled",
    ),
    (
        "an empty object inside",
        definition({"properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": True}}}),
        f"{SPEC}.properties[a].properties",
        "must not be empty if x-kubernetes-embedded-resource is true",
    ),
]


@pytest.mark.parametrize(("name", "obj"), TAKEN, ids=[name for name, _ in TAKEN])
def test_a_definition_is_taken(name: str, obj: Json) -> None:
    answer = server().send("create", obj)
    assert isinstance(answer, StoredObject), answer.message


@pytest.mark.parametrize(("name", "obj", "field", "words"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_a_definition_is_refused(name: str, obj: Json, field: str, words: str) -> None:
    answer = server().send("create", obj)
    assert isinstance(answer, RequestRefusal)
    assert any(cause.field == field and words in cause.message for cause in answer.causes), answer.message


def established(obj: Json) -> Json:
    status = {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]}
    return {**obj, "status": status}


@pytest.mark.parametrize(
    ("name", "after", "words"),
    [
        ("the kind", definition(names={"kind": "Wheel", "plural": "gears"}), "spec.names.kind"),
        ("the scope", definition(scope="Cluster"), "spec.scope"),
        ("a stored version", definition(version={"name": "v2"}), "missing from spec.versions; v1 was previously"),
    ],
)
def test_what_must_not_change_about_a_definition(name: str, after: Json, words: str) -> None:
    answer = server(established(definition())).send("", after)
    assert isinstance(answer, RequestRefusal)
    assert words in answer.message


def test_what_was_wrong_with_a_definition_may_stay() -> None:
    old = definition(preserveUnknownFields=True)
    assert isinstance(server().send("create", old), RequestRefusal)
    assert isinstance(server(established(old)).send("", old), StoredObject)
    assert isinstance(server(established(definition())).send("", old), RequestRefusal)


def test_formats_that_nobody_looks_at_are_warned_of_where_they_are_new() -> None:
    formed = definition({"properties": {"a": {**TEXT, "format": "date-time"}, "b": {**TEXT, "format": "phone"}}})
    told = ('unrecognized format "phone"',)
    assert server().send("create", formed).warnings == told
    assert server(established(formed)).send("", formed).warnings == ()
