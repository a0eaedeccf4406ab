"""Validation of the schemas in CustomResourceDefinitions: structural schemas, defaults, CEL rules.

Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, pkg/apiserver/schema (validation.go,
convert.go, defaulting/validation.go). The cost of CEL rules is not estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kwhatif.admission.custom.definition import FieldNotFound, field_at
from kwhatif.admission.custom.formats import is_recognised
from kwhatif.admission.custom.schema_rules import asks_for_old, rule_program
from kwhatif.admission.custom.schemas import against_schema, note
from kwhatif.admission.other_kinds.definition_judgements import check_judgements, judgements
from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section
from kwhatif.cel.declarations import BOOL, STRING

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_OF_METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_ATOMIC = "must be atomic as item of a list with x-kubernetes-list-type=set"
_UNKNOWN = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
"""Words of JSON Schema that definitions do without."""
_BESIDE_STATUS = frozenset(
    {
        *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        *("maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required"),
        *("items", "properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields"),
        "x-kubernetes-validations",
    }
)
"""What a schema may have at its root where the status is judged by itself."""
_NAMES_AT_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_HEAD = ("metadata", "kind", "apiVersion")
_BREAKS = re.compile(r"[\n\r]")


def check_schema(problems: Problems, schema: Object, path: str, *, status: bool) -> None:
    """What is wrong with the schema of whole objects; ``status``: whether theirs is written elsewhere."""
    if status:
        _check_root(problems, schema, path)
    if schema.get("nullable"):
        problems.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    begun = len(problems.causes)
    known = _is_known(schema)
    if known:
        _check_structure(problems, schema, path, root=True)
        problems.causes[begun:] = sorted(problems.causes[begun:], key=lambda c: f"{c.field}: {c.message}")
        if len(problems.causes) == begun:
            _check_defaults(problems, schema, path)
    structural = known and len(problems.causes) == begun
    before = len(problems.causes)
    _check_words(problems, schema, path, root=True)
    if structural and len(problems.causes) == before:
        _check_rules(problems, schema, path, root=True)


def _check_root(problems: Problems, schema: Object, path: str) -> None:
    enabled = "if the status subresource is enabled"
    if (schema.get("type") or "object") != "object":
        why = f'only "object" is allowed as the type at the root of the schema {enabled}'
        problems.invalid(f"{path}.type", schema["type"], why)
    elif any(value and key not in _BESIDE_STATUS for key, value in schema.items()):
        why = f"only [{_NAMES_AT_ROOT}] fields are allowed at the root of the schema {enabled}"
        problems.invalid(path, schema, why)


def _is_known(schema: Object) -> bool:
    """Whether nothing in a schema keeps it from being read as the structure of objects."""
    if any(schema.get(word) for word in _UNKNOWN) or isinstance(schema.get("items"), list):
        return False
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return False
    return all(_is_known(inner) for inner, _ in (*_inner(schema, ""), *judgements(schema, "")))


def unknown_formats(schema: Object) -> Iterator[str]:
    """The formats in a schema that the API server does not check."""
    name = str(schema.get("format") or "")
    if name and not is_recognised(name, str(schema.get("type") or "")):
        yield name
    for inner, _ in (*_inner(schema, ""), *judgements(schema, "")):
        yield from unknown_formats(inner)


def _inner(schema: Object, path: str) -> Iterator[tuple[Object, str]]:
    """The schemas of what is in a value."""
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{path}.additionalProperties"
    for key, inner in section(schema, "properties").items():
        yield inner or {}, f"{path}.properties[{key}]"
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{path}.items"


# --- words


def _check_words(problems: Problems, schema: Object, path: str, *, root: bool = False, meta: str | None = None) -> None:
    """``meta``: inside of ``metadata``; where no default may be, the reason, else empty."""
    type_ = schema.get("type")
    if type_ and type_ not in _TYPES:
        problems.not_supported(f"{path}.type", type_, _TYPES)
    if meta and schema.get("default") is not None:
        problems.forbidden(f"{path}.default", f"must not be set {meta}")
    for word in _UNKNOWN:
        if schema.get(word):
            problems.forbidden(f"{path}.{word}", f"{word} is not supported")
    if type_ == "null":
        problems.forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        problems.forbidden(f"{path}.items", "items must be a schema object and not an array")
        return
    if meta is not None and schema.get("x-kubernetes-embedded-resource"):
        problems.forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        problems.forbidden(f"{path}.uniqueItems", why)
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        why = "additionalProperties and properties are mutual exclusive"
        problems.forbidden(f"{path}.additionalProperties", why)
    whole = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for inner, where in _inner(schema, path):
        key = where.removeprefix(f"{path}.properties[").removesuffix("]")
        within = meta
        if whole and key in _HEAD:
            within = f"in top-level {key}" if root else meta or ""
        elif meta is not None and where.endswith(".additionalProperties"):
            within = "inside additionalProperties applying to object metadata"
        _check_words(problems, inner, where, meta=within)
    for inner, where in judgements(schema, path):
        _check_words(problems, inner, where, meta=meta)
    _check_lists(problems, schema, path)
    _check_rule_fields(problems, schema, path)


def _check_lists(problems: Problems, schema: Object, path: str) -> None:
    type_, kind = schema.get("type"), schema.get("x-kubernetes-list-type")
    keys, items = schema.get("x-kubernetes-list-map-keys") or [], schema.get("items")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        problems.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    for value, name, wanted in (
        (schema.get("x-kubernetes-map-type"), "x-kubernetes-map-type", "object"),
        (kind, "x-kubernetes-list-type", "array"),
    ):
        if value is not None and type_ != wanted:
            why = f"must be {wanted} if {name} is specified"
            if type_:
                problems.invalid(f"{path}.type", type_, why)
            else:
                problems.required(f"{path}.type", why)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and map_type not in ("atomic", "granular"):
        problems.not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
    if kind is not None and kind not in ("atomic", "set", "map"):
        problems.not_supported(f"{path}.x-kubernetes-list-type", kind, ("atomic", "set", "map"))
    if keys and kind != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        if kind is None:
            problems.required(f"{path}.x-kubernetes-list-type", why)
        else:
            problems.invalid(f"{path}.x-kubernetes-list-type", kind, why)
    if kind == "set" and type_ == "array":
        _check_set(problems, items or {}, path)
    if kind in ("set", "map") and (items or {}).get("nullable"):
        problems.forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {kind}")
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


def _check_set(problems: Problems, items: Object, path: str) -> None:
    """The items of a list of type set have to be atomic."""
    list_type = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        problems.invalid(f"{path}.items.x-kubernetes-list-type", list_type, _ATOMIC)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        problems.invalid(f"{path}.items.x-kubernetes-map-type", list_type, _ATOMIC)


def _check_map_keys(problems: Problems, keys: list[str], items: Object, path: str) -> None:
    where, seen, properties = f"{path}.x-kubernetes-list-map-keys", set(), section(items, "properties")
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
        field = properties.get(key)
        if field is not None and key not in required and field.get("default") is None:
            why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            problems.required(f"{path}.items.properties[{key}].default", why)
        if (field or {}).get("nullable"):
            why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            problems.forbidden(f"{path}.items.properties[{key}].nullable", why)


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
        expression = str(rule.get("messageExpression") or "")
        if expression and not expression.strip():
            problems.required(f"{where}.messageExpression", "messageExpression must be non-empty if specified")
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            problems.not_supported(f"{where}.reason", rule["reason"], _REASONS)
        place = str(rule.get("fieldPath") or "")
        if place and not place.strip():
            problems.invalid(f"{where}.fieldPath", place, "must be non-empty if specified")
        if _BREAKS.search(place):
            problems.invalid(f"{where}.fieldPath", place, "must not contain line breaks")
        if place and not _leads_somewhere(place, schema):
            problems.invalid(f"{where}.fieldPath", place, "must be a valid path")


def _leads_somewhere(path: str, schema: Object) -> bool:
    try:
        field_at(path, schema)
    except FieldNotFound:
        return False
    return True


# --- structure


def _check_structure(problems: Problems, schema: Object, path: str, *, root: bool = False) -> None:
    """Every field has a type, where it is not left open, and what only judges values defines none."""
    type_, embedded = schema.get("type"), bool(schema.get("x-kubernetes-embedded-resource"))
    loose, free = schema.get("x-kubernetes-int-or-string"), schema.get("x-kubernetes-preserve-unknown-fields")
    if embedded and type_ != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        if type_:
            problems.invalid(f"{path}.type", type_, why)
        else:
            problems.required(f"{path}.type", why)
    elif not type_ and not loose and not free:
        what = "array items" if path.endswith(".items") else "object fields"
        empty = "must not be empty at the root" if root else f"must not be empty for specified {what}"
        problems.required(f"{path}.type", empty)
    if root and type_ and type_ != "object":
        problems.invalid(f"{path}.type", type_, "must be object at the root")
    if type_ == "array" and schema.get("items") is None:
        problems.required(f"{path}.items", "must be specified")
    if root and schema.get("additionalProperties") is not None:
        problems.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    for wrong, key in ((free, "preserve-unknown-fields"), (embedded, "embedded-resource")):
        if loose and wrong:
            why = "must be false if x-kubernetes-int-or-string is true"
            problems.invalid(f"{path}.x-kubernetes-{key}", True, why)
    if embedded:
        _check_embedded(problems, schema, path)
    if root or embedded:
        _check_head(problems, section(schema, "properties"), path, root=root)
    check_judgements(problems, schema, path)
    for inner, where in _inner(schema, path):
        _check_structure(problems, inner, where)


def _check_embedded(problems: Problems, schema: Object, path: str) -> None:
    """An embedded resource."""
    if schema.get("additionalProperties") is not None:
        why = "must not be used if x-kubernetes-embedded-resource is set"
        problems.forbidden(f"{path}.additionalProperties", why)
    if not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
        unless = "without x-kubernetes-preserve-unknown-fields"
        problems.required(f"{path}.properties", f"must not be empty if x-kubernetes-embedded-resource is true {unless}")


def _check_head(problems: Problems, properties: Object, path: str, *, root: bool) -> None:
    """``apiVersion``, ``kind`` and ``metadata``."""
    for key, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        field = properties.get(key)
        if field is not None and field.get("type") != wanted:
            problems.invalid(f"{path}.properties[{key}].type", field.get("type") or "", f"must be {wanted}")
    metadata = properties.get("metadata")
    if metadata is not None and root:
        fields = {key: value for key, value in metadata.items() if key not in ("type", "default")}
        inner = fields.pop("properties", None) or {}
        if fields or not inner.keys() <= {"name", "generateName"}:
            problems.forbidden(f"{path}.properties[metadata]", _OF_METADATA)


def _check_defaults(problems: Problems, schema: Object, path: str) -> None:
    """A default must be what its own schema lets in."""
    default = schema.get("default")
    if default is not None:
        note(problems, against_schema(default, schema, f"{path}.default"))
    for inner, where in _inner(schema, path):
        _check_defaults(problems, inner, where)


def _check_rules(problems: Problems, schema: Object, path: str, *, root: bool = False, listed: str = "") -> None:
    """``listed``: the path of the innermost list whose items have no old version to compare with, if there is one."""
    for inner, where in _inner(schema, path):
        lost = where == f"{path}.items" and schema.get("x-kubernetes-list-type") != "map"
        _check_rules(problems, inner, where, listed=listed or (path if lost else ""))
    shape = {key: value for key, value in schema.items() if key != "x-kubernetes-validations"}
    for i, rule in enumerate(each(schema, "x-kubernetes-validations")):
        where, optional = f"{path}.x-kubernetes-validations[{i}]", bool(rule.get("optionalOldSelf"))
        for key, wanted in (("rule", BOOL), ("messageExpression", STRING)):
            text = str(rule.get(key) or "")
            program = rule_program(text, shape, wanted, root=root, optional=optional) if text.strip() else None
            if isinstance(program, str):
                problems.invalid(f"{where}.{key}", _in_go(rule), program)
        text = str(rule.get("rule") or "")
        if asks_for_old(text) and listed:
            why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {listed}"
            problems.invalid(f"{where}.rule", text, why)
        elif not asks_for_old(text) and rule.get("optionalOldSelf") is not None:
            problems.invalid(f"{where}.optionalOldSelf", optional, "may not be set if oldSelf is not used in rule")


def _in_go(rule: Object) -> dict[str, Any]:
    """A rule as the server prints it."""
    texts = {key: rule.get(key[0].lower() + key[1:]) or "" for key in ("Rule", "Message", "MessageExpression")}
    return {
        **texts,
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
