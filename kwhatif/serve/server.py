"""Runs the server: the keeper and the doors, until SIGTERM or Ctrl-C, when those who wait still get their answers."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kwhatif.errors import UsageError
from kwhatif.serve import log
from kwhatif.serve.access import Access, TlsFiles, WatchedFile
from kwhatif.serve.guard import App
from kwhatif.serve.service import Service
from kwhatif.serve.workers import Limits, Workers
from kwhatif.snapshot.live.live_cluster import Connection

DRAIN_SECONDS = 30
HEAD_SECONDS = 10.0
"""How long a client may take for the head of a request, and before its first one."""

SEND_SECONDS = 30.0
"""How long a client may read nothing of an answer; what is left of it would stay in memory."""

_HEAD_BYTES = 16 * 1024
_CONNECTIONS = 512
_RELOAD_SECONDS = 5.0


class _BoundedProtocol(H11Protocol):  # type: ignore[misc, unused-ignore]
    """HTTP/1.1 for clients that have to send the head of each request, and to read each answer, in time."""

    _deadline: asyncio.TimerHandle | None = None
    _sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        send_at_once(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is not None and self.cycle is not None and not self.cycle.response_complete:
            self._deadline.cancel()
            self._deadline = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._sending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sending = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._sending is not None:
            self._sending.cancel()

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._end)

    def _end(self) -> None:
        self._deadline = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def send_at_once(transport: Any) -> None:
    """Have the body of a response not wait, 40 ms, for the client's acknowledgement of its head.

    asyncio does that for sockets which were made with the number of the protocol alone.
    """
    transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Settings(msgspec.Struct, frozen=True):
    """What is served, to whom, how much of it, and what the options say to single ``doors``, by their names.

    The cluster is that of ``files``, or the one that is ``followed``.
    """

    files: Sequence[str]
    access: Access
    limits: Limits
    doors: Mapping[str, Any] = {}
    followed: Connection | None = None


def serve(settings: Settings, tell: Callable[[str], None] | None = None) -> None:
    """Serve until it is to end. Raises UsageError where that cannot begin."""
    if not hasattr(socket, "send_fds") or sys.platform == "win32":
        raise UsageError("kwhatif serve needs processes that fork, which there are on Linux and macOS")
    settings.access.check()
    say = log.tell if tell is None else tell
    with _listen(settings.access) as listener:
        address = listener.getsockname()
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        say(f"listening on {settings.access.scheme}://{host}:{address[1]}")
        asyncio.run(_serve(settings, listener, say))


async def _serve(settings: Settings, listener: socket.socket, say: Callable[[str], None]) -> None:
    workers = Workers(settings.files, settings.limits, followed=settings.followed, say=say)
    service = Service(workers, settings.access, settings.limits, dict(settings.doors))
    server = build_server(service.app(), settings.access.tls)
    works = (workers.run_keeper(), _reload(settings.access, server.config.ssl), *service.works)
    async with _background(server, *works):
        await server.serve(sockets=[listener])


def build_server(app: App, tls: TlsFiles | None) -> uvicorn.Server:
    """What speaks HTTP with clients, and with ``tls`` encrypts."""
    config = uvicorn.Config(
        app,
        http=_BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    config.load()
    if tls is not None:
        config.ssl = tls.context()
    return _Server(config)


class _Server(uvicorn.Server):  # type: ignore[misc, unused-ignore]
    """Ends well when it is told to end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


@contextlib.asynccontextmanager
async def _background(server: uvicorn.Server, *works: Any) -> AsyncIterator[None]:
    """Have works go on as long as the server runs. One that fails ends it: raises what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]

    def end(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            server.should_exit = True

    for task in tasks:
        task.add_done_callback(end)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for failure in ends:
        if isinstance(failure, Exception):
            raise failure


async def _reload(access: Access, context: ssl.SSLContext | None) -> None:
    """Use a certificate that has changed from then on; one that cannot be used changes nothing."""
    if access.tls is None or context is None:
        return
    files = [WatchedFile(path) for path in access.tls.paths]
    [file.has_changed() for file in files]
    while True:
        await asyncio.sleep(_RELOAD_SECONDS)
        with contextlib.suppress(OSError, ssl.SSLError):
            changed = [file.has_changed() for file in files]
            if any(changed):
                access.tls.load(context)


def _listen(access: Access) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
        return socket.create_server((access.host, access.port), family=family, backlog=256)
    except OSError as error:
        raise UsageError(f"--listen {access.host}:{access.port}: {error.strerror or error}") from None
