"""How far something has come, as a line on the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from kwhatif.cli.output import tell
from kwhatif.progress import ReadListener, clear
from kwhatif.render.escape import clean, in_text
from kwhatif.results.amounts import format_age

PATIENCE, PAUSE = 1.0, 0.2
"""Seconds before anything is shown, and between two lines about the same."""

_TOLD_AFTER = 2.0
"""Seconds of a loop after which its pace is worth telling."""


class Progress:
    """One line of a terminal that is written over and over."""

    def __init__(self, terminal: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal, self._clock = terminal, clock
        self._first = self._next = clock() + PATIENCE
        self._width = 0
        self._loop, self._since, self._before = "", 0.0, 0

    def start(self, doing: str) -> None:
        """What is done from now on. What it takes the place of is no longer true, so this is not put off."""
        self._next = self._first
        self.show(doing)

    def update(self, doing: str, noun: str, done: int, of: int | None = None) -> None:
        """How far it has come; most of the time it is too soon to say so."""
        now = self._clock()
        if (loop := f"{doing} {noun}") != self._loop:
            self._loop, self._since, self._before = loop, now, done
        if now < self._next:
            return
        if of is None:
            self.show(f"{doing}: {done:,} {noun}")
        else:
            self.show(f"{doing} {done:,} of {of:,} {noun}{_pace(now - self._since, done - self._before, of - done)}")

    def show(self, text: str) -> None:
        """The line, cut where the terminal ends, if it is time for one."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + PAUSE
        text = in_text(clean(text))[: shutil.get_terminal_size().columns - 1]
        self._write(f"\r{text:<{self._width}}")
        self._width = len(text)

    def clear(self) -> None:
        """Nothing is left of the line."""
        if self._width:
            self._write(f"\r{'':<{self._width}}\r")
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except OSError:
            # The terminal is gone.
            self._first = self._next = float("inf")


def _pace(seconds: float, done: int, remaining: int) -> str:
    """How fast it goes and how long it will take, once that is known: ``, 12.3 a second, 2 minutes left``."""
    if seconds < _TOLD_AFTER or not done or remaining <= 0:
        return ""
    pace = done / seconds
    rate = f"{pace:,.0f}" if pace >= 10 else f"{pace:.1f}"
    return f", {rate} a second, {format_age(max(1, round(remaining / pace)))} left"


def progress() -> Progress | None:
    """The line for this command; None where it cannot change: in a pipe, in CI, while a shell completes words."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    unwanted = os.environ.get("CI") or os.environ.get("TERM") == "dumb" or "_KWHATIF_COMPLETE" in os.environ
    return None if unwanted else Progress(sys.stderr)


class StepLog:
    """A line for each step, with the seconds since the program began to listen: ``-v``."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began, self._last = clock, clock(), ""

    def start(self, doing: str) -> None:
        """The step that begins."""
        if doing != self._last:
            self._last = doing
            tell(f"{self._clock() - self._began:8.3f}s {doing}")

    def update(self, doing: str, noun: str, done: int, of: int | None) -> None:
        """A loop is one step, with how much there is to do."""
        if not done:
            self.start(f"{doing} {noun}" if of is None else f"{doing} {of:,} {noun}")

    def clear(self) -> None:
        """Lines stay."""


class ReadProgress(ReadListener):
    """What is printed while a cluster is read, by several threads: a line that changes, and lines that stay."""

    def __init__(self) -> None:
        clear()
        self._line, self._lock = progress(), threading.Lock()
        self._counts: dict[str, str] = {}
        self._over = False

    def progress(self, kind: str, count: int, total: int | None) -> None:
        with self._lock:
            self._counts.pop(kind, None)
            self._counts[kind] = f"{kind} {count:,}" + ("" if total is None or total == count else f"/{total:,}")
            self._show("Reading " + ", ".join(list(self._counts.values())[-4:]))

    def show(self, text: str) -> None:
        """The line that changes."""
        with self._lock:
            self._show(text)

    def tell(self, text: str) -> None:
        with self._lock:
            if self._over:
                return
            self._clear()
            tell(f"note: {text}")

    def end(self) -> None:
        """Nothing is printed from now on, whatever threads are left."""
        with self._lock:
            self._clear()
            self._over = True

    def _show(self, text: str) -> None:
        if self._line is not None and not self._over:
            self._line.show(text)

    def _clear(self) -> None:
        if self._line is not None:
            self._line.clear()
