from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from tests.asking import HOPELESS, details, refusals
from tests.builders import cluster_of, node, plugin_of, pod

REASON = "node(s) didn't match the requested node name"


@pytest.mark.parametrize(
    ("waiting", "refused"),
    [
        pytest.param(pod(), set(), id="a pod that names no node may go anywhere"),
        pytest.param(pod(on="b"), {"a", "c"}, id="a pod that names a node may go nowhere else"),
        pytest.param(pod(on="z"), {"a", "b", "c"}, id="a node that is not there leaves no choice at all"),
    ],
)
def test_node_name(waiting: Pod, refused: set[str]) -> None:
    cluster = cluster_of([node("a"), node("b"), node("c")])
    found = refusals(plugin_of("NodeName"), waiting, cluster)
    assert found == dict.fromkeys(refused, (HOPELESS, (REASON,)))


def test_the_detail_names_the_node_that_was_asked_for() -> None:
    cluster = cluster_of([node("a"), node("b")])
    assert details(plugin_of("NodeName"), pod(on="b"), cluster, "a") == ["the pod names node b"]
