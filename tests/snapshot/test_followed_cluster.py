"""A snapshot that follows a cluster is at any moment the one that a dump finds, object for object."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.api.core import Pod
from kwhatif.api.kinds import LASTING
from kwhatif.api.quantity import plain_quantity
from kwhatif.clock import read_clock
from kwhatif.snapshot.followed_cluster import FollowedCluster
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.live import recorder, watch
from kwhatif.snapshot.live.dump import DumpOptions, dump
from kwhatif.snapshot.live.live_cluster import Connection
from kwhatif.snapshot.live.recorder import Recorder
from tests.snapshot.living import LivingServer

pytestmark = pytest.mark.long


class Following:
    """Takes lines as the keeper of a server does."""

    def __init__(self) -> None:
        self.cluster = FollowedCluster("the cluster")
        self.failed: OSError | None = None
        self.size = self.written = 0
        self._taking = threading.Lock()

    def add(self, line: Callable[[], bytes]) -> bool:
        with self._taking:
            self.cluster.take_line(line())
        return True

    def flush(self) -> None:
        pass

    close = remove = flush

    def objects(self) -> dict[str, Any]:
        with self._taking:
            return plain(self.cluster.snapshot)

    def wait_until(self, there: Callable[[FollowedCluster], object]) -> None:
        until = time.monotonic() + 30
        while True:
            with self._taking:
                if there(self.cluster):
                    return
            assert time.monotonic() < until
            time.sleep(0.005)


def plain(snapshot: Snapshot) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(snapshot.by_kind(), enc_hook=plain_quantity)
    return found


@contextmanager
def following(connection: Connection) -> Iterator[Following]:
    found = Following()
    recording = Recorder(connection, DumpOptions(), kinds=LASTING, beats=True)
    thread = threading.Thread(target=recording.record_to, args=(found,), daemon=True)
    thread.start()
    try:
        found.wait_until(lambda cluster: cluster.is_complete)
        yield found
    finally:
        recording.stop.set()
        thread.join(30)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "EVERY", 0.02)
    monkeypatch.setattr(watch, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(watch, "_LONGEST_PAUSE", 0.02)


def pod(number: int, pick: random.Random) -> dict[str, Any]:
    spec = {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": f"{pick.randint(1, 9)}"}}}]}
    where = pick.choice([{}, {"nodeName": f"n{pick.randrange(5)}"}])
    metadata = {"name": f"p{number}", "namespace": f"team{number % 2}-x", "uid": f"{number}-{pick.randrange(3)}"}
    return {"metadata": metadata, "spec": {**spec, **where}, "status": {"phase": "Running"}}


def node(number: int, pick: random.Random) -> dict[str, Any]:
    return {
        "metadata": {"name": f"n{number}", "uid": f"n{number}", "labels": {"zone": pick.choice("ab")}},
        "status": {"allocatable": {"cpu": str(pick.randint(1, 99)), "pods": "110"}},
    }


def deployment(number: int, pick: random.Random) -> dict[str, Any]:
    metadata = {"name": f"d{number}", "namespace": "team", "uid": f"d{number}"}
    return {"metadata": metadata, "spec": {"replicas": pick.randint(1, 9), "selector": {}, "template": {"spec": {}}}}


def account(number: int, pick: random.Random) -> dict[str, Any]:
    metadata = {"name": f"a{number}", "namespace": "team", "uid": f"a{number}", "labels": {"a": pick.choice("ab")}}
    return {"metadata": metadata}


KINDS = [("Pod", pod, 40)] * 6 + [("Node", node, 6), ("Deployment", deployment, 5), ("ServiceAccount", account, 3)]


class Life:
    """Objects that come, change and go, while watches break and are forgotten."""

    def __init__(self, server: LivingServer, seed: int) -> None:
        self.server, self.random = server, random.Random(seed)
        self._there: set[tuple[str, str, str]] = set()

    def go_on(self) -> None:
        kind, make, most = self.random.choice(
            [("Pod", pod, 40)] * 6 + [("Node", node, 6), ("Deployment", deployment, 5)]
        )
        obj = make(self.random.randrange(most), self.random)
        key = kind, obj["metadata"]["name"], obj["metadata"].get("namespace", "")
        if key in self._there and self.random.random() < 0.4:
            self._there.remove(key)
            self.server.delete(*key)
        else:
            self._there.add(key)
            self.server.put(kind, obj)
        event = self.random.random()
        if event < 0.02:
            self.server.forget()
        if event < 0.05:
            self.server.cut()


@pytest.mark.parametrize("seed", range(3))
def test_after_many_changes_it_is_what_a_dump_finds(seed: int, tmp_path: Path) -> None:
    with LivingServer() as server:
        life, connection = Life(server, seed), Connection(kubeconfig=server.kubeconfig(tmp_path))
        for _ in range(40):
            life.go_on()
        with following(connection) as found:
            for _ in range(300):
                life.go_on()
            expected = plain(dump(connection, DumpOptions()).snapshot)
            found.wait_until(lambda cluster: plain(cluster.snapshot) == expected)
            assert len(expected["Pod"]) > 10


def test_how_old_it_is_says_a_kind_that_is_not_followed(tmp_path: Path) -> None:
    with LivingServer({"Node": [node(0, random.Random(1))]}) as server:
        connection = Connection(kubeconfig=server.kubeconfig(tmp_path))
        with following(connection) as found:
            assert found.cluster.as_of == pytest.approx(read_clock().timestamp(), abs=10)
            server.down = True
            server.cut()
            found.wait_until(lambda cluster: {"v1/pods", "v1/nodes"} <= cluster.gaps.keys())
            stopped = found.cluster.as_of
            found.wait_until(lambda cluster: cluster._at > stopped + 0.1 and cluster.snapshot.inconsistencies)
            assert found.cluster.as_of <= stopped
            assert any("v1/pods were not followed from" in text for text in found.cluster.snapshot.inconsistencies)
            server.put("Pod", pod(1, random.Random(1)))
            server.forget()
            server.down = False
            found.wait_until(lambda cluster: cluster.snapshot.objects.list_all(Pod))
            found.wait_until(lambda cluster: not cluster.gaps and cluster.as_of > stopped)
            assert found.cluster.snapshot.inconsistencies == []
