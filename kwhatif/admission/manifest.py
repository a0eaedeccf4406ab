"""Requests as users send them, and how the API server decodes their manifests.

A manifest that is created or replaced is decoded strictly, as kubectl asks for: the first value of a wrong type ends
decoding, otherwise all unknown fields are reported together. One that is applied is decoded as a patch, whose errors
are all reported together. Upstream: apiserver/pkg/endpoints/handlers (create.go, update.go, patch.go);
sigs.k8s.io/json, encoding/json of Go, apimachinery/pkg/runtime/serializer/json; sigs.k8s.io/structured-merge-diff
(typed, schema) as apimachinery/pkg/util/managedfields uses it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.admission.object_store import group_of, name_of
from kwhatif.admission.response import Object, RequestRefusal, StatusCause
from kwhatif.api.decode import convert, describe_value, step
from kwhatif.api.field_types import ApiResource, FieldType, Types, checked_type, format_minor_range, known_in, served_in
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.errors import InputError
from kwhatif.golang.parsing import MICROSECONDS, SECONDS, misread_base64, misread_time
from kwhatif.golang.strict_json import word_for

_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_LAYOUTS = {"time": SECONDS, "microtime": MICROSECONDS}
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}

# Structs that Go embeds: fields of theirs stand in the outer object, but a decoder's message names the struct.
_EMBEDDED = {
    "networking.v1.IngressRule": {"http": "IngressRuleValue"},
    "core.v1.Probe": dict.fromkeys(("exec", "httpGet", "tcpSocket", "grpc"), "ProbeHandler"),
}
_PLAIN_STRUCTS = {
    "core.v1.Volume": ("name", "VolumeSource"),
    "core.v1.EphemeralContainer": ("targetContainerName", "EphemeralContainerCommon"),
}


class FieldTypeError(Exception):
    """A value that does not fit its type, in Go's words; in ours, ``place`` says where, and what stands there."""

    def __init__(self, text: str, path: str, value: Any) -> None:
        super().__init__(text)
        self.place = f"$.{path}: found {describe_value(value)}"


class UnknownField(msgspec.Struct, frozen=True):
    """A field that the minor does not have; ``minors`` do."""

    path: str
    minors: tuple[str, ...] = ()


def unknown_fields(value: Any, name: str, types: Types) -> list[UnknownField]:
    """The fields that the type ``name`` does not have, in their order. Raises FieldTypeError."""
    return list(_struct(value, name, types, "", (name.rpartition(".")[2],)))


def _struct(value: dict[str, Any], name: str, types: Types, path: str, go: tuple[str, ...]) -> Iterator[UnknownField]:
    """``go`` is the innermost struct's name and the path to it as Go's messages have it."""
    fields = types.fields(name)
    embedded = _embedded_structs_of(name)
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            yield UnknownField(f"{path}{key}", known_in(name, key))
        elif item is not None:
            inner = (go[0], *go[1:], *embedded(key), key)
            yield from _value(item, field, types, f"{path}{key}", inner)


def _embedded_structs_of(name: str) -> Any:
    if name in _PLAIN_STRUCTS:
        own, struct = _PLAIN_STRUCTS[name]
        return lambda key: () if key == own else (struct,)
    structs = _EMBEDDED.get(name, {})
    return lambda key: (structs[key],) if key in structs else ()


def _value(value: Any, type_: FieldType, types: Types, path: str, go: tuple[str, ...]) -> Iterator[UnknownField]:
    match type_.shape:
        case "struct":
            if not isinstance(value, dict):
                raise _type_error_at(value, type_, go, path)
            yield from _struct(value, type_.name, types, f"{path}.", (type_.name.rpartition(".")[2], *go[1:]))
        case "list":
            if not isinstance(value, list):
                raise _type_error_at(value, type_, go, path)
            assert type_.item is not None
            for i, item in enumerate(value):
                if item is not None:
                    yield from _value(item, type_.item, types, f"{path}[{i}]", go)
        case "map":
            if not isinstance(value, dict):
                raise _type_error_at(value, type_, go, path)
            assert type_.item is not None
            for key, item in value.items():
                if item is not None:
                    yield from _value(item, type_.item, types, path + step(key), go)
        case _:
            _scalar(value, type_, go, path)


def _scalar(value: Any, type_: FieldType, go: tuple[str, ...], path: str) -> None:
    match type_.name:
        case "any":
            return
        case "string" | "bytes":
            fits = isinstance(value, str)
            if type_.name == "bytes" and fits and (wrong := misread_base64(value)):
                raise FieldTypeError(wrong, path, value)
        case "bool":
            fits = isinstance(value, bool)
        case "int32" | "int64":
            fits = isinstance(value, int) and not isinstance(value, bool)
            most = _RANGES[type_.name]
            if (fits and not -most <= value < most) or (isinstance(value, float) and not fits):
                raise _type_error_at(value, type_, go, path, digits=True)
        case "float64":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case "int-or-string":
            if isinstance(value, str):
                return
            _scalar(value, FieldType("scalar", "int32"), go, path)
            return
        case _:
            wrong = unreadable(value, type_.name)
            if wrong:
                raise FieldTypeError(wrong, path, value)
            return
    if not fits:
        raise _type_error_at(value, type_, go, path)


def unreadable(value: Any, name: str) -> str | None:
    """What a type that reads its own text (a quantity, a time) says of a value that is none."""
    if name == "quantity":
        try:
            Quantity.from_json(value)
        except QuantityError:
            return _NO_QUANTITY
    if name in _LAYOUTS:
        if not isinstance(value, str):
            return f"json: cannot unmarshal {word_for(value)} into Go value of type string"
        return misread_time(value, _LAYOUTS[name])
    return None


def _type_error_at(
    value: Any, type_: FieldType, go: tuple[str, ...], path: str, *, digits: bool = False
) -> FieldTypeError:
    kind = f"number {json.dumps(value)}" if digits else word_for(value)
    text = f"json: cannot unmarshal {kind} into Go struct field {'.'.join(go)} of type {type_.go}"
    return FieldTypeError(text, path, value)


# What may hold any plain value, as the published schema has no better word for it.
_UNTYPED = ("any", "int-or-string", "quantity", "time", "microtime")
_DEFAULT_KEYS = {"protocol": "TCP"}


def patch_errors(value: Any, name: str, types: Types) -> list[str]:
    """``.spec.replicas: expected numeric (int or float), got string``, for each place that does not fit."""
    return list(_check_applied_struct(value, name, types, ""))


def misfit(value: Any, name: str, types: Types) -> str | None:
    """What Go's types say of a patch that suits the schema: the first value that cannot be read into its field."""
    for key, field in types.fields(name).items():
        item = value.get(key)
        wrong = None if item is None else _find_misfit(item, field, types)
        if wrong:
            return wrong
    return None


def _find_misfit(value: Any, type_: FieldType, types: Types) -> str | None:
    if type_.shape == "struct":
        return misfit(value, type_.name, types)
    if type_.item is not None:
        items = value if isinstance(value, list) else value.values()
        misfits = (_find_misfit(item, type_.item, types) for item in items if item is not None)
        return next(filter(None, misfits), None)
    match type_.name:
        case "int32" | "int64" if isinstance(value, float) and not value.is_integer():
            return f"cannot convert float64 to {type_.name}"
        case "bytes" if wrong := misread_base64(value):
            return f"error decoding from json: {wrong}"
    return unreadable(value, type_.name)


def _check_applied_struct(value: dict[str, Any], name: str, types: Types, path: str) -> Iterator[str]:
    fields = types.fields(name)
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            yield f"{path}.{key}: field not declared in schema"
        elif item is not None:
            yield from _check_applied_value(item, field, types, f"{path}.{key}")


def _check_applied_value(value: Any, type_: FieldType, types: Types, path: str) -> Iterator[str]:
    match type_.shape:
        case "struct" | "map" if not isinstance(value, dict):
            yield f"{path}: expected map, got &{{{go_value(value)}}}"
        case "struct":
            yield from _check_applied_struct(value, type_.name, types, path)
        case "map":
            assert type_.item is not None
            for key, item in value.items():
                if item is not None:
                    yield from _check_applied_value(item, type_.item, types, f"{path}.{key}")
        case "list" if not isinstance(value, list):
            yield f"{path}: expected list, got &{{{go_value(value)}}}"
        case "list":
            yield from _items(value, type_, types, path)
        case _:
            yield from _check_applied_scalar(value, type_.name, path)


def _usual_keys(type_: FieldType, types: Types) -> dict[str, Any]:
    """What stands for a key that an item omits: a key that is always written has a zero value for a default."""
    fields = types.fields(type_.name)
    zeros = {key: "" if field.name == "string" else 0 for key, field in fields.items() if field.written}
    return zeros | _DEFAULT_KEYS


def _items(value: Sequence[Any], type_: FieldType, types: Types, path: str) -> Iterator[str]:
    assert type_.item is not None
    seen: set[str] = set()
    for i, item in enumerate(value):
        place = f"[{i}]"
        if type_.keys == ("*",):
            place = f"[={json.dumps(item)}]"
        elif type_.keys and item is None:
            yield f"{path}: element {i}: associative list with keys may not have a null element"
            continue
        elif type_.keys and isinstance(item, dict):
            usual = _usual_keys(type_.item, types)
            missing = [key for key in type_.keys if item.get(key) is None and key not in usual]
            if missing and len(missing) == len(type_.keys):
                yield (
                    f"{path}: element {i}: associative list with keys has an element that omits key field "
                    f"{json.dumps(missing[0])} (and doesn't have default value)"
                )
                continue
            keys = ((key, usual.get(key) if item.get(key) is None else item[key]) for key in type_.keys)
            place = "[" + ",".join(f"{key}={json.dumps(part)}" for key, part in keys if part is not None) + "]"
        if type_.keys:
            if place in seen:
                yield f"{path}: duplicate entries for key {place}"
                continue
            seen.add(place)
        if item is not None:
            yield from _check_applied_value(item, type_.item, types, f"{path}{place}")


def _check_applied_scalar(value: Any, name: str, path: str) -> Iterator[str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match name:
        case _ if name in _UNTYPED:
            return
        case "string" | "bytes":
            if not isinstance(value, str):
                yield f"{path}: expected string, got &value.valueUnstructured{{Value:{go_value(value, quoted=True)}}}"
        case "bool":
            if not isinstance(value, bool):
                yield f"{path}: expected boolean, got &{{{go_value(value)}}}"
        case _:
            if not number:
                yield f"{path}: expected numeric (int or float), got {_go_type(value)}"


def _go_type(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "[]interface {}"
    return "map[string]interface {}"


def go_value(value: Any, *, quoted: bool = False) -> str:
    """A plain value as Go prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value) if quoted else value
        case list():
            inner = " ".join(go_value(item) for item in value)
            return f"[{inner}]"
        case dict():
            inner = " ".join(f"{key}:{go_value(item)}" for key, item in sorted(value.items()))
            return f"map[{inner}]"
    return str(value)


VERBS = ("", "create", "apply", "replace")
"""How manifests are sent. Without a word they are created or, where they are there already, changed as
``kubectl apply`` without ``--server-side`` does."""

NOT_FOUND = RequestRefusal(404, "NotFound", "the server could not find the requested resource")
NO_PAGE = RequestRefusal(404, "", "404 page not found")


class UserRequest(msgspec.Struct, frozen=True):
    """A request as it was sent. ``path`` is the API version of its address, where it is not the manifest's."""

    verb: str
    object: Object
    namespace: str = ""
    path: str = ""
    manager: str = "kubectl"

    @property
    def group_version(self) -> str:
        return str(self.object.get("apiVersion") or "")

    @property
    def kind(self) -> str:
        return str(self.object.get("kind") or "")

    def bad(self, why: str) -> RequestRefusal:
        """400 for a body that cannot be read as what it says it is."""
        version = self.group_version.rpartition("/")[2]
        return RequestRefusal(
            400, "BadRequest", f'{self.kind} in version "{version}" cannot be handled as a {self.kind}: {why}'
        )


def read(
    sent: UserRequest, types: Types, served: Callable[[str, str], ApiResource | None]
) -> RequestRefusal | ApiResource:
    """The kind of the request's object, once it is read strictly; a refusal if it cannot be."""
    address = sent.path or sent.group_version
    kind = served(address, sent.kind)
    if kind is None:
        return _not_served(address, sent, types)
    if sent.path and sent.path != sent.group_version:
        return RequestRefusal(
            400,
            "BadRequest",
            f"the API version in the data ({sent.group_version}) does not match the expected API version ({address})",
        )
    if sent.verb == "apply":
        return apply_refusal(sent, kind, types) or kind
    try:
        unknown = unknown_fields(sent.object, kind.type, types)
    except FieldTypeError as error:
        return replace(sent.bad(str(error)), hint=error.place)
    if unknown:
        text = ", ".join(f'unknown field "{field.path}"' for field in unknown)
        hints = (
            "" if not field.minors else f"{field.path}: Kubernetes {format_minor_range(field.minors)}"
            for field in unknown
        )
        hint = "; ".join(filter(None, hints))
        return replace(sent.bad(f"strict decoding error: {text}"), hint=hint and f"known elsewhere: {hint}")
    return kind


def misshapen(obj: Object) -> RequestRefusal | None:
    """400 for an object that was not decoded strictly yet, if one of its fields has a value of a wrong type."""
    try:
        convert(obj, checked_type(group_of(obj), part_of(obj, "kind")))
    except InputError as error:
        kind, version = part_of(obj, "kind"), str(obj.get("apiVersion") or "").rpartition("/")[2]
        field = error.place.removeprefix("$.")
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {field}: {error.problem}'
        return RequestRefusal(400, "BadRequest", message, (StatusCause(field, error.problem),))
    return None


def _not_served(address: str, sent: UserRequest, types: Types) -> RequestRefusal:
    lower = {name.lower(): name for name in types.versions}
    known = lower.get(sent.kind.lower())
    if known and known != sent.kind and types.api_resource_of(address, known):
        scheme = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
        why = f'no kind "{sent.kind}" is registered for version "{address}" in scheme "{scheme}"'
        return RequestRefusal(
            400, "BadRequest", f'{sent.kind} in version "{address}" cannot be handled as a {known}: {why}'
        )
    group = address.rpartition("/")[0]
    refusal = NOT_FOUND if group in types.groups - {"extensions"} else NO_PAGE
    return replace(refusal, hint=_elsewhere(address, sent.kind, types))


def _elsewhere(address: str, kind: str, types: Types) -> str:
    """In which version the minor serves the kind, or which minors serve it in this version."""
    versions = types.versions.get(kind, ())
    minors = served_in(address, kind)
    parts = [f"Kubernetes {types.minor} serves {kind} as {' and '.join(versions)}"] if versions else []
    parts += [f"{kind} of {address} is served by Kubernetes {format_minor_range(minors)}"] if minors else []
    return "; ".join(parts) or f"Kubernetes {types.minor} has no {kind} of {address}"


def apply_refusal(sent: UserRequest, kind: ApiResource, types: Types) -> RequestRefusal | None:
    """What keeps a manifest from being applied as a patch of a kind."""
    if section(sent.object, "metadata").get("managedFields") is not None:
        return RequestRefusal(400, "BadRequest", "metadata.managedFields must be nil")
    group_version = sent.group_version if "/" in sent.group_version else f"/{sent.group_version}"
    home = sent.namespace if kind.namespaced else ""
    what = f"{home}/{name_of(sent.object)}; {group_version}, Kind={sent.kind}"
    errors = patch_errors(sent.object, kind.type, types)
    if errors:
        problem = errors[0] if len(errors) == 1 else "errors:\n" + "\n".join(f"  {error}" for error in errors)
        return RequestRefusal(500, "", f"failed to create typed patch object ({what}): {problem}")
    wrong = misfit(sent.object, kind.type, types)
    if wrong:
        why = f"unable to convert unstructured object to {group_version}, Kind={sent.kind}: {wrong}"
        return RequestRefusal(500, "", f"failed to convert new object ({what}) to proper version: {why}")
    return None
