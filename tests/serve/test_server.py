"""The server as its clients meet it, on loopback; it answers in this process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from kwhatif.serve.server import build_server
from tests.cli.running import run
from tests.serve.doors import SAMPLES, service_of

WEB = (SAMPLES / "manifests" / "web.yaml").read_text()
QUESTION = json.dumps({"manifests": WEB}).encode()


class Server:
    """A client of a server, which may be a process."""

    def __init__(self, port: int, process: subprocess.Popen[str] | None = None) -> None:
        self.port, self.process = port, process

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


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server on loopback about the sample cluster, which answers in a thread of this process."""
    service = replace(service_of(), log=lambda line: None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        program = build_server(service.app(), None)
        # A thread hears of no signals.
        program.capture_signals = contextlib.nullcontext
        thread = threading.Thread(target=lambda: asyncio.run(program.serve(sockets=[listener])))
        thread.start()
        yield Server(listener.getsockname()[1])
        program.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as found:
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


@pytest.mark.long
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


@pytest.mark.long
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


def test_a_long_question_is_begun_looked_at_and_read(server: Server) -> None:
    status, headers, body = server.request("POST", "/v1/place", QUESTION, Prefer="respond-async")
    place = headers["location"]
    assert (status, json.loads(body)["job"]) == (202, place)
    events = server.request("GET", f"{place}/events")[2].decode()
    assert events.endswith("\n\n")
    assert "event: done\n" in events
    assert json.loads(server.request("GET", place)[2])["status"] == "done"
    assert server.request("GET", f"{place}/answer")[2] == server.request("POST", "/v1/place", QUESTION)[2]
    status, headers, _ = server.request("PUT", place)
    assert (status, set(headers["allow"].split(", "))) == (405, {"GET", "HEAD", "DELETE"})
    assert server.request("DELETE", place)[0] == 204
    assert server.request("GET", place)[0] == 404
