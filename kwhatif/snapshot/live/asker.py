"""Asking an API server until it answers: what is repeated, how long to wait, and what each refusal means.

Upstream: the same answers are repeated as k8s.io/client-go/rest/with_retry.go does, and some more: whoever takes a
snapshot would rather wait than begin again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.errors import ClusterError, InputError
from kwhatif.snapshot.live.live_cluster import Dropped, LiveCluster, Reply, Unwilling

ATTEMPTS = 6
"""So often the same thing is asked."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_LONGEST_MESSAGE = 1000
_BUSY = frozenset({408, 429, 500, 502, 503, 504})


class Refused(Exception):
    """The server will not answer: 403, or 404 for what it does not have. ``reason`` is for the snapshot's file."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class Gone(Exception):
    """410: the version that a list was being read at has been forgotten."""


class Stopped(Exception):
    """Somebody else has given up."""


class _Status(msgspec.Struct):
    message: str | None = None
    kind: str | None = None


class Asker:
    """Asks one server, from any number of threads, and repeats what may come right.

    ``tell`` hears of every repetition. Setting ``stop`` ends all waiting.
    """

    def __init__(self, cluster: LiveCluster, tell: Callable[[str], None] = lambda text: None) -> None:
        self.stop = threading.Event()
        self.tell = tell
        self._cluster = cluster
        self._met = False

    def get(self, path: str, params: Mapping[str, str | int] | None = None, *, what: str) -> bytes:
        """The body of a good answer. ``what`` is asked for, in words.

        Raises ClusterError, Refused, Gone or Stopped.
        """
        problem = ""
        for attempt in range(ATTEMPTS):
            if self.stop.is_set():
                raise Stopped
            try:
                reply = self._cluster.get(path, params)
            except Dropped as error:
                # Where nobody ever answered, nobody lives.
                if error.final or not self._met:
                    raise ClusterError(f"{self._cluster.name}: cannot be reached: {error}") from None
                problem, pause = str(error), pause_after(None, attempt)
            else:
                self._met = True
                if reply.status not in _BUSY:
                    return self._judged(reply, what)
                problem, pause = f"the server answers {_said(reply)}", pause_after(reply, attempt)
            if attempt + 1 < ATTEMPTS and not self.stop.is_set():
                self.tell(f"{what}: {problem}; asking again")
                wait(self.stop, pause)
        raise ClusterError(f"{self._cluster.name}: {what}: {problem}; asked {ATTEMPTS} times")

    def watch(self, path: str, params: Mapping[str, str | int], silence: float, *, what: str) -> Iterator[bytes]:
        """An empty line once the server is willing, then what a watch tells, line by line, to its end.

        It is asked for once. Raises ClusterError, Refused or Gone.
        """
        try:
            yield from self._cluster.lines(path, params, silence)
        except Dropped as error:
            raise ClusterError(f"{self._cluster.name}: {what}: {error}") from None
        except Unwilling as unwilling:
            reply = unwilling.reply
            if reply.status in _BUSY:
                wait(self.stop, pause_after(reply, 0))
            self._judged(reply, what)

    def _judged(self, reply: Reply, what: str) -> bytes:
        if reply.status == 200:
            return reply.body
        if reply.status == 401:
            why = self._cluster.complaint or "the credentials are missing, wrong or expired"
            raise ClusterError(f"{self._cluster.name}: {what}: unauthorized (401): {why}")
        if reply.status in (403, 404):
            raise Refused(reply.status, _said(reply))
        if reply.status == 410:
            raise Gone
        raise ClusterError(f"{self._cluster.name}: {what}: the server answers {_said(reply)}")

    def nonsense(self, what: str, problem: str) -> ClusterError:
        """The error for an answer that no API server gives."""
        return ClusterError(f"{self._cluster.name}: {what}: {problem}")


def pause_after(reply: Reply | None, attempt: int) -> float:
    """How many seconds to wait before asking again: what the server says, else twice as long each time."""
    pause = _FIRST_PAUSE * 2.0**attempt
    told = (reply.headers.get("Retry-After") or "").strip() if reply is not None else ""
    if told.isdecimal():
        pause = float(told)
    elif told:
        with contextlib.suppress(TypeError, ValueError):
            pause = (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds()
    return min(max(pause, 0.0), _LONGEST_PAUSE)


def wait(stop: threading.Event, seconds: float) -> None:
    """Wait, or not even that if all has been stopped."""
    stop.wait(seconds)


def _said(reply: Reply) -> str:
    """``403: pods is forbidden: ...``; of an answer that is no Status only the number."""
    try:
        status = decode_json(reply.body, _Status)
    except InputError:
        status = _Status()
    told = (status.message or "")[:_LONGEST_MESSAGE] if status.kind == "Status" else ""
    return f"{reply.status}: {told}" if told else str(reply.status)
