"""What stands before every door: who may ask, how much, how slowly, and a line in the log without names."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from kwhatif.clock import read_clock
from kwhatif.serve.access import Access, headers_of
from kwhatif.serve.log import write_line
from kwhatif.serve.replies import Reply, problem_reply
from kwhatif.serve.workers import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that anybody may ask by any name: kubelets do it by address, without a token."""

_PLAIN_PATH = re.compile(r"/[a-z0-9/._-]{0,80}")

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class _RefusedError(BaseException):
    """A request whose rest is not read. No Exception, which Starlette would answer itself, as an internal error."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: App, access: Access, limits: Limits, *, log: Callable[[str], None] = write_line) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._log = log
        self._clients: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._limits)
        client = (scope.get("client") or ("",))[0]
        is_probe = scope["path"] in PROBES
        self._clients[client] += 1
        try:
            refusal = None if is_probe else self._refusal(scope, client)
            if refusal is not None:
                await exchange.reply(refusal)
                return
            await self._app(scope, exchange.receive, exchange.send)
        except _RefusedError as refused:
            await exchange.reply(refused.reply)
        except OSError:
            exchange.status = exchange.status or 499
        finally:
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]
            if not is_probe:
                self._write_line(scope, exchange, client)

    def _refusal(self, scope: Any, client: str) -> Reply | None:
        headers = headers_of(scope)
        status, reason = self._access.refuse(headers, scope["path"])
        if status:
            return problem_reply(status, "access", reason, title="Not answered")
        if self._clients[client] > self._limits.each_client:
            detail = f"no more than {self._limits.each_client} requests of a client are answered at once"
            return problem_reply(429, "busy", detail, title="Too busy")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > self._limits.body:
            return too_long(self._limits)
        return None

    def _write_line(self, scope: Any, exchange: _Exchange, client: str) -> None:
        """A line of the access log; of paths only those that can be no names of anybody."""
        path = scope["path"] if exchange.status not in (404, 0) and _PLAIN_PATH.fullmatch(scope["path"]) else "-"
        line = {
            "time": datetime.fromtimestamp(read_clock().timestamp(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "client": client,
            "method": scope["method"] if scope["method"] in ("GET", "POST", "DELETE", "HEAD") else "-",
            "path": path,
            "status": exchange.status,
            "milliseconds": round((time.monotonic() - exchange.begun) * 1000),
            "received": exchange.received,
            "sent": exchange.sent,
        }
        self._log(msgspec.json.encode(line).decode())


class _Exchange:
    """A request and its response, with what came and went."""

    def __init__(self, scope: Any, receive: Receive, send: Send, limits: Limits) -> None:
        self._scope, self._receive, self._send, self._limits = scope, receive, send, limits
        self.begun = time.monotonic()
        self.status = self.received = self.sent = 0
        self._has_all = False

    async def receive(self) -> Message:
        """The next piece of the body, in time and within bounds."""
        if self._has_all:
            return await self._receive()
        left = self.begun + self._limits.body_seconds - time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, left)):
                message = await self._receive()
        except TimeoutError:
            detail = f"the request did not come within {self._limits.body_seconds:g} seconds"
            raise _RefusedError(problem_reply(408, "limit", detail)) from None
        if message["type"] == "http.disconnect":
            raise _RefusedError(problem_reply(499, "gone", "the client went away", title="Nobody waits"))
        self.received += len(message.get("body", b""))
        self._has_all = not message.get("more_body", False)
        if self.received > self._limits.body:
            raise _RefusedError(too_long(self._limits))
        return message

    async def send(self, message: Message) -> None:
        """Send a piece of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            names = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in names]
            message = {**message, "headers": [*message["headers"], *more]}
        self.sent += len(message.get("body", b""))
        await self._send(message)

    async def reply(self, reply: Reply) -> None:
        """Send a whole response, if none has begun."""
        if self.status:
            return
        headers = [(b"content-type", reply.media.encode()), (b"content-length", str(len(reply.body)).encode())]
        if not self._has_all:
            headers.append((b"connection", b"close"))
        if reply.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body})


def too_long(limits: Limits) -> Reply:
    return problem_reply(413, "limit", f"a request has no more than {limits.body:,} bytes")
