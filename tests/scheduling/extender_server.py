"""A real extender on loopback that answers as it is told: a table of verbs, and what is to be said to each."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any

Json = dict[str, Any]

DATA = Path(__file__).parents[1] / "data" / "extender"
CERTIFICATE, KEY = DATA / "cert.pem", DATA / "key.pem"
"""A certificate of its own making for 127.0.0.1 and extender.test; the key is known to everybody."""


@dataclass(frozen=True)
class Raw:
    """An answer that is not what it should be: any bytes, any code; cut off after ``only`` so many bytes."""

    body: bytes = b""
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    only: int | None = None


class Behaviour:
    """What a server does in place of an answer."""

    def __init__(self, name: str) -> None:
        self.name = name


SLOW = Behaviour("does not answer until the test is over")
SLOW_BODY = Behaviour("begins to answer and does not go on")
HANGS_UP = Behaviour("closes the connection")
NONSENSE = Behaviour("speaks another protocol")

PATIENCE = 60.0
"""For so many seconds a server keeps its caller waiting, unless the test is over before."""

Answer = Any
"""JSON, Raw, a Behaviour, or a function that makes one of these of the request's body."""


@dataclass
class Server:
    """``requests`` are the bodies received, by verb; ``headers`` those of the last one; ``keeps`` connections open."""

    url: str
    answers: Mapping[str, Answer]
    over: threading.Event
    keeps: bool = False
    requests: list[tuple[str, Json]] = field(default_factory=list)
    connections: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    def asked(self, verb: str) -> list[Json]:
        return [body for said, body in self.requests if said == verb]


@contextmanager
def serving(
    answers: Mapping[str, Answer], *, tls: bool = False, wants_certificate: bool = False, keeps: bool = False
) -> Iterator[Server]:
    """A server on a free port, with its own certificate if ``tls``."""
    http = _Http(("127.0.0.1", 0), _Handler)
    scheme = "http"
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, KEY)
        if wants_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(CERTIFICATE)
        http.socket = context.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
        scheme = "https"
    server = Server(f"{scheme}://127.0.0.1:{http.server_port}", answers, threading.Event(), keeps)
    http.extender = server
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        http.shutdown()
        thread.join()
        http.server_close()


class _Http(ThreadingHTTPServer):
    """Waits for its threads, keeps quiet, and looks up no names."""

    daemon_threads = False
    extender: Server

    def server_bind(self) -> None:
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def handle_error(self, *_: object) -> None:
        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 2

    def setup(self) -> None:
        super().setup()
        self.server.extender.connections += 1  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        server: Server = self.server.extender  # type: ignore[attr-defined]
        verb = self.path.lstrip("/")
        length = int(self.headers.get("Content-Length") or 0)
        body: Any = json.loads(self.rfile.read(length)) if length else None
        server.requests.append((verb, body))
        server.headers = {name.title(): value for name, value in self.headers.items()}
        answer = server.answers.get(verb, Raw(code=404))
        if callable(answer):
            answer = answer(body)
        if answer is SLOW:
            server.over.wait(PATIENCE)
        elif answer is SLOW_BODY:
            self._say(Raw(b'{"NodeNames": ["a"]}', only=5))
            server.over.wait(PATIENCE)
        elif answer is NONSENSE:
            self.wfile.write(b"SSH-2.0-x\r\n\r\n")
        elif answer is not HANGS_UP:
            self._say(answer if isinstance(answer, Raw) else Raw(json.dumps(answer).encode()))
        self.close_connection = not server.keeps

    do_GET = do_POST

    def _say(self, answer: Raw) -> None:
        self.send_response(answer.code)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if not self.server.extender.keeps:  # type: ignore[attr-defined]
            self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body[: answer.only])
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass


def names(body: Json) -> list[str]:
    """The nodes asked about, whichever way they were sent."""
    if body["NodeNames"] is not None:
        return list(body["NodeNames"])
    return [node["metadata"]["name"] for node in body["Nodes"]["items"]]


def keeps(*wanted: str, failed: Mapping[str, str] | None = None, hopeless: Mapping[str, str] | None = None) -> Answer:
    """A filter that lets only these nodes pass, and answers the way it was asked."""

    def answer(body: Json) -> Json:
        found: Json = {"FailedNodes": failed, "FailedAndUnresolvableNodes": hopeless, "Error": ""}
        if body["NodeNames"] is not None:
            return found | {"NodeNames": [name for name in names(body) if name in wanted]}
        nodes = [node for node in body["Nodes"]["items"] if node["metadata"]["name"] in wanted]
        return found | {"Nodes": {"metadata": {}, "items": nodes}}

    return answer


def scores(**by_host: int) -> list[Json]:
    return [{"Host": host, "Score": score} for host, score in by_host.items()]
