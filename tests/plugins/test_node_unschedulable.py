from __future__ import annotations

import pytest

from tests.asking import HOPELESS, details, refusals
from tests.builders import cluster_of, node, plugin_of, pod

CORDON = "node.kubernetes.io/unschedulable"
REFUSED = {"cordoned": (HOPELESS, ("node(s) were unschedulable",))}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], REFUSED, id="a cordoned node takes nobody"),
        pytest.param([CORDON], {}, id="but those who tolerate its taint"),
        pytest.param([f"{CORDON}:NoSchedule"], {}, id="with its effect named"),
        pytest.param(["*"], {}, id="or who tolerate everything"),
        pytest.param([f"{CORDON}:NoExecute"], REFUSED, id="another effect is another taint"),
        pytest.param(["node.kubernetes.io/not-ready"], REFUSED, id="another key, too"),
        pytest.param([f"{CORDON}=yes"], REFUSED, id="and a value that the taint does not have"),
    ],
)
def test_cordoned_nodes(tolerations: list[str], expected: dict[str, object]) -> None:
    cluster = cluster_of([node("open"), node("cordoned", cordoned=True)])
    assert refusals(plugin_of("NodeUnschedulable"), pod(tolerations=tolerations), cluster) == expected


def test_the_taint_itself_need_not_be_there_and_does_not_cordon() -> None:
    cluster = cluster_of([node("tainted", taints=[f"{CORDON}:NoSchedule"])])
    assert refusals(plugin_of("NodeUnschedulable"), pod(), cluster) == {}


def test_the_detail_says_what_to_look_for() -> None:
    cluster = cluster_of([node("cordoned", cordoned=True)])
    found = details(plugin_of("NodeUnschedulable"), pod(), cluster, "cordoned")
    assert found == ["the node is cordoned (spec.unschedulable)"]
