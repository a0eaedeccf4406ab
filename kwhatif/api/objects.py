"""Objects as plain values, as others wrote them: any field may be missing, or be of another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.errors import InputError


def section(value: Any, *path: str) -> dict[str, Any]:
    """The mapping at a path of field names; an empty one where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def part_of(value: Any, *path: str) -> Any:
    """What stands at a path of field names. Raises InputError with the place where nothing does."""
    here = value
    try:
        for key in path:
            here = here[key]
    except (KeyError, TypeError, IndexError):
        metadata = section(value, "metadata")
        names = [str(name) for name in (section(value).get("kind"), metadata.get("name")) if name]
        whose = f" of {' '.join(names)}" if names else ""
        raise InputError(f"expected a value{whose}, found none", place=f"$.{'.'.join(path)}") from None
    return here


def list_at(value: Mapping[str, Any], key: str) -> list[Any]:
    """The list of a field; an empty one where there is none."""
    entries = value.get(key)
    return entries if isinstance(entries, list) else []


def text_at(value: Mapping[str, Any], key: str) -> str:
    """The text of a field; empty where there is none."""
    text = value.get(key)
    return text if isinstance(text, str) else ""
