"""The workers as the server has them: so many at once, a queue before them, and limits for each question."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from kwhatif.serve import frames
from kwhatif.serve.frames import ClusterStatus, Head
from kwhatif.serve.replies import JSON, Reply, problem_reply
from kwhatif.snapshot.live.live_cluster import Connection

MIB = 1024**2

_QUESTIONS_PER_WORKER = 500
"""Questions that a worker answers before another fork takes its place, so that what it remembers does not add up."""

_LEAST_AGE_SECONDS = 0.5
"""Up to this age a worker is used though the cluster has changed: a busy cluster must not cost a fork a question."""

_RESTART_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Limits(msgspec.Struct, frozen=True):
    """``workers`` processes, ``waiting`` questions in the queue; ``seconds`` and ``memory`` bytes for each question;
    ``body`` bytes of a request, and ``each_client`` requests at once.
    """

    workers: int = 2
    waiting: int = 64
    seconds: float = 60.0
    memory: int = 1024 * MIB
    body: int = 32 * MIB
    each_client: int = 16
    body_seconds: float = 30.0


class _Worker(msgspec.Struct, eq=False):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    pid: int
    changes: int
    as_of: str
    born: float = msgspec.field(default_factory=time.monotonic)
    questions: int = 0

    def end(self, *, kill: bool = False) -> None:
        self.writer.close()
        if kill:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Workers:
    """Asks questions of forks of the keeper, which it starts, and starts again should it end.

    The cluster is that of ``files``, or the one that is ``followed``, by a process that is started as well. ``status``
    is what is known of it: ``state`` is loading, ready or failed.
    """

    def __init__(
        self,
        files: Sequence[str],
        limits: Limits,
        *,
        followed: Connection | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.limits = limits
        self.status = ClusterStatus()
        self.changed = asyncio.Event()
        self._files, self._followed, self._say = tuple(files), followed, say
        self._free: deque[_Worker] = deque()
        self._slots = asyncio.Semaphore(limits.workers)
        self._waiting = 0
        self._forks: socket.socket | None = None

    @property
    def is_ready(self) -> bool:
        return self.status.state == "ready"

    # --- the keeper

    async def run_keeper(self) -> None:
        """Have a keeper until this is cancelled."""
        pause = _RESTART_PAUSE
        while True:
            await self._keep_once()
            if self.status.state == "failed":
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self.status = ClusterStatus()
                self._say("the process that keeps the cluster ended; it is started again")
                await asyncio.sleep(_RESTART_PAUSE)
                pause = _RESTART_PAUSE

    async def _keep_once(self) -> None:
        """Have a keeper, and a follower if a cluster is followed, until one of them ends."""
        feed, keeper_feed = socket.socketpair()
        forks, keeper_forks = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.ExitStack() as ending:
            follower_channels: list[socket.socket] = []
            if self._followed is not None:
                keeper_lines, follower_lines = socket.socketpair()
                connection, follower_connection = socket.socketpair()
                ending.enter_context(connection)
                frames.send(connection, Head(), msgspec.json.encode(self._followed))
                ending.enter_context(_process("follower", follower_connection, follower_lines))
                follower_channels = [keeper_lines]
            ending.enter_context(_process("keeper", keeper_feed, keeper_forks, *follower_channels))
            ending.enter_context(forks)
            ending.callback(self._drop_free_workers)
            reader, writer = await asyncio.open_connection(sock=feed)
            ending.callback(writer.close)
            self._forks = forks
            writer.write(frames.pack(Head(files=self._files, memory=self.limits.memory)))
            while (frame := await frames.read(reader)) is not None:
                if (status := frame[0].cluster) is not None:
                    self.status = status
                    if status.detail:
                        self._say(status.detail)
                    self.changed.set()

    def _drop_free_workers(self) -> None:
        self._forks = None
        for worker in self._free:
            worker.end()
        self._free.clear()

    # --- questions

    async def ask(
        self, route: str, body: bytes, *, media: str = JSON, progress: Callable[[str], None] | None = None
    ) -> Reply:
        """The reply to a question, which may be that there is none."""
        if not self.is_ready:
            detail = "the cluster cannot be read" if self.status.state == "failed" else "the cluster is being loaded"
            return problem_reply(503, "loading", detail, title="The cluster is not known yet")
        if self._waiting >= self.limits.waiting:
            return problem_reply(503, "busy", "too many questions are waiting: ask again", title="Too busy")
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._ask(route, body, media, progress)
        finally:
            self._slots.release()

    async def _ask(self, route: str, body: bytes, media: str, progress: Callable[[str], None] | None) -> Reply:
        # Not within the question's time: before it forks, the keeper may have changes of the cluster to work out.
        worker = await self._take_worker()
        if worker is None:
            return problem_reply(503, "loading", "no worker could be started", title="The cluster is not known yet")
        reusable = False
        try:
            async with asyncio.timeout(self.limits.seconds):
                as_of = self._as_of(worker)
                question = Head(route=route, media=media, wants_progress=progress is not None, as_of=as_of)
                worker.writer.write(frames.pack(question, body))
                while (frame := await frames.read(worker.reader)) is not None:
                    head, text = frame
                    if head.http_status:
                        reusable = not head.worker_ends
                        return Reply(head.http_status, head.media, text, head.exit_code, as_of)
                    if progress is not None:
                        progress(head.progress)
            return problem_reply(500, "worker", "the process that answered was ended", title="No answer")
        except TimeoutError:
            detail = f"the question takes more than {self.limits.seconds:g} seconds"
            return problem_reply(504, "limit", detail)
        except ConnectionError:
            return problem_reply(500, "worker", "the process that answered was ended", title="No answer")
        finally:
            worker.questions += 1
            if reusable:
                self._free.append(worker)
            else:
                # Also where a client went away: what nobody waits for is not simulated.
                worker.end(kill=True)

    def _as_of(self, worker: _Worker) -> str:
        """The time of which a worker knows a cluster that is followed."""
        if self._followed is None:
            return ""
        return (self.status.taken_at or "") if worker.changes == self.status.changes else worker.as_of

    async def _take_worker(self) -> _Worker | None:
        while self._free:
            # The least recently used one: the one that answered last may still collect its garbage.
            worker = self._free.popleft()
            stale = worker.changes < self.status.changes and time.monotonic() - worker.born > _LEAST_AGE_SECONDS
            if stale or worker.questions >= _QUESTIONS_PER_WORKER or worker.reader.at_eof():
                worker.end()
                continue
            return worker
        return await self._fork()

    async def _fork(self) -> _Worker | None:
        if self._forks is None:
            return None
        server_end, worker_end = socket.socketpair()
        with worker_end:
            try:
                socket.send_fds(self._forks, [b"fork"], [worker_end.fileno()])
            except OSError:
                server_end.close()
                return None
        reader, writer = await asyncio.open_connection(sock=server_end, limit=MIB)
        try:
            frame = await frames.read(reader)
        except BaseException:
            # Nobody waits for it any more. A worker ends with its socket.
            writer.close()
            raise
        if frame is None:
            writer.close()
            return None
        return _Worker(reader, writer, frame[0].pid, frame[0].changes, self.status.taken_at or "")


@contextlib.contextmanager
def _process(module: str, *channels: socket.socket) -> Iterator[None]:
    """Run a module of this package, which gets these sockets, until it is not needed any more."""
    with contextlib.ExitStack() as passed:
        handles = [passed.enter_context(channel).fileno() for channel in channels]
        code = f"from kwhatif.serve.{module} import main; main()"
        words = [sys.executable, "-c", code, *map(str, handles)]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=handles)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
