"""ConfigMaps and Secrets of a repository, whose values Flux takes for substitutions and for charts, and its sources."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeVar

from kwhatif.api.objects import part_of, section, text_at
from kwhatif.errors import InputError
from kwhatif.snapshot.read.objects import items_of, plain_of, read_documents
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.substitutions import EncryptedValue, is_encrypted

SOURCE_GROUPS = ("source.toolkit.fluxcd.io", "fluxcd.controlplane.io")
_KINDS = ("ConfigMap", "Secret")
_MARKS = tuple(text.encode() for text in (*_KINDS, *SOURCE_GROUPS))

_Key = tuple[str, str]


@dataclass(frozen=True)
class _InFile:
    """What stands in an object of some ``file``; the namespace is empty where the object leaves it open."""

    file: str
    namespace: str


_T = TypeVar("_T", bound=_InFile)


@dataclass(frozen=True)
class Values(_InFile):
    """What an object holds; of one that is encrypted the names alone, and what stands in the place of each text."""

    data: Mapping[str, str]
    encrypted: Mapping[str, EncryptedValue] | None = None


@dataclass(frozen=True)
class Source(_InFile):
    """What an object says of where Flux gets files or charts from."""

    spec: Mapping[str, Any]


def source_in(file: str, obj: Mapping[str, Any]) -> tuple[_Key, Source] | None:
    """A source by its kind and name, or the one that a FluxInstance makes; None for another object.

    Upstream: controlplaneio-fluxcd/flux-operator (api/v1/fluxinstance_types.go, internal/builder).
    """
    metadata, spec = section(obj, "metadata"), section(obj, "spec")
    kind, name, namespace = part_of(obj, "kind"), text_at(metadata, "name"), text_at(metadata, "namespace")
    if part_of(obj, "apiVersion").partition("/")[0] not in SOURCE_GROUPS:
        return None
    if kind == "FluxInstance":
        spec = section(spec, "sync")
        kind, name = text_at(spec, "kind"), text_at(spec, "name") or namespace
    return (kind, name), Source(file, namespace, spec)


class ConfigMapIndex:
    """The ConfigMaps, Secrets and sources of all manifests of a repository, which is read at the first look-up."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree

    def sources_of(self, kind: str, name: str) -> Sequence[Source]:
        """The sources of a name, in all namespaces."""
        return self._sources_by_name.get((kind, name), ())

    def find(self, kind: str, name: str, namespace: str, file: str) -> Values | None:
        """What one holds; None if it is not there, or several differ and none is nearest to ``file``."""
        nearest = nearest_of(self._values_by_name.get((kind, name), ()), namespace, self._tree.path_named(file))
        is_one = len({(*sorted(values.data.items()), values.encrypted is not None) for values in nearest}) == 1
        return nearest[0] if is_one else None

    @cached_property
    def _objects(self) -> list[tuple[str, dict[str, Any]]]:
        top = self._tree.at_top(os.curdir)
        files = [file for folder in self._tree.folders_below(top) for file in _manifests_in(self._tree, folder)]
        self._tree.prepare(files)
        return [(file, obj) for file in files for obj in _objects_in(self._tree, file)]

    @cached_property
    def _values_by_name(self) -> dict[_Key, list[Values]]:
        values_of: dict[_Key, list[Values]] = {}
        for file, obj in self._objects:
            metadata = section(obj, "metadata")
            if part_of(obj, "kind") in _KINDS and text_at(metadata, "name"):
                values = Values(file, text_at(metadata, "namespace"), *_data_of(obj, self._tree.display(file)))
                values_of.setdefault((part_of(obj, "kind"), text_at(metadata, "name")), []).append(values)
        return values_of

    @cached_property
    def _sources_by_name(self) -> dict[_Key, list[Source]]:
        sources: dict[_Key, list[Source]] = {}
        for key, source in filter(None, (source_in(file, obj) for file, obj in self._objects)):
            sources.setdefault(key, []).append(source)
        return sources


def _manifests_in(tree: FileTree, folder: str) -> Sequence[str]:
    try:
        return tree.manifests_in(folder)
    except InputError:
        return ()


def _objects_in(tree: FileTree, file: str) -> list[dict[str, Any]]:
    try:
        text = tree.read(file)
        if not any(mark in text.data for mark in _MARKS):
            return []
        items = [item for document in read_documents(text) for item in items_of(document)]
        return [
            plain_of(item)
            for item in items
            if (item.kind in _KINDS and item.api_version == "v1") or item.api_version.partition("/")[0] in SOURCE_GROUPS
        ]
    except InputError:
        return []


def _data_of(obj: Mapping[str, Any], file: str) -> tuple[dict[str, str], dict[str, EncryptedValue] | None]:
    """The texts that an object of a file holds, or what they are encrypted to."""
    data, texts = (part if isinstance(part, dict) else {} for part in (obj.get("data"), obj.get("stringData")))
    if is_encrypted(obj):
        ciphers = {str(key): EncryptedValue(file, str(key), str(text)) for key, text in (data | texts).items()}
        return dict.fromkeys(ciphers, ""), ciphers
    data_texts = {key: str(value) for key, value in data.items()}
    if part_of(obj, "kind") == "Secret":
        data_texts = {key: _decode_text(value) for key, value in data_texts.items()}
    return data_texts | {key: str(value) for key, value in texts.items()}, None


def _decode_text(value: str) -> str:
    """The text of a Secret's data; empty for bytes that are none."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def nearest_of(entries: Sequence[_T], namespace: str, file: str) -> list[_T]:
    """Those of a namespace, as far as files say it, in the files that share most directories with one."""
    here = [candidate for candidate in entries if candidate.namespace in ("", namespace)] or entries
    most = max((_common_length(candidate.file, file) for candidate in here), default=0)
    return [candidate for candidate in here if _common_length(candidate.file, file) == most]


def _common_length(file: str, other: str) -> int:
    """How many directories two paths have in common."""
    pairs = zip(*(os.path.dirname(path).split(os.sep) for path in (file, other)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
