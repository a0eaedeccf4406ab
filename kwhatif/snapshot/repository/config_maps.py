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
class Values:
    """What an object of some ``file`` holds; of one that is encrypted the names alone."""

    file: str
    namespace: str
    data: Mapping[str, str]
    is_encrypted: bool = False


class ConfigMapIndex:
    """The ConfigMaps and Secrets of all manifests of a repository, which is read at the first look-up."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree

    def find(self, kind: str, name: str, namespace: str, file: str) -> Values | None:
        """What one holds; None if it is not there, or several differ and none is nearest to ``file``."""
        file = self._tree.path_named(file)
        found = self._values_by_name.get((kind, name), [])
        here = [each for each in found if each.namespace in ("", namespace)] or found
        if not here:
            return None
        nearest = max(_common_length(each.file, file) for each in here)
        first, *others = (each for each in here if _common_length(each.file, file) == nearest)
        is_one = all((each.data, each.is_encrypted) == (first.data, first.is_encrypted) for each in others)
        return first if is_one else None

    @cached_property
    def _values_by_name(self) -> dict[tuple[str, str], list[Values]]:
        top = self._tree.at_top(os.curdir)
        files = [file for folder in self._tree.folders_below(top) for file in _manifests_in(self._tree, folder)]
        self._tree.prepare(files)
        found: dict[tuple[str, str], list[Values]] = {}
        for file in files:
            for obj in _objects_in(self._tree, file):
                metadata = obj.get("metadata")
                if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
                    values = Values(file, str(metadata.get("namespace") or ""), *_data_of(obj))
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


def _data_of(obj: Mapping[str, Any]) -> tuple[dict[str, str], bool]:
    """The texts that an object holds, and whether they are encrypted."""
    data, texts = (part if isinstance(part, dict) else {} for part in (obj.get("data"), obj.get("stringData")))
    if is_encrypted(obj):
        return dict.fromkeys(map(str, (*data, *texts)), ""), True
    found = {key: str(value) for key, value in data.items()}
    if part_of(obj, "kind") == "Secret":
        found = {key: _decode_text(value) for key, value in found.items()}
    return found | {key: str(value) for key, value in texts.items()}, False


def _decode_text(value: str) -> str:
    """The text of a Secret's data; empty for bytes that are none."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _common_length(file: str, other: str) -> int:
    """How many directories two paths have in common."""
    pairs = zip(*(os.path.dirname(each).split(os.sep) for each in (file, other)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
