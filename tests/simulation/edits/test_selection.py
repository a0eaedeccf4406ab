"""Which nodes and pods somebody means."""

from __future__ import annotations

import pytest

from kwhatif.errors import InputError
from kwhatif.simulation.edits.selection import chosen_nodes, chosen_pods
from tests.builders import node, pod

NODES = [
    node("worker-1", labels={"pool": "web"}),
    node("worker-2", labels={"pool": "batch", "gpu": "yes"}),
    node("worker-3.example.com", labels={"pool": "batch"}),
    node("pool2"),
]
PODS = [
    pod("web-1", namespace="shop", labels={"app": "web"}),
    pod("web-2", namespace="shop", labels={"app": "web"}),
    pod("web-1", namespace="test", labels={"app": "web"}),
    pod("db", namespace="shop", labels={"app": "db"}),
    pod("db", namespace="default"),
]

MEANT = {
    "worker-1": "worker-1",
    "worker-3.example.com": "worker-3.example.com",
    "pool=batch": "worker-2 worker-3.example.com",
    "pool!=batch": "worker-1 pool2",
    "pool in (web,batch)": "worker-1 worker-2 worker-3.example.com",
    "pool=batch,!gpu": "worker-3.example.com",
    "!pool": "pool2",
    "[gpu]": "worker-2",
    "[pool=web]": "worker-1",
}


@pytest.mark.parametrize("text", MEANT)
def test_nodes_are_meant_by_name_or_by_a_selector(text: str) -> None:
    assert " ".join(each.name for each in chosen_nodes(text, NODES)) == MEANT[text]


NOBODY = {
    "worker-4": 'there is no node "worker-4"; did you mean worker-2?',
    "Worker-1": 'there is no node "Worker-1"; did you mean worker-1?',
    "gpu": 'there is no node "gpu"; [gpu] are the nodes with such a label',
    "x": 'there is no node "x"',
    "pool=bach": 'no node matches "pool=bach"',
    "poll=batch": 'no node matches "poll=batch": none has a label poll; did you mean pool?',
    "pool=batch,pool=web": 'no node matches "pool=batch,pool=web"',
    "[]": '"[]" is an empty selector, which would select everything',
    "pool=batch,": "\"pool=batch,\" is no selector: expected a label or '!', found the end",
    "[pool=batch": "\"[pool=batch\" is no selector: '[pool' is not a valid label key",
}


@pytest.mark.parametrize("text", NOBODY)
def test_no_node_is_meant(text: str) -> None:
    with pytest.raises(InputError) as refused:
        chosen_nodes(text, NODES)
    assert str(refused.value) == NOBODY[text]


MEANT_PODS = {
    "web-2": "shop/web-2",
    "pod/web-2": "shop/web-2",
    "test/web-1": "test/web-1",
    "po/shop/db": "shop/db",
    "db": "default/db",
    "app=web": "shop/web-1 shop/web-2 test/web-1",
    "shop/[app=web]": "shop/web-1 shop/web-2",
    "shop/[app]": "shop/web-1 shop/web-2 shop/db",
}


@pytest.mark.parametrize("text", MEANT_PODS)
def test_pods_are_meant_by_name_or_by_a_selector(text: str) -> None:
    assert " ".join(each.key for each in chosen_pods(text, PODS)) == MEANT_PODS[text]


NO_PODS = {
    "web-1": "pod web-1 is in several namespaces (shop, test): write NAMESPACE/web-1",
    "web-3": 'there is no pod "web-3"; did you mean web-2?',
    "test/web-2": 'there is no pod "test/web-2"; did you mean test/web-1?',
    "app=shop": 'no pod matches "app=shop"',
    "tes/[app=web]": 'there are no pods in a namespace "tes"; did you mean test?',
    "test/[app=db]": 'no pod matches "[app=db]"',
    "test/[]": '"[]" is an empty selector, which would select everything',
}


@pytest.mark.parametrize("text", NO_PODS)
def test_no_pod_is_meant(text: str) -> None:
    with pytest.raises(InputError) as refused:
        chosen_pods(text, PODS)
    assert str(refused.value) == NO_PODS[text]
