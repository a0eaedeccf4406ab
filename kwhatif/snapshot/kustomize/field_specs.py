"""Fields of objects by kind and path, ``spec/template/metadata/labels``: where kustomize writes, and how it gets there.

Upstream: kustomize (api/types/fieldspec.go, api/filters/fieldspec/fieldspec.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.resources import Identity, Resource

_SLASH = re.compile(r"(?<!\\)/")

Change = Callable[[Any], Any]
"""The value that takes the place of one; None stands for a field that is to be made."""


class FieldSpec(msgspec.Struct, frozen=True):
    """A field of the objects of a kind, or of all where group, version and kind are empty.

    Lists on the way are walked through. ``creates``: what is missing on the way is made, unless it is a list.
    """

    path: str
    kind: str = ""
    group: str = ""
    version: str = ""
    creates: bool = False

    @classmethod
    def parse(cls, value: Any) -> FieldSpec:
        """One of a configuration. Raises InputError."""
        if not isinstance(value, Mapping) or not isinstance(value.get("path"), str):
            raise InputError("expected a field specification with a path")
        texts = {key: str(value.get(key) or "") for key in ("kind", "group", "version")}
        return cls(value["path"], **texts, creates=bool(value.get("create")))

    def selects(self, group: str, version: str, kind: str) -> bool:
        return (
            self.kind in ("", kind)
            and (not self.group or self.group == group)
            and (not self.version or self.version == version)
        )

    def selects_identity(self, identity: Identity) -> bool:
        return self.selects(identity.group, identity.version, identity.kind)

    @property
    def keys(self) -> list[str]:
        return [key.replace("\\/", "/") for key in _SLASH.split(self.path.strip("/"))]

    def apply(self, resource: Resource, change: Change) -> None:
        """Change the field in an object of the kind; nothing is done to others."""
        if self.selects(resource.group, resource.version, resource.kind):
            self.apply_to(resource.value, change)

    def apply_to(self, value: dict[str, Any], change: Change) -> None:
        _walk(value, self.keys, change, creates=self.creates)


def _walk(value: Any, keys: list[str], change: Change, *, creates: bool) -> None:
    if isinstance(value, list):
        for element in value:
            _walk(element, keys, change, creates=creates)
        return
    if not isinstance(value, dict):
        return
    key, rest = keys[0].removesuffix("[]"), keys[1:]
    there = value.get(key)
    if there is None and (not creates or keys[0].endswith("[]")):
        return
    if not rest:
        value[key] = change(there)
        return
    if there is None:
        there = value[key] = {}
    _walk(there, rest, change, creates=creates)
