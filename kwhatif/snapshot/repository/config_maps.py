"""ConfigMaps and Secrets of a repository, whose values Flux takes for substitutions and for charts."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from kwhatif.api.objects import part_of
from kwhatif.errors import InputError
from kwhatif.snapshot.read.objects import items_of, plain_of, read_documents
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.substitutions import is_encrypted

_KINDS = ("ConfigMap", "Secret")


@dataclass(frozen=True)
class _Values:
    file: str
    namespace: str
    data: Mapping[str, str] | None


class ConfigMapIndex:
    """The ConfigMaps and Secrets of all manifests of a repository, which is read at the first look-up."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree

    def find(self, kind: str, name: str, namespace: str, file: str) -> Mapping[str, str] | None:
        """What one holds; None if it is not there, encrypted, or several differ and none is nearest to ``file``."""
        file = self._tree.path_named(file)
        found = self._values_by_name.get((kind, name), [])
        here = [each for each in found if each.namespace in ("", namespace)] or found
        if not here:
            return None
        nearest = max(_common_length(each.file, file) for each in here)
        data = [each.data for each in here if _common_length(each.file, file) == nearest]
        return data[0] if all(each == data[0] for each in data) else None

    @cached_property
    def _values_by_name(self) -> dict[tuple[str, str], list[_Values]]:
        top = self._tree.at_top(os.curdir)
        files = [file for folder in self._tree.folders_below(top) for file in _manifests_in(self._tree, folder)]
        self._tree.prepare(files)
        found: dict[tuple[str, str], list[_Values]] = {}
        for file in files:
            for obj in _objects_in(self._tree, file):
                metadata = obj.get("metadata")
                if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
                    values = _Values(file, str(metadata.get("namespace") or ""), _data_of(obj))
                    found.setdefault((part_of(obj, "kind"), metadata["name"]), []).append(values)
        return found


def _manifests_in(tree: FileTree, folder: str) -> Sequence[str]:
    try:
        return tree.manifests_in(folder)
    except InputError:
        return ()


def _objects_in(tree: FileTree, file: str) -> list[dict[str, Any]]:
    try:
        text = tree.read(file)
        if not any(kind.encode() in text.data for kind in _KINDS):
            return []
        items = [item for document in read_documents(text) for item in items_of(document)]
        return [plain_of(item) for item in items if item.kind in _KINDS and item.api_version == "v1"]
    except InputError:
        return []


def _data_of(obj: Mapping[str, Any]) -> dict[str, str] | None:
    if is_encrypted(obj):
        return None
    found: dict[str, str] = {}
    data = obj.get("data")
    for key, value in data.items() if isinstance(data, dict) else ():
        if part_of(obj, "kind") == "Secret":
            try:
                found[key] = base64.b64decode(str(value), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                return None
        else:
            found[key] = str(value)
    texts = obj.get("stringData")
    return found | {key: str(value) for key, value in (texts.items() if isinstance(texts, dict) else ())}


def _common_length(file: str, other: str) -> int:
    """How many directories two paths have in common."""
    pairs = zip(*(os.path.dirname(each).split(os.sep) for each in (file, other)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
