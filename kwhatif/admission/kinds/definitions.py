"""Definitions of custom resources.

Upstream: apiextensions-apiserver/pkg/apis/apiextensions (v1/defaults.go, validation/validation.go),
pkg/apiserver/schema (structural.go, validation.go, defaulting/validation.go). What rules would cost is not estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.custom.schema_rules import rule_program
from kwhatif.admission.custom.schemas import against_schema, note
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.validation.name_rules import dns_1035_label, dns_subdomain
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.world import name_of
from kwhatif.cel.expression_types import BOOL, STRING
from kwhatif.cel.faults import Fault
from kwhatif.cel.patterns import search

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_OF_METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_MIXED = "may have mixed case, but should otherwise match: "
_APPROVED = "api-approved.kubernetes.io"
_WHY_APPROVED = "https://github.com/kubernetes/enhancements/pull/1111"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+")
_BREAKS = re.compile(r"[\n\r]")


def _defaults(request: Request, spec: Object) -> None:
    names = within(spec, "names")
    if not names.get("singular") and names.get("kind"):
        names["singular"] = str(names["kind"]).lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}


def _check(problems: Problems, obj: Object) -> None:
    spec = within(obj, "spec")
    names, group = spec.get("names") or {}, str(spec.get("group") or "")
    check_metadata(problems, obj)
    if name_of(obj) and name_of(obj) != f"{names.get('plural') or ''}.{group}":
        problems.invalid("metadata.name", name_of(obj), 'must be spec.names.plural+"."+spec.group')
    if not group:
        problems.required("spec.group")
    elif wrong := dns_subdomain(group):
        problems.invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        problems.invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope") or ""
    if not scope:
        problems.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        problems.unsupported("spec.scope", scope, ("Cluster", "Namespaced"))
    _check_approval(problems, obj, group)
    _check_versions(problems, spec)
    _check_names(problems, names)
    one = _common_schema(spec)
    if one is not None:
        _check_schemas(problems, one, "spec.validation.openAPIV3Schema")
    if spec.get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        problems.invalid("spec.preserveUnknownFields", True, why)


def _check_approval(problems: Problems, obj: Object, group: str) -> None:
    """Groups of Kubernetes' own are for what its community has approved."""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    said = str(((obj.get("metadata") or {}).get("annotations") or {}).get(_APPROVED) or "")
    path, must = f"metadata.annotations[{_APPROVED}]", f'protected groups must have approval annotation "{_APPROVED}"'
    if not said:
        problems.required(path, f"{must}, see {_WHY_APPROVED}")
    elif not said.startswith("unapproved") and not _ADDRESS.match(said):
        why = f'{must} with either a URL or a reason starting with "unapproved", see {_WHY_APPROVED}'
        problems.invalid(path, said, why)


def _common_schema(spec: Object) -> Object | None:
    """The schema that all versions have; it is told of as if it were written once."""
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in each(spec, "versions")]
    return schemas[0] if schemas and schemas[0] and all(schema == schemas[0] for schema in schemas) else None


def _check_versions(problems: Problems, spec: Object) -> None:
    versions = each(spec, "versions")
    common = _common_schema(spec)
    for i, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            problems.required(f"spec.versions[{i}].schema.openAPIV3Schema")
    names = [str(version.get("name") or "") for version in versions]
    for i, version in enumerate(versions):
        where = f"spec.versions[{i}]"
        if wrong := dns_1035_label(names[i]):
            problems.invalid(f"{where}.name", names[i], ",".join(wrong))
        warning = version.get("deprecationWarning")
        if warning is not None and not version.get("deprecated"):
            problems.invalid(f"{where}.deprecationWarning", warning, "can only be set for deprecated versions")
        elif warning is not None and len(warning.encode()) > 256:
            problems.invalid(f"{where}.deprecationWarning", warning, "must be <= 256 characters long")
        elif warning == "":
            problems.invalid(f"{where}.deprecationWarning", warning, "must not be an empty string")
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema and common is None:
            _check_schemas(problems, schema, f"{where}.schema.openAPIV3Schema")
    if len(set(names)) < len(names):
        problems.invalid("spec.versions", versions, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        problems.invalid("spec.versions", versions, "must have exactly one version marked as storage version")


def _check_names(problems: Problems, names: Object) -> None:
    for key in ("plural", "singular", "kind", "listKind"):
        if not names.get(key):
            problems.required(f"spec.names.{key}")
    for key in ("plural", "singular"):
        if names.get(key) and (wrong := dns_1035_label(names[key])):
            problems.invalid(f"spec.names.{key}", names[key], ",".join(wrong))
    for key in ("kind", "listKind"):
        if names.get(key) and (wrong := dns_1035_label(str(names[key]).lower())):
            problems.invalid(f"spec.names.{key}", names[key], _MIXED + ",".join(wrong))
    for key in ("shortNames", "categories"):
        for i, name in enumerate(names.get(key) or ()):
            if wrong := dns_1035_label(name):
                problems.invalid(f"spec.names.{key}[{i}]", name, ",".join(wrong))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        problems.invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")


# --- schemas


def _check_schemas(problems: Problems, schema: Object, path: str) -> None:
    """What is wrong with a schema; only of one that is right it is asked whether it is structural."""
    before = len(problems.causes)
    if schema.get("nullable"):
        problems.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    _check_schema(problems, schema, path)
    if len(problems.causes) == before:
        _check_structure(problems, schema, path, root=True)
    if len(problems.causes) == before:
        _check_rules(problems, schema, path, root=True)
    if len(problems.causes) == before:
        _check_defaults(problems, schema, path)


def _inner(schema: Object, path: str) -> Iterator[tuple[Object, str]]:
    """The schemas of what is in a value."""
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{path}.additionalProperties"
    for key, inner in (schema.get("properties") or {}).items():
        yield inner or {}, f"{path}.properties[{key}]"
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{path}.items"


def _check_schema(problems: Problems, schema: Object, path: str) -> None:
    type_, pattern = schema.get("type"), schema.get("pattern")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        problems.forbidden(f"{path}.uniqueItems", why)
    if schema.get("additionalProperties") is False:
        problems.forbidden(f"{path}.additionalProperties", "additionalProperties cannot be set to false")
    if type_ == "null":
        problems.forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    elif type_ and type_ not in _TYPES:
        problems.unsupported(f"{path}.type", type_, _TYPES)
    if pattern:
        try:
            search("", pattern)
        except Fault as fault:
            why = f"must be a valid regular expression, but isn't: {fault}"
            problems.invalid(f"{path}.pattern", pattern, why)
    if schema.get("properties") and isinstance(schema.get("additionalProperties"), dict):
        why = "additionalProperties and properties are mutual exclusive"
        problems.forbidden(f"{path}.additionalProperties", why)
    for inner, where in _inner(schema, path):
        _check_schema(problems, inner, where)
    _check_lists(problems, schema, path)
    _check_rule_fields(problems, schema, path)


def _check_lists(problems: Problems, schema: Object, path: str) -> None:
    type_, kind = schema.get("type"), schema.get("x-kubernetes-list-type")
    keys, items = schema.get("x-kubernetes-list-map-keys") or [], schema.get("items")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        problems.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    for found, name, wanted in (
        (schema.get("x-kubernetes-map-type"), "x-kubernetes-map-type", "object"),
        (kind, "x-kubernetes-list-type", "array"),
    ):
        if found is not None and type_ != wanted:
            why = f"must be {wanted} if {name} is specified"
            if type_:
                problems.invalid(f"{path}.type", type_, why)
            else:
                problems.required(f"{path}.type", why)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and map_type not in ("atomic", "granular"):
        problems.unsupported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
    if kind is not None and kind not in ("atomic", "set", "map"):
        problems.unsupported(f"{path}.x-kubernetes-list-type", kind, ("atomic", "set", "map"))
    if keys and kind != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        if kind is None:
            problems.required(f"{path}.x-kubernetes-list-type", why)
        else:
            problems.invalid(f"{path}.x-kubernetes-list-type", kind, why)
    if kind != "map":
        return
    if not keys:
        problems.required(f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        problems.required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    elif items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        problems.invalid(f"{path}.items.type", items.get("type") or "", why)
    else:
        _check_map_keys(problems, keys, items, path)


def _check_map_keys(problems: Problems, keys: list[str], items: Object, path: str) -> None:
    where, seen, properties = f"{path}.x-kubernetes-list-map-keys", set(), items.get("properties") or {}
    for key in keys:
        if key not in properties:
            problems.invalid(where, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            problems.invalid(f"{path}.items.properties[{key}].type", "object", why)
        if key in seen:
            problems.invalid(where, keys, "must not contain duplicate entries")
        seen.add(key)
    required = items.get("required") or ()
    for key in keys:
        found = properties.get(key)
        if found is not None and key not in required and found.get("default") is None:
            why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            problems.required(f"{path}.items.properties[{key}].default", why)


def _check_rule_fields(problems: Problems, schema: Object, path: str) -> None:
    for i, rule in enumerate(each(schema, "x-kubernetes-validations")):
        where = f"{path}.x-kubernetes-validations[{i}]"
        text, message = str(rule.get("rule") or "").strip(), str(rule.get("message") or "")
        if not text:
            problems.required(f"{where}.rule", "rule is not specified")
        elif message and not message.strip():
            problems.invalid(f"{where}.message", message, "message must be non-empty if specified")
        elif _BREAKS.search(message.strip()):
            problems.invalid(f"{where}.message", message, "message must not contain line breaks")
        elif _BREAKS.search(text) and not message.strip():
            problems.required(f"{where}.message", "message must be specified if rule contains line breaks")
        told = str(rule.get("messageExpression") or "")
        if told and not told.strip():
            problems.required(f"{where}.messageExpression", "messageExpression must be non-empty if specified")
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            problems.unsupported(f"{where}.reason", rule["reason"], _REASONS)


def _check_structure(problems: Problems, schema: Object, path: str, *, root: bool = False) -> None:
    """Every field has a type, where it is not left open."""
    type_ = schema.get("type")
    anything = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if root and type_ != "object":
        if type_:
            problems.invalid(f"{path}.type", type_, "must be object at the root")
        else:
            problems.required(f"{path}.type", "must not be empty at the root")
    elif not type_ and not anything:
        what = "array items" if path.endswith(".items") else "object fields"
        problems.required(f"{path}.type", f"must not be empty for specified {what}")
    if type_ == "array" and schema.get("items") is None:
        problems.required(f"{path}.items", "must be specified")
    if schema.get("x-kubernetes-embedded-resource") and type_ != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        problems.invalid(f"{path}.type", type_ or "", why)
    metadata = (schema.get("properties") or {}).get("metadata")
    if metadata is not None and (root or schema.get("x-kubernetes-embedded-resource")):
        told = {key: value for key, value in metadata.items() if key not in ("type", "description", "default")}
        properties = told.pop("properties", None) or {}
        if told or not properties.keys() <= {"name", "generateName"}:
            problems.forbidden(f"{path}.properties[metadata]", _OF_METADATA)
    for inner, where in _inner(schema, path):
        _check_structure(problems, inner, where)


def _check_defaults(problems: Problems, schema: Object, path: str) -> None:
    """A default must be what its own schema lets in."""
    default = schema.get("default")
    if default is not None:
        note(problems, against_schema(default, schema, f"{path}.default"))
    for inner, where in _inner(schema, path):
        _check_defaults(problems, inner, where)


def _check_rules(problems: Problems, schema: Object, path: str, *, root: bool = False) -> None:
    shape = {key: value for key, value in schema.items() if key != "x-kubernetes-validations"}
    for i, rule in enumerate(each(schema, "x-kubernetes-validations")):
        optional = bool(rule.get("optionalOldSelf"))
        for key, wanted in (("rule", BOOL), ("messageExpression", STRING)):
            text = str(rule.get(key) or "")
            found = rule_program(text, shape, wanted, root=root, optional=optional) if text.strip() else None
            if isinstance(found, str):
                problems.invalid(f"{path}.x-kubernetes-validations[{i}].{key}", _in_go(rule), found)
    for inner, where in _inner(schema, path):
        _check_rules(problems, inner, where)


def _in_go(rule: Object) -> dict[str, Any]:
    """A rule as the server prints it."""
    texts = {key: rule.get(key[0].lower() + key[1:]) or "" for key in ("Rule", "Message", "MessageExpression")}
    return {
        **texts,
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


STRATEGIES = {"CustomResourceDefinition": Strategy(defaults=_defaults, check=_check)}
