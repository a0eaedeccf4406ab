"""Answers of servers that end: after so many seconds of waiting and so many bytes, whatever part of it is sent.

Time limits of the libraries are for each byte, so that a server that sends one now and then, in the status line, a
header, the length of a chunk or the body, is never done. Here everything that is read of one answer counts, informal
answers before it (``100 Continue``) included, and what is left of the time is the limit of the next byte.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPResponse
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError

_BUFFER = 64 * 1024


class AnswerLimit(msgspec.Struct, frozen=True):
    """For one answer as a whole: seconds of waiting for the server, bytes as they are sent."""

    seconds: float
    bytes: int = bounds.ANSWER_BYTES


_limit: ContextVar[AnswerLimit | None] = ContextVar("answer_limit", default=None)


@contextmanager
def answers_within(limit: AnswerLimit) -> Iterator[None]:
    """A context in which answers that begin have this limit; they keep it."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


class _BoundedStream(io.RawIOBase):
    """The bytes that come in through a socket. Raises TimeoutError, and InputError for too many bytes."""

    def __init__(self, sock: Any, limit: AnswerLimit) -> None:
        self._sock, self._limit = sock, limit
        self._raw = sock.makefile("rb", buffering=0)
        self._each: float | None = sock.gettimeout()
        self._waited, self._size = 0.0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._limit.seconds - self._waited
        if left <= 0:
            raise TimeoutError("timed out")
        is_last = self._each is None or left < self._each
        began = time.monotonic()
        if is_last:
            self._sock.settimeout(left)
        try:
            number: int | None = self._raw.readinto(buffer)
        finally:
            # A clock that was set back must not give time.
            self._waited += max(0.0, time.monotonic() - began)
            if is_last:
                self._sock.settimeout(self._each)
        self._size += number or 0
        if self._size > self._limit.bytes:
            raise InputError(f"larger than the limit of {self._limit.bytes:,} bytes")
        return number

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _BoundedSocket:
    """What ``HTTPResponse`` needs of a socket."""

    def __init__(self, sock: Any, limit: AnswerLimit) -> None:
        self._sock, self._limit = sock, limit

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedStream(self._sock, self._limit), _BUFFER)


class BoundedAnswers:
    """Mixed into a connection of ``http.client``: its answers have the limit of the context."""

    def response_class(self, sock: Any, *args: Any, **options: Any) -> HTTPResponse:
        limit = _limit.get()
        return HTTPResponse(sock if limit is None else _BoundedSocket(sock, limit), *args, **options)  # type: ignore[arg-type]


def bound_answers(manager: Any) -> None:
    """Have the connections that a ``PoolManager`` of urllib3 is going to open be bounded."""
    manager.pool_classes_by_scheme = {
        scheme: type(pool.__name__, (pool,), {"ConnectionCls": bounded_class_of(pool.ConnectionCls)})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def bounded_class_of(connection: type) -> Any:
    """The class of a connection whose answers are bounded."""
    return type(connection.__name__, (BoundedAnswers, connection), {})
