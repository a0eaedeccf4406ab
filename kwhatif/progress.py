"""Progress of long work, reported to a listener. There is none unless the command line installs one.

Loops whose length matters go through ``track``; other long work calls ``report_start``. The listener is a context
variable, so a new thread begins without one. Who reads a live cluster, in several threads, hands them what
``watch_reading`` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class ProgressListener(Protocol):
    """Receives progress reports."""

    def start(self, doing: str) -> None:
        """Other work begins: ``Loading prod.json``."""

    def update(self, doing: str, noun: str, done: int, of: int | None) -> None:
        """``done`` items of a total ``of`` (if known) are done: ``Placing 1,200 of 20,000 pods``."""

    def clear(self) -> None:
        """Remove what is shown, since other output follows."""


class ReadListener:
    """Receives what happens while a cluster is read, from several threads; this one ignores it."""

    def progress(self, kind: str, count: int, total: int | None) -> None:
        """``count`` objects of a kind are there, of a total if that is known."""

    def show(self, text: str) -> None:
        """How far it is, in words."""

    def tell(self, text: str) -> None:
        """Something worth knowing at once."""

    def end(self) -> None:
        """The reading is over, whatever threads are left."""


_onlooker: ContextVar[ProgressListener | None] = ContextVar("_onlooker", default=None)
_reading: ContextVar[Callable[[], ReadListener]] = ContextVar("_reading", default=ReadListener)


@contextmanager
def use_listener(
    onlooker: ProgressListener | None, reading: Callable[[], ReadListener] = ReadListener
) -> Iterator[None]:
    """Install a listener, or None, in this context, and what makes one for each reading of a live cluster."""
    tokens = _onlooker.set(onlooker), _reading.set(reading)
    try:
        yield
    finally:
        clear()
        _onlooker.reset(tokens[0])
        _reading.reset(tokens[1])


def replace_listener(onlooker: ProgressListener) -> None:
    """Report to another listener from now on, until ``use_listener`` ends."""
    clear()
    _onlooker.set(onlooker)


@contextmanager
def watch_reading() -> Iterator[ReadListener]:
    """The listener for the reading of a live cluster, until that is over."""
    watching = _reading.get()()
    try:
        yield watching
    finally:
        watching.end()


def report_start(doing: str) -> None:
    """Report that work begins."""
    if (onlooker := _onlooker.get()) is not None:
        onlooker.start(doing)


def report_progress(doing: str, noun: str, done: int, of: int | None = None) -> None:
    """Report progress of work without a loop over all of it."""
    if (onlooker := _onlooker.get()) is not None:
        onlooker.update(doing, noun, done, of)


def track(items: Iterable[T], doing: str, noun: str) -> Iterable[T]:
    """The items themselves, with progress reported as they are consumed. Without a listener this costs nothing."""
    onlooker = _onlooker.get()
    return items if onlooker is None else _track_items(onlooker, items, doing, noun)


def _track_items(onlooker: ProgressListener, items: Iterable[T], doing: str, noun: str) -> Iterator[T]:
    of = len(items) if isinstance(items, Collection) else None
    for done, item in enumerate(items):
        onlooker.update(doing, noun, done, of)
        yield item


def clear() -> None:
    """Remove what is shown, since other output follows."""
    if (onlooker := _onlooker.get()) is not None:
        onlooker.clear()
