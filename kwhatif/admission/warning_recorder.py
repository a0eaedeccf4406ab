"""The warnings that go with the answer to a request: each once, and cut to what a response's header takes.

Upstream: k8s.io/apiserver/pkg/endpoints/filters/warning.go.
"""

from __future__ import annotations

from collections.abc import Iterable

_MOST = 4 * 1024
"""Characters of all warnings; beyond that each of them is cut, and then no further ones are sent."""
_MOST_EACH = 256


class WarningRecorder:
    """The warnings about one request."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._written = 0
        self._cuts = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The warnings as they are sent, in order."""
        return tuple(text[:_MOST_EACH] for text in self._texts) if self._cuts else tuple(self._texts)

    @property
    def is_full(self) -> bool:
        """Whether no further warning would be sent."""
        return self._cuts and self._written >= _MOST

    def add(self, text: str) -> None:
        if not text or self.is_full or text in self._texts:
            return
        self._texts[text] = None
        self._written += min(len(text), _MOST_EACH) if self._cuts else len(text)
        if self._written > _MOST and not self._cuts:
            self._cuts = True
            self._written = sum(min(len(texts_of_pod), _MOST_EACH) for texts_of_pod in self._texts)

    def extend(self, texts: Iterable[str]) -> None:
        """Add warnings as far as they are sent; what makes them goes no further."""
        for text in texts:
            if self.is_full:
                return
            self.add(text)
