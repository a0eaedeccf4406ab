"""Structs of configurations as Go declares them: each field has upstream's constant as its default; and what decoding
and printing need to know of their fields.

``Meta(extra=...)`` carries what the annotation cannot say: ``go`` is the Go type that error messages name, ``always``
marks fields that are printed even when empty, ``embedded`` names the Go struct that a field is inlined from. Of a text,
``words`` lists the possible values, and ``names`` says what it is the name of, by a method of
``redaction.pseudonyms.Pseudonyms``: that is how redaction knows what may stay.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Literal, dataclass_transform

import msgspec
from msgspec import inspect

from kwhatif.golang.parsing import Duration

OptionalInt32 = Annotated[int, msgspec.Meta(extra={"go": "int32"})]
Int32 = Annotated[int, msgspec.Meta(extra={"go": "int32", "always": True})]
Int64 = Annotated[int, msgspec.Meta(extra={"go": "int64", "always": True})]
Float32 = Annotated[float, msgspec.Meta(extra={"go": "float32", "always": True})]
Bool = Annotated[bool, msgspec.Meta(extra={"always": True})]
Text = Annotated[str, msgspec.Meta(extra={"always": True})]
LabelKey = Annotated[str, msgspec.Meta(extra={"names": "label_key"})]
ResourceName = Annotated[str, msgspec.Meta(extra={"names": "resource"})]


def one_of(go: str, *words: str) -> msgspec.Meta:
    """For an annotation: the words that a text of this Go type is one of."""
    return msgspec.Meta(extra={"words": words, "go": f"v1.{go}"})


# Tells type checkers what msgspec does: what is derived from a frozen struct is frozen too.
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class ConfigStruct(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A part of a configuration; ``go_package`` is the package that Go puts before its type name."""

    go_package: ClassVar[str] = "v1"


Tag = Literal["any", "bool", "bytes", "duration", "float", "int", "list", "map", "struct", "text", "tuple"]
_GO_NAMES: dict[Tag, str] = {
    "any": "interface {}",
    "bool": "bool",
    "bytes": "[]uint8",
    "duration": "string",
    "float": "float32",
    "int": "int64",
    "map": "map[string]string",
    "text": "string",
}

# What the API's own Structs do not say of themselves: Go's type where it has its own name, and whether it
# is printed when empty.
_API_FIELDS: dict[tuple[str, str], tuple[str, bool]] = {
    ("LabelSelectorRequirement", "key"): ("string", True),
    ("LabelSelectorRequirement", "operator"): ("v1.LabelSelectorOperator", True),
    ("NodeSelector", "node_selector_terms"): ("[]v1.NodeSelectorTerm", True),
    ("NodeSelectorRequirement", "key"): ("string", True),
    ("NodeSelectorRequirement", "operator"): ("v1.NodeSelectorOperator", True),
    ("PreferredSchedulingTerm", "weight"): ("", True),
    ("TopologySpreadConstraint", "max_skew"): ("", True),
    ("TopologySpreadConstraint", "node_affinity_policy"): ("v1.NodeInclusionPolicy", False),
    ("TopologySpreadConstraint", "node_taints_policy"): ("v1.NodeInclusionPolicy", False),
    ("TopologySpreadConstraint", "topology_key"): ("string", True),
    ("TopologySpreadConstraint", "when_unsatisfiable"): ("v1.UnsatisfiableConstraintAction", True),
}


class Kind(msgspec.Struct, frozen=True):
    """The type of a value. ``item`` is the kind of a list's elements, ``struct`` a Struct's class."""

    tag: Tag
    go: str
    optional: bool = False
    struct: type[msgspec.Struct] | None = None
    item: Kind | None = None


class StructField(msgspec.Struct, frozen=True):
    """One field: its attribute, its key in YAML, and how Go sees it."""

    attribute: str
    key: str
    kind: Kind
    always: bool
    embedded: str


@cache
def slots(struct: type[msgspec.Struct]) -> dict[str, StructField]:
    """The fields of a Struct by their key in YAML, sorted by it."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    fields = {}
    for field in sorted(info.fields, key=lambda field: field.encode_name):
        extra = _extra(field.type)
        go, always = _API_FIELDS.get((struct.__name__, field.name), (extra.get("go", ""), extra.get("always", False)))
        kind = _kind(field.type, go)
        fields[field.encode_name] = StructField(field.name, field.encode_name, kind, always, extra.get("embedded", ""))
    return fields


def _extra(node: inspect.Type) -> dict[str, Any]:
    """Everything that Meta(extra=...) says of a type or of the type it makes optional."""
    if isinstance(node, inspect.Metadata):
        return {**_extra(node.type), **(node.extra or {})}
    if isinstance(node, inspect.UnionType):
        return {key: value for part in node.types for key, value in _extra(part).items()}
    return {}


def _kind(node: inspect.Type, go: str = "") -> Kind:
    match node:
        case inspect.Metadata():
            return _kind(node.type, go or (node.extra or {}).get("go", ""))
        case inspect.UnionType():
            (part,) = (part for part in node.types if not isinstance(part, inspect.NoneType))
            kind = _kind(part, go)
            return Kind(kind.tag, kind.go, True, kind.struct, kind.item)
        case inspect.StructType():
            package = getattr(node.cls, "go_package", "v1")
            return Kind("struct", go or f"{package}.{node.cls.__name__}", struct=node.cls)
        case inspect.ListType() | inspect.VarTupleType():
            item = _kind(node.item_type)
            tag: Tag = "list" if isinstance(node, inspect.ListType) else "tuple"
            return Kind(tag, go or f"[]{item.go}", item=item)
        case inspect.CustomType(cls=cls) if cls is Duration:
            return _plain("duration", go)
        case inspect.StrType():
            return _plain("text", go)
        case inspect.BoolType():
            return _plain("bool", go)
        case inspect.IntType():
            return _plain("int", go or ("int32" if node.ge == -(2**31) else "int64"))
        case inspect.FloatType():
            return _plain("float", go)
        case inspect.BytesType():
            return _plain("bytes", go)
        case inspect.DictType():
            return _plain("map", go)
        case inspect.AnyType():
            return _plain("any", go)
    raise TypeError(f"a configuration cannot hold {node}")


def _plain(tag: Tag, go: str) -> Kind:
    return Kind(tag, go or _GO_NAMES[tag])
