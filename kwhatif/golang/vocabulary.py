"""Structs as Go declares them, for configurations: each field has upstream's constant as its default.

``Meta(extra=...)`` carries what the annotation cannot say: ``go`` is the Go type that error messages name,
``always`` marks fields that are printed even when empty, ``embedded`` names the Go struct that a field is
inlined from. Of a text, ``words`` lists those there are, and ``names`` says what it is the name of, by a method of
``redaction.pseudonyms.Names``: that is how redaction knows what may stay.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, dataclass_transform

import msgspec

OptionalInt32 = Annotated[int, msgspec.Meta(extra={"go": "int32"})]
Int32 = Annotated[int, msgspec.Meta(extra={"go": "int32", "always": True})]
Int64 = Annotated[int, msgspec.Meta(extra={"go": "int64", "always": True})]
Float32 = Annotated[float, msgspec.Meta(extra={"go": "float32", "always": True})]
Bool = Annotated[bool, msgspec.Meta(extra={"always": True})]
Text = Annotated[str, msgspec.Meta(extra={"always": True})]
LabelKey = Annotated[str, msgspec.Meta(extra={"names": "label_key"})]
ResourceName = Annotated[str, msgspec.Meta(extra={"names": "resource"})]


# Tells type checkers what msgspec does: what is derived from a frozen struct is frozen too.
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class ConfigStruct(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A part of a configuration; ``go_package`` is the package that Go puts before its type name."""

    go_package: ClassVar[str] = "v1"
