from __future__ import annotations

import pytest

from tests.asking import HOPELESS, details, refusals
from tests.builders import Json, cluster_of, features_with, node, plugin_of, pod

RESTARTS = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"
NODES = [node("old"), node("new", declares=[RESTARTS, USERS, "Another"]), node("half", declares=[USERS])]


def restarting(action: str) -> Json:
    return {"name": "main", "restartPolicyRules": [{"action": action}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, set(), id="a plain pod runs anywhere"),
        pytest.param(
            {"containers": [restarting("RestartAllContainers")]},
            {"old", "half"},
            id="restarting all containers wants a kubelet that can",
        ),
        pytest.param(
            {"initContainers": [restarting("RestartAllContainers")]},
            {"old", "half"},
            id="a rule of an init container counts as well",
        ),
        pytest.param({"containers": [restarting("Restart")]}, set(), id="other actions want nothing"),
        pytest.param(
            {"hostNetwork": True, "hostUsers": False},
            {"old"},
            id="the host's network with users of its own wants support",
        ),
        pytest.param({"hostNetwork": True}, set(), id="the host's network alone does not"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, set(), id="nor with the host's users"),
        pytest.param({"hostUsers": False}, set(), id="nor users of its own without the host's network"),
    ],
)
def test_needed_features(spec: Json, expected: set[str]) -> None:
    found = refusals(plugin_of("NodeDeclaredFeatures"), pod(spec=spec), cluster_of(NODES))
    assert found == dict.fromkeys(expected, (HOPELESS, ("node(s) didn't match Pod's required features",)))


def test_without_the_feature_gate_nobody_asks() -> None:
    gate_off = features_with(node_declared_features=False)
    plugin = plugin_of("NodeDeclaredFeatures", features=gate_off)
    demanding = pod(spec={"hostNetwork": True, "hostUsers": False})
    assert refusals(plugin, demanding, cluster_of(NODES)) == {}


def test_the_detail_lists_what_the_node_lacks() -> None:
    demanding = pod(
        spec={
            "hostNetwork": True,
            "hostUsers": False,
            "containers": [restarting("RestartAllContainers")],
        }
    )
    plugin, cluster = plugin_of("NodeDeclaredFeatures"), cluster_of(NODES)
    assert details(plugin, demanding, cluster, "old") == [f"node does not declare {RESTARTS}, {USERS}"]
    assert details(plugin, demanding, cluster, "half") == [f"node does not declare {RESTARTS}"]
