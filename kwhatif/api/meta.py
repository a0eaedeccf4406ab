"""Metadata, references and selectors, which all Kubernetes objects share."""

from __future__ import annotations

from typing import Annotated, dataclass_transform

import msgspec

Labels = dict[str, str]

# Go refuses a number that its integer type cannot hold, and so does a column of them.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


# Tells type checkers what msgspec does: what is derived from a frozen struct is frozen too.
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Base(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A value inside an object. Unknown fields are ignored; null is the same as absent, as in Go."""


class OwnerReference(Base):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class ObjectMeta(Base):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    labels: Labels | None = None
    annotations: Labels | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: list[OwnerReference] | None = None


class Resource(Base):
    """An object with an identity of its own."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def name(self) -> str:
        return self.metadata.name or ""

    @property
    def namespace(self) -> str:
        return self.metadata.namespace or ""

    @property
    def identity(self) -> str:
        """A unique identity: its uid, or ``namespace/name`` for an object that has none yet."""
        return self.metadata.uid or f"{self.metadata.namespace or 'default'}/{self.metadata.name}"

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that is its controller."""
        return next((owner for owner in self.metadata.owner_references or () if owner.controller), None)


class LabelSelectorRequirement(Base):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Base):
    match_labels: Labels | None = None
    match_expressions: list[LabelSelectorRequirement] | None = None
