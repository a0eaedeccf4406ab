"""The server as its clients meet it: a process of its own, on loopback."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import run

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

SAMPLES = Path(__file__).parents[2] / "samples"
WEB = (SAMPLES / "manifests" / "web.yaml").read_text()
QUESTION = json.dumps({"manifests": WEB}).encode()


class Server:
    """A server, and a client of it."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        named = {"Content-Type": "application/json"} if body is not None else {}
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        client.request(
            method, path, body, {**named, **{key.replace("_", "-"): value for key, value in headers.items()}}
        )
        response = client.getresponse()
        text = response.read()
        client.close()
        return response.status, {key.lower(): value for key, value in response.getheaders()}, text

    def wait_until_ready(self) -> None:
        until = time.monotonic() + 120
        while self.request("GET", "/readyz")[0] != 200:
            assert time.monotonic() < until
            time.sleep(0.05)


@contextmanager
def serving(*words: str, cluster: tuple[str, ...] = ("--snapshot", "cluster")) -> Iterator[Server]:
    command = [sys.executable, "-m", "kwhatif", "serve", *cluster]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", *words], cwd=SAMPLES, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        assert found, line
        server = Server(process, int(found[1]))
        server.wait_until_ready()
        yield server
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--workers", "2", "--time-limit", "20s", "--memory-limit", "256") as found:
        yield found


def test_an_answer_is_the_one_that_the_command_prints(server: Server) -> None:
    status, headers, body = server.request("POST", "/v1/place", QUESTION)
    assert (status, headers["content-type"], headers["kwhatif-exit-code"]) == (200, "application/json", "0")
    assert json.loads(body)["kind"] == "PlaceResult"
    assert server.request("POST", "/v1/place", QUESTION)[2] == body


ALIKE = (
    "place manifests/web.yaml",
    "place -f manifests/too-big.yaml -o json --cordon general-a-1",
    "place manifests/web.yaml -o wide --cordon general-a-1",
    "place --with-pending --now 2026-03-01T12:00:00Z -o json",
    "explain reindex-3-2f9gk",
    "explain manifests/too-big.yaml --node gpu-b-1 -o yaml",
    "drain general-a-2 -o markdown",
    "gate manifests/web.yaml -o sarif",
    "capacity manifests/checkout.yaml -o json",
    "outage --by topology.kubernetes.io/zone",
    "diff manifests/web.yaml --policy default --policy default",
    "expand manifests/checkout.yaml",
)


@pytest.mark.parametrize("words", ALIKE)
def test_a_command_prints_the_same_whether_it_asks_a_server(server: Server, words: str) -> None:
    here = run(*words.split(), "--snapshot", "cluster", folder=SAMPLES)
    there = run(*words.split(), "--server", f"http://127.0.0.1:{server.port}", folder=SAMPLES)
    assert (there.code, there.out) == (here.code, here.out), there.err


REFUSED_OPTIONS = {
    "place manifests --server URL": "a directory is not sent",
    "place manifests/web.yaml --plugin a:b --server URL": "--plugin: cannot be used with --server",
    "place manifests/web.yaml --write-snapshot out.json --server URL": "--write-snapshot: cannot be used with --server",
    "place manifests/web.yaml --live --server URL": "the cluster is the server's",
    "place nowhere.yaml --server URL": "no such file",
    "place manifests/web.yaml --max-pods 1 --server URL": "--max-pods",
    "snapshot trim general-a-1 -o a.json --server URL": "does not ask a server",
    "place manifests/web.yaml --server http://127.0.0.1:1": "no answer",
}


@pytest.mark.parametrize(("words", "problem"), REFUSED_OPTIONS.items())
def test_what_is_not_asked_of_a_server_is_said(server: Server, words: str, problem: str) -> None:
    ran = run(*words.replace("URL", f"http://127.0.0.1:{server.port}").split(), folder=SAMPLES)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err


def test_the_document_of_the_api_names_every_question(server: Server) -> None:
    status, _, body = server.request("GET", "/openapi.json")
    document = json.loads(body)
    known = json.loads(server.request("GET", "/v1/status")[2])["questions"]
    assert (status, document["openapi"]) == (200, "3.1.0")
    assert {f"/v1/{name}" for name in known} <= set(document["paths"])
    references = set(re.findall(r'"#/components/(\w+)/([\w.-]+)"', body.decode()))
    assert references
    assert all(name in document["components"][kind] for kind, name in references)


REFUSED: list[tuple[str, str, bytes | None, dict[str, str], int]] = [
    ("POST", "/v1/nothing", b"{}", {}, 404),
    ("GET", "/../../etc/passwd", None, {}, 404),
    ("GET", "/v1/place", None, {}, 405),
    ("POST", "/v1/place", b"{}", {"Content_Type": "text/plain"}, 415),
    ("POST", "/v1/place", b"{}", {"Host": "attacker.example"}, 421),
    ("POST", "/v1/place", b"{}", {"Origin": "http://attacker.example"}, 403),
    ("POST", "/v1/place", b"{}", {"Sec_Fetch_Site": "cross-site"}, 403),
    ("POST", "/v1/place", None, {"Content_Length": "999999999999"}, 413),
]


@pytest.mark.parametrize(("method", "path", "body", "headers", "status"), REFUSED)
def test_a_request_that_is_none_is_refused(
    server: Server, method: str, path: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    found, named, text = server.request(method, path, body, **headers)
    assert found == status, text
    assert named["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in named
    assert "set-cookie" not in named


def test_a_worker_that_is_killed_harms_nobody_else(server: Server) -> None:
    """Of many questions at once those fail whose worker is killed, each with a problem; all others are answered."""
    with ThreadPoolExecutor(8) as clients:
        asked = [clients.submit(server.request, "POST", "/v1/place", QUESTION) for _ in range(12)]
        time.sleep(0.05)
        killed = sum(map(_kill, _workers_of(server)))
        replies = [each.result() for each in asked]
    assert killed
    assert {status for status, _, _ in replies} <= {200, 500}
    assert sum(status == 500 for status, _, _ in replies) <= killed
    assert server.request("POST", "/v1/place", QUESTION)[0] == 200


def _workers_of(server: Server) -> list[int]:
    (keeper,) = _children_of(server.process.pid)
    return _children_of(keeper)


def _children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(entry.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_a_question_that_takes_too_much_memory_is_refused_and_the_next_is_answered(server: Server) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a"}]}}
    body = json.dumps({"manifests": [{**pod, "metadata": {"name": "a", "annotations": {"a": "x" * 20_000_000}}}]})
    status, _, text = server.request("POST", "/v1/place", body.encode())
    assert status in (200, 422), text
    assert server.request("POST", "/v1/place", QUESTION)[0] == 200


def test_a_long_question_is_begun_looked_at_and_read(server: Server) -> None:
    status, headers, body = server.request("POST", "/v1/place", QUESTION, Prefer="respond-async")
    place = headers["location"]
    assert (status, json.loads(body)["job"]) == (202, place)
    events = server.request("GET", f"{place}/events")[2].decode()
    assert events.endswith("\n\n")
    assert "event: done\n" in events
    assert json.loads(server.request("GET", place)[2])["status"] == "done"
    assert server.request("GET", f"{place}/answer")[2] == server.request("POST", "/v1/place", QUESTION)[2]
    assert server.request("DELETE", place)[0] == 204
    assert server.request("GET", place)[0] == 404


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 100_000,
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"POST /v1/place HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nZZZ",
        b"POST /v1/place HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ],
    ids=["a long head", "TLS", "two lengths", "hangs up"],
)
def test_a_client_that_speaks_otherwise_harms_nobody(server: Server, text: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(text)
        client.shutdown(socket.SHUT_WR)
        client.recv(10)
    assert server.request("POST", "/v1/place", QUESTION)[0] == 200


def test_sigterm_lets_those_who_wait_have_their_answers(server: Server) -> None:
    """The last test of this server, so that it takes no other one."""
    with ThreadPoolExecutor(3) as clients:
        asked = [clients.submit(server.request, "POST", "/v1/place", QUESTION) for _ in range(3)]
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        assert {each.result()[0] for each in asked} == {200}
        assert server.process.wait(60) == 0
