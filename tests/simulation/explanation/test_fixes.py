"""Which cordoned nodes a pod is said to fit on, were they not cordoned; and whether evictions may help it."""

from __future__ import annotations

from typing import get_args

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.commands.explain.text import explain_blocks
from kwhatif.render.tables import text_of
from kwhatif.results.outcome import PreemptionFailure
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


AGENT = pod("agent", on="b", cpu="330m", owner=("apps/v1", "DaemonSet", "agent"))


@pytest.mark.parametrize(
    ("asked", "freed", "limit"),
    [
        pytest.param("3", True, "", id="what others hold can be freed"),
        pytest.param(
            "3800m",
            False,
            "no node would do, even empty: node b offers 3670m cpu beside its daemon pods, the pod requests 3800m",
            id="what daemon sets hold cannot",
        ),
        pytest.param(
            "5",
            False,
            "no node would do, even empty: node b offers 3670m cpu beside its daemon pods, the pod requests 5",
        ),
    ],
)
def test_room_is_offered_only_where_evictions_can_bring_it(asked: str, freed: bool, limit: str) -> None:
    web = pod("web", on="b", cpu="3", owner=("apps/v1", "ReplicaSet", "web"))
    (report,) = explain(session_of([node("b", cpu="4")], [AGENT, web]), asking(pod(cpu=asked))).pods
    assert any(fix.change.startswith("free ") for fix in report.fixes) is freed
    assert report.limit == limit


UNTOUCHABLE = pod("agent", on="b", cpu="4", priority=100)


@pytest.mark.parametrize(
    ("asked", "bound", "why"),
    [
        pytest.param(pod(cpu="1"), UNTOUCHABLE, "no victims", id="nobody has a lower priority"),
        pytest.param(pod(cpu="3500m"), AGENT, "", id="there is room"),
        pytest.param(pod(cpu="1", priority=200), UNTOUCHABLE, "", id="evictions make room"),
        pytest.param(
            pod(cpu="1", priority=200, spec={"preemptionPolicy": "Never"}),
            UNTOUCHABLE,
            "not allowed",
            id="it never preempts",
        ),
    ],
)
def test_the_report_says_why_nobody_is_evicted_and_the_table_says_the_same(asked: Pod, bound: Pod, why: str) -> None:
    result = explain(session_of([node("b", cpu="4")], [bound]), asking(asked))
    assert result.pods[0].preemption == why
    table = text_of(explain_blocks(result)).partition("REJECTED NODES")[2]
    words = [word for word in ("may help", *get_args(PreemptionFailure)[1:]) if word in table]
    assert words == ([why or "may help"] if table else [])
