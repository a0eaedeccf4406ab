"""A server on loopback that says what it likes, a piece at a time, to whoever connects."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Reply = Callable[[bytes], Iterator[bytes]]
"""The request, head and body as they came -> pieces of what is sent. An empty piece is a pause."""


@contextmanager
def serving(reply: Reply, pause: float = 0.01) -> Iterator[str]:
    """``127.0.0.1:PORT`` of a server that replies so to every connection."""
    closing = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.02)

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(10)
            for piece in reply(_request(connection)):
                if closing.is_set():
                    return
                connection.sendall(piece)
                if not piece:
                    closing.wait(pause)

    def accept() -> None:
        while not closing.is_set():
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        closing.set()
        thread.join()
        listener.close()


def _request(connection: socket.socket) -> bytes:
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(65536)
    head, _, body = text.partition(b"\r\n\r\n")
    length = next((line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-le")), b"0")
    while len(body) < int(length):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def dripping(before: bytes, drops: bytes = b" ") -> Reply:
    """These bytes, and then others one by one without end."""

    def reply(_: bytes) -> Iterator[bytes]:
        yield before
        while True:
            for drop in drops:
                yield bytes([drop])
                yield b""

    return reply


def saying(status: str, body: Callable[[str], bytes] | bytes, *headers: str) -> Reply:
    """One answer; the body may be made of the value of ``Authorization``."""

    def reply(request: bytes) -> Iterator[bytes]:
        lines = request.decode("latin-1").split("\r\n")
        sent = next((line.partition(": ")[2] for line in lines if line.lower().startswith("authorization:")), "")
        text = body(sent) if callable(body) else body
        head = [f"HTTP/1.1 {status}".replace("QUOTE", sent), f"Content-Length: {len(text)}", "Connection: close"]
        yield "\r\n".join([*head, *headers]).replace("QUOTE", sent).encode() + b"\r\n\r\n" + text

    return reply
