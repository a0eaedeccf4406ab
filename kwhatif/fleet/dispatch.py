"""Dispatch of a study: batches are handed to workers, results come back in order, failures are retried once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing, nullcontext
from typing import Any

import msgspec

from kwhatif.errors import UsageError
from kwhatif.fleet.executors import Executor, FatalError, LocalExecutor, LostError, WorkerPool
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.study import Base, BatchResult, FailedTask, Row, Study, Task
from kwhatif.progress import report_progress

_BATCH_SECONDS = 0.25
"""A batch is to take about so long: much longer than it takes to hand it over, and short enough to lose."""

_MOST_LOSSES = 2
"""A world that was under way this often when workers died is retried alone, to see whether it kills them."""

IndexedResult = tuple[int, Any]
"""A world's place among the worlds, and its row or Failed."""


def run(study: Study[Base, Task, Row], executor: Executor, rows: RowsFile | None = None) -> Generator[Row | FailedTask]:
    """The rows of a study **in the order of its worlds**, whatever the executor and the number of its workers.

    They are written to ``rows`` as they come; worlds whose rows are there already are not computed again, failed ones
    are. Closing the iterator, or raising in it as Ctrl-C does, ends the workers and keeps the rows so far. Raises
    KwhatifError if there are no workers, or if ``rows`` belong to another study; UsageError if workers elsewhere are to
    compute a study that is stationary.
    """
    if study.stationary and not isinstance(executor, LocalExecutor):
        raise UsageError(
            "--on: updates of workloads that run already, --autoscale, and pods that a quota refuses, are tried on "
            "this machine only"
        )
    with nullcontext() if rows is None else closing(rows):
        ready: dict[int, Any] = {} if rows is None else dict(rows.begin(study))
        left = [index for index in range(len(study.tasks)) if index not in ready]
        done = len(ready)
        with executor.workers(study, len(left)) as pool:
            course = _Dispatcher(study, pool, left)
            for index in range(len(study.tasks)):
                while index not in ready:
                    report_progress(study.name, "worlds", done, len(study.tasks))
                    results = course.next_results()
                    if rows is not None:
                        rows.add(results)
                    ready.update(results)
                    done += len(results)
                yield ready.pop(index)


class _Batch(msgspec.Struct, frozen=True):
    """Worlds handed to a worker, by their places. ``last``: they are not retried."""

    indices: list[int]
    last: bool = False


class _Dispatcher:
    """The worlds to be handed out, and those under way.

    todo        not handed out yet
    single      lost with a worker together with others, so each is retried by itself
    suspects    lost that way more than once, so each is retried while nothing else is under way
    failed      they raised an error at the worker named, which must not get them again
    """

    def __init__(self, study: Study[Any, Any, Any], pool: WorkerPool, numbers: Iterable[int]) -> None:
        self._worlds, self._pool = study.tasks, pool
        self._todo, self._single, self._suspects = deque(numbers), deque[int](), deque[int]()
        self._failed = deque[tuple[int, str]]()
        self._losses = Counter[int]()
        self._under_way: dict[Future[BatchResult], _Batch] = {}
        self._size = 1

    def next_results(self) -> list[IndexedResult]:
        """The next results, possibly none, although there are more to come."""
        self._hand_out()
        wait(self._under_way, return_when=FIRST_COMPLETED)
        done = [(future, self._under_way.pop(future)) for future in list(self._under_way) if future.done()]
        errors = [(batch, error) for future, batch in done if (error := _error_of(future)) is not None]
        results = [
            collect_answer
            for future, batch in done
            if not _error_of(future)
            for collect_answer in self._collect_answers(batch, future)
        ]
        for batch, error in errors:
            verdict = self._pool.verdict(error)
            if not isinstance(verdict, LostError | FatalError):
                raise verdict
            if isinstance(verdict, LostError):
                # The others will not come back either.
                lost = [world for world, _ in errors] + list(self._under_way.values())
                self._under_way.clear()
                self._pool.renew()
                return [*results, *self._handle_lost_batches(lost, str(verdict))]
            results += self._fatal(batch, str(verdict))
        return results

    # --- out

    def _hand_out(self) -> None:
        while len(self._under_way) < self._pool.width:
            if self._failed:
                index, worker = self._failed.popleft()
                self._hand(_Batch([index], last=True), worker)
            elif self._single:
                self._hand(_Batch([self._single.popleft()]))
            elif self._todo:
                # Towards the end batches are smaller, so that all workers end at about the same time.
                size = min(self._size, -(-len(self._todo) // self._pool.width))
                self._hand(_Batch([self._todo.popleft() for _ in range(size)]))
            elif self._suspects and not self._under_way:
                self._hand(_Batch([self._suspects.popleft()]))
            else:
                return

    def _hand(self, batch: _Batch, avoid: str | None = None) -> None:
        worlds = [self._worlds[index] for index in batch.indices]
        try:
            future = self._pool.submit(worlds, avoid)
        except Exception as error:
            # As when no worker is left.
            future = Future()
            future.set_exception(error)
        self._under_way[future] = batch

    # --- back

    def _collect_answers(self, batch: _Batch, future: Future[BatchResult]) -> Iterator[IndexedResult]:
        answers = future.result()
        if answers.seconds > 2 * _BATCH_SECONDS:
            self._size = max(1, self._size // 2)
        elif len(batch.indices) == self._size and answers.seconds < _BATCH_SECONDS / 2:
            self._size *= 2
        for index, answer in zip(batch.indices, answers.results, strict=True):
            if answer.error is None:
                yield index, answer.row
            elif batch.last:
                yield index, FailedTask(index, answer.error)
            else:
                self._failed.append((index, answers.worker))

    def _handle_lost_batches(self, batches: list[_Batch], why: str) -> Iterator[IndexedResult]:
        """Retry these batches: one of their worlds may have killed its worker."""
        indices = [index for batch in batches for index in batch.indices]
        self._losses.update(indices)
        for index in indices:
            if self._losses[index] < _MOST_LOSSES:
                self._single.append(index)
            elif self._losses[index] == _MOST_LOSSES or len(indices) > 1:
                self._suspects.append(index)
            else:
                yield index, FailedTask(index, why)

    def _fatal(self, batch: _Batch, why: str) -> Iterator[IndexedResult]:
        if len(batch.indices) == 1:
            yield batch.indices[0], FailedTask(batch.indices[0], why)
        else:
            self._single.extend(batch.indices)


def _error_of(future: Future[BatchResult]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()
