"""``x-kubernetes-validations``: CEL rules over the values that a schema describes.

Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel (compilation.go, validation.go, values.go). The cost budget
is kept for each rule, not for all rules of an object together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from kwhatif.admission.custom.formats import FORMATS
from kwhatif.admission.custom.schemas import MISSING, SchemaError, same
from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.cel.declarations import BOOL, DYN, INT, STRING, Kind, fits, list_of, map_of, optional_of
from kwhatif.cel.operators import NO_OVERLOAD
from kwhatif.cel.program import Program
from kwhatif.cel.standard import duration_of, timestamp_of
from kwhatif.cel.values import CompileError, Fault, Optional, OverBudget

_LIMIT = 1_000_000
# fmt: off
_KEYWORDS = frozenset([
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
    "loop", "package", "namespace", "return", "var", "void", "while",
])
# fmt: on
_SIGNS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_OLD = re.compile(r"\boldSelf\b")
_TEXT_FORMATS = {
    "byte": Kind("bytes"),
    "duration": Kind("google.protobuf.Duration"),
    "date": Kind("google.protobuf.Timestamp"),
    "date-time": Kind("google.protobuf.Timestamp"),
}


def _escape_field_name(name: str) -> str:
    """A field's name as CEL can spell it."""
    if name in _KEYWORDS:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda sign: _SIGNS[sign[0]], name)


def _names(name: str) -> set[str]:
    """All names of a field in CEL: a reserved word may also be written as it is, behind a dot."""
    return {_escape_field_name(name), name} if name in _KEYWORDS else {_escape_field_name(name)}


class _Types:
    """The types of a schema's values."""

    def __init__(self) -> None:
        self.fields: dict[str, dict[str, Kind]] = {}

    def kind_of_schema(self, schema: Object, *, root: bool = False) -> Kind:
        if schema.get("x-kubernetes-int-or-string"):
            return DYN
        match schema.get("type"):
            case "object":
                return self._object(schema, root)
            case "array":
                return list_of(self.kind_of_schema(section(schema, "items")))
            case "string":
                return _TEXT_FORMATS.get(str(schema.get("format")), STRING)
            case "integer":
                return INT
            case "number":
                return Kind("double")
            case "boolean":
                return BOOL
        return DYN

    def _fields(self, properties: Object) -> dict[str, Kind]:
        return {name: self.kind_of_schema(inner) for key, inner in properties.items() for name in _names(key)}

    def _object(self, schema: Object, root: bool) -> Kind:
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and not schema.get("properties"):
            return map_of(STRING, self.kind_of_schema(more))
        if schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
            return DYN
        fields = self._fields(section(schema, "properties"))
        if root or schema.get("x-kubernetes-embedded-resource"):
            # What a schema says of metadata besides may be asked for, too.
            declared = section(schema, "properties", "metadata", "properties")
            metadata = self._fields(declared) | {"name": STRING, "generateName": STRING}
            name = f"object.{len(self.fields)}"
            self.fields[name] = metadata
            fields |= {"apiVersion": STRING, "kind": STRING, "metadata": Kind(name)}
        name = f"object.{len(self.fields)}"
        self.fields[name] = fields
        return Kind(name)


def _value(value: Any, schema: Object, *, root: bool = False) -> Any:
    """A value as expressions see it."""
    if isinstance(value, dict):
        properties, more = section(schema, "properties"), schema.get("additionalProperties")
        if isinstance(more, dict) and not properties:
            return {key: _value(item, more) for key, item in value.items()}
        if not properties and not root:
            return value
        given_values = {
            name: _value(item, properties[key])
            for key, item in value.items()
            if key in properties
            for name in _names(key)
        }
        if root or schema.get("x-kubernetes-embedded-resource"):
            given_values |= {key: value[key] for key in ("apiVersion", "kind", "metadata") if key in value}
        return {key: item for key, item in given_values.items() if item is not None}
    if isinstance(value, list):
        return [_value(item, section(schema, "items")) for item in value]
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and schema.get("type") == "string":
        return _read_text(value, str(schema.get("format") or ""))
    return value


def _read_text(value: str, name: str) -> Any:
    try:
        match name:
            case "duration":
                return duration_of(value)
            case "date":
                return timestamp_of(f"{value}T00:00:00Z")
            case "date-time":
                return timestamp_of(value)
            case "byte":
                return value.encode()
    except Fault:
        pass
    return value


@lru_cache(maxsize=1024)
def _compile_rule(text: str, shown: str, root: bool, optional: bool) -> Program | str:
    types = _Types()
    kind = types.kind_of_schema(json.loads(shown), root=root)
    variables = {"self": kind, "oldSelf": optional_of(kind) if optional else kind}
    try:
        return Program(text, variables, types.fields, FORMATS)
    except CompileError as error:
        return f"compilation failed: {error}"


def rule_program(text: str, schema: Object, kind: Kind, *, root: bool = False, optional: bool = False) -> Program | str:
    """The expression of a rule or of its message, or what is wrong with it."""
    program = _compile_rule(text, json.dumps(schema, sort_keys=True), root, optional)
    if isinstance(program, Program) and not program.kind.loose and not fits(program.kind, kind, {}):
        return "cel expression must evaluate to a bool" if kind == BOOL else "must evaluate to a string"
    return program


def asks_for_old(text: str) -> bool:
    """Whether an expression reads ``oldSelf`` (a transition rule)."""
    return _OLD.search(text) is not None


def has_rules(schema: Any) -> bool:
    """Whether a schema has rules anywhere."""
    if isinstance(schema, dict):
        if schema.get("x-kubernetes-validations"):
            return True
        inner = [*section(schema, "properties").values(), schema.get("items"), schema.get("additionalProperties")]
        return any(map(has_rules, (*inner, *(schema.get("allOf") or ()))))
    return False


def broken_rules(
    value: Any, schema: Object, path: str = "", old: Any = MISSING, *, root: bool = True
) -> Iterator[SchemaError]:
    """The rules that do not hold for a value and what is in it."""
    if value is None:
        return
    old = MISSING if old is None else old
    if schema.get("x-kubernetes-validations"):
        yield from _own(value, schema, path, old, root=root)
    for inner in schema.get("allOf") or ():
        if inner.get("x-kubernetes-validations"):
            typed = {**schema, "x-kubernetes-validations": inner["x-kubernetes-validations"]}
            yield from _own(value, typed, path, old, root=root)
    if isinstance(value, dict):
        properties, more = section(schema, "properties"), schema.get("additionalProperties")
        before = old if isinstance(old, dict) else {}
        for key, item in value.items():
            if key in properties:
                earlier = before.get(key, MISSING)
                yield from broken_rules(item, properties[key], f"{path}.{key}", earlier, root=False)
            elif isinstance(more, dict):
                yield from broken_rules(item, more, f"{path}[{key}]", before.get(key, MISSING), root=False)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        matching = _matching(schema, old)
        for i, item in enumerate(value):
            yield from broken_rules(item, schema["items"], f"{path}[{i}]", matching(item), root=False)


def _matching(schema: Object, old: Any) -> Callable[[Any], Any]:
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return lambda item: MISSING
    by_key = {json.dumps([one.get(key) for key in keys]): one for one in old if isinstance(one, dict)}
    return lambda item: by_key.get(json.dumps([item.get(key) for key in keys]), MISSING)


def _own(value: Any, schema: Object, path: str, old: Any, *, root: bool) -> Iterator[SchemaError]:
    kind = str(schema.get("type") or "")
    shape = {key: item for key, item in schema.items() if key != "x-kubernetes-validations"}
    seen = _value(value, schema, root=root)
    for rule in part_of(schema, "x-kubernetes-validations"):
        text, optional = str(rule.get("rule") or ""), bool(rule.get("optionalOldSelf"))
        transition = asks_for_old(text)
        if transition and old is MISSING and not optional:
            continue
        program = rule_program(text, shape, BOOL, root=root, optional=optional)
        if isinstance(program, str):
            # The definition is stored, so that a server has understood it.
            continue
        values = {"self": seen}
        if optional:
            values["oldSelf"] = Optional(there=False) if old is MISSING else Optional(_value(old, schema, root=root))
        elif old is not MISSING:
            values["oldSelf"] = _value(old, schema, root=root)
        name = str(rule.get("message") or text).strip()
        try:
            if program.evaluate(values, _LIMIT) is True:
                continue
        except Fault as fault:
            words = f"{fault} evaluating rule: {name}"
            if str(fault).startswith(NO_OVERLOAD):
                why = "call arguments did not match a supported operator, function or macro signature for rule"
                words = f"'{fault}': {why}: {name}"
            yield SchemaError("invalid", path, (kind, words))
            continue
        except OverBudget as over:
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            yield SchemaError("invalid", path, (kind, f"'{over}': {why}: {name}"))
            return
        if not transition and old is not MISSING and same(value, old):
            continue
        yield _build_error(rule, _message(rule, shape, values, root=root), value, kind, path)


def _message(rule: Object, schema: Object, values: dict[str, Any], *, root: bool) -> str:
    text = str(rule.get("messageExpression") or "")
    if text.strip():
        program = rule_program(text, schema, STRING, root=root, optional=bool(rule.get("optionalOldSelf")))
        try:
            answer = program.evaluate(values, _LIMIT) if isinstance(program, Program) else ""
        except (Fault, OverBudget):
            answer = ""
        message = answer.strip() if isinstance(answer, str) else ""
        if message and "\n" not in message and len(message.encode()) <= 5 * 1024:
            return message
    message = str(rule.get("message") or "").strip()
    return message or f"failed rule: {str(rule.get('rule') or '').strip()}"


def _build_error(rule: Object, message: str, value: Any, kind: str, path: str) -> SchemaError:
    path += str(rule.get("fieldPath") or "")
    match rule.get("reason"):
        case "FieldValueForbidden":
            return SchemaError("forbidden", path, (message,))
        case "FieldValueRequired":
            return SchemaError("required", path, (message,))
        case "FieldValueDuplicate":
            return SchemaError("duplicate", path, (value,))
    return (
        SchemaError("wrong", path, (message,))
        if kind in ("object", "array")
        else SchemaError("invalid", path, (value, message))
    )
