"""Flux's substitution of ``${VAR}``, and SOPS's encryption, in an object of a repository.

Only fields that matter to a cluster are substituted: scripts, data and annotations may hold such text for a shell. A
default is used (``${VAR:=default}``, ``${VAR:-${OTHER}}``). A variable without a value is empty if all sources of
variables are known; else it stands for itself in names and labels, in lower case, and anywhere else makes the object
unknown. Upstream: fluxcd/pkg/kustomize (kustomize_varsub.go).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kwhatif import bounds
from kwhatif.errors import LimitError
from kwhatif.snapshot.read.yaml_reader import plain
from kwhatif.snapshot.repository.envsubst import evaluate

_WHOLE = re.compile(r"\$\{[^{}]*(?:\$\{[^{}]*\}[^{}]*)*\}")
_NOT_LOOKED_AT = frozenset(
    {
        *("annotations", "args", "binaryData", "command", "data", "description", "env", "exec", "image", "pattern"),
        *("script", "stringData", "value"),
    }
)
_TEXTS = frozenset({"labels", "matchLabels", "metadata", "name", "namespace", "nodeSelector", "selector"})
_DISABLED = "kustomize.toolkit.fluxcd.io/substitute"


@dataclass
class SubstitutionRoom:
    """Counts what variables put into all objects together: one of a megabyte may stand in ten thousand of them."""

    taken: int = 0

    def take(self, size: int) -> None:
        """Count a value. Raises LimitError once they are too much."""
        self.taken += size
        if self.taken > bounds.SUBSTITUTED_BYTES:
            raise LimitError(f"Flux's variables come to more than the limit of {bounds.SUBSTITUTED_BYTES:,} bytes")


@dataclass(frozen=True)
class Variables:
    """Those that whoever deploys something gives it.

    They ``are_of_flux`` if it is Flux that deploys, and ``are_complete`` if all their sources are known.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    are_of_flux: bool = False
    are_complete: bool = False


NO_VARIABLES = Variables()


@dataclass
class Substitution:
    """Variables with their values, and what was missing: ``named`` stand for themselves, ``unknown`` cannot be.

    If all of an object ``is_text``, variables without a value stand for themselves everywhere; if they
    ``are_complete``, they are empty.
    """

    variables: Mapping[str, str]
    room: SubstitutionRoom
    is_text: bool = False
    are_complete: bool = False
    named: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    def apply(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object with values in place of variables; the argument is not changed."""
        metadata = obj.get("metadata")
        marks = [metadata.get(key) for key in ("annotations", "labels")] if isinstance(metadata, dict) else []
        if any(isinstance(each, dict) and each.get(_DISABLED) == "disabled" for each in marks):
            return obj
        if obj.get("kind") == "CustomResourceDefinition":
            return obj
        return {key: value if key in ("apiVersion", "kind") else self._value(value, key) for key, value in obj.items()}

    def _value(self, value: Any, key: str, *, is_text: bool = False) -> Any:
        if key in _NOT_LOOKED_AT:
            return value
        is_text = is_text or key in _TEXTS
        if isinstance(value, dict):
            return {name: self._value(each, name, is_text=is_text) for name, each in value.items()}
        if isinstance(value, list):
            return [self._value(each, "", is_text=is_text) for each in value]
        return self._text(value, is_text=is_text) if isinstance(value, str) and "${" in value else value

    def _text(self, text: str, *, is_text: bool) -> Any:
        def look_up(name: str, has_default: bool) -> str | None:
            if name in self.variables:
                self.room.take(len(self.variables[name]))
                return self.variables[name]
            if has_default or self.are_complete:
                return ""
            stands_for_itself = is_text or self.is_text
            (self.named if stands_for_itself else self.unknown).add(name)
            return name.lower().replace("_", "-") if stands_for_itself else None

        # Flux substitutes in YAML: what has a value may be a number, also in an object of which only names matter.
        done = evaluate(text, look_up)
        return done if is_text or done == text or not _WHOLE.fullmatch(text) else plain(done)


def is_encrypted(obj: Mapping[str, Any]) -> bool:
    """Whether SOPS has encrypted values of an object."""
    sops = obj.get("sops")
    return isinstance(sops, dict) and bool({"mac", "lastmodified", "version"} & set(sops))


def without_encryption(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A Secret with unknown content: neither its data nor SOPS's metadata."""
    return {key: value for key, value in obj.items() if key not in ("sops", "data", "stringData")}
