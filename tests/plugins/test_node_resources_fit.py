from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.core import Pod
from tests.asking import EVICTION_MIGHT_HELP, HOPELESS, details, refusals, refused, scores
from tests.builders import GPU, Json, cluster_of, container, node, plugin_of, pod, pods_on

FULL = "Too many pods"


def short(*resources: str) -> tuple[str, ...]:
    return tuple(f"Insufficient {resource}" for resource in resources)


# A node with 4 cores, 8 GiB, 2 GPUs and 10 GiB of disk; 3 cores, 6 GiB and one GPU of it are taken.
ROOMY = node("a", allocatable={GPU: "2", "ephemeral-storage": "10Gi", "hugepages-2Mi": "4Mi"}, pods=2)
TAKEN = pod("taken", on="a", cpu="3", memory="6Gi", requests={GPU: "1"})


@pytest.mark.parametrize(
    ("kind", "code", "reasons"),
    [
        pytest.param({"cpu": "1", "memory": "2Gi", "requests": {GPU: "1"}}, None, (), id="what is left just fits"),
        pytest.param({}, None, (), id="a pod that asks for nothing fits"),
        pytest.param({"cpu": "1001m"}, EVICTION_MIGHT_HELP, short("cpu"), id="a millicore too much does not"),
        pytest.param({"cpu": "4"}, EVICTION_MIGHT_HELP, short("cpu"), id="an empty node would do"),
        pytest.param({"cpu": "4001m"}, HOPELESS, short("cpu"), id="not even an empty node would do"),
        pytest.param(
            {"cpu": "2", "memory": "3Gi"},
            EVICTION_MIGHT_HELP,
            short("cpu", "memory"),
            id="all that is short is named",
        ),
        pytest.param(
            {"cpu": "2", "memory": "9Gi"},
            HOPELESS,
            short("cpu", "memory"),
            id="one that can never fit makes it hopeless",
        ),
        pytest.param({"requests": {GPU: "2"}}, EVICTION_MIGHT_HELP, short(GPU), id="devices are counted"),
        pytest.param({"requests": {GPU: "3"}}, HOPELESS, short(GPU), id="more devices than there are"),
        pytest.param({"requests": {GPU: "0"}}, None, (), id="no device is no request"),
        pytest.param(
            {"requests": {"example.com/fpga": "1"}},
            HOPELESS,
            short("example.com/fpga"),
            id="a device the node has never heard of",
        ),
        pytest.param({"requests": {"ephemeral-storage": "10Gi"}}, None, (), id="all of the disk"),
        pytest.param(
            {"requests": {"ephemeral-storage": "11Gi"}}, HOPELESS, short("ephemeral-storage"), id="more than the disk"
        ),
        pytest.param({"requests": {"hugepages-2Mi": "6Mi"}}, HOPELESS, short("hugepages-2Mi"), id="huge pages by size"),
        pytest.param({"requests": {"hugepages-1Gi": "1Gi"}}, HOPELESS, short("hugepages-1Gi"), id="of no other size"),
        pytest.param({"requests": {"plain": "9"}}, None, (), id="a name that is no resource is not looked at"),
        pytest.param(
            {"cpu": "500m", "overhead": {"cpu": "501m"}}, EVICTION_MIGHT_HELP, short("cpu"), id="overhead counts"
        ),
        pytest.param(
            {"cpu": "1m", "init": [container(cpu="2")]},
            EVICTION_MIGHT_HELP,
            short("cpu"),
            id="the largest init container counts",
        ),
        pytest.param(
            {"cpu": "600m", "init": [container(cpu="500m", restart="Always")]},
            EVICTION_MIGHT_HELP,
            short("cpu"),
            id="sidecars add up with containers",
        ),
        pytest.param({"cpu": "9", "pod_level": {"cpu": "1"}}, None, (), id="the pod's own request stands for all"),
        pytest.param({"cpu": "1.0001"}, EVICTION_MIGHT_HELP, short("cpu"), id="fractions are rounded up"),
    ],
)
def test_filter(kind: dict[str, Any], code: object, reasons: tuple[str, ...]) -> None:
    cluster = cluster_of([ROOMY], [TAKEN])
    found = refusals(plugin_of("NodeResourcesFit"), pod(**kind), cluster)
    assert found == ({} if code is None else {"a": (code, reasons)})


@pytest.mark.parametrize(
    ("running", "limit", "kind", "reasons"),
    [
        pytest.param(1, 2, {}, (), id="room for one more"),
        pytest.param(2, 2, {}, (FULL,), id="no room for one more"),
        pytest.param(2, 1, {}, (FULL,), id="over the limit already"),
        pytest.param(0, 0, {}, (FULL,), id="no pods allowed"),
        pytest.param(0, None, {}, (FULL,), id="nothing said about pods"),
        pytest.param(2, 2, {"cpu": "4"}, (*short("cpu"), FULL), id="full and short of something"),
    ],
)
def test_the_number_of_pods(running: int, limit: int | None, kind: dict[str, Any], reasons: tuple[str, ...]) -> None:
    cluster = cluster_of([node("a", pods=limit)], pods_on({"a": running}, cpu="100m"))
    found = refusals(plugin_of("NodeResourcesFit"), pod(**kind), cluster)
    assert found == ({"a": (EVICTION_MIGHT_HELP, reasons)} if reasons else {})


def test_a_pod_that_asks_for_nothing_fits_where_too_much_is_promised() -> None:
    cluster = cluster_of([node("a")], [pod("greedy", on="a", cpu="9", memory="20Gi")])
    plugin = plugin_of("NodeResourcesFit")
    assert refused(plugin, pod(), cluster) == set()
    assert refused(plugin, pod(cpu="0"), cluster) == set()
    assert refused(plugin, pod(cpu="1m"), cluster) == {"a"}


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        pytest.param({"ignoredResources": [GPU]}, True, id="by its name"),
        pytest.param({"ignoredResourceGroups": ["example.com"]}, True, id="by its group"),
        pytest.param({"ignoredResources": ["example.com/tpu"]}, False, id="another name"),
        pytest.param({"ignoredResourceGroups": ["example.org"]}, False, id="another group"),
    ],
)
def test_resources_can_be_ignored(args: Json, fits: bool) -> None:
    cluster = cluster_of([node("a")])
    plugin = plugin_of("NodeResourcesFit", args)
    assert refused(plugin, pod(requests={GPU: "1"}), cluster) == (set() if fits else {"a"})


def test_native_resources_cannot_be_ignored() -> None:
    cluster = cluster_of([node("a")])
    plugin = plugin_of("NodeResourcesFit", {"ignoredResources": ["hugepages-2Mi"]})
    assert refused(plugin, pod(requests={"hugepages-2Mi": "2Mi"}), cluster) == {"a"}


@pytest.mark.parametrize(
    ("running", "waiting", "texts"),
    [
        pytest.param(
            [pod("r", on="a", cpu="3")],
            pod(cpu="2"),
            ["cpu: asks 2, free 1 of 4, short 1"],
            id="cores",
        ),
        pytest.param(
            [pod("r", on="a", cpu="3500m")],
            pod(cpu="750m"),
            ["cpu: asks 750m, free 500m of 4000m, short 250m"],
            id="millicores",
        ),
        pytest.param(
            [pod("r", on="a", memory="5Gi")],
            pod(memory="4.2Gi"),
            ["memory: asks 4.2Gi, free 3Gi of 8Gi, short 1.2Gi"],
            id="bytes with a binary suffix",
        ),
        pytest.param(
            [pod("r", on="a", cpu="4500m")],
            pod(cpu="1"),
            ["cpu: asks 1000m, free -500m of 4000m, short 1500m"],
            id="a node that promised too much",
        ),
        pytest.param(
            [],
            pod(requests={GPU: "2"}),
            [f"{GPU}: asks 2, free 0 of 0, short 2"],
            id="devices as numbers",
        ),
        pytest.param(
            pods_on({"a": 5}, cpu="1"),
            pod(cpu="1"),
            ["pods: 5 of 5 in use", "cpu: asks 1, free -1 of 4, short 2"],
            id="one text for each reason",
        ),
    ],
)
def test_details(running: list[Pod], waiting: Pod, texts: list[str]) -> None:
    cluster = cluster_of([node("a", pods=5)], running)
    assert details(plugin_of("NodeResourcesFit"), waiting, cluster, "a") == texts


# --- scores

CPU_AND_MEMORY = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def strategy(kind: str, resources: list[Json] | None = None, shape: list[tuple[int, int]] | None = None) -> Json:
    found: Json = {"type": kind, "resources": resources or CPU_AND_MEMORY}
    if shape is not None:
        points = [{"utilization": use, "score": score} for use, score in shape]
        found["requestedToCapacityRatio"] = {"shape": points}
    return {"scoringStrategy": found}


def weigh(**weights: int) -> list[Json]:
    return [{"name": name.replace("_", "-"), "weight": weight} for name, weight in weights.items()]


# 4 cores and 8 GiB each; 1 core and 2 GiB of the second are taken, 3 cores and 1 GiB of the third.
THREE = [node("empty"), node("even"), node("odd")]
USED = [pod("e", on="even", cpu="1", memory="2Gi"), pod("o", on="odd", cpu="3", memory="1Gi")]


@pytest.mark.parametrize(
    ("args", "kind", "expected"),
    [
        pytest.param(
            None,
            {"cpu": "1", "memory": "2Gi"},
            (75, 50, 31),
            id="by default the emptiest is the best",  # odd: (0 + 62) / 2
        ),
        pytest.param(
            strategy("MostAllocated"),
            {"cpu": "1", "memory": "2Gi"},
            (25, 50, 68),
            id="or the fullest, if so told",  # odd: (100 + 37) / 2
        ),
        pytest.param(
            strategy("LeastAllocated", weigh(cpu=3, memory=1)),
            {"cpu": "1", "memory": "2Gi"},
            (75, 50, 15),
            id="weights count",  # odd: (3 * 0 + 62) / 4
        ),
        pytest.param(
            strategy("MostAllocated", weigh(cpu=3, memory=1)),
            {"cpu": "1", "memory": "2Gi"},
            (25, 50, 84),
            id="weights count for the fullest, too",  # odd: (300 + 37) / 4
        ),
        pytest.param(
            strategy("LeastAllocated"),
            {"cpu": "2", "memory": "2Gi"},
            (62, 37, 31),
            id="more than there is counts as nothing left",  # odd: (0 + 62) / 2
        ),
        pytest.param(
            strategy("MostAllocated"),
            {"cpu": "2", "memory": "2Gi"},
            (37, 62, 68),
            id="more than there is counts as all in use",  # odd: (100 + 37) / 2
        ),
        pytest.param(
            strategy("LeastAllocated"),
            {},
            (97, 72, 53),
            id="a container that asks for nothing counts 100m and 200Mi",
            # empty: (97 + 97) / 2, even: (72 + 72) / 2, odd: (22 + 85) / 2
        ),
    ],
)
def test_least_and_most_allocated(args: Json | None, kind: dict[str, Any], expected: tuple[int, ...]) -> None:
    found = scores(plugin_of("NodeResourcesFit", args), pod(**kind), cluster_of(THREE, USED))
    assert found == dict(zip(("empty", "even", "odd"), expected, strict=True))


@pytest.mark.parametrize(
    ("shape", "resources", "kind", "expected"),
    [
        pytest.param(
            [(0, 0), (100, 10)],
            None,
            {"cpu": "1", "memory": "2Gi"},
            (25, 50, 69),
            id="a rising line prefers full nodes, halves are rounded up",  # odd: (100 + 37) / 2 = 68.5
        ),
        pytest.param(
            [(0, 10), (100, 0)],
            None,
            {"cpu": "1", "memory": "2Gi"},
            (75, 50, 63),
            id="what scores nothing takes no part in the mean",  # odd: cpu is full, memory alone 63
        ),
        pytest.param(
            [(0, 10), (30, 0)],
            None,
            {"cpu": "800m", "memory": "1638Mi"},
            (36, 0, 0),
            id="quotients below zero are truncated towards zero",
            # empty: 100 - 66 at 20 and 100 - 63 at 19 percent, (34 + 37) / 2 = 35.5
        ),
        pytest.param(
            [(0, 0), (50, 10), (100, 2)],
            None,
            {"cpu": "2", "memory": "4Gi"},
            (100, 60, 51),
            id="a line may go up and down again",  # even: 75 percent each; odd: (20 + 81) / 2
        ),
        pytest.param(
            [(0, 0), (100, 10)],
            weigh(cpu=3, memory=1),
            {"cpu": "1", "memory": "2Gi"},
            (25, 50, 84),
            id="weights count",  # odd: (300 + 37) / 4 = 84.25
        ),
        pytest.param(
            [(0, 2), (100, 10)],
            None,
            {"cpu": "3", "memory": "7Gi"},
            (85, 100, 100),
            id="too much counts as full",
        ),
    ],
)
def test_requested_to_capacity_ratio(
    shape: list[tuple[int, int]], resources: list[Json] | None, kind: dict[str, Any], expected: tuple[int, ...]
) -> None:
    plugin = plugin_of("NodeResourcesFit", strategy("RequestedToCapacityRatio", resources, shape))
    found = scores(plugin, pod(**kind), cluster_of(THREE, USED))
    assert found == dict(zip(("empty", "even", "odd"), expected, strict=True))


@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
def test_devices_count_only_for_pods_that_ask_and_on_nodes_that_have_some(kind: str) -> None:
    resources = [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 9}]
    shape = [(0, 0), (100, 10)] if kind == "RequestedToCapacityRatio" else None
    plugin = plugin_of("NodeResourcesFit", strategy(kind, resources, shape))
    cluster = cluster_of([node("with", allocatable={GPU: "4"}), node("without")])
    least = kind == "LeastAllocated"
    # One core of four is 25 percent, three devices of four are 75.
    assert scores(plugin, pod(cpu="1"), cluster) == dict.fromkeys(("with", "without"), 75 if least else 25)
    assert scores(plugin, pod(cpu="1", requests={GPU: "3"}), cluster) == {
        "with": 30 if least else 70,
        "without": 75 if least else 25,
    }


@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated"])
def test_a_node_that_has_none_of_the_resources_is_worth_nothing(kind: str) -> None:
    plugin = plugin_of("NodeResourcesFit", strategy(kind, [{"name": GPU, "weight": 1}]))
    cluster = cluster_of([node("without"), node("with", allocatable={GPU: "4"})])
    assert scores(plugin, pod(requests={GPU: "2"}), cluster) == {"without": 0, "with": 50}
    assert scores(plugin, pod(), cluster) == {"without": 0, "with": 0}


def test_resources_that_nobody_has_heard_of_count_for_nothing() -> None:
    resources = [*CPU_AND_MEMORY, {"name": "example.com/unheard-of", "weight": 100}]
    plugin = plugin_of("NodeResourcesFit", strategy("LeastAllocated", resources))
    assert scores(plugin, pod(cpu="1", memory="2Gi"), cluster_of([node("a")])) == {"a": 75}


def test_pods_that_ask_for_nothing_weigh_on_their_node_when_others_are_scored() -> None:
    cluster = cluster_of([node("idle"), node("busy")], pods_on({"busy": 10}))
    found = scores(plugin_of("NodeResourcesFit"), pod(cpu="1", memory="2Gi"), cluster)
    # Ten times 100m and 200Mi: (50 + 50) / 2.
    assert found == {"idle": 75, "busy": 50}


def test_disk_is_counted_as_it_is_asked_for() -> None:
    plugin = plugin_of("NodeResourcesFit", strategy("LeastAllocated", [{"name": "ephemeral-storage", "weight": 1}]))
    cluster = cluster_of(
        [node("a", allocatable={"ephemeral-storage": "10Gi"})],
        [pod("r", on="a", requests={"ephemeral-storage": "2Gi"})],
    )
    assert scores(plugin, pod(requests={"ephemeral-storage": "3Gi"}), cluster) == {"a": 50}
    assert scores(plugin, pod(), cluster) == {"a": 80}


def test_the_pods_own_request_does_not_count_where_it_is_scored() -> None:
    """Its scorer was never told of pod-level resources, so containers speak for themselves."""
    cluster = cluster_of([node("a")])
    waiting = pod(cpu="1", memory="2Gi", pod_level={"cpu": "3", "memory": "6Gi"})
    assert scores(plugin_of("NodeResourcesFit"), waiting, cluster) == {"a": 75}


def test_explicit_zeros_count_as_zeros() -> None:
    cluster = cluster_of([node("a")])
    assert scores(plugin_of("NodeResourcesFit"), pod(cpu="0", memory="0"), cluster) == {"a": 100}


def test_what_is_asked_may_be_as_large_as_a_number_can_be() -> None:
    cluster = cluster_of([ROOMY], [TAKEN])
    found = refusals(plugin_of("NodeResourcesFit"), pod(requests={GPU: str(2**63 - 1)}), cluster)
    assert found == {"a": (HOPELESS, short(GPU))}
