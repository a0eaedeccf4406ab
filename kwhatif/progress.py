"""How far a long piece of work has come, reported to a listener. There is none unless the command line installs one.

Loops whose length matters go through ``tracked``; what takes long as a whole is ``begun``. A thread is nobody's to look
on: the one who looks on is the context's, and a new thread begins with none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class ProgressListener(Protocol):
    """Who looks on."""

    def start(self, doing: str) -> None:
        """Something else is done from now on: ``Loading prod.json``."""

    def update(self, doing: str, noun: str, done: int, of: int | None) -> None:
        """``done`` of these things are done, ``of`` so many if that is known: ``Placing 1,200 of 20,000 pods``."""

    def clear(self) -> None:
        """Something else is about to be printed."""


_onlooker: ContextVar[ProgressListener | None] = ContextVar("_onlooker", default=None)


@contextmanager
def use_listener(onlooker: ProgressListener | None) -> Iterator[None]:
    """Somebody looks on, or nobody, until this is over."""
    token = _onlooker.set(onlooker)
    try:
        yield
    finally:
        clear()
        _onlooker.reset(token)


def report_start(doing: str) -> None:
    """Say what is done from now on."""
    if (onlooker := _onlooker.get()) is not None:
        onlooker.start(doing)


def report_progress(doing: str, noun: str, done: int, of: int | None = None) -> None:
    """Say how far it has come, where no loop goes through all of it."""
    if (onlooker := _onlooker.get()) is not None:
        onlooker.update(doing, noun, done, of)


def track(items: Iterable[T], doing: str, noun: str) -> Iterable[T]:
    """The items themselves, and while they are gone through, how far that is. Without an onlooker nothing is added."""
    onlooker = _onlooker.get()
    return items if onlooker is None else _track_items(onlooker, items, doing, noun)


def _track_items(onlooker: ProgressListener, items: Iterable[T], doing: str, noun: str) -> Iterator[T]:
    of = len(items) if isinstance(items, Collection) else None
    for done, item in enumerate(items):
        onlooker.update(doing, noun, done, of)
        yield item


def clear() -> None:
    """Take away what is shown, since something else is about to be printed."""
    if (onlooker := _onlooker.get()) is not None:
        onlooker.clear()
