"""How far something has come, for whoever looks at the terminal."""

from __future__ import annotations

import sys
import threading
import time

from kwhatif.cli.output import tell


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


class Watching:
    """What is told while a cluster is read, by several threads: a line that changes, and lines that stay."""

    def __init__(self) -> None:
        self._line, self._lock = Progress(), threading.Lock()
        self._counts: dict[str, str] = {}
        self._over = False

    def progress(self, kind: str, count: int, total: int | None) -> None:
        with self._lock:
            if self._over:
                return
            self._counts.pop(kind, None)
            self._counts[kind] = f"{kind} {count:,}" + ("" if total is None or total == count else f"/{total:,}")
            self._line.show("reading " + ", ".join(list(self._counts.values())[-4:]))

    def show(self, text: str) -> None:
        """The line that changes."""
        with self._lock:
            if not self._over:
                self._line.show(text)

    def tell(self, text: str) -> None:
        with self._lock:
            if self._over:
                return
            self._line.clear()
            tell(f"note: {text}")

    def end(self) -> None:
        """Nothing is told from now on, whatever threads are left."""
        with self._lock:
            self._line.clear()
            self._over = True
