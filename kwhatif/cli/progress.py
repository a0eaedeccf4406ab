"""How far something has come, for whoever looks at the terminal."""

from __future__ import annotations

import sys
import time


class Progress:
    """One line on standard error that keeps changing, if somebody looks at it."""

    def __init__(self) -> None:
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._next = 0.0
        self._width = 0

    def show(self, text: str) -> None:
        if self._wanted and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            sys.stderr.write(f"\r{text:<{self._width}}")
            sys.stderr.flush()
            self._width = len(text)

    def clear(self) -> None:
        if self._width:
            sys.stderr.write(f"\r{'':<{self._width}}\r")
            sys.stderr.flush()
