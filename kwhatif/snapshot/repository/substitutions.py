"""Flux's substitution of ``${VAR}``, and SOPS's encryption, in an object of a repository.

A default is used (``${VAR:=default}``, ``${VAR:-${OTHER}}``). A variable without a value is empty if all sources of
variables are known; else it stands for itself in names and labels, in lower case, and anywhere else makes the object
unknown. Scripts, data and annotations, which may hold such text for a shell, are substituted only by a Kustomization of
Flux, and what is not known there changes nothing. Upstream: fluxcd/pkg/kustomize (kustomize_varsub.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kwhatif import bounds
from kwhatif.errors import LimitError
from kwhatif.snapshot.read.yaml_reader import plain
from kwhatif.snapshot.repository.envsubst import evaluate

# Of no consequence for where pods run.
_IDLE = frozenset(
    {
        *("annotations", "args", "binaryData", "command", "data", "description", "exec", "image", "pattern"),
        *("script", "stringData"),
    }
)
_TEXTS = frozenset(
    {
        *("host", "hosts", "hostnames", "externalName", "labels", "matchLabels", "metadata", "name", "namespace"),
        *("nodeSelector", "secretName", "selector"),
    }
)
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
class EncryptedValue:
    """What stands under a ``key`` of a Secret that SOPS has encrypted, in a file by its name in messages."""

    file: str
    key: str
    cipher: str


@dataclass(frozen=True)
class Variables:
    """Those that whoever deploys something gives it.

    They ``are_of_flux`` if it is Flux that deploys, and ``are_complete`` if all their sources are known. ``encrypted``
    are others by name, whose values nobody can read.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    are_of_flux: bool = False
    are_complete: bool = False
    encrypted: Mapping[str, EncryptedValue] = field(default_factory=dict)


NO_VARIABLES = Variables()


@dataclass
class Substitution:
    """Variables with their values, and what was missing: ``named`` stand for themselves, ``unknown`` cannot be.

    If all of an object ``is_text``, variables without a value stand for themselves everywhere.
    """

    variables: Variables
    room: SubstitutionRoom
    is_text: bool = False
    named: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    def apply(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object with values in place of variables; the argument is not changed."""
        metadata = obj.get("metadata")
        marks = [metadata.get(key) for key in ("annotations", "labels")] if isinstance(metadata, dict) else []
        if any(isinstance(mark, dict) and mark.get(_DISABLED) == "disabled" for mark in marks):
            return obj
        if obj.get("kind") == "CustomResourceDefinition":
            return obj
        if self.variables.are_complete and not (self.variables.values or self.variables.encrypted):
            # Flux leaves the texts as they are: it has nothing to substitute.
            return obj
        return {key: value if key in ("apiVersion", "kind") else self._value(value, key) for key, value in obj.items()}

    def _value(self, value: Any, key: str, *, is_text: bool = False, is_idle: bool = False) -> Any:
        is_idle = is_idle or key in _IDLE
        if is_idle and not self.variables.are_of_flux:
            return value
        is_text = is_text or key in _TEXTS
        if isinstance(value, dict):
            # Variables of containers and parameters of templates are pairs of names and values.
            idle = is_idle or {"name", "value"} <= value.keys()
            return {
                name: self._value(part, name, is_text=is_text, is_idle=is_idle or (idle and name == "value"))
                for name, part in value.items()
            }
        if isinstance(value, list):
            return [self._value(element, "", is_text=is_text, is_idle=is_idle) for element in value]
        if isinstance(value, str) and "${" in value:
            return self._text(value, is_text=is_text, is_idle=is_idle)
        return value

    def _text(self, text: str, *, is_text: bool, is_idle: bool) -> Any:
        def look_up(name: str, has_default: bool) -> str | None:
            if name in self.variables.values:
                self.room.take(len(self.variables.values[name]))
                return self.variables.values[name]
            if name not in self.variables.encrypted and (has_default or self.variables.are_complete):
                return ""
            if is_idle:
                return None
            stands_for_itself = is_text or self.is_text
            (self.named if stands_for_itself else self.unknown).add(name)
            return name.lower().replace("_", "-") if stands_for_itself else None

        # Flux substitutes in YAML: what has a value may be a number, also in an object of which only names matter.
        done = evaluate(text, look_up)
        return done if is_text or is_idle or done == text else plain(done)


def is_encrypted(obj: Mapping[str, Any]) -> bool:
    """Whether SOPS has encrypted values of an object."""
    sops = obj.get("sops")
    return isinstance(sops, dict) and bool({"mac", "lastmodified", "version"} & set(sops))


def without_encryption(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A Secret of unknown content without SOPS's metadata: it has its keys, as one that somebody took from a dump."""
    parts = [obj.get("data"), obj.get("stringData")]
    keys = [key for part in parts if isinstance(part, dict) for key in part]
    rest = {key: value for key, value in obj.items() if key not in ("sops", "data", "stringData")}
    return rest | ({"data": dict.fromkeys(keys)} if keys else {})
