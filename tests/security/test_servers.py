"""Servers that are never done, send too much, break off, or repeat what is secret: Prometheus, a load-watcher, an API
server, an extender.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from kwhatif import bounds
from kwhatif.api.decode import decode_json
from kwhatif.errors import ClusterError, InputError, UsageError
from kwhatif.golang.parsing import Duration
from kwhatif.policy.structs import Extender
from kwhatif.scheduling.extenders import wire
from kwhatif.scheduling.extenders.http_caller import Caller, ExtenderError
from kwhatif.snapshot.live import requests
from kwhatif.snapshot.live.live_cluster import Connection, LiveCluster
from kwhatif.snapshot.live.requests import RequestRefused, RetryingClient
from kwhatif.snapshot.read.secrets import Secrets, WebAddress
from kwhatif.usage.book import UsageBook
from kwhatif.usage.node_load import read_node_load
from kwhatif.usage.prometheus_client import PrometheusServer
from tests.security.hostile_server import Reply, dripping, saying, serving
from tests.usage.given import MEMORY, START, answer, every, known, series

TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJlK3Nhbms/"
PASSWORD = "pa55/w0rd+of=ours"

SECONDS = 10.0
"""For an answer, where none is late."""

Ask = Callable[[str, Path], str]
"""The place of a server, and a directory -> what a person is shown of the failure."""


def ask_prometheus(place: str, _: Path) -> str:
    server = PrometheusServer(f"http://{place}", end=START, window=600, timeout=SECONDS, retries=0, token=TOKEN)
    with pytest.raises(ClusterError) as caught:
        server.read(["shop"], UsageBook(known))
    return str(caught.value)


def ask_prometheus_with_password(place: str, _: Path) -> str:
    url = f"http://me:{urllib.parse.quote(PASSWORD, safe='')}@{place}/path"
    with pytest.raises(ClusterError) as caught:
        PrometheusServer(url, end=START, window=600, timeout=SECONDS, retries=0).read(["shop"], UsageBook(known))
    return str(caught.value)


def ask_load_watcher(place: str, _: Path) -> str:
    url = f"http://me:{urllib.parse.quote(PASSWORD, safe='')}@{place}"
    with mock.patch.object(bounds, "LOAD_SECONDS", SECONDS), pytest.raises((ClusterError, InputError)) as caught:
        read_node_load(url, [])
    return str(caught.value)


def ask_api_server(place: str, directory: Path) -> str:
    return _ask_api_server(place, directory, {"token": TOKEN})


def ask_api_server_with_password(place: str, directory: Path) -> str:
    return _ask_api_server(place, directory, {"username": "me", "password": PASSWORD})


def ask_api_server_with_a_program(place: str, directory: Path) -> str:
    credentials = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKEN},
    }
    (directory / "credentials").write_text(json.dumps(credentials))
    program = {"apiVersion": credentials["apiVersion"], "command": "cat", "args": [str(directory / "credentials")]}
    return _ask_api_server(place, directory, {"exec": program | {"interactiveMode": "Never"}})


def _ask_api_server(place: str, directory: Path, user: dict[str, object]) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "loop",
        "contexts": [{"name": "loop", "context": {"cluster": "loop", "user": "me"}}],
        "clusters": [{"name": "loop", "cluster": {"server": f"http://{place}"}}],
        "users": [{"name": "me", "user": user}],
    }
    (directory / "kubeconfig").write_text(json.dumps(config))
    connection = Connection(str(directory / "kubeconfig"), timeout=SECONDS)
    once, direct = mock.patch.object(requests, "ATTEMPTS", 1), mock.patch.dict(os.environ, NO_PROXY="*")
    with once, direct, LiveCluster(connection) as cluster:
        try:
            body = RetryingClient(cluster).get("/api/v1/pods", what="list of pods")
            return cluster.secrets.conceal(str(decode_json(body, dict[str, str])))
        except (ClusterError, RequestRefused, InputError) as error:
            return str(error)


def ask_extender(place: str, _: Path) -> str:
    prefix = f"http://me:{urllib.parse.quote(PASSWORD, safe='')}@{place}"
    caller = Caller(Extender(url_prefix=prefix), Duration.parse(f"{SECONDS}s"))
    try:
        status, body = caller.post(f"{prefix}/filter", b"{}")
        result = wire.read(body, wire.FilterResult) if status == 200 else None
        return f"{status} {caller.secrets.conceal(str(result))}"
    except ExtenderError as error:
        return str(error)


EVERYBODY = [
    pytest.param(ask, id=name)
    for name, ask in {
        "Prometheus": ask_prometheus,
        "Prometheus with a password": ask_prometheus_with_password,
        "a load-watcher": ask_load_watcher,
        "an API server": ask_api_server,
        "an API server with a password": ask_api_server_with_password,
        "an API server by a program's token": ask_api_server_with_a_program,
        "an extender": ask_extender,
    }.items()
]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


@pytest.mark.parametrize("ask", EVERYBODY)
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(dripping(b"", b"HTTP/1.1 200 OK" * 5000), id="in the status line"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), id="in the headers"),
        pytest.param(dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="with informal answers"),
        pytest.param(dripping(LONG), id="in the body"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\n\r\n"), id="in a body of no length"),
        pytest.param(dripping(CHUNKED, b"1\r\n \r\n"), id="in chunks"),
        pytest.param(dripping(CHUNKED + b"1;", b"a=b;"), id="in the length of a chunk"),
        pytest.param(dripping(CHUNKED + b"0\r\n", b"a: b\r\n"), id="after the last chunk"),
        pytest.param(dripping(LONG.replace(b"200 OK", b"500 Oh")), id="in the body of an error"),
        pytest.param(dripping(LONG.replace(b"200 OK", b"403 No")), id="in the body of a refusal"),
        pytest.param(dripping(LONG + gzip.compress(b" " * 2**16)[:10], b"\0"), id="in gzip"),
    ],
)
def test_a_server_that_sends_a_byte_now_and_then_is_given_up(ask: Ask, reply: Reply, tmp_path: Path) -> None:
    with serving(reply) as place, mock.patch(f"{__name__}.SECONDS", 0.1):
        shown = ask(place, tmp_path)
    assert shown
    assert_free_of_secrets(shown)


@pytest.mark.parametrize("ask", EVERYBODY)
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(saying("302 Found", b"", "Location: /"), id="to itself"),
        pytest.param(saying("307 Temporary Redirect", b"", "Location: //QUOTE/"), id="to the credentials"),
    ],
)
def test_a_server_that_redirects_without_end_is_given_up(ask: Ask, reply: Reply, tmp_path: Path) -> None:
    with serving(reply) as place:
        assert_free_of_secrets(ask(place, tmp_path))


def spellings(header: str) -> Iterator[tuple[str, str]]:
    scheme, _, secret = header.partition(" ")
    plain = base64.b64decode(secret).decode() if scheme == "Basic" else secret
    yield "as it is", header
    yield "without its scheme", secret
    yield "cut short", header[:30]
    yield "percent-encoded", urllib.parse.quote(header, safe="")
    yield "as a query", urllib.parse.urlencode({"authorization": header})
    yield "in base64", base64.b64encode(f"Authorization: {header}\r\n".encode()).decode()
    yield "in base64 from another place on", base64.urlsafe_b64encode(f"x: {header}".encode()).decode()
    yield "in digits", header.encode().hex()
    yield "in small letters", header.lower()
    yield "in HTML", html.escape(f"<pre>{header}</pre>")
    yield "decoded", plain
    yield "in lines", "\n".join(header[start : start + 40] for start in range(0, len(header), 40))


def assert_free_of_secrets(shown: str) -> None:
    for secret in (TOKEN, PASSWORD, base64.b64encode(f"me:{PASSWORD}".encode()).decode()):
        forms = {secret, urllib.parse.quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("=")}
        for form in forms | {secret.encode().hex(), secret.lower()}:
            for start in range(0, len(form) - 12, 3):
                assert form[start : start + 12] not in shown, shown


@pytest.mark.parametrize("ask", EVERYBODY)
@pytest.mark.parametrize(
    "status", ["400 Bad Request", "403 Forbidden", "404 Not Found", "500 Oh", "503 Busy", "200 OK"]
)
def test_no_answer_brings_out_what_the_request_carried(ask: Ask, status: str, tmp_path: Path) -> None:
    def body(header: str) -> bytes:
        quotes = "; ".join(f"{how}: {quote}" for how, quote in spellings(header))
        words = {"kind": "Status", "status": "error", "message": quotes, "error": quotes, "Error": quotes}
        return json.dumps(words).encode()

    replies = [saying(status, body), saying(status, lambda header: body(header)[:-1]), saying(f"{status} QUOTE", b"{")]
    for reply in replies:
        with serving(reply) as place:
            assert_free_of_secrets(ask(place, tmp_path))


@pytest.mark.parametrize("ask", EVERYBODY)
@pytest.mark.parametrize(
    "line", ["HTTP/1.1 QUOTE", "QUOTE", "SSH-2.0 QUOTE\r\nQUOTE", "HTTP/1.1 200 OK\r\nQUOTE\r\n\r\n{"]
)
def test_what_is_no_http_brings_out_nothing_either(ask: Ask, line: str, tmp_path: Path) -> None:
    def reply(request: bytes) -> Iterator[bytes]:
        lines = request.decode("latin-1").split("\r\n")
        sent = next((each.partition(": ")[2] for each in lines if each.lower().startswith("authorization:")), "")
        yield line.replace("QUOTE", sent).encode() + b"\r\n\r\n"

    with serving(reply) as place:
        assert_free_of_secrets(ask(place, tmp_path))


def test_a_token_is_gone_before_anything_reads_a_list(tmp_path: Path) -> None:
    whole = {"kind": "PodList", "items": [{"metadata": {"name": "p", "annotations": {"seen": f"Bearer {TOKEN}"}}}]}
    secrets = Secrets()
    secrets.add_header(f"Bearer {TOKEN}")
    data = json.dumps(whole).encode()
    kept = secrets.conceal_data(data)
    assert json.loads(kept)["items"][0]["metadata"]["annotations"]["seen"] == "Bearer ***"
    for size in (1, 2, 7, 50, 1000):
        pieces = (data[start : start + size] for start in range(0, len(data), size))
        assert b"".join(secrets.conceal_chunks(pieces)) == kept


@pytest.mark.parametrize(
    "url",
    [
        f"http://me:{PASSWORD}@host/",
        "http://me:pa55#word@host",
        "http://me:pa55?word@host",
        "http://me:pa55word@[::1",
        "http://me:pa55word@host:port",
        "http://me:pa55 word@host",
        "http://me:pa55\nword@host",
        "ftp://me:pa55word@host",
        "me:pa55word@host:9090",
    ],
)
def test_an_address_that_makes_no_sense_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        PrometheusServer(url, end=START, window=600)
    assert "pa55" not in str(caught.value)
    with pytest.raises(Exception) as other:  # noqa: PT011
        WebAddress.parse(url)
    assert "pa55" not in str(other.value)


def test_a_name_and_a_password_of_an_address_are_sent_and_not_shown() -> None:
    seen: list[str] = []
    text = answer(series(MEMORY, every(60, [1, 2]))).encode()

    def body(header: str) -> bytes:
        seen.append(header)
        return text

    with serving(saying("200 OK", body)) as place:
        book = UsageBook(known)
        url = f"http://me:{urllib.parse.quote(PASSWORD, safe='')}@{place}"
        PrometheusServer(url, end=START, window=60).read(["shop"], book)
    assert set(seen) == {f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"}


WHOLE = answer(series(MEMORY, every(60, [1, 2])), series(MEMORY, every(60, [1, 2]), pod="web-2")).encode()


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("told", [False, True], ids=["of no length", "of a length"])
def test_an_answer_that_breaks_off_anywhere_is_no_answer(packed: bool, told: bool, tmp_path: Path) -> None:
    body = gzip.compress(WHOLE, mtime=0) if packed else WHOLE
    between = WHOLE.index(b"}, {") + 2
    ends = (
        (0, len(body) - 1, len(body) // 2) if packed else (0, 1, 60, between, between + 1, len(body) - 2, len(body) - 1)
    )
    for end in ends:
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + (b"Content-Length: %d\r\n" % len(body) if told else b"")

        def reply(_: bytes, sent: bytes = head + b"\r\n" + body[:end]) -> Iterator[bytes]:
            yield sent

        with serving(reply) as place:
            shown = ask_prometheus(place, tmp_path)
        assert any(words in shown for words in ("truncated", "more expected", "too early", "found something else")), (
            shown
        )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"status":"error","error":"a wrong \\x escape"}', "not valid JSON"),
        (b'{"status":"error","error":"lone \\ud800 half"}', "Prometheus answered with an error|not valid"),
        (b'{"status":"error","error":' + b"[" * 60_000, "nested"),
        (b"[" * 60_000, "nested"),
        (b'{"status":"success","data":' + b"{}" * 60_000, "not valid JSON|something else"),
        (b"<html>sign in</html>", "not valid JSON"),
        (b'{"status":"success"}{"status":"success"}', "found something else"),
        (b'{"data":{"result":[]}}', "found something else"),
        (b'{"status":"error","error":"' + b"no" * 500_000 + b'"}', "nono"),
        (b" " * 2_000_000, "without a series"),
        (gzip.compress(b" " * 2**23), "unpacks to more|without a series"),
    ],
    # Bodies are long, and a packed one holds the time, so that workers would call it differently.
    ids=lambda value: value[:40] if isinstance(value, str) else "body",
)
def test_what_is_no_answer_of_prometheus_is_said_in_a_line(body: bytes, said: str, tmp_path: Path) -> None:
    for status in ("200 OK", "400 Bad"):
        with serving(saying(status, body)) as place:
            shown = ask_prometheus(place, tmp_path)
        assert len(shown) < 2_000
        if status == "200 OK":
            assert any(words in shown for words in said.split("|")), shown
