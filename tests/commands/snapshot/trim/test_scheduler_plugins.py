"""A trimmed snapshot keeps what plugins of scheduler-plugins read, where the decision depends on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.api.core import Pod
from kwhatif.commands.snapshot.trim.trim import trim, unbind_pods
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.objects import decode
from tests.builders import FEATURES
from tests.scheduler_plugin_builders import (
    Json,
    elastic_quota,
    namespace_named,
    numa_cells,
    plain_node,
    plain_pod,
    pod_group,
    policy_with,
    write_cluster,
)

GROUP, WORKLOAD = "appgroup.diktyo.x-k8s.io", "appgroup.diktyo.x-k8s.io.workload"


def decided(tmp_path: Path, policy: Json, pods: list[Json], *objects: Json) -> tuple[set[str], list[str]]:
    """The kinds that are left, and what becomes of the pods there, which is what became of them before."""
    snapshot = kwhatif.load_snapshot(write_cluster(tmp_path, *objects))
    setup = Setup(load_configuration(policy, source="", features=FEATURES), FEATURES)
    waiting, asked = unbind_pods(snapshot, [PodToSchedule(decode(each, Pod)) for each in pods])
    result = trim(Session(waiting, setup), asked)
    assert result.complete
    left = {kind for kind, found in result.snapshot.objects.by_kind().items() if found}
    assert len(list(result.snapshot.objects)) < len(list(waiting.objects))
    before, after = (_placed(each, policy, pods) for each in (snapshot, result.snapshot))
    assert before == after
    return left, [outcome for outcome, _ in after]


def _placed(snapshot: Snapshot, policy: Json, pods: list[Json]) -> list[tuple[str, str]]:
    found = kwhatif.place(pods, snapshot=snapshot, policy=policy).placements
    return [(each.outcome, each.message) for each in found]


def member(name: str, **more: Any) -> Json:
    return plain_pod(name, labels={GROUP: "shop", WORKLOAD: name}, **more)


NETWORK = [
    {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "numMembers": 2,
            "workloads": [
                {
                    "workload": {"selector": "web"},
                    "dependencies": [{"workload": {"selector": "db"}, "maxNetworkCost": 5}],
                }
            ],
        },
    },
    {
        "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {"name": "nt-default", "namespace": "default"},
        "spec": {
            "weights": [
                {
                    "name": "UserDefined",
                    "topologyList": [
                        {
                            "topologyKey": "topology.kubernetes.io/zone",
                            "originList": [{"origin": "b", "costList": [{"destination": "a", "networkCost": 9}]}],
                        }
                    ],
                }
            ]
        },
    },
]
NODES = [plain_node("n1", zone="a", cpu="2"), plain_node("n2", zone="b"), *map(namespace_named, ("default", "others"))]


@pytest.mark.parametrize(
    ("policy", "pods", "objects", "kinds", "outcomes"),
    [
        pytest.param(
            policy_with("Coscheduling", sorts=True),
            [plain_pod("train-0", labels={"scheduling.x-k8s.io/pod-group": "train"})],
            [pod_group("train", 2), pod_group("other", 2)],
            {"CoschedulingPodGroup"},
            {"unschedulable"},
            id="groups of Coscheduling",
        ),
        pytest.param(
            policy_with("CapacityScheduling"),
            [plain_pod("a-0", "4", namespace="a")],
            [
                *map(namespace_named, ("a", "b")),
                elastic_quota("a", least={"cpu": "9", "memory": "9Gi"}, most={"cpu": "3", "memory": "9Gi"}),
                elastic_quota("b", least={"cpu": "9", "memory": "9Gi"}),
            ],
            {"ElasticQuota"},
            {"unschedulable"},
            id="quotas of CapacityScheduling",
        ),
        pytest.param(
            policy_with("NodeResourceTopologyMatch"),
            [plain_pod("aligned", "4", guaranteed=True)],
            [numa_cells(name, {"cpu": "2", "memory": "8Gi"}, {"cpu": "2", "memory": "8Gi"}) for name in ("n1", "n2")],
            {"NodeResourceTopology"},
            {"unschedulable"},
            id="cells of NodeResourceTopologyMatch",
        ),
        pytest.param(
            policy_with("NetworkOverhead"),
            [member("web", cpu="2")],
            [*NETWORK, member("db", node="n1")],
            {"AppGroup", "NetworkTopology"},
            {"unschedulable"},
            id="dependencies and costs of NetworkOverhead",
        ),
    ],
)
def test_what_the_decision_depends_on_is_left(
    tmp_path: Path, policy: Json, pods: list[Json], objects: list[Json], kinds: set[str], outcomes: set[str]
) -> None:
    left, found = decided(tmp_path, policy, pods, *NODES, *objects)
    assert kinds <= left
    assert set(found) == outcomes


def test_a_gang_that_waits_in_vain_waits_in_what_is_left(tmp_path: Path) -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    pods = [plain_pod(f"train-{number}", "7", labels=labels) for number in range(4)]
    left, found = decided(
        tmp_path, policy_with("Coscheduling", sorts=True), pods, *NODES, pod_group("train", 4), pod_group("other", 1)
    )
    assert "CoschedulingPodGroup" in left
    assert "waiting" in found
