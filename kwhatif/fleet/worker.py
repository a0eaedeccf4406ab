"""What a worker does: it keeps the base of the study, and answers for one batch of worlds after the other."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kwhatif.errors import KwhatifError
from kwhatif.progress import shown_to

Ask = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one world: its row, or why there is none."""

    row: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """Those of a batch, in its order, the seconds they took, and which worker it was, where one can be avoided."""

    each: Sequence[Answer]
    seconds: float
    worker: str = ""


_bases: dict[str, Any] = {}
_one_at_a_time = threading.RLock()
"""Worlds of one process share its base, so threads take turns."""


def answers(ask: Ask, base: Any, worlds: Sequence[Any], worker: str = "") -> Answers:
    """Ask of each of these worlds. An error of one of them is its answer."""
    with _one_at_a_time, shown_to(None), settled():
        begun = time.monotonic()
        each = [_answer(ask, base, world) for world in worlds]
        return Answers(each, time.monotonic() - begun, worker)


@contextmanager
def settled() -> Iterator[None]:
    """Have the collector of garbage look seldom, as on the command line, and never through what is there already."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)


def _answer(ask: Ask, base: Any, world: Any) -> Answer:
    try:
        return Answer(ask(base, world))
    except KwhatifError as error:
        return Answer(error=str(error))
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}")


def kept_base(key: str, load: Callable[[], Any]) -> Any:
    """The base that goes by this key, loaded when this process first has to do with it. Only the last one is kept."""
    with _one_at_a_time:
        if key not in _bases:
            _bases.clear()
            # As when files are read: there are no cycles in it, and looking for some takes most of the time.
            gc.disable()
            try:
                _bases[key] = load()
            finally:
                gc.enable()
        return _bases[key]
