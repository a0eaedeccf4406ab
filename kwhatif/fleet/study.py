"""A study as a value, one question asked of many independent worlds; and the work of a worker, which keeps the study's
base and computes batches of worlds.
"""

from __future__ import annotations

import gc
import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from kwhatif import __version__
from kwhatif.errors import KwhatifError
from kwhatif.garbage import collect_rarely
from kwhatif.progress import use_listener

Base = TypeVar("Base")
Task = TypeVar("Task", bound=msgspec.Struct)
Row = TypeVar("Row", bound=msgspec.Struct)


class FailedTask(msgspec.Struct, frozen=True):
    """A world that failed twice: its place among the worlds, and the last error."""

    index: int
    error: str


class Study(msgspec.Struct, Generic[Base, Task, Row], frozen=True, eq=False, dict=True):
    """Worlds and the question asked of each.

    ``base`` is what they have in common: any value that can be pickled. It is sent once to each worker, and every world
    must leave it unchanged. ``worlds`` are small frozen Structs. ``ask`` is a module-level function, since workers find
    it by name; it returns a ``row``, and the same for the same world. ``of`` identifies the base, by a digest or a
    name: kept rows are reused where it is the same. A base that cannot be pickled is ``stationary``. Where each world
    surely takes seconds, the study is ``heavy``.
    """

    name: str
    base: Base
    tasks: Sequence[Task]
    ask: Callable[[Base, Task], Row]
    row: type[Row]
    base_digest: str
    stationary: bool = False
    heavy: bool = False

    @cached_property
    def digest(self) -> str:
        """The identity of this study: 16 hexadecimal digits."""
        function = f"{self.ask.__module__}.{self.ask.__qualname__}"
        fields = [(field.name, str(field.type)) for field in msgspec.structs.fields(self.row)]
        # Another release may answer otherwise.
        identity: list[Any] = [self.name, self.base_digest, function, fields, __version__]
        digest = hashlib.sha256(msgspec.json.encode(identity))
        for world in self.tasks:
            digest.update(msgspec.json.encode(world) + b"\n")
        return digest.hexdigest()[:16]


Ask = Callable[[Any, Any], Any]


class TaskResult(msgspec.Struct, frozen=True):
    """The outcome of one world: its row, or why there is none."""

    row: Any = None
    error: str | None = None


class BatchResult(msgspec.Struct, frozen=True):
    """The results of a batch, in its order, the seconds they took, and the worker, where it can be avoided."""

    results: Sequence[TaskResult]
    seconds: float
    worker: str = ""


_bases: dict[str, Any] = {}
_LARGE = 2
"""A world of which so many times 100,000 objects are left when it is over."""

_one_at_a_time = threading.RLock()
"""Worlds of one process share its base, so threads take turns."""


def answer_batch(ask: Ask, base: Any, worlds: Sequence[Any], worker: str = "") -> BatchResult:
    """Compute each of these worlds. An error of one of them is its result."""
    with _one_at_a_time, use_listener(None), reduce_garbage_collection():
        begun = time.monotonic()
        results = [_answer(ask, base, world) for world in _one_by_one(worlds)]
        return BatchResult(results, time.monotonic() - begun, worker)


@contextmanager
def reduce_garbage_collection() -> Iterator[None]:
    """Make the garbage collector run rarely, as on the command line, and never over what is loaded already."""
    with collect_rarely():
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()


def _one_by_one(worlds: Iterable[Any]) -> Iterator[Any]:
    """These worlds, and what a large one leaves behind, which refers to itself, is gone before the next."""
    for world in worlds:
        yield world
        if gc.get_count()[1] > _LARGE:
            gc.collect()


def _answer(ask: Ask, base: Any, world: Any) -> TaskResult:
    try:
        return TaskResult(ask(base, world))
    except KwhatifError as error:
        return TaskResult(error=str(error))
    except Exception as error:
        return TaskResult(error=f"{type(error).__name__}: {error}")


def kept_base(key: str, load: Callable[[], Any]) -> Any:
    """The base with this key, loaded on first use in this process. Only the last one is kept."""
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
