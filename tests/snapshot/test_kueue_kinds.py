"""Kueue's kinds are dumped and followed as all others, and it decides on them as on a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from kwhatif.api.kinds import kind_of
from kwhatif.api.kueue import KueueWorkload
from tests.cli.running import TESTS
from tests.snapshot.dumping import dumped
from tests.snapshot.server import ApiServer, Watch, key_of
from tests.snapshot.server import recorded as exchanges
from tests.snapshot.test_record import FIRST, Made, record, told

pytestmark = pytest.mark.usefixtures("hurry")
__all__ = ["record"]

SAMPLE = TESTS.parent / "samples" / "kueue" / "cluster.yaml"
GROUP = "kueue.x-k8s.io"


@pytest.fixture
def kueue(server: ApiServer) -> dict[str, list[dict[str, Any]]]:
    """The sample's objects of Kueue by their paths, which the server serves from now on."""
    groups = json.loads(exchanges()["admin", key_of("/apis")].body)
    versions = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in ("v1beta2", "v1beta1")]
    server.put("/apis", {**groups, "groups": [*groups["groups"], {"name": GROUP, "versions": versions}]})
    by_path: dict[str, list[dict[str, Any]]] = {}
    for obj in yaml.safe_load_all(SAMPLE.read_text()):
        kind = kind_of(obj["apiVersion"], obj["kind"])
        if obj["apiVersion"].startswith(GROUP) and kind is not None:
            obj["metadata"]["resourceVersion"] = "4000"
            by_path.setdefault(kind.path("v1beta2"), []).append(obj)
    for path, items in by_path.items():
        listed = {"kind": f"{items[0]['kind']}List", "metadata": {"resourceVersion": "4999"}, "items": items}
        server.put(f"{path}?limit=50", listed)
    return by_path


@pytest.mark.long
@pytest.mark.usefixtures("kueue")
def test_kueue_decides_on_a_dump_as_on_the_file(server: ApiServer, tmp_path: Path) -> None:
    snapshot = dumped(server, tmp_path)
    found = kwhatif.queue([], snapshot=snapshot)
    there = kwhatif.queue([], snapshot=str(SAMPLE))
    assert found.cluster_queues == there.cluster_queues
    assert [(each.workload, each.status) for each in found.workloads] == [
        (each.workload, each.status) for each in there.workloads
    ]
    assert [each.what for each in found.gaps if "of Kueue" in each.what] == []


@pytest.mark.long
def test_a_recording_follows_workloads(
    server: ApiServer, kueue: dict[str, list[dict[str, Any]]], record: Callable[..., Made]
) -> None:
    path = f"/apis/{GROUP}/v1beta2/workloads"
    gone, left = kueue[path][0], kueue[path][1:]
    gone = {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(FIRST)}}
    server.watch(path, Watch((told("DELETED", gone),), "silence"))
    workloads = record(1).at().objects.list_all(KueueWorkload)
    assert {each.name for each in workloads} == {each["metadata"]["name"] for each in left}
