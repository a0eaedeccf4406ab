"""What is worth knowing but no part of an answer."""

from __future__ import annotations

from collections.abc import Iterator


class Notes:
    """Texts such as ``note: the snapshot is 3 days old`` in the order in which they came up, each once."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def note(self, text: str) -> None:
        """Something to know."""
        self._texts[f"note: {text}"] = None

    def warn(self, text: str) -> None:
        """Something that may make the answer other than meant."""
        self._texts[f"warning: {text}"] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)
