from __future__ import annotations

from typing import Any

import pytest

from kwhatif.framework.status import SKIP
from tests.asking import scores
from tests.builders import GPU, Json, cluster_of, node, plugin_of, pod

DISK = "ephemeral-storage"
NAME = "NodeResourcesBalancedAllocation"


def of(*resources: str) -> Json:
    return {"resources": [{"name": name, "weight": 1} for name in resources]}


# 4 cores and 8 GiB. How balanced a node is goes from 0 to 100; the score is 50 + (50 + with - without) / 2.
@pytest.mark.parametrize(
    ("running", "waiting", "expected"),
    [
        pytest.param({}, {"cpu": "2", "memory": "4Gi"}, 75, id="what stays in balance scores 75"),
        pytest.param({}, {"cpu": "4"}, 50, id="from balance to none at all"),  # 50 with, 100 without
        pytest.param(
            {"cpu": "4"},
            {"memory": "8Gi"},
            100,
            id="from none to perfect balance",  # 100 with, 50 without
        ),
        pytest.param({"cpu": "2"}, {"memory": "2Gi"}, 81, id="a step towards it"),  # 87 with, 75 without
        pytest.param({}, {"cpu": "1", "memory": "1Gi"}, 71, id="a step away"),  # 93 with, 100 without: (143 - 100) / 2
        pytest.param(
            {"cpu": "6"},
            {"memory": "9Gi"},
            100,
            id="more than there is counts as all",  # 1 and 1, before 1 and 0
        ),
    ],
)
def test_two_resources(running: Json, waiting: Json, expected: int) -> None:
    cluster = cluster_of([node("a")], [pod("r", on="a", **running)])
    assert scores(plugin_of(NAME), pod(**waiting), cluster) == {"a": expected}


@pytest.mark.parametrize(
    ("resources", "allocatable", "waiting", "expected"),
    [
        pytest.param(
            ("cpu", "memory", DISK),
            {DISK: "10Gi"},
            {"cpu": "2", "memory": "4Gi", "requests": {DISK: "5Gi"}},
            75,
            id="three in balance",
        ),
        pytest.param(
            ("cpu", "memory", DISK),
            {DISK: "10Gi"},
            {"cpu": "4"},
            51,
            id="one of three in use",  # 1 - sqrt(2) / 3 = 0.5286
        ),
        pytest.param(
            ("cpu", "memory", DISK),
            {},
            {"cpu": "2", "memory": "4Gi"},
            75,
            id="a resource the node lacks takes no part",
        ),
        pytest.param(("cpu",), {}, {"cpu": "3"}, 75, id="one resource is always in balance"),
        pytest.param(
            ("cpu", GPU),
            {GPU: "2"},
            {"cpu": "2"},
            75,
            id="devices the pod does not ask for take no part",
        ),
        pytest.param(
            ("cpu", GPU),
            {GPU: "2"},
            {"cpu": "2", "requests": {GPU: "2"}},
            62,
            id="devices it asks for do",  # 75 with, 100 without: 50 + 25 / 2
        ),
        pytest.param(("cpu", GPU), {}, {"cpu": "2", "requests": {GPU: "2"}}, 75, id="unless the node has none"),
    ],
)
def test_other_resources(
    resources: tuple[str, ...], allocatable: dict[str, str], waiting: dict[str, Any], expected: int
) -> None:
    cluster = cluster_of([node("a", allocatable=allocatable)])
    assert scores(plugin_of(NAME, of(*resources)), pod(**waiting), cluster) == {"a": expected}


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        pytest.param(None, {}, id="of anything"),
        pytest.param(None, {"cpu": "0"}, id="but zero"),
        pytest.param(None, {"requests": {GPU: "1"}}, id="of the resources looked at"),
        pytest.param(of(GPU), {"cpu": "1"}, id="of the one that is looked at"),
    ],
)
def test_a_pod_that_asks_for_none_skips_the_plugin(args: Json | None, kind: dict[str, Any]) -> None:
    assert scores(plugin_of(NAME, args), pod(**kind), cluster_of([node("a")])) is SKIP


def test_containers_that_ask_for_nothing_count_nothing_here() -> None:
    """Unlike NodeResourcesFit it looks at plain requests, of the pod and of those that run."""
    cluster = cluster_of([node("a")], [pod("quiet", on="a")])
    assert scores(plugin_of(NAME), pod(cpu="2", memory="4Gi"), cluster) == {"a": 75}


def test_the_pods_own_request_counts() -> None:
    waiting = pod(cpu="100m", pod_level={"cpu": "4"})
    assert scores(plugin_of(NAME), waiting, cluster_of([node("a")])) == {"a": 50}


def test_a_pod_whose_sum_grows_asks_for_more_of_each_further_resource() -> None:
    """Memory of 1.5Gi is a big decimal upstream, so each sum leaves the overhead in it (``overhead_drift``)."""
    cluster = cluster_of([node("a", cpu="4", memory="4Gi")])
    waiting = pod(pod_level={"cpu": "2", "memory": "1.5Gi"}, overhead={"memory": "256Mi"})
    # NodeResourcesFit's is the first sum, DynamicResources' the second, then cpu's; memory's comes to 2.5Gi.
    assert scores(plugin_of(NAME), waiting, cluster) == {"a": 71}  # 93 with, 100 without
