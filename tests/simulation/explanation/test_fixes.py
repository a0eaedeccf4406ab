"""Which cordoned nodes a pod is said to fit on, were they not cordoned."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.simulation.edits.cordon import cordon_node
from tests.builders import node, pod
from tests.commands.answers import explain
from tests.simulation.sessions import asking, session_of

FULL = pod("full", on="b", cpu="4")


@pytest.mark.parametrize(
    ("nodes", "bound", "asked", "offered"),
    [
        pytest.param([cordon_node(node("b"))], [], pod(), ["b"], id="with the taint that goes with it"),
        pytest.param([node("b", cordoned=True)], [], pod(), ["b"], id="without"),
        pytest.param(
            [cordon_node(node("b", taints=["team=red:NoSchedule"]))], [], pod(), [], id="not past other taints"
        ),
        pytest.param([cordon_node(node("b"))], [FULL], pod(cpu="1"), [], id="not where there is no room"),
        pytest.param([cordon_node(node(n)) for n in "dcb"], [], pod(), ["b", "c"], id="the first two by name"),
        pytest.param([node("b", cpu="0")], [], pod(cpu="1"), [], id="nobody is cordoned"),
        pytest.param(
            [cordon_node(node("b")), cordon_node(node("c", labels={"disk": "ssd"}))],
            [],
            pod(node_selector={"disk": "ssd"}),
            ["c"],
            id="those that the pod asks for",
        ),
    ],
)
def test_cordoned_nodes_are_offered_that_would_do(
    nodes: list[Node], bound: list[Pod], asked: Pod, offered: list[str]
) -> None:
    (report,) = explain(session_of(nodes, bound), asking(asked)).pods
    fixes = [fix.change for fix in report.fixes if "uncordon" in fix.change]
    assert fixes == [f"uncordon node {name}" for name in offered]
