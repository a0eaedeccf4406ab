"""CustomResourceDefinitions: which one serves a kind, how a custom resource is pruned and defaulted by its schema, and
the field paths that definitions write, such as ``.spec.items['a.b']``.

Upstream: apiextensions-apiserver/pkg/apiserver (customresource_handler.go, schema/pruning, schema/defaulting), and for
paths schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kwhatif.admission.manifest import FieldTypeError, UserRequest, apply_refusal, unknown_fields
from kwhatif.admission.object_store import Index, ObjectStore
from kwhatif.admission.request import deep_copy_json
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.api.field_types import ApiResource, FieldType, Types
from kwhatif.api.objects import part_of, section

_META = ("apiVersion", "kind", "metadata")
_METADATA = "meta.v1.ObjectMeta"
_OFTEN_AGGREGATED = (".openshift.io", "metrics.k8s.io", ".coreos.com", "projectcalico.org")
"""Suffixes of API groups that aggregated API servers often serve, so that no definition mentions them."""

_OF_SCHEDULER_PLUGINS = (".x-k8s.io", "topology.node.k8s.io")
"""Ends of groups of which kinds are known without their definitions."""


def _group(obj: Object) -> str:
    return str(section(obj, "spec").get("group") or "")


def _kind(crd: Object) -> str:
    return str(section(crd, "spec", "names").get("kind") or "")


_BY_KIND = Index("CustomResourceDefinition", lambda crd: ((_group(crd), _kind(crd)),))
_BY_GROUP = Index("CustomResourceDefinition", lambda crd: (_group(crd),))
_AGGREGATED = Index("APIService", lambda it: (_group(it),) if section(it, "spec").get("service") else ())


class Definition(msgspec.Struct, frozen=True):
    """One version of what a CustomResourceDefinition serves."""

    spec: Object
    version: Object

    @property
    def schema(self) -> Object:
        """The schema of whole objects, empty if there is none."""
        schema: Object = section(self.version, "schema", "openAPIV3Schema")
        return schema

    @property
    def is_namespaced(self) -> bool:
        return bool(self.spec.get("scope") == "Namespaced")

    @property
    def free(self) -> bool:
        """Whether unknown fields are kept everywhere."""
        return bool(self.spec.get("preserveUnknownFields")) or not self.schema

    @property
    def has_status(self) -> bool:
        """Whether the status is written elsewhere."""
        return section(self.version, "subresources").get("status") is not None

    @property
    def judges_changes(self) -> bool:
        """Whether one of its rules compares an object with its old version (a transition rule)."""
        return b"oldSelf" in msgspec.json.encode(self.schema)

    def to_api_resource(self) -> ApiResource:
        names = section(self.spec, "names")
        return ApiResource("", str(names.get("plural") or ""), self.is_namespaced)


def definitions_of(world: ObjectStore, group: str, kind: str) -> list[Object]:
    """The CustomResourceDefinitions of a kind."""
    return world.find(_BY_KIND, (group, kind))


def definition_of(world: ObjectStore, api_version: str, kind: str) -> Definition | None:
    """The definition that serves a kind in a version; None if there is none."""
    group, _, wanted = api_version.rpartition("/")
    for crd in definitions_of(world, group, kind):
        for version in part_of(crd, "spec").get("versions") or ():
            if version.get("name") == wanted and version.get("served"):
                return Definition(part_of(crd, "spec"), version)
    if world.knows("CustomResourceDefinition") or is_defined(world, group, kind):
        return None
    return _definition_by_heart(group, wanted, kind)


def _definition_by_heart(group: str, version: str, kind: str) -> Definition | None:
    if not group.endswith(_OF_SCHEDULER_PLUGINS):
        return None
    from kwhatif.admission.custom.scheduler_plugins import definition_by_heart

    parts = definition_by_heart(group, version, kind)
    return None if parts is None else Definition(*parts)


def is_of_scheduler_plugins(group: str, kind: str) -> bool:
    """Whether plugins of scheduler-plugins read a kind."""
    if not group.endswith(_OF_SCHEDULER_PLUGINS):
        return False
    from kwhatif.admission.custom.scheduler_plugins import is_known

    return is_known(group, kind)


def is_defined(world: ObjectStore, group: str, kind: str) -> bool:
    """Whether a kind has a definition, which then has all versions of it, served or not."""
    return bool(definitions_of(world, group, kind))


def may_be_aggregated(group: str, world: ObjectStore) -> bool:
    """Whether an aggregated API server may serve a group, as far as the snapshot shows."""
    if world.knows("APIService"):
        return bool(world.find(_AGGREGATED, group))
    if world.find(_BY_GROUP, group):
        return False
    return group.endswith(_OFTEN_AGGREGATED)


def read_custom(sent: UserRequest, definition: Definition, types: Types) -> RequestRefusal | ApiResource:
    """A request for a custom resource, read strictly."""
    address = sent.path or sent.group_version
    if address != sent.group_version:
        why = f"the API version in the data ({sent.group_version}) does not match the expected API version ({address})"
        return RequestRefusal(400, "BadRequest", why)
    served = definition.to_api_resource()
    if sent.verb == "apply":
        return apply_refusal(sent, served, SchemaTypes(definition, types)) or served
    try:
        wrong = [f"metadata.{f.path}" for f in unknown_fields(section(sent.object, "metadata"), _METADATA, types)]
    except FieldTypeError as error:
        return sent.bad(str(error))
    if not definition.free:
        wrong += _unknown(sent.object, definition.schema, "", root=True)
    if wrong:
        text = ", ".join(f'unknown field "{path}"' for path in sorted(wrong))
        return sent.bad(f"strict decoding error: {text}")
    _drop_nulls(sent.object, definition.schema)
    return served


def _unknown(value: Any, schema: Object | None, path: str, *, root: bool = False) -> Iterator[str]:
    """Fields that would be pruned."""
    keeps = bool((schema or {}).get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(value, dict):
        for key, item in value.items():
            if (root or (schema or {}).get("x-kubernetes-embedded-resource")) and key in _META:
                continue
            where = f"{path}.{key}" if path else key
            known, inner = _inner(schema, key)
            if known:
                yield from _unknown(item, inner, where)
            elif not keeps:
                yield where
    elif isinstance(value, list):
        items = (schema or {}).get("items")
        for i, item in enumerate(value):
            if not keeps or items is not None:
                yield from _unknown(item, items, f"{path}[{i}]")


def _inner(schema: Object | None, key: str) -> tuple[bool, Object | None]:
    """Whether a schema speaks of a field, and its schema; None where any value will do."""
    properties = section(schema or {}, "properties")
    if key in properties:
        return True, properties[key]
    more = (schema or {}).get("additionalProperties")
    if isinstance(more, dict):
        return True, more
    return (True, {"x-kubernetes-preserve-unknown-fields": True}) if more else (False, None)


def _nullable(schema: Object) -> bool:
    return bool(schema.get("nullable"))


def _drop_nulls(value: Any, schema: Object | None) -> None:
    """A null counts as absent where it is not allowed and there is no default."""
    if isinstance(value, dict):
        for key in list(value):
            known, inner = _inner(schema, key)
            if value[key] is None and known and inner and not _nullable(inner) and inner.get("default") is None:
                del value[key]
            elif known:
                _drop_nulls(value[key], inner)
    elif isinstance(value, list):
        for item in value:
            _drop_nulls(item, (schema or {}).get("items"))


def fill_defaults(value: Any, schema: Object | None) -> None:
    """Fill in what the schema has defaults for."""
    if not isinstance(schema, dict):
        return
    if isinstance(value, dict):
        for key, inner in section(schema, "properties").items():
            default = inner.get("default")
            if default is not None and (key not in value or (value[key] is None and not _nullable(inner))):
                value[key] = deep_copy_json(default)
        for key in value:
            known, below = _inner(schema, key)
            if known:
                fill_defaults(value[key], below)
    elif isinstance(value, list):
        for item in value:
            fill_defaults(item, schema.get("items"))


class _OpenFields(dict[str, FieldType]):
    """The fields of an object that keeps those that its schema does not know."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, default) or FieldType("scalar", "any")


@dataclass
class SchemaTypes(Types):
    """The fields of a definition, as patches ask for them."""

    definition: Definition
    base: Types
    structs: dict[str, dict[str, FieldType]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._struct("", self.definition.schema)
        self.structs[""] |= {
            "apiVersion": FieldType("scalar", "string"),
            "kind": FieldType("scalar", "string"),
            "metadata": FieldType("struct", _METADATA),
        }

    def fields(self, name: str) -> Any:
        return self.structs[name] if name in self.structs else self.base.fields(name)

    def _struct(self, name: str, schema: Object) -> FieldType:
        properties = section(schema, "properties")
        fields = {key: self._type(f"{name}/{key}", inner) for key, inner in properties.items()}
        self.structs[name] = _OpenFields(fields) if schema.get("x-kubernetes-preserve-unknown-fields") else fields
        return FieldType("struct", name)

    def _type(self, name: str, schema: Object) -> FieldType:
        open_ended = schema.get("x-kubernetes-preserve-unknown-fields")
        if schema.get("x-kubernetes-embedded-resource") or (open_ended and schema.get("type") != "object"):
            return FieldType("scalar", "any")
        if schema.get("x-kubernetes-int-or-string"):
            return FieldType("scalar", "int-or-string")
        match schema.get("type"):
            case "object" if isinstance(schema.get("additionalProperties"), dict):
                return FieldType("map", item=self._type(f"{name}/*", schema["additionalProperties"]))
            case "object" if schema.get("properties") or open_ended:
                return self._struct(name, schema)
            case "array" if isinstance(schema.get("items"), dict):
                keys = {"set": ("*",), "map": tuple(schema.get("x-kubernetes-list-map-keys") or ())}
                listed = keys.get(str(schema.get("x-kubernetes-list-type")), ())
                return FieldType("list", item=self._type(f"{name}/[]", schema["items"]), keys=listed)
            case "string":
                return FieldType("scalar", "string")
            case "integer":
                return FieldType("scalar", "int64")
            case "number":
                return FieldType("scalar", "float64")
            case "boolean":
                return FieldType("scalar", "bool")
        return FieldType("scalar", "any")


_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


class FieldNotFound(Exception):
    """A path that leads to no field; ``str`` says why."""


def field_at(text: str, schema: Object, *, brackets: bool = True) -> tuple[tuple[str, ...], Object]:
    """The names on a path and the schema of the field there. Raises FieldNotFound."""
    names: list[str] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        if text[at] == "[" and not brackets:
            raise FieldNotFound("array notation is not allowed")
        if step is None:
            raise FieldNotFound(_unlike(text[at:]))
        name = step[1] if step[1] is not None else re.sub(r"\\(.)", r"\1", step[2])
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        if properties and name in properties:
            schema = properties[name] or {}
        elif not properties and isinstance(more, dict):
            schema = more
        else:
            raise FieldNotFound("does not refer to a valid field")
        names.append(name)
        at = step.end()
    return tuple(names), schema


def _unlike(tail: str) -> str:
    token = re.match(r"[^.\[\]]+|.", tail, re.DOTALL)
    if tail[0] not in ".[":
        return f"expected [ or . but got: {token[0] if token else ''}"
    if len(tail) == 1:
        return "unexpected end of JSON path"
    if tail[0] == ".":
        return "does not refer to a valid field"
    inner = re.match(r"\[([^.\[\]]*)", tail)
    return f"expected single quoted string but got {inner[1] if inner else ''}"
