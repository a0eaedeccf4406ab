"""The interface of executors, and the local one: processes of this machine by loky, none where one worker is enough.

Where a fork is safe they begin with the base of the study. Otherwise they get it through a pipe, and import nothing
from the working directory. They end when their parent has gone.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import get_context
from typing import Any, Protocol

from kwhatif.errors import UsageError
from kwhatif.fleet.study import Ask, BatchResult, Study, answer_batch, kept_base

LOST = "its worker was killed, or ran out of memory"


class LostError(Exception):
    """Workers died, and it is unknown which of the batches under way killed them."""


class FatalError(Exception):
    """A batch killed its workers repeatedly."""


class WorkerPool(Protocol):
    """Workers that have the base of a study."""

    @property
    def width(self) -> int:
        """How many batches should be under way at a time."""

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[BatchResult]:
        """Hand out a batch; if there is a choice, to another worker than the one to ``avoid``."""

    def verdict(self, error: BaseException) -> Exception:
        """The meaning of a future's error: LostError, FatalError, or else the error that ends the study."""

    def renew(self) -> None:
        """Start workers again, after some were lost."""


class Executor(Protocol):
    """A place where workers run."""

    def workers(self, study: Study[Any, Any, Any], worlds: int) -> AbstractContextManager[WorkerPool]:
        """A context with workers for a number of worlds. Raises KwhatifError."""


def describe_failure(error: BaseException) -> str:
    """Why workers on other machines fail."""
    return f"the workers do not answer: {type(error).__name__}: {error} (they need the same kwhatif)"


_DASK = re.compile(r"dask://(?P<address>[^/\s]+:\d+)")
_RAY = re.compile(r"ray|ray://[^/\s]+:\d+")


_ALONE, _WORTH_IT = 1.0, 3.0
"""Seconds after which more workers are thought of, and that must be left then for them to be worth their start."""


_IDLE = 30
"""Seconds after which an idle process ends."""

_LOOKS_EVERY = 0.5
"""Seconds between a worker's checks whether its parent still runs."""


class LocalExecutor:
    """A number of ``processes`` of this machine. With one, worlds are computed in this very process.

    None means one for each core, once it is clear that the study takes long enough. A heavy one has them from the
    beginning, and a process for each world if these are few: of three on two cores, none waits for the others.
    """

    def __init__(self, processes: int | None = None) -> None:
        self._processes = processes

    @contextmanager
    def workers(self, study: Study[Any, Any, Any], worlds: int) -> Iterator[WorkerPool]:
        """Raises UsageError for several processes, where there is no Python to start them with."""
        with ExitStack() as stack:
            processes = None if self._processes is None else min(self._processes, worlds)
            if getattr(sys, "frozen", False):
                if processes is not None and processes > 1:
                    raise UsageError(f"--workers {self._processes}: this program has no Python; pip install kwhatif")
                processes = 1
            if not _can_share(study):
                processes = 1
            if processes is None and study.heavy and can_fork():
                cores = cores_here()
                processes = worlds if cores > 1 and worlds < 2 * cores else min(worlds, cores)
            if processes is None:
                yield _GrowingPool(study, worlds, stack)
            else:
                yield _ThisProcess(study) if processes <= 1 else stack.enter_context(_processes(study, processes))


class _ThisProcess:
    """No worker but this process; a batch is computed when it is submitted."""

    width = 1

    def __init__(self, study: Study[Any, Any, Any]) -> None:
        self._study = study

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[BatchResult]:
        done: Future[BatchResult] = Future()
        done.set_result(answer_batch(self._study.ask, self._study.base, worlds))
        return done

    def verdict(self, error: BaseException) -> Exception:
        raise error

    def renew(self) -> None:
        """Nothing can be lost."""


class _GrowingPool:
    """This process first, then one for each core if that would end the study sooner."""

    def __init__(self, study: Study[Any, Any, Any], worlds: int, stack: ExitStack) -> None:
        self._study, self._left, self._stack = study, worlds, stack
        self._pool: WorkerPool = _ThisProcess(study)
        self._seconds, self._asked = 0.0, 0

    @property
    def width(self) -> int:
        return self._pool.width

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[BatchResult]:
        left = self._left - self._asked
        if self._seconds > _ALONE and isinstance(self._pool, _ThisProcess) and _can_share(self._study):
            if self._seconds / self._asked * left > _WORTH_IT and (cores := min(cores_here(), left)) > 1:
                self._pool = self._stack.enter_context(_processes(self._study, cores))
            self._seconds = 0.0
        future = self._pool.submit(worlds, avoid)
        if isinstance(self._pool, _ThisProcess):
            self._seconds += future.result().seconds
            self._asked += len(worlds)
        return future

    def verdict(self, error: BaseException) -> Exception:
        return self._pool.verdict(error)

    def renew(self) -> None:
        self._pool.renew()


def cores_here() -> int:
    """The cores that this process may use."""
    from joblib.externals.loky import cpu_count

    return int(cpu_count())


def can_fork() -> bool:
    """Whether a fork of this process is safe: on Linux, where no other thread may hold a lock."""
    return sys.platform == "linux" and threading.active_count() == 1


def _can_share(study: Study[Any, Any, Any]) -> bool:
    """Whether other processes can have the base of a study now: pickled, or as forks."""
    return not study.stationary or can_fork()


@contextmanager
def _processes(study: Study[Any, Any, Any], processes: int) -> Iterator[WorkerPool]:
    with _shut_down_in_order(), _isolated_children():
        pool = _Processes(study, processes)
        try:
            yield pool
        finally:
            pool.close()


@contextmanager
def _shut_down_in_order() -> Iterator[None]:
    """On SIGTERM or SIGHUP a process ends its workers first, and removes what it wrote for them."""
    if threading.current_thread() is not threading.main_thread():
        # Signals are none of another thread's business.
        yield
        return
    ends = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    # What is ignored, as SIGHUP is under nohup, stays ignored.
    before = {end: handlers for end in ends if (handlers := signal.getsignal(end)) is not signal.SIG_IGN}
    for signals in before:
        signal.signal(signals, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for signals, handler in before.items():
            signal.signal(signals, handler)


class _Processes:
    """Processes of loky. A further one, kept apart, retries failed worlds."""

    def __init__(self, study: Study[Any, Any, Any], processes: int) -> None:
        self._key, self._study, self._processes = uuid.uuid4().hex, study, processes
        # While one batch is being asked about, the next one waits at the worker's door.
        self.width = 2 * processes
        self._apart: Any = None
        self._executor = self._start(processes)

    def submit(self, worlds: Sequence[Any], avoid: str | None = None) -> Future[BatchResult]:
        executor = self._executor
        if avoid is not None and not self._study.stationary:
            executor = self._apart = self._apart or self._start(1)
        # Processes are started here, and by a thread that is.
        with _no_interrupts():
            future: Future[BatchResult] = executor.submit(_answer_batch, self._key, worlds)
        return future

    def verdict(self, error: BaseException) -> Exception:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        # Also what is said of a process that was killed (TerminatedWorkerError).
        if isinstance(error, BrokenProcessPool):
            return LostError(LOST)
        raise error

    def renew(self) -> None:
        self.close()
        self._executor = self._start(self._processes)

    def close(self) -> None:
        """End the workers at once."""
        for executor in filter(None, (self._executor, self._apart)):
            executor.shutdown(wait=True, kill_workers=True)
        self._apart = None

    def _start(self, processes: int) -> Any:
        """An executor whose workers are started by its first batch.

        The base is in no file that other users could read, or that a killed run could leave behind. For a cluster of
        5,000 nodes and 50,000 pods it is forty megabytes.
        """
        from joblib.externals.loky import ProcessPoolExecutor

        # A process that has grown too large ends, and another one takes its place: that is as it should be.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        work = self._study.ask, self._study.base
        # After a loss, the threads of the former executor may still be about to end.
        if self._study.stationary or can_fork():
            # None ends when it is idle: another one would be forked beside the executor's threads.
            how = {"context": get_context("fork"), "initargs": (work, os.getpid())}
        else:
            how = {"timeout": _IDLE, "initargs": (pickle.dumps(work, protocol=5), os.getpid())}
        return ProcessPoolExecutor(processes, initializer=_begin_work, **how)


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ctrl-C waits until this is over. What is started meanwhile, processes and threads, never hears of it.

    An interrupt in the middle of a start leaves workers that nobody knows of and waits for; workers that hear of it
    before they can ignore it print where they were.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    # What is started inherits the mask of this thread; the signal itself may come by way of another thread.
    heard: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _isolated_children() -> Iterator[None]:
    """Python processes that are started in this context import nothing from the working directory or, with ``python
    -I``, from the paths that variables name.

    loky starts its own with ``-m`` and resource trackers with ``-c``, for which that directory comes first; they accept
    neither -I nor -P. This holds also for processes that replace others later.
    """
    before = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    if sys.flags.ignore_environment:
        for name in before:
            del os.environ[name]
        os.environ["PYTHONNOUSERSITE"] = "1"
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        for name in ("PYTHONSAFEPATH", "PYTHONNOUSERSITE"):
            os.environ.pop(name, None)
        os.environ.update(before)


_handed_over: list[Any] = []
"""In a worker: what it asks and the base, pickled where the worker is no fork, until its first batch."""


def _begin_work(work: Any, parent: int) -> None:
    _handed_over[:] = [work]
    follow_parent(parent)


def follow_parent(parent: int) -> None:
    """Ctrl-C is handled by the parent, which ends its workers; a worker whose parent has gone ends itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def _watch_parent(parent: int) -> None:
    # Windows knows no other parent than the first one, and ends idle workers only.
    while os.getppid() == parent:
        time.sleep(_LOOKS_EVERY)
    os._exit(1)


def _answer_batch(key: str, worlds: Sequence[Any]) -> BatchResult:
    ask, base = kept_base(key, _load_base)
    return answer_batch(ask, base, worlds)


def _load_base() -> tuple[Ask, Any]:
    work = _handed_over.pop()
    task: tuple[Ask, Any] = pickle.loads(work) if isinstance(work, bytes) else work
    return task
