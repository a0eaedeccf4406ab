"""One POST to an extender, all of it within a time limit; whatever goes wrong is told in Go's words.

The environment's proxies play no part: they are those of whoever asks, not of the scheduler. Connections are not kept.
Upstream: net/http's Client with a Timeout, as pkg/scheduler/extender.go uses it.
"""

from __future__ import annotations

import base64
import http.client
import io
import re
import socket
import ssl
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from kwhatif.golang.spelling import go_quote, without_password

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["PostError", "post"]

MOST_REDIRECTS = 10
_SEE_OTHER, _REPEAT = (301, 302, 303), (307, 308)
_SAFE = "/%:@!$&'()*+,;=~-._"


class PostError(Exception):
    """No answer. ``late`` if that is because time ran out."""

    def __init__(self, text: str, *, late: bool = False) -> None:
        self.late = late
        super().__init__(text)


def post(url: str, body: bytes, *, seconds: float, context: ssl.SSLContext, server_name: str = "") -> tuple[int, bytes]:
    """The status and body of the answer; the body of one that is not 200 is left unread. Raises PostError."""
    deadline = monotonic() + seconds
    data: bytes | None = body
    try:
        for _ in range(MOST_REDIRECTS):
            parts = _parsed(url)
            with _connected(parts, deadline, context, server_name) as line:
                response = _asked(parts, line, data)
                onwards = response.getheader("Location")
                if response.status in (*_SEE_OTHER, *_REPEAT) and onwards:
                    url = urljoin(url, onwards)
                    data = None if response.status in _SEE_OTHER else data
                    continue
                return response.status, _body(response) if response.status == 200 else b""
        raise ConnectionError(f"stopped after {MOST_REDIRECTS} redirects")
    except _NoUrlError as error:
        raise PostError(str(error)) from None
    except TimeoutError:
        text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        raise PostError(_said(url, data, text), late=True) from None
    except (OSError, http.client.HTTPException) as error:
        raise PostError(_said(url, data, _problem(error))) from None


def _said(url: str, data: bytes | None, problem: str) -> str:
    return f"{'Post' if data is not None else 'Get'} {go_quote(without_password(url))}: {problem}"


# --- addresses


class _NoUrlError(Exception):
    pass


def _parsed(url: str) -> SplitResult:
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in url):
        raise _NoUrlError(f"parse {go_quote(without_password(url))}: net/url: invalid control character in URL")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (it is looked at when asked for)
    except ValueError as error:
        raise _NoUrlError(
            f"parse {go_quote(without_password(url))}: {str(error)[:1].lower()}{str(error)[1:]}"
        ) from None
    if parts.scheme not in ("http", "https"):
        raise ConnectionError(f"unsupported protocol scheme {go_quote(parts.scheme)}")
    if not parts.hostname:
        raise ConnectionError("http: no Host in request URL")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


# --- the connection


class _Line:
    """A socket whose sends and reads all together end at the deadline; stands in for a socket in http.client."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()

    def in_time(self) -> socket.socket:
        """The socket, with what is left of the time as its own limit."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._sock

    def encrypt(self, context: ssl.SSLContext, name: str) -> None:
        self._sock = context.wrap_socket(self.in_time(), server_hostname=name)

    def sendall(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self.in_time().send(left) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reads(self))

    def close(self) -> None:
        """What http.client does once it has the head of an answer, whose body is still to be read."""

    def hang_up(self) -> None:
        self._sock.close()


class _Reads(io.RawIOBase):
    def __init__(self, line: _Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        return self._line.in_time().recv_into(buffer)


def _connected(parts: SplitResult, deadline: float, context: ssl.SSLContext, server_name: str) -> _Line:
    host, port = parts.hostname or "", _port(parts)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ConnectionError(f"dial tcp: lookup {host}: no such host") from None
    refused: OSError | None = None
    for family, kind, protocol, _, address in found:
        line = _Line(socket.socket(family, kind, protocol), deadline)
        try:
            line.in_time().connect(address)
            if parts.scheme == "https":
                line.encrypt(context, server_name or host)
        except (TimeoutError, ssl.SSLError):
            line.hang_up()
            raise
        except OSError as error:
            line.hang_up()
            where = f"[{address[0]}]:{port}" if family == socket.AF_INET6 else f"{address[0]}:{port}"
            refused = refused or ConnectionError(f"dial tcp {where}: connect: {_spelt(error)}")
        else:
            return line
    raise refused or ConnectionError(f"dial tcp: lookup {host}: no such host")


def _asked(parts: SplitResult, line: _Line, data: bytes | None) -> http.client.HTTPResponse:
    """The head of the answer."""
    headers = {"Host": parts.netloc.rpartition("@")[2], "Content-Type": "application/json", "Connection": "close"}
    headers["User-Agent"] = "kwhatif"
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    target = urlunsplit(("", "", quote(parts.path or "/", safe=_SAFE), quote(parts.query, safe=_SAFE + "?"), ""))
    connection = http.client.HTTPConnection(parts.hostname or "", _port(parts))
    connection.sock = line
    connection.request("GET" if data is None else "POST", target, data, headers)
    return connection.getresponse()


def _body(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read()
    except TimeoutError:
        text = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
        raise PostError(text, late=True) from None
    except http.client.IncompleteRead:
        raise PostError("unexpected EOF") from None


# --- what went wrong


def _problem(error: Exception) -> str:
    match error:
        case http.client.RemoteDisconnected():
            return "EOF"
        case http.client.BadStatusLine() | http.client.UnknownProtocol():
            found = str(error.args[0] if error.args else "").strip("'\r\n")
            return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {go_quote(found)}"
        case ssl.SSLCertVerificationError():
            return f"tls: failed to verify certificate: x509: {_distrust(error)}"
        case ssl.SSLError():
            return _refusal(error)
        case ConnectionResetError() | BrokenPipeError():
            return f"read: {_spelt(error)}"
        case OSError():
            return _spelt(error)
    return f"net/http: HTTP/1.x transport connection broken: {error}"


def _spelt(error: OSError) -> str:
    return (error.strerror or str(error)).lower() if error.errno else str(error)


_UNKNOWN_AUTHORITY = (18, 19, 20, 21)
"""OpenSSL's numbers for chains that do not end where we trust."""


def _distrust(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return "certificate signed by unknown authority"
    return "certificate has expired or is not yet valid" if error.verify_code in (9, 10) else error.verify_message


def _refusal(error: ssl.SSLError) -> str:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "http: server gave HTTP response to HTTPS client"
    alert = re.fullmatch(r"(?:SSLV3|TLSV\d+)_ALERT_(\w+)", reason)
    if alert:
        return f"remote error: tls: {alert[1].replace('_', ' ').lower()}"
    return f"tls: {reason.replace('_', ' ').lower()}" if reason else "EOF"
