"""What is in a snapshot, in numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Condition, Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.snapshot.info.info import info
from kwhatif.commands.snapshot.info.result import DeviceUse, InfoResult, ResourceUse
from kwhatif.commands.snapshot.info.text import bar
from kwhatif.results.amounts import format_age
from kwhatif.simulation.node_pools import pool_of
from kwhatif.snapshot.format.model import SchedulerInfo, Snapshot
from kwhatif.snapshot.load import load_snapshot
from tests.builders import FEATURES, GIB, GPU, container, node, pod
from tests.simulation.snapshots import snapshot_of

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
SAMPLES = Path(__file__).parents[4] / "samples"


def asked(snapshot: Snapshot, by: str = "", nodes: bool = False) -> InfoResult:
    return info(snapshot, FEATURES, NOW, by=by, nodes=nodes)


def use(result: InfoResult, resource: str) -> ResourceUse:
    (found,) = [each for each in result.resources if each.resource == resource]
    return found


def test_requests_are_those_the_scheduler_counts() -> None:
    snapshot = load_snapshot([str(SAMPLES / "cluster")])
    cluster = Cluster.load(snapshot.objects, FEATURES)
    names = cluster.shapes.resources.names
    wanted = dict(zip(names, cluster.requested.sum(axis=0).tolist(), strict=True))
    result = asked(snapshot)
    assert {each.resource: each.requested for each in result.resources} == {
        **{name: wanted[name] for name in ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu")},
        "pods": int(cluster.pod_count.sum()),
    }


def test_free_leaves_out_nodes_where_nothing_new_may_go_and_what_is_over_committed() -> None:
    dead = node("dead", cpu="8")
    unknown = [Condition(type="Ready", status="Unknown")]
    dead = replace(dead, status=replace(dead.status, conditions=unknown))
    result = asked(
        snapshot_of(
            node("roomy", cpu="4"), node("full", cpu="1"), node("cordoned", cpu="8", cordoned=True), dead,
            pod("a", on="roomy", cpu="1"), pod("b", on="full", cpu="2"), pod("c", on="cordoned", cpu="1"),
        )
    )  # fmt: skip
    cpu = use(result, "cpu")
    assert (cpu.allocatable, cpu.requested, cpu.free) == (21_000, 4_000, 3_000)
    assert (cpu.largest_free, cpu.on) == (3_000, "roomy")
    assert result.closed_nodes == 2
    (group,) = result.groups
    assert (group.nodes, group.ready, group.cordoned, group.pods) == (4, 3, 1, 3)


def test_finished_pods_ask_for_nothing_and_sidecars_and_overhead_count() -> None:
    result = asked(
        snapshot_of(
            node("n", allocatable={GPU: "2"}),
            pod("done", on="n", cpu="3", status={"phase": "Succeeded"}),
            pod("gpu", on="n", requests={GPU: "1"}),
            pod(
                "sidecar",
                on="n",
                containers=[container(cpu="1")],
                init=[container(cpu="500m", name="proxy", restart="Always")],
                overhead={"cpu": "250m", "memory": "1Gi"},
            ),
        )
    )
    assert use(result, "cpu").requested == 1750
    assert use(result, "memory").requested == GIB
    assert use(result, GPU) == ResourceUse(resource=GPU, allocatable=2, requested=1, free=1, largest_free=1, on="n")
    assert result.phases == {"Starting": 2, "Succeeded": 1}


POOLS = [
    ({"karpenter.sh/nodepool": "spot", "node.kubernetes.io/instance-type": "m5.large"}, "spot"),
    ({"eks.amazonaws.com/nodegroup": "web"}, "web"),
    ({"cloud.google.com/gke-nodepool": "default-pool"}, "default-pool"),
    ({"agentpool": "old", "kubernetes.azure.com/agentpool": "system"}, "system"),
    ({"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/etcd": ""}, "control-plane,etcd"),
    ({"node.kubernetes.io/instance-type": "m5.large"}, "m5.large"),
    ({}, ""),
]


@pytest.mark.parametrize(("labels", "pool"), POOLS, ids=[pool or "none" for _, pool in POOLS])
def test_pools_are_told_by_the_labels_of_those_who_make_nodes(labels: dict[str, str], pool: str) -> None:
    assert pool_of(node("n", labels=labels)) == pool


def test_another_label_may_say_the_pool() -> None:
    made = node("n", labels={"team": "search", "karpenter.sh/nodepool": "spot"}, zone="a")
    (group,) = asked(snapshot_of(made), by="team").groups
    assert (group.pool, group.zone) == ("search", "a")
    (group,) = asked(snapshot_of(made), by="nobody").groups
    assert group.pool == ""


def test_pending_pods_are_counted_by_what_their_condition_says() -> None:
    def waiting(name: str, message: str) -> Pod:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        return pod(name, status={"phase": "Pending", "conditions": [said]})

    pods = [waiting("a", "no room"), waiting("b", "no room"), waiting("c", "taints"), pod("d")]
    result = asked(snapshot_of(*pods))
    assert [(each.reason, each.message, each.pods) for each in result.pending] == [
        ("Unschedulable", "no room", 2),
        ("", "", 1),
        ("Unschedulable", "taints", 1),
    ]


def test_many_different_messages_are_summed_up() -> None:
    def waiting(number: int) -> Pod:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": f"{number:02}"}
        return pod(f"p{number}", status={"conditions": [said]})

    result = asked(snapshot_of(*map(waiting, range(12))))
    assert len(result.pending) == 11
    assert (result.pending[-1].message, result.pending[-1].pods) == ("2 other messages", 2)


def test_what_is_missing_is_told() -> None:
    snapshot = snapshot_of(node("n"), covers=("Pod",))
    snapshot.unreadable = {"Secret": "forbidden", "PodDisruptionBudget": "forbidden"}
    snapshot.inconsistencies, snapshot.dropped, snapshot.ignored = ["pods moved"], ["env"], {"Lease": 3}
    missing = asked(snapshot).missing
    assert "PersistentVolume" in missing.kinds
    assert not {"Node", "Pod", "PodDisruptionBudget"} & set(missing.kinds)
    assert list(missing.unreadable) == ["PodDisruptionBudget", "Secret"]
    assert (missing.inconsistencies, missing.dropped, missing.ignored) == (("pods moved",), ("env",), {"Lease": 3})


def test_the_age_and_the_clusters_own_scheduler_are_told() -> None:
    snapshot = snapshot_of(node("n"))
    assert (asked(snapshot).age_seconds, asked(snapshot).scheduler) == (None, "")
    snapshot.taken_at = "2026-03-01T12:00:00Z"
    snapshot.scheduler = SchedulerInfo(
        image="kube-scheduler:v1.36.1", feature_gates={"A": True, "B": False}, configuration={}, source="Pod x"
    )
    result = asked(snapshot)
    assert result.age_seconds == 3 * 86_400
    assert result.scheduler == "kube-scheduler:v1.36.1, its configuration, 2 feature gates (from Pod x)"


def test_somebody_may_count_devices() -> None:
    one = DeviceUse(driver="gpu.example.com", device_class="a100", nodes=1, devices=8, allocated=3)
    assert info(snapshot_of(), FEATURES, NOW, devices=lambda snapshot: [one]).devices == (one,)


def test_nodes_are_listed_by_name_with_all_they_have() -> None:
    snapshot = snapshot_of(
        node("b", cpu="2", taints=["gpu=true:NoSchedule", "spot:NoExecute"]),
        node("a", pods=5, cordoned=True),
        pod("p", on="b", cpu="500m"),
    )
    first, second = asked(snapshot, nodes=True).nodes
    assert (first.node, first.cordoned, first.pods, first.most_pods) == ("a", True, 0, 5)
    assert second.resources["cpu"] == (500, 2000)
    assert second.taints == ("gpu=true:NoSchedule", "spot:NoExecute")
    assert asked(snapshot).nodes == ()


def test_an_empty_snapshot_is_no_trouble() -> None:
    result = asked(snapshot_of())
    assert (result.groups, result.resources, result.phases, result.classes) == ((), (), {}, ())


BARS = [
    (0, 10, "░░░░░░   0%"),
    (1, 3, "██░░░░  33%"),
    (10, 10, "██████ 100%"),
    (25, 10, "██████ 250%"),
    (0, 0, "-"),
    (1, 0, "nothing to give"),
]


@pytest.mark.parametrize(("part", "whole", "drawn"), BARS)
def test_bars(part: int, whole: int, drawn: str) -> None:
    assert bar(part, whole) == drawn


@given(st.integers(0, 2**63), st.integers(1, 2**63))
def test_bars_are_as_wide_as_each_other_up_to_the_percentage(part: int, whole: int) -> None:
    drawn, _, percent = bar(part, whole).partition(" ")
    assert len(drawn) == 6
    assert int(percent.strip(" %")) == 100 * part // whole


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 seconds"), (119, "119 seconds"), (7199, "119 minutes"), (2 * 86_400, "2 days")]
)
def test_ages(seconds: int, said: str) -> None:
    assert format_age(seconds) == said
