"""A server that follows a cluster by its watches, as its clients meet it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from tests.serve.test_server import Server, serving
from tests.snapshot.living import LivingServer
from tests.snapshot.test_followed_cluster import node

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


def test_a_question_sees_what_has_changed_and_how_old_it_is(tmp_path: Path) -> None:
    pick = random.Random(1)
    account = {"metadata": {"name": "default", "namespace": "default"}}
    here = {
        "Node": [node(0, pick)],
        "Pod": [],
        "ServiceAccount": [account],
        "Namespace": [{"metadata": {"name": "default"}}],
    }
    with (
        LivingServer(here) as api,
        serving("--workers", "1", cluster=("--live", "--kubeconfig", api.kubeconfig(tmp_path))) as server,
    ):
        assert not finds_a_node(server)
        new = node(1, pick)
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
