"""Requests to an API server with retries and errors, and discovery of the served group versions.

Upstream: the same answers are retried as in k8s.io/client-go/rest/with_retry.go, and some more, since a snapshot is
worth waiting for. Further versions may be served later, when definitions are added.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.clock import read_clock
from kwhatif.errors import ClusterError, InputError
from kwhatif.snapshot.live.live_cluster import ConnectionLost, LiveCluster, Reply, UnexpectedReply

ATTEMPTS = 6
"""How often a request is tried."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_LONGEST_MESSAGE = 1000
_BUSY = frozenset({408, 429, 500, 502, 503, 504})


class RequestRefused(Exception):
    """403, or 404 for a resource that does not exist. ``reason`` is for the snapshot's file."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class ListExpired(Exception):
    """410: the resource version of a list has expired."""


class Cancelled(Exception):
    """Another thread has stopped the run."""


class _Status(msgspec.Struct):
    message: str | None = None
    kind: str | None = None


class RetryingClient:
    """Requests to one server, from any number of threads, with retries of transient errors.

    ``tell`` is called for every retry. Setting ``stop`` ends all waiting.
    """

    def __init__(self, cluster: LiveCluster, tell: Callable[[str], None] = lambda text: None) -> None:
        self.stop = threading.Event()
        self.tell = tell
        self._cluster = cluster
        self._met = False

    def get(self, path: str, params: Mapping[str, str | int] | None = None, *, what: str) -> bytes:
        """The body of a successful answer. ``what`` names the request in messages.

        Raises ClusterError, RequestRefused, ListExpired or Cancelled.
        """
        problem = ""
        for attempt in range(ATTEMPTS):
            if self.stop.is_set():
                raise Cancelled
            try:
                reply = self._cluster.get(path, params)
            except ConnectionLost as error:
                # A server that never answered is not there.
                if error.final or not self._met:
                    raise ClusterError(f"{self._cluster.name}: cannot be reached: {error}") from None
                problem, pause = str(error), pause_after(None, attempt)
            else:
                self._met = True
                if reply.status not in _BUSY:
                    return self._check_reply(reply, what)
                problem, pause = f"the server answers {self._describe(reply)}", pause_after(reply, attempt)
            if attempt + 1 < ATTEMPTS and not self.stop.is_set():
                self.tell(f"{what}: {problem}; asking again")
                wait(self.stop, pause)
        raise ClusterError(f"{self._cluster.name}: {what}: {problem}; asked {ATTEMPTS} times")

    def watch(self, path: str, params: Mapping[str, str | int], silence: float, *, what: str) -> Iterator[bytes]:
        """An empty line once the server has accepted, then the lines of a watch, to its end.

        There are no retries. Raises ClusterError, RequestRefused or ListExpired.
        """
        try:
            yield from self._cluster.lines(path, params, silence)
        except ConnectionLost as error:
            raise ClusterError(f"{self._cluster.name}: {what}: {error}") from None
        except UnexpectedReply as unwilling:
            reply = unwilling.reply
            if reply.status in _BUSY:
                wait(self.stop, pause_after(reply, 0))
            self._check_reply(reply, what)

    def _check_reply(self, reply: Reply, what: str) -> bytes:
        if reply.status == 200:
            return reply.body
        if reply.status == 401:
            why = self._cluster.complaint or "the credentials are missing, wrong or expired"
            raise ClusterError(f"{self._cluster.name}: {what}: unauthorized (401): {why}")
        if reply.status in (403, 404):
            raise RequestRefused(reply.status, self._describe(reply))
        if reply.status == 410:
            raise ListExpired
        raise ClusterError(f"{self._cluster.name}: {what}: the server answers {self._describe(reply)}")

    def _describe(self, reply: Reply) -> str:
        """``403: pods is forbidden: ...``; for an answer that is no Status only the number."""
        try:
            status = decode_json(reply.body, _Status)
        except InputError:
            status = _Status()
        words = self._cluster.secrets.conceal(status.message or "") if status.kind == "Status" else ""
        return f"{reply.status}: {words[:_LONGEST_MESSAGE]}" if words else str(reply.status)

    def build_protocol_error(self, what: str, problem: str) -> ClusterError:
        """The error for an answer that no API server gives."""
        return ClusterError(f"{self._cluster.name}: {what}: {problem}")


def pause_after(reply: Reply | None, attempt: int) -> float:
    """Seconds to wait before a retry: the server's Retry-After, else twice as long each time."""
    pause = _FIRST_PAUSE * 2.0**attempt
    retry_after = (reply.headers.get("Retry-After") or "").strip() if reply is not None else ""
    if retry_after.isdecimal():
        pause = float(retry_after)
    elif retry_after:
        with contextlib.suppress(TypeError, ValueError):
            pause = (parsedate_to_datetime(retry_after) - read_clock()).total_seconds()
    return min(max(pause, 0.0), _LONGEST_PAUSE)


def wait(stop: threading.Event, seconds: float) -> None:
    """Wait; returns early if all has been stopped."""
    stop.wait(seconds)


LOOK_AGAIN = 30.0
"""Seconds until discovery is repeated for kinds that are not served, or when a definition has changed."""


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct):
    name: str = ""
    versions: list[_Version] | None = None


class _Groups(msgspec.Struct):
    groups: list[_Group] | None = None


class Discovery:
    """Which group versions are served; if the server does not say, every one is tried."""

    def __init__(self, asker: RetryingClient) -> None:
        self._asker = asker
        self.begun = threading.Event()
        """Set once all is read that is served at first: discovery is not repeated before."""
        self._news = threading.Condition()
        self._changes = 0
        self._asked = 0.0
        self._there: set[tuple[str, str]] | None = None
        self._ask()

    def __call__(self, group: str, version: str) -> bool:
        return self._there is None or not group or (group, version) in self._there

    def invalidate(self) -> None:
        """A definition has changed: waiting threads check again."""
        with self._news:
            self._changes += 1
            self._news.notify_all()

    def wait(self, count: int) -> int:
        """Wait until more definitions have changed than ``count``, or some time has passed; returns how many have by
        then.

        The server was asked again in the meantime.
        """
        self.begun.wait()
        began = time.monotonic()
        with self._news:
            self._news.wait_for(lambda: self._changes > count, LOOK_AGAIN)
            if self._asked <= began:
                self._ask()
            return self._changes

    def _ask(self) -> None:
        self._asked = time.monotonic()
        try:
            groups = decode_json(self._asker.get("/apis", what="API groups"), _Groups).groups or []
        except (InputError, RequestRefused):
            return
        self._there = {(group.name, one.version) for group in groups for one in group.versions or ()}
