from __future__ import annotations

import pytest

from tests.asking import EVICTION_MIGHT_HELP, details, pre_filter, refusals, refused
from tests.builders import cluster_of, container, node, plugin_of, pod

REASON = "node(s) didn't have free ports for the requested pod ports"


@pytest.mark.parametrize(
    ("in_use", "wanted", "clash"),
    [
        pytest.param(["80"], ["80"], True, id="the same port twice"),
        pytest.param(["80"], ["81"], False, id="another port"),
        pytest.param(["80/TCP"], ["80/UDP"], False, id="another protocol"),
        pytest.param(["80"], ["80/TCP"], True, id="no protocol means TCP"),
        pytest.param(["10.0.0.1:80"], ["10.0.0.2:80"], False, id="the same port on another address"),
        pytest.param(["10.0.0.1:80"], ["10.0.0.1:80"], True, id="the same port on the same address"),
        pytest.param(["10.0.0.1:80"], ["80"], True, id="every address includes the one in use"),
        pytest.param(["80"], ["10.0.0.1:80"], True, id="an address is among all of those in use"),
        pytest.param(["0.0.0.0:80"], ["10.0.0.1:80"], True, id="0.0.0.0 is every address, in use"),
        pytest.param(["10.0.0.1:80"], ["0.0.0.0:80"], True, id="0.0.0.0 is every address, wanted"),
        pytest.param(["127.0.0.1:80"], ["80/SCTP"], False, id="every address, yet another protocol"),
        pytest.param(["80", "443"], ["8080", "443"], True, id="one clash among several ports is enough"),
        pytest.param([], ["80"], False, id="nobody uses a port"),
        pytest.param(["80"], [], False, id="the pod wants no port"),
    ],
)
def test_ports_clash(in_use: list[str], wanted: list[str], clash: bool) -> None:
    cluster = cluster_of([node("a"), node("b")], [pod("running", on="a", ports=in_use)])
    found = refusals(plugin_of("NodePorts"), pod(ports=wanted), cluster)
    assert found == ({"a": (EVICTION_MIGHT_HELP, (REASON,))} if clash else {})


@pytest.mark.parametrize(
    ("init", "clash"),
    [
        pytest.param([container(ports=["80"])], False, id="an init container is gone by then"),
        pytest.param([container(ports=["80"], restart="Always")], True, id="a sidecar stays"),
    ],
)
def test_ports_of_init_containers(init: list[dict[str, object]], clash: bool) -> None:
    plugin = plugin_of("NodePorts")
    uses = cluster_of([node("a")], [pod("running", on="a", init=init)])
    wants = cluster_of([node("a")], [pod("running", on="a", ports=["80"])])
    assert refused(plugin, pod(ports=["80"]), uses) == ({"a"} if clash else set())
    assert refused(plugin, pod(init=init), wants) == ({"a"} if clash else set())


def test_a_pod_without_host_ports_skips_the_plugin() -> None:
    cluster = cluster_of([node("a")])
    only_inside = pod(containers=[{"name": "main", "ports": [{"containerPort": 80}]}])
    plugin = plugin_of("NodePorts")
    assert repr(pre_filter(plugin, cluster.shapes.info(only_inside), cluster)) == "SKIP"


def test_a_pod_that_leaves_frees_its_port_even_where_another_one_holds_it_too() -> None:
    """Ports in use are a set upstream, so the first to leave takes the entry along."""
    both = [pod(name, on="a", ports=["80"]) for name in ("one", "two")]
    cluster = cluster_of([node("a")], both)
    plugin, waiting = plugin_of("NodePorts"), pod(ports=["80"])
    assert refused(plugin, waiting, cluster) == {"a"}
    cluster.forget("uid-default-one")
    assert refused(plugin, waiting, cluster) == set()


def test_the_detail_lists_the_ports_in_use_that_are_in_the_way() -> None:
    running = pod("running", on="a", ports=["80", "10.0.0.1:443", "53/UDP"])
    cluster = cluster_of([node("a")], [running])
    assert details(plugin_of("NodePorts"), pod(ports=["80", "443"]), cluster, "a") == [
        "host port 80/TCP is in use on 0.0.0.0, host port 443/TCP is in use on 10.0.0.1"
    ]
