"""Validation of custom resources by their OpenAPI schemas, with the API server's messages: types and values, lists of
type set and map, embedded objects. What an update leaves unchanged is not refused (ratcheting).

Upstream: kube-openapi/pkg/validation/validate and errors, apiextensions-apiserver/pkg/apiserver/validation, and
pkg/apiserver/schema (listtype/validation.go, objectmeta/validation.go).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kwhatif.admission.custom.formats import fits_format
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_1035_label
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section
from kwhatif.cel.patterns import search
from kwhatif.cel.standard import text_of
from kwhatif.cel.values import Fault

MISSING: Any = object()
"""Stands for the old value where there was none."""
_TYPES: dict[type, tuple[str, str]] = {
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
_NUMERIC = ("integer", "number")


class SchemaError(msgspec.Struct, frozen=True):
    """One violation: ``what`` is a method of Problems or ``type``, ``values`` are its arguments."""

    what: str
    path: str | None
    values: tuple[Any, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether CEL rules are no longer evaluated after this violation."""
        return self.what in ("required", "not_supported", "too_long", "too_many", "type")


class _Result(msgspec.Struct):
    """The violations, and how many checks were made."""

    wrong: list[SchemaError] = []
    count: int = 0

    def add(self, other: _Result) -> None:
        self.wrong += other.wrong
        self.count += other.count


def note(problems: Problems, wrongs: Iterable[SchemaError]) -> bool:
    """Note a violation; returns whether rules may still be evaluated."""
    free = True
    for wrong in wrongs:
        free = free and not wrong.blocks
        method = "invalid" if wrong.what == "type" else wrong.what
        path = "<nil>" if wrong.path is None else wrong.path.removeprefix(".")
        getattr(problems, method)(path, *wrong.values)
    return free


def same(one: Any, other: Any) -> bool:
    """Whether two plain values are the same; true and 1 are not."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def against_schema(value: Any, schema: Object, path: str = "", old: Any = MISSING) -> list[SchemaError]:
    """All violations of a schema by a value."""
    return _check_value(value, schema, path, old).wrong


def _check_value(value: Any, schema: Object, path: str, old: Any) -> _Result:
    result = _all(value, schema, path, old)
    if result.wrong and old is not MISSING and same(value, old):
        return _Result(count=result.count)
    return result


def _all(value: Any, schema: Object, path: str, old: Any) -> _Result:
    result = _Result(_type(value, schema, path), 1)
    if value is None:
        result.wrong += _enum(value, schema, path)
        return result
    result.count += 1
    result.add(_check_combinators(value, schema, path))
    match value:
        case str():
            result.wrong += _text(value, schema, path)
            name = str(schema.get("format") or "")
            if name and not fits_format(name, value):
                result.wrong.append(_misfit(path, name, value))
        case int() | float() if not isinstance(value, bool):
            result.wrong += _number(value, schema, path)
        case list():
            result.add(_list(value, schema, path, old))
    result.count += 1
    result.wrong += _enum(value, schema, path)
    if isinstance(value, dict):
        result.add(_object(value, schema, path, old))
    result.count += 1
    return result


def _misfit(path: str, type_: str, actual: str) -> SchemaError:
    text = f"{path.removeprefix('.')} in body must be of type {type_}: {json.dumps(actual)}"
    return SchemaError("type", path, (actual, text))


def _body(path: str, text: str) -> str:
    return f"{path.removeprefix('.')} in body {text}"


def _type(value: Any, schema: Object, path: str) -> list[SchemaError]:
    types = [schema["type"]] if schema.get("type") else []
    if schema.get("x-kubernetes-int-or-string"):
        types = ["integer", "string"]
    name = str(schema.get("format") or "")
    if not types and not name:
        return []
    if value is None:
        refused = types and not schema.get("nullable")
        return [_misfit(path, ",".join(types), "null")] if refused else []
    kind, size = _TYPES[type(value)]
    whole = isinstance(value, float) and value.is_integer() and "integer" in types
    fits = kind in types or whole or (kind == "integer" and "number" in types)
    loose = isinstance(value, str | list)
    if not loose and name and not (fits or size == name):
        return [_misfit(path, name, size)]
    if loose and name and not any(number in types for number in _NUMERIC):
        return []
    return [] if fits else [_misfit(path, ",".join(types), kind)]


def _check_combinators(value: Any, schema: Object, path: str) -> _Result:
    """``anyOf``, ``oneOf``, ``allOf`` and ``not``."""
    result = _Result(count=1)
    where = json.dumps(path.removeprefix("."))

    def add_error(text: str) -> None:
        result.wrong.append(SchemaError("invalid", None, ("", f"{where} {text}")))

    anyof = [_check_value(value, inner, path, MISSING) for inner in schema.get("anyOf") or ()]
    if anyof:
        good = next((one for one in anyof if not one.wrong), None)
        if good is None:
            add_error("must validate at least one schema (anyOf)")
        result.add(good or max(anyof, key=lambda one: one.count))
    oneof = [_check_value(value, inner, path, MISSING) for inner in schema.get("oneOf") or ()]
    valid = [one for one in oneof if not one.wrong]
    if oneof and len(valid) == 1:
        result.add(valid[0])
    elif oneof:
        how_many = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        add_error(f"must validate one and only one schema (oneOf). {how_many}")
        if not valid:
            result.add(max(oneof, key=lambda one: one.count))
    allof = [_check_value(value, inner, path, MISSING) for inner in schema.get("allOf") or ()]
    for one in allof:
        result.add(one)
    if any(one.wrong for one in allof):
        none = all(one.wrong for one in allof)
        add_error(f"must validate all the schemas (allOf){'. None validated' if none else ''}")
    if isinstance(schema.get("not"), dict) and not _check_value(value, schema["not"], path, MISSING).wrong:
        add_error("must not validate the schema (not)")
    return result


def _text(value: str, schema: Object, path: str) -> list[SchemaError]:
    most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if most is not None and len(value) > most:
        return [SchemaError("too_long", path, (most,))]
    if least is not None and len(value) < least:
        return [SchemaError("invalid", path, (value, _body(path, f"should be at least {least} chars long")))]
    if pattern:
        try:
            fits = search(value, pattern)
        except Fault as fault:
            why = f"should match '{pattern}, but pattern is invalid: {fault}'"
            return [SchemaError("invalid", path, (value, _body(path, why)))]
        if not fits:
            return [SchemaError("invalid", path, (value, _body(path, f"should match '{pattern}'")))]
    return []


def _number(value: float, schema: Object, path: str) -> list[SchemaError]:
    wrong: list[SchemaError] = []
    whole = isinstance(value, int)

    def own(limit: float) -> float:
        """A limit as it is compared with the value: whole numbers with whole ones."""
        return int(limit) if whole else float(limit)

    type_, name = schema.get("type"), schema.get("format")
    bits = {"int32": 31, "int64": 63}.get(str(name), 63)
    if type_ == "integer" and not -(2**bits) <= value < 2**bits:
        size = f"format {name}" if name in ("int32", "int64") else ""
        words = f"with {size}" if size else "(default format)"
        text = f"Checked value must be of type integer {words} in {path.removeprefix('.')}"
        wrong.append(SchemaError("invalid", None, ("", text)))
    factor = schema.get("multipleOf")
    if factor is not None:
        unit = own(factor)
        if unit <= 0:
            shown = text_of(unit)
            text = f"factor MultipleOf declared for {path.removeprefix('.')} must be positive: {shown}"
            wrong.append(SchemaError("invalid", path, (unit, text)))
        elif not _is_multiple(value, unit):
            wrong.append(SchemaError("invalid", path, (value, _body(path, f"should be a multiple of {text_of(unit)}"))))
    for key, exclusive, beyond, side in (
        ("minimum", "exclusiveMinimum", -1, "greater"),
        ("maximum", "exclusiveMaximum", 1, "less"),
    ):
        limit = schema.get(key)
        if limit is None:
            continue
        limit, strict = own(limit), bool(schema.get(exclusive))
        distance = (value - limit) * beyond
        if distance > 0 or (strict and distance == 0):
            than = f"{side} than" if strict else f"{side} than or equal to"
            wrong.append(SchemaError("invalid", path, (value, _body(path, f"should be {than} {text_of(limit)}"))))
    return wrong


def _is_multiple(value: float, unit: float) -> bool:
    if isinstance(value, int) and isinstance(unit, int):
        return value % unit == 0
    times = value * (1 / unit) if unit < 1 else value / unit
    return abs(times - round(times)) < 1e-9 * max(1.0, abs(times))


def _enum(value: Any, schema: Object, path: str) -> list[SchemaError]:
    allowed = schema.get("enum") or []
    if not allowed or any(same(value, one) for one in allowed if one is not None):
        return []
    shown = [one if isinstance(one, str) else json.dumps(one) for one in allowed]
    return [SchemaError("not_supported", path, (value, shown))]


def _list(value: list[Any], schema: Object, path: str, old: Any) -> _Result:
    result = _Result(count=1)
    items, before = schema.get("items"), _correlate_items(schema, old)
    if isinstance(items, dict):
        for i, item in enumerate(value):
            result.add(_check_value(item, items, f"{path}[{i}]", before(item)))
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        result.wrong.append(
            SchemaError("invalid", path, (len(value), _body(path, f"should have at least {least} items")))
        )
    if most is not None and len(value) > most:
        result.wrong.append(SchemaError("too_many", path, (len(value), most)))
    return result


def _correlate_items(schema: Object, old: Any) -> Any:
    """The old version of a list's item: known where keys identify the items."""
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return lambda item: MISSING

    def key_of(item: Any) -> Any:
        return json.dumps([item.get(key) for key in keys]) if isinstance(item, dict) else None

    by_key = {key_of(item): item for item in old}
    return lambda item: by_key.get(key_of(item), MISSING)


def _object(value: Object, schema: Object, path: str, old: Any) -> _Result:
    result = _Result()
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        text = _body(path, f"should have at least {least} properties")
        result.wrong.append(SchemaError("invalid", path, (len(value), text)))
    if most is not None and len(value) > most:
        result.wrong.append(SchemaError("too_many", path, (len(value), most)))
    properties, more = section(schema, "properties"), schema.get("additionalProperties")
    before = old if isinstance(old, dict) else {}
    for key, item in value.items():
        inner = properties.get(key) or (more if isinstance(more, dict) else None)
        if inner is not None:
            result.add(_check_value(item, inner, f"{path}.{key}", before.get(key, MISSING)))
    for key in schema.get("required") or ():
        if key not in value:
            result.wrong.append(SchemaError("required", f"{path}.{key}"))
    return result


def _within(value: Any, schema: Object, path: str) -> Iterator[tuple[Any, Object, str]]:
    """The values in a value with their schemas and paths."""
    if isinstance(value, dict):
        properties, more = section(schema, "properties"), schema.get("additionalProperties")
        for key, item in value.items():
            if key in properties:
                yield item, properties[key], f"{path}.{key}"
            elif isinstance(more, dict):
                yield item, more, f"{path}[{key}]"
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for i, item in enumerate(value):
            yield item, schema["items"], f"{path}[{i}]"


def find_duplicate_items(value: Any, schema: Object, path: str = "") -> Iterator[SchemaError]:
    """Duplicate items of lists of type set and map."""
    kind = schema.get("x-kubernetes-list-type")
    if isinstance(value, list) and kind in ("set", "map"):
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        shown = [item if kind == "set" else {k: item[k] for k in keys if k in (item or {})} for item in value]
        seen: dict[str, int] = {}
        for i, item in enumerate(shown):
            text = json.dumps(item, sort_keys=True)
            seen[text] = seen.get(text, 0) + 1
            if seen[text] == 2:
                yield SchemaError("duplicate", f"{path}[{i}]", (item,))
    for inner in _within(value, schema, path):
        yield from find_duplicate_items(*inner)


def find_embedded_errors(value: Any, schema: Object, path: str = "") -> Iterator[SchemaError]:
    """Violations in objects that the schema marks as embedded resources."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        for key in ("apiVersion", "kind"):
            field, where = value.get(key), f"{path}.{key}"
            if key not in value:
                yield SchemaError("required", where)
            elif not isinstance(field, str):
                yield SchemaError("invalid", where, (field, "must be a string"))
            elif not field:
                yield SchemaError("invalid", where, (field, "must not be empty"))
            elif key == "kind" and (wrong := dns_1035_label(field.lower())):
                why = "may have mixed case, but should otherwise match: " + ",".join(wrong)
                yield SchemaError("invalid", where, (field, why))
            elif key == "apiVersion" and field.count("/") > 1:
                yield SchemaError("invalid", where, (field, f"unexpected GroupVersion string: {field}"))
    for inner in _within(value, schema, path):
        yield from find_embedded_errors(*inner)
