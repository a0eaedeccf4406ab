"""A server that follows a cluster by its watches, with all its processes."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.serve.doors import SAMPLES
from tests.serve.test_server import Server
from tests.snapshot.living import LivingServer
from tests.snapshot.test_followed_cluster import node

PICK = random.Random(1)
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
SPEC = {"nodeSelector": {"pool": "new"}, "containers": [{"name": "a", "image": "b"}]}
QUESTION = json.dumps({"manifests": [{**POD, "spec": SPEC}]}).encode()


def finds_a_node(server: Server) -> bool:
    status, headers, _ = server.request("POST", "/v1/place", QUESTION)
    assert status == 200
    return headers["kwhatif-exit-code"] == "0"


def wait_until(there: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not there():
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def serving(kubeconfig: str, *words: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "kwhatif", "serve", "--live", "--kubeconfig", kubeconfig]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", *words], cwd=SAMPLES, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        assert found, line
        server = Server(int(found[1]), process)
        wait_until(lambda: server.request("GET", "/readyz")[0] == 200)
        yield server
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LivingServer, Server]]:
    """An API server, and a server that follows it: the only one that the tests start as processes."""
    account = {"metadata": {"name": "default", "namespace": "default"}}
    here = {
        "Node": [node(0, PICK)],
        "Pod": [],
        "ServiceAccount": [account],
        "Namespace": [{"metadata": {"name": "default"}}],
    }
    with LivingServer(here) as api:
        kubeconfig = api.kubeconfig(tmp_path_factory.mktemp("live"))
        with serving(kubeconfig, "--workers", "2", "--time-limit", "20s", "--memory-limit", "256") as server:
            yield api, server


@pytest.mark.long
def test_a_question_sees_what_has_changed_and_how_old_it_is(live: tuple[LivingServer, Server]) -> None:
    api, server = live
    assert not finds_a_node(server)
    new = node(1, PICK)
    new["metadata"]["labels"]["pool"] = "new"
    api.put("Node", new)
    wait_until(lambda: finds_a_node(server))
    api.down = True
    api.cut()
    wait_until(lambda: "v1/nodes" in json.loads(server.request("GET", "/v1/status")[2])["gaps"])
    as_of = server.request("POST", "/v1/place", QUESTION)[1]["kwhatif-as-of"]
    assert finds_a_node(server), "it answers with what it knows"
    api.delete("Node", "n1")
    api.forget()
    api.down = False
    wait_until(lambda: not finds_a_node(server))
    assert server.request("POST", "/v1/place", QUESTION)[1]["kwhatif-as-of"] > as_of


def test_a_worker_that_is_killed_harms_nobody_else(live: tuple[LivingServer, Server]) -> None:
    """Of many questions at once those fail whose worker is killed, each with a problem; all others are answered."""
    _, server = live
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
    assert server.process is not None
    return [worker for keeper in _children_of(server.process.pid) for worker in _children_of(keeper)]


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


def test_a_question_of_much_memory_leaves_the_next_one_its_answer(
    live: tuple[LivingServer, Server],
) -> None:
    _, server = live
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a"}]}}
    body = json.dumps({"manifests": [{**pod, "metadata": {"name": "a", "annotations": {"a": "x" * 20_000_000}}}]})
    status, _, text = server.request("POST", "/v1/place", body.encode())
    assert status in (200, 422), text
    assert server.request("POST", "/v1/place", QUESTION)[0] == 200


@pytest.mark.long
def test_sigterm_lets_those_who_wait_have_their_answers(live: tuple[LivingServer, Server]) -> None:
    """The last test of this server, so that it takes no other one."""
    _, server = live
    with ThreadPoolExecutor(3) as clients:
        asked = [clients.submit(server.request, "POST", "/v1/place", QUESTION) for _ in range(3)]
        time.sleep(0.3)
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        assert {each.result()[0] for each in asked} == {200}
        assert server.process.wait(60) == 0
