"""Workers that take too long, take too much or end in mid-question: one question fails, and no other one notices."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kwhatif.serve import frames, worker, workers
from kwhatif.serve.answers import ServedCluster
from kwhatif.serve.frames import ClusterStatus, Head
from kwhatif.serve.replies import Reply
from kwhatif.serve.workers import Limits, Workers
from kwhatif.snapshot.format.model import Snapshot

Behaviour = Callable[[socket.socket], None]


def answer(channel: socket.socket) -> None:
    assert frames.receive(channel) is not None
    frames.send(channel, Head(http_status=200), b"yes")


def say_nothing(channel: socket.socket) -> None:
    while frames.receive(channel) is not None:
        pass


def end(channel: socket.socket) -> None:
    frames.receive(channel)


def take_too_much(channel: socket.socket) -> None:
    worker.work(channel, ServedCluster(Snapshot()), 1 << 20, 0)


class Acted(Workers):
    """Workers that are threads, each of which behaves as the next of ``behaviours``."""

    def __init__(self, *behaviours: Behaviour, limits: Limits) -> None:
        super().__init__((), limits)
        self.status = ClusterStatus("ready")
        self.behaviours, self.threads = list(behaviours), list[threading.Thread]()

    async def _fork(self) -> Any:
        mine, its = socket.socketpair()
        behaviour = self.behaviours.pop(0)

        def act() -> None:
            with its:
                frames.send(its, Head(pid=len(self.threads)))
                behaviour(its)

        self.threads.append(threading.Thread(target=act))
        self.threads[-1].start()
        reader, writer = await asyncio.open_connection(sock=mine)
        await frames.read(reader)
        return workers._Worker(reader, writer, len(self.threads), 0, "")


@pytest.mark.parametrize(
    ("behaviour", "status", "killed"),
    [(say_nothing, 504, [1]), (end, 500, [1]), (take_too_much, 422, [1])],
    ids=["takes too long", "ends", "takes too much"],
)
def test_a_question_that_is_cut_off_harms_nobody_else(
    behaviour: Behaviour, status: int, killed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr("kwhatif.serve.workers.os.kill", lambda pid, signal: ended.append(pid))
    monkeypatch.setattr(worker, "limit_memory", lambda memory: None)
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)

    def exhaust(*_: Any) -> Reply:
        raise MemoryError

    monkeypatch.setattr(worker, "reply_to", exhaust)
    acted = Acted(behaviour, answer, limits=Limits(workers=1, seconds=0.05 if status == 504 else 60.0))

    async def ask() -> list[Reply]:
        replies = await asyncio.gather(acted.ask("place", b"{}"), acted.ask("place", b"{}"))
        acted._drop_free_workers()
        await asyncio.sleep(0.01)
        return list(replies)

    cut, whole = asyncio.run(ask())
    for thread in acted.threads:
        thread.join(60)
    assert (cut.status, ended) == (status, killed)
    assert (whole.status, whole.body) == (200, b"yes")


def test_a_fork_that_nobody_waits_for_any_more_is_let_go() -> None:
    started = Workers((), Limits())
    started._forks, keeper_forks = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

    async def cancel() -> bytes:
        fork = asyncio.ensure_future(started._fork())
        await asyncio.sleep(0.01)
        fork.cancel()
        await asyncio.wait([fork])
        await asyncio.sleep(0)
        _, handles, _, _ = socket.recv_fds(keeper_forks, 16, 1)
        with socket.socket(fileno=handles[0]) as worker_end:
            worker_end.settimeout(5)
            return worker_end.recv(1)

    with started._forks, keeper_forks:
        assert asyncio.run(cancel()) == b""
