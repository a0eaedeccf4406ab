"""Reads the file of a scheduler configuration, for ``--policy`` and the policy commands."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kwhatif import bounds
from kwhatif.api.objects import section
from kwhatif.errors import InputError


def read_policy(file: str) -> tuple[Any, str, tuple[str, ...]]:
    """The first document of a YAML or JSON file (``-``: standard input), its name for errors, and warnings.

    Like kube-scheduler, it looks at no further document, unless one is a ConfigMap: then it is the configuration in
    there. An empty file is an empty document, not none at all. Raises InputError.
    """
    from kwhatif.policy.legacy_formats import legacy_format
    from kwhatif.snapshot.read.files import is_directory, read_paths
    from kwhatif.snapshot.read.objects import read_documents

    if is_directory(file):
        raise InputError("expected a file, found a directory", source=file)
    (text,) = read_paths([file], max_bytes=bounds.SETTINGS_BYTES)
    documents = read_documents(text)
    if not documents:
        return {}, text.name, ()
    source = text.name
    values = [plain_document(document.value, source) for document in documents]
    maps = [value for value in values if _is_config_map(value)]
    if maps and not legacy_format(values[0]):
        configurations = [(*entry, _name(value)) for value in maps for entry in _configurations(value, source)]
        if len(configurations) == 1:
            document, key, name = configurations[0]
            return document, f"{source} (ConfigMap {name}, {key})", ()
        raise InputError(_not_one(maps, configurations), source=source)
    value = values[0]
    if len(documents) == 1:
        return value, source, ()
    ignored = f"{source}: only the first of its {len(documents)} documents is read, as by kube-scheduler"
    return value, source, (ignored,)


def plain_document(raw: Any, source: str) -> Any:
    """A document as plain values. Raises InputError for a duplicate key."""
    return raw if isinstance(raw, dict | list | str | int | float) else _json(bytes(raw), source)


# --- ConfigMaps


def _is_config_map(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") == "ConfigMap" and value.get("apiVersion") == "v1"


def _name(config_map: dict[str, Any]) -> str:
    meta = config_map.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    return "/".join(str(meta[key]) for key in ("namespace", "name") if meta.get(key)) or "without a name"


def _configurations(config_map: dict[str, Any], source: str) -> Iterator[tuple[Any, str]]:
    """The scheduler configurations among the texts of a ConfigMap, each with its key."""
    from kwhatif.snapshot.read.files import Text
    from kwhatif.snapshot.read.objects import read_documents

    data = config_map.get("data")
    for key, text in data.items() if isinstance(data, dict) else ():
        if not isinstance(text, str) or not any(kind in text for kind in _KINDS):
            continue
        where = f"{source} (ConfigMap {_name(config_map)}, {key})"
        documents = read_documents(Text(where, text.encode()))
        document = plain_document(documents[0].value, where) if documents else None
        if isinstance(document, dict) and document.get("kind") in _KINDS:
            yield document, str(key)


_KINDS = ("KubeSchedulerConfiguration", "Policy")


def _not_one(maps: list[dict[str, Any]], named: list[tuple[Any, str, str]]) -> str:
    """The error for ConfigMaps that do not hold exactly one configuration."""
    if named:
        places = ", ".join(f"{key} of ConfigMap {name}" for _, key, name in named)
        return f"{len(named)} scheduler configurations in ConfigMaps: {places}; give one of them in a file of its own"
    kinds = " or ".join(_KINDS)
    keys = ", ".join(str(key) for config_map in maps for key in section(config_map, "data"))
    return f"ConfigMap {_name(maps[0])}: no {kinds} under any key of data ({keys or 'it has none'})"


def is_duplicate_key(error: InputError) -> bool:
    """Whether a reader's error is about a duplicate key, which kube-scheduler refuses too."""
    return error.problem.startswith("the key ") and " appears twice" in error.problem


class _Object(dict[str, Any]):
    """A JSON object that remembers a duplicate key."""

    duplicates: str | None = None


def _json(data: bytes, source: str) -> Any:
    """JSON as strictly as YAML: no duplicate keys. Its syntax has been checked."""

    def build(pairs: list[tuple[str, Any]]) -> _Object:
        built = _Object(pairs)
        if len(built) < len(pairs):
            built.duplicates = Counter(key for key, _ in pairs).most_common(1)[0][0]
        return built

    try:
        value = json.loads(data, object_pairs_hook=build)
    except ValueError as error:
        raise InputError(f"not a configuration: {error}", source=source) from None
    for place, key in _find_duplicate_keys(value, "$"):
        raise InputError(f"the key {json.dumps(key)} appears twice", source=source, place=place)
    return value


def _find_duplicate_keys(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """The places of all objects with a duplicate key, and the key."""
    if isinstance(value, _Object):
        if value.duplicates is not None:
            yield place, value.duplicates
        for key, item in value.items():
            yield from _find_duplicate_keys(item, f"{place}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_duplicate_keys(item, f"{place}[{index}]")
