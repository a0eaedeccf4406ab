"""An API server on loopback: it serves what a real one was recorded to answer, and fails as it is told to.

    with ApiServer() as server:
        server.fail("/api/v1/pods", Answer(429, headers={"Retry-After": "1"}), times=2)
        run("snapshot", "dump", "--kubeconfig", server.kubeconfig(tmp_path), ...)
        assert server.asked("/api/v1/pods")

Who asks is told by the token, ``admin``, ``viewer`` (who may read nothing) or any other (401), or by impersonation.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

DATA = Path(__file__).parent.parent / "data" / "apiserver"
CERTIFICATE = DATA / "loopback.pem"

Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Answer:
    """An answer; a body that is neither text nor bytes is JSON."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = "application/json"

    @property
    def data(self) -> bytes:
        body = status_of(self.status) if self.body is None else self.body
        if isinstance(body, bytes):
            return body
        return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@dataclass(frozen=True)
class Cut:
    """The true answer, but the connection ends after so much of it; ``told`` is whether its length is announced."""

    after: float = 0.5
    told: bool = True


@dataclass(frozen=True)
class Silence:
    """No answer at all, until the server is closed."""


@dataclass(frozen=True)
class Slam:
    """The connection is closed before anything is said."""


@dataclass(frozen=True)
class Drip:
    """The true answer, a byte at a time, until the server is closed."""

    pause: float = 0.05


@dataclass(frozen=True)
class Raw:
    """These bytes in place of an answer, after which the connection ends."""

    data: bytes


@dataclass(frozen=True)
class InTurn:
    """Another answer each time, by its number."""

    answer: Callable[[int], Answer]
    numbers: Iterator[int] = field(default_factory=count, compare=False)


@dataclass(frozen=True)
class Watch:
    """What one watch tells: events as values, or as the very bytes. Then it ends as it should, is cut, or is silent."""

    events: tuple[Any, ...] = ()
    then: str = "end"


Fault = Answer | Cut | Silence | Slam | Drip | Raw | InTurn | Watch


@dataclass
class _Planned:
    path: str
    fault: Fault
    times: int
    after: int
    params: Mapping[str, str]


@dataclass(frozen=True)
class Asked:
    """A request that the server has seen."""

    path: str
    params: dict[str, str]
    headers: dict[str, list[str]]


def status_of(code: int, message: str = "") -> dict[str, Any]:
    """The body of a refusal."""
    reasons = {404: "NotFound", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
    text = message or {404: "the server could not find the requested resource", 429: "please try again later"}.get(code)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return status | {"message": text or "something went wrong", "reason": reasons.get(code, "")}


def key_of(target: str) -> Key:
    url = urlsplit(target)
    return url.path, tuple(sorted(parse_qsl(url.query)))


@cache
def recorded() -> dict[tuple[str, Key], Answer]:
    """What the real server said, by who asked for what; and, made by hand, what it would say of admission's kinds."""
    found = {}
    with gzip.open(DATA / "exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        made = (DATA / "admission.jsonl").read_text(encoding="utf-8").splitlines()
        for line in (*lines, *made):
            exchange = json.loads(line)
            found[exchange["as"], key_of(exchange["path"])] = Answer(exchange["status"], json.dumps(exchange["body"]))
    return found


class QuietServer(ThreadingHTTPServer):
    """A client that goes away is no news."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        pass


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections, and writes no log."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass


class ApiServer:
    """Serves the recorded exchanges, and what was ``put`` there."""

    def __init__(self, *, tls: bool = False) -> None:
        self.requests: list[Asked] = []
        self.seen = threading.Event()
        """Set when a fault has happened."""
        self._planned: list[_Planned] = []
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._watches: dict[str, list[Watch | Answer | Slam]] = {}
        self._put: dict[Key, Answer | Callable[[], Answer]] = {}
        self._http = QuietServer(("127.0.0.1", 0), self._handler())
        self._scheme = "https" if tls else "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._environment = mock.patch.dict(os.environ, {"NO_PROXY": "*", "no_proxy": "*"})
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> ApiServer:
        # A proxy that the environment names is none of its business.
        self._environment.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._environment.stop()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    # --- what it is told

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    def fail(
        self, path: str, fault: Fault, *, times: int = 10**9, after: int = 0, params: Mapping[str, str] | None = None
    ) -> None:
        """Answer requests for a path (a pattern) with a fault, so many times, the first ``after`` of them excepted.

        ``params`` picks requests that have these.
        """
        self._planned.append(_Planned(path, fault, times, after, params or {}))

    def put(self, target: str, *answers: Any) -> None:
        """Answer a path with its query with these bodies in turn, the last of them forever."""
        rest = list(answers)
        self._put[key_of(target)] = lambda: Answer(body=rest.pop(0) if len(rest) > 1 else rest[0])

    def watch(self, path: str, *watches: Watch | Answer | Slam) -> None:
        """Answer watches of a path with these in turn; the last of them is silent in the end, as are all others."""
        self._watches[path] = list(watches)

    def asked(self, path: str) -> list[Asked]:
        """The requests for a path (a pattern), in their order."""
        return [asked for asked in self.requests if re.fullmatch(path, asked.path)]

    def kubeconfig(self, directory: Path, *, token: str = "admin", user: Any = None, cluster: Any = None) -> str:
        """A kubeconfig that leads here."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "loop",
            "contexts": [{"name": "loop", "context": {"cluster": "loop", "user": "someone"}}],
            "clusters": [{"name": "loop", "cluster": {"server": self.url, **(cluster or {})}}],
            "users": [{"name": "someone", "user": {"token": token} if user is None else user}],
        }
        path = directory / "kubeconfig.json"
        path.write_text(json.dumps(config))
        return str(path)

    # --- what it does

    def _fault_for(self, path: str, params: Mapping[str, str]) -> Fault | None:
        with self._lock:
            for planned in self._planned:
                if not re.fullmatch(planned.path, path) or not planned.params.items() <= params.items():
                    continue
                if planned.after > 0:
                    planned.after -= 1
                elif planned.times > 0:
                    planned.times -= 1
                    return planned.fault
        return None

    def _watch_of(self, path: str) -> Watch | Answer | Slam:
        with self._lock:
            rest = self._watches.get(path)
            return rest.pop(0) if rest else Watch(then="silence")

    def _answer(self, user: str, key: Key) -> Answer:
        if user not in ("admin", "viewer"):
            return recorded()["nobody", ("/api/v1/nodes", ())]
        put = self._put.get(key)
        if put is not None:
            return put() if callable(put) else put
        for who, wanted in ((user, key), (user, (key[0], ()))):
            found = recorded().get((who, wanted))
            # What everyone may read was recorded once.
            if found is not None and (wanted == key or found.status == 403):
                return found
        if key[0] in ("/version", "/apis"):
            return recorded()["admin", key]
        return Answer(404)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                key = key_of(self.path)
                headers = {name.lower(): self.headers.get_all(name) or [] for name in self.headers}
                server.requests.append(Asked(key[0], dict(key[1]), headers))
                user = (headers.get("authorization") or [""])[0].removeprefix("Bearer ")
                user = (headers.get("impersonate-user") or [user])[0]
                fault = server._fault_for(key[0], dict(key[1]))
                if fault is not None:
                    server.seen.set()
                if fault is None and dict(key[1]).get("watch"):
                    fault = server._watch_of(key[0])
                match fault:
                    case Watch():
                        self._tell(fault)
                    case Answer():
                        self._send(fault)
                    case InTurn():
                        self._send(fault.answer(next(fault.numbers)))
                    case Drip():
                        self._drip(server._answer(user, key), fault.pause)
                    case Raw():
                        self.close_connection = True
                        self.wfile.write(fault.data)
                    case Cut():
                        answer = server._answer(user, key)
                        self._send(answer, part=int(len(answer.data) * fault.after), told=fault.told)
                    case Silence():
                        server._closing.wait()
                        self.close_connection = True
                    case Slam():
                        self.close_connection = True
                        self.connection.shutdown(socket.SHUT_RDWR)
                    case None:
                        self._send(server._answer(user, key))

            def _tell(self, watch: Watch) -> None:
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for event in watch.events:
                    data = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                if watch.then == "silence":
                    server._closing.wait()
                elif watch.then == "end":
                    self.wfile.write(b"0\r\n\r\n")

            def _drip(self, answer: Answer, pause: float) -> None:
                self.close_connection = True
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answer.data)))
                self.end_headers()
                for byte in answer.data:
                    if server._closing.wait(pause):
                        break
                    self.wfile.write(bytes([byte]))

            def _send(self, answer: Answer, part: int | None = None, *, told: bool = True) -> None:
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.type)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if told:
                    self.send_header("Content-Length", str(len(answer.data)))
                self.close_connection = part is not None
                if self.close_connection:
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(answer.data if part is None else answer.data[:part])

        return Handler


def objects_in(server_path: str, page_size: int = 50) -> Iterator[dict[str, Any]]:
    """The objects that the real server had under a path, page by page."""
    token = ""
    while True:
        query = f"?limit={page_size}" + (f"&continue={token}" if token else "")
        page = json.loads(recorded()["admin", key_of(server_path + query)].body)
        yield from page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            return
