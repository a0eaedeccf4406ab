"""The file that holds a scheduler configuration, read for the policy commands and ``--policy``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kwhatif.errors import InputError

__all__ = ["MAX_BYTES", "is_doubled_key", "read_policy"]

MAX_BYTES = 16 * 1024**2
"""No configuration may be larger."""


def read_policy(file: str) -> tuple[Any, str, tuple[str, ...]]:
    """The first document of a YAML or JSON file (``-``: standard input), its name for errors, and warnings.

    Like kube-scheduler, it looks at no further document. An empty file is an empty document, not none at all.
    Raises InputError.
    """
    from kwhatif.snapshot.documents import read_documents
    from kwhatif.snapshot.files import read_paths

    if Path(file).is_dir():
        raise InputError("expected a file, found a directory", source=file)
    (text,) = read_paths([file], max_bytes=MAX_BYTES)
    documents = read_documents(text)
    if not documents:
        return {}, text.name, ()
    first, source = documents[0].value, text.name
    value = first if isinstance(first, dict | list | str | int | float) else _json(bytes(first), source)
    if len(documents) == 1:
        return value, source, ()
    ignored = f"{source}: only the first of its {len(documents)} documents is read, as by kube-scheduler"
    return value, source, (ignored,)


def is_doubled_key(error: InputError) -> bool:
    """Whether a reader complains of a key that appears twice, which kube-scheduler refuses too."""
    return error.problem.startswith("the key ") and " appears twice" in error.problem


class _Object(dict[str, Any]):
    """A JSON object that remembers a key it had twice."""

    doubled: str | None = None


def _json(data: bytes, source: str) -> Any:
    """JSON as strictly as YAML: no key twice. Its syntax is known to be sound."""

    def build(pairs: list[tuple[str, Any]]) -> _Object:
        built = _Object(pairs)
        if len(built) < len(pairs):
            built.doubled = Counter(key for key, _ in pairs).most_common(1)[0][0]
        return built

    try:
        value = json.loads(data, object_pairs_hook=build)
    except ValueError as error:
        raise InputError(f"not a configuration: {error}", source=source) from None
    for place, key in _doubled(value, "$"):
        raise InputError(f"the key {json.dumps(key)} appears twice", source=source, place=place)
    return value


def _doubled(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """The places of all objects that had a key twice, and the key."""
    if isinstance(value, _Object):
        if value.doubled is not None:
            yield place, value.doubled
        for key, item in value.items():
            yield from _doubled(item, f"{place}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _doubled(item, f"{place}[{index}]")
