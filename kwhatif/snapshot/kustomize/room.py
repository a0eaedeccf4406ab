"""Counts what patches and replacements copy: of ten lines that double a document comes one of a thousand times it."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError


def copy_values(value: Any) -> Any:
    """A copy of plain values that a reader has bounded."""
    if isinstance(value, dict):
        return {key: copy_values(part) for key, part in value.items()}
    return [copy_values(element) for element in value] if isinstance(value, list) else value


class CopyRoom(msgspec.Struct):
    """What is left of what a build may copy, in values and characters."""

    left: int = msgspec.field(default_factory=lambda: bounds.COPIED_VALUES)

    def copy(self, value: Any, depth: int = 0) -> Any:
        """A copy of plain values. Raises InputError for too many, and for too deep ones."""
        if depth > bounds.DEPTH:
            raise InputError(f"lists and mappings are in each other more than {bounds.DEPTH} times")
        self.take(1)
        if isinstance(value, dict):
            return {key: self.copy(part, depth + 1) for key, part in value.items()}
        if isinstance(value, list):
            return [self.copy(element, depth + 1) for element in value]
        if isinstance(value, str):
            self.take(len(value) // 8)
        return value

    def take(self, number: int) -> None:
        """Count values. Raises InputError once they are too many."""
        self.left -= number
        if self.left < 0:
            raise InputError(f"kustomizations copy more than {bounds.COPIED_VALUES:,} values")
