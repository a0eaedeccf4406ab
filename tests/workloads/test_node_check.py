"""Which nodes a daemon set wants, and on which its pods may stay."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.workloads.daemon_set import DaemonDecision, NodeCheck, taints_of
from tests.workloads.builders import Json, node, template

NO, YES, STAY = DaemonDecision(False, False), DaemonDecision(True, True), DaemonDecision(False, True)


def taint(effect: str, key: str = "k") -> Json:
    return {"taints": [{"key": key, "value": "v", "effect": effect}]}


def required(*terms: Json) -> Json:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


IN_A = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}


@pytest.mark.parametrize(
    ("pod", "spec", "wanted"),
    [
        pytest.param({}, {}, YES, id="a plain node"),
        pytest.param({"nodeName": "n"}, {}, YES, id="the node that the template names"),
        pytest.param({"nodeName": "m"}, {}, NO, id="another node than the template names"),
        pytest.param({"nodeSelector": {"zone": "a"}}, {}, YES, id="a node selector that fits"),
        pytest.param({"nodeSelector": {"zone": "b"}}, {}, NO, id="a node selector that does not"),
        pytest.param(required(IN_A), {}, YES, id="an affinity that fits"),
        pytest.param(required({}), {}, NO, id="an affinity of one empty term fits nothing"),
        pytest.param({}, taint("NoSchedule"), STAY, id="NoSchedule keeps new pods away"),
        pytest.param({}, taint("NoExecute"), NO, id="NoExecute drives pods off"),
        pytest.param({}, taint("PreferNoSchedule"), YES, id="PreferNoSchedule does not matter"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, taint("NoExecute"), YES, id="tolerated"),
        pytest.param({}, {"unschedulable": True}, YES, id="a cordoned node"),
        pytest.param({}, taint("NoExecute", "node.kubernetes.io/unreachable"), YES, id="an unreachable node"),
        pytest.param({}, taint("NoSchedule", "node.kubernetes.io/network-unavailable"), STAY, id="no network"),
        pytest.param(
            {"hostNetwork": True}, taint("NoSchedule", "node.kubernetes.io/network-unavailable"), YES, id="host network"
        ),
    ],
)
def test_what_is_wanted_of_a_node(pod: Json, spec: Json, wanted: DaemonDecision) -> None:
    assert NodeCheck(template(**pod))(node("n", labels={"zone": "a"}, **spec)) == wanted


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ({"Ready": "True"}, YES),
        ({"Ready": "False"}, STAY),
        ({"Ready": "Unknown"}, STAY),
        ({"DiskPressure": "True"}, YES),
    ],
)
def test_a_nodes_state_counts_as_the_taint_it_leads_to(conditions: dict[str, str], wanted: DaemonDecision) -> None:
    listed: list[Any] = [{"type": kind, "status": status} for kind, status in conditions.items()]
    assert NodeCheck(template())(node("n") | {"status": {"conditions": listed}}) == wanted


def test_a_taint_that_is_there_is_not_added_again() -> None:
    cordoned = node(
        "n", unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    )
    assert len(taints_of(cordoned)) == 1
