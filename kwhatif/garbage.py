"""How often Python looks for garbage that refers to itself: rarely or never, where nearly all that is made is kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS, _TIMES = 100_000, 20


@contextmanager
def collect_rarely() -> Iterator[None]:
    """Look for garbage after 100,000 new objects and not after 700, unless that happens more rarely already.

    As Python has it, a question about ten thousand workloads takes a fourth of its time to look in vain.
    """
    usual = gc.get_threshold()
    if not 0 < usual[0] < _OBJECTS:
        yield
        return
    gc.set_threshold(_OBJECTS, _TIMES, _TIMES)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextmanager
def never_collect() -> Iterator[None]:
    """Objects from JSON hold no cycles; looking for some in a growing cluster takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
