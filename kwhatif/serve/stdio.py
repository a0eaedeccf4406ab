"""The door for agents on this machine: messages of the Model Context Protocol as lines of standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from typing import BinaryIO

from kwhatif.serve import log
from kwhatif.serve.agents import respond
from kwhatif.serve.workers import Limits, Workers
from kwhatif.snapshot.live.live_cluster import Connection


def talk(files: Sequence[str], limits: Limits, followed: Connection | None = None) -> None:
    """Answer about the cluster of files, or the one that is ``followed``, until standard input ends."""
    asyncio.run(_talk(files, limits, followed))


async def _talk(files: Sequence[str], limits: Limits, followed: Connection | None) -> None:
    workers = Workers(files, limits, followed=followed, say=log.tell)
    keeping = asyncio.ensure_future(workers.run_keeper())
    try:
        await answer_lines(sys.stdin.buffer, sys.stdout.buffer, workers, limits)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def answer_lines(source: BinaryIO, sink: BinaryIO, workers: Workers, limits: Limits) -> None:
    """Answer the messages of ``source``, so many at once as there are workers; a line that is too long ends it."""
    loop, free = asyncio.get_running_loop(), asyncio.Semaphore(limits.workers)
    answering: set[asyncio.Task[None]] = set()

    async def answer(line: bytes) -> None:
        try:
            while workers.status.state == "loading":
                workers.changed.clear()
                await workers.changed.wait()
            response = await respond(line, workers)
        finally:
            free.release()
        if response is not None:
            sink.write(response + b"\n")
            sink.flush()

    with contextlib.suppress(BrokenPipeError):
        while line := await loop.run_in_executor(None, source.readline, limits.body):
            if not line.endswith(b"\n") and len(line) >= limits.body:
                log.tell(f"a message has no more than {limits.body:,} bytes")
                break
            if not line.strip():
                continue
            await free.acquire()
            task = asyncio.ensure_future(answer(line))
            answering.add(task)
            task.add_done_callback(answering.discard)
        await asyncio.gather(*answering)
