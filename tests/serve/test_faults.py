"""What clients and certificates may do to a server without harm to anybody else. It listens in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from kwhatif.errors import KwhatifError
from kwhatif.serve import server
from kwhatif.serve.access import Access, TlsFiles
from kwhatif.serve.replies import JSON, Reply
from kwhatif.serve.workers import Limits
from tests.serve.doors import Answering, service_of

FILES = Path(__file__).parents[1] / "data" / "serve"
HEAD = b"POST /v1/place HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
QUESTION = HEAD + b"Content-Length: 2\r\n\r\n{}"
LIMITS = Limits(body=1 << 20, body_seconds=0.1)
GOOD = Reply(200, JSON, b'"yes"', 0)

Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


def meet(client: Client, workers: Answering | None = None) -> tuple[bytes, set[int]]:
    """What a client reads of a server, and how its requests end by the log, but for those whose client is gone.

    After it a good client is answered.
    """
    lines: list[str] = []

    async def talk() -> bytes:
        workers_ = workers or Answering(GOOD)
        service = replace(service_of(workers_), limits=LIMITS, log=lines.append)
        serving = server.build_server(service.app(), None)
        serving.capture_signals = contextlib.nullcontext
        with socket.create_server(("127.0.0.1", 0)) as listener:
            task = asyncio.create_task(serving.serve(sockets=[listener]))
            async with asyncio.timeout(60):
                found = await _connect(listener.getsockname()[1], client)
                workers_.instead = GOOD
                assert (await _connect(listener.getsockname()[1], ask)).endswith(b'"yes"')
            serving.should_exit = True
            await task
            return found

    found = asyncio.run(talk())
    statuses = {json.loads(line)["status"] for line in lines}
    assert 200 in statuses
    return found, statuses - {200, 499}


async def _connect(port: int, client: Client) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await client(reader, writer)
    except ConnectionError:
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """A good client."""
    writer.write(QUESTION.replace(b"Host", b"Connection: close\r\nHost"))
    return await reader.read()


async def send_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, piece: bytes, pause: float) -> int:
    """Send a piece again and again until the server answers or ends it; how many bytes that were."""
    sent = 0
    answered = asyncio.ensure_future(reader.read(1))
    with contextlib.suppress(ConnectionError):
        while not answered.done():
            writer.write(piece)
            sent += len(piece)
            await asyncio.wait([asyncio.ensure_future(writer.drain()), answered], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(pause)
        await answered
    return sent


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    return await reader.read()


async def send_the_head_byte_by_byte(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"GET / HTTP/1.1\r\nX: ")
    await send_on(reader, writer, b"x", 0.005)
    return b""


async def send_the_body_byte_by_byte(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(HEAD + b"Content-Length: 100000\r\n\r\n")
    reading = asyncio.ensure_future(reader.read())
    while not reading.done():
        writer.write(b" ")
        await asyncio.sleep(0.005)
    return reading.result()


async def say_a_gigabyte(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(HEAD + b"Content-Length: 1073741824\r\n\r\n")
    return await reader.read()


async def ask_and_hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(QUESTION)
    writer.transport.abort()
    return b""


async def speak_of_two_lengths(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n")
    return await reader.read()


async def speak_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
    return await reader.read()


async def send_a_long_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 100_000)
    return await reader.read()


async def send_a_body_without_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    sent = await send_on(reader, writer, b"10000\r\n%b\r\n" % bytes(1 << 16), 0)
    assert sent < 64 << 20
    return b""


@pytest.mark.parametrize(
    ("client", "statuses"),
    [
        (say_nothing, set()),
        (send_the_head_byte_by_byte, set()),
        (send_the_body_byte_by_byte, {408}),
        (say_a_gigabyte, {413}),
        (send_a_body_without_end, {413}),
        (ask_and_hang_up, set()),
        (speak_of_two_lengths, set()),
        (speak_tls, set()),
        (send_a_long_head, set()),
    ],
)
def test_a_client_that_is_slow_large_or_gone_harms_nobody(
    client: Client, statuses: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no request at all is not logged either."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    assert meet(client)[1] == statuses


def test_a_client_that_does_not_read_its_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer does not stay in memory until the client goes."""
    monkeypatch.setattr(server, "SEND_SECONDS", 0.1)

    async def never_read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(QUESTION)
        await asyncio.sleep(0.3)
        return await reader.read()

    large = 32 << 20
    assert len(meet(never_read, Answering(Reply(200, JSON, b" " * large, 0)))[0]) < large


def test_what_nobody_waits_for_is_not_worked_out() -> None:
    begun: list[str] = []
    cancelled: list[str] = []

    class Forever(Answering):
        async def ask(self, route: str, body: bytes, media: str = JSON, **_: Any) -> Reply:
            begun.append(route)
            try:
                while self.instead is None:
                    await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                cancelled.append(route)
                raise
            return self.instead

    workers = Forever()

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(QUESTION)
        while not begun:
            await asyncio.sleep(0.001)
        writer.transport.abort()
        while not cancelled:
            await asyncio.sleep(0.001)
        return b""

    meet(leave, workers)
    assert cancelled == ["place"]


def test_work_that_fails_ends_the_server_with_its_error() -> None:
    """It would be missed by nobody, as questions that are asked no more."""

    async def fail() -> None:
        raise KwhatifError("no more")

    async def serve() -> None:
        serving = server.build_server(service_of().app(), None)
        async with server._background(serving, fail()):
            while not serving.should_exit:
                await asyncio.sleep(0.001)

    with pytest.raises(KwhatifError, match="no more"):
        asyncio.run(serve())


def test_head_and_body_of_an_answer_are_not_held_back() -> None:
    """Nagle's algorithm would have the body wait for the client's acknowledgement of the head: 40 ms."""
    option = socket.IPPROTO_TCP, socket.TCP_NODELAY

    class Transport:
        connection = socket.socket()

        def get_extra_info(self, name: str) -> Any:
            return self.connection if name == "socket" else None

    with Transport.connection as connection:
        assert not connection.getsockopt(*option)
        server.send_at_once(Transport())
        assert connection.getsockopt(*option)


# --- certificates


def files_of(name: str, folder: Path) -> TlsFiles:
    """A pair of files with this certificate and its key, in the place of those that are there."""
    found = TlsFiles(str(folder / "tls.crt"), str(folder / "tls.key"))
    shutil.copy(FILES / f"{name}.crt", found.certificate)
    shutil.copy(FILES / f"{name}.key", found.key)
    return found


def shake_hands(here: ssl.SSLContext, there: ssl.SSLContext | None = None) -> bytes:
    """The certificate that a server shows to a client. Raises ssl.SSLError where one of them refuses."""
    if there is None:
        there = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        there.check_hostname, there.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = there.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    sides = [client, here.wrap_bio(to_server, to_client, server_side=True)]
    for _ in range(4):
        for side in sides:
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return client.getpeercert(binary_form=True) or b""


def certificate_of(name: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert((FILES / f"{name}.crt").read_text())


def test_a_certificate_that_changes_is_used_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_RELOAD_SECONDS", 0.002)
    files = files_of("first", tmp_path)
    context = files.context()
    assert shake_hands(context) == certificate_of("first")

    async def change() -> None:
        task = asyncio.create_task(server._reload(Access("0.0.0.0", 1, files), context))
        await asyncio.sleep(0.01)
        files_of("second", tmp_path)
        async with asyncio.timeout(60):
            while shake_hands(context) != certificate_of("second"):
                await asyncio.sleep(0.002)
        task.cancel()

    asyncio.run(change())


@pytest.mark.parametrize("text", ["", "no certificate", (FILES / "second.crt").read_text()])
def test_a_certificate_that_cannot_be_used_leaves_the_one_before(text: str, tmp_path: Path) -> None:
    """As for a moment while certificate and key are replaced one after the other."""
    files = files_of("first", tmp_path)
    context = files.context()
    Path(files.certificate).write_text(text)
    with pytest.raises((OSError, ssl.SSLError)):
        files.load(context)
    assert shake_hands(context) == certificate_of("first")


def test_an_expired_certificate_is_refused_by_clients_until_it_is_renewed(tmp_path: Path) -> None:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name in ("expired", "first"):
        client.load_verify_locations(str(FILES / f"{name}.crt"))
    files = files_of("expired", tmp_path)
    context = files.context()
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shake_hands(context, client)
    files_of("first", tmp_path)
    files.load(context)
    assert shake_hands(context, client) == certificate_of("first")


def test_a_client_whose_certificate_has_expired_is_refused(tmp_path: Path) -> None:
    signed = files_of("first", tmp_path)
    both = tmp_path / "ca.crt"
    both.write_text("".join((FILES / f"{name}.crt").read_text() for name in ("expired", "second")))
    context = TlsFiles(signed.certificate, signed.key, str(both)).context()
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.load_cert_chain(FILES / "second.crt", FILES / "second.key")
    assert shake_hands(context, client) == certificate_of("first")
    client.load_cert_chain(FILES / "expired.crt", FILES / "expired.key")
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shake_hands(context, client)
