"""A cluster that follows a recording lists its nodes as the recorded scheduler does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import decode_json
from kwhatif.commands.backtest.recorded_cluster import RecordedCluster
from kwhatif.policy.configuration_file import default_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.session import Session
from kwhatif.snapshot.load import load_recording
from kwhatif.versions import features_of
from tests.commands.backtest.recordings import node, pod, written

ZONE = "topology.kubernetes.io/zone"


def zoned(name: str, zone: str) -> dict[str, Any]:
    obj = node(name)
    obj["metadata"].update(labels={ZONE: zone}, uid=f"uid-{name}")
    return obj


@pytest.mark.parametrize(
    ("steps", "listed"),
    [
        pytest.param([("a", None)], "cbd", id="a zone keeps its turn when its first node goes"),
        pytest.param([("a", None), ("a", "x")], "abcd", id="a change that is taken back leaves all as it was"),
        pytest.param([("a", None), ("c", None), ("e", "x")], "bed", id="a zone without nodes comes back as the last"),
        pytest.param([("a", "y")], "cbda", id="a node that gets another zone is its last"),
        pytest.param([("e", "z")], "abecd", id="a new zone is the last to take a turn"),
    ],
)
def test_nodes_are_in_the_order_of_the_schedulers_tree(
    tmp_path: Path, steps: list[tuple[str, str | None]], listed: str
) -> None:
    nodes = [zoned(*pair) for pair in ("ax", "by", "cx", "dy")]
    _, start = load_recording(str(written(tmp_path, nodes=nodes)))
    features = features_of()
    cluster = RecordedCluster(Session(start, Setup(default_configuration(), features)))
    for name, zone in steps:
        cluster.apply(
            "Node", ("", name), None if zone is None else decode_json(json.dumps(zoned(name, zone)).encode(), Node)
        )
    cluster.ask(decode_json(json.dumps(pod("p", 11)).encode(), Pod))
    assert "".join(cluster.names) == listed
