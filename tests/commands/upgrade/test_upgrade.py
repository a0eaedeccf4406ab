"""Replacing the nodes of a pool: when it ends, what it hangs on, and what never happens on the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.drain.question import Drain
from kwhatif.commands.page import page_data
from kwhatif.commands.upgrade.question import Upgrade
from kwhatif.commands.upgrade.result import UpgradeResult
from kwhatif.commands.upgrade.strategies import STRATEGIES, plan_of
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Inputs, SchedulerOptions
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import node
from tests.commands.drain.test_drain import budget, web

POOL = {"pool": "old"}


def pool(size: int) -> list[Node]:
    return [node(f"old-{i}", labels=POOL) for i in range(size)]


def snapshot_of(*parts: Sequence[Node | Pod | PodDisruptionBudget]) -> Snapshot:
    objects = Objects()
    for kind in (Node, Pod, PodDisruptionBudget):
        objects.put(kind, ())
    for part in parts:
        for obj in part:
            objects.add(obj)
    return Snapshot(objects=objects, taken_at="2026-11-01T00:00:00Z", kubernetes_version="1.35")


def upgraded(snapshot: Snapshot, strategy: str = "surge", **options: Any) -> UpgradeResult:
    return ask(
        Upgrade(pool="pool=old", strategy=strategy, **options),
        Scenario(Inputs(snapshot), SchedulerOptions(policy="default")),
    )


def replicas(count: int, nodes: int, cpu: str = "500m") -> list[Pod]:
    return [web(f"web-1-{i}", f"old-{i % nodes}", cpu=cpu) for i in range(count)]


def test_a_pool_is_replaced_node_by_node_and_takes_as_long_as_its_parts() -> None:
    found = upgraded(snapshot_of(pool(2), replicas(2, 2)))
    assert found.phase == "done"
    # A node comes up in 120 s, a pod takes 30 s to go.
    assert [(n.cordoned, n.drained, n.deleted) for n in found.nodes] == [(120, 150, 150), (270, 300, 300)]
    assert (found.time, found.peak_nodes, found.exit_code) == (300, 3, 0)


@pytest.mark.parametrize(("version", "warned"), [("v1.36.0", True), ("v1.35.2", False)])
def test_nodes_that_would_be_newer_than_the_api_server_are_warned_of(version: str, *, warned: bool) -> None:
    notes = upgraded(snapshot_of(pool(1), replicas(1, 1)), new_version=version).notes
    assert any("no kubelet may be newer than the API server" in each for each in notes) is warned


def test_all_that_blocks_an_upgrade_is_named_with_what_was_tried_to_unblock_it() -> None:
    found = upgraded(snapshot_of(pool(2), replicas(2, 2), [budget(0, healthy=2, desired=2)]))
    assert (found.phase, found.exit_code) == ("hangs", 1)
    assert [(each.node, each.pod, each.budget, each.since) for each in found.obstacles] == [
        ("old-0", "default/web-1-0", "default/web", 120),
        ("old-1", "default/web-1-1", "default/web", None),
    ]
    (use,) = found.budgets
    assert use.blocks == ("default/web-1-0", "default/web-1-1")
    assert use.fixes == ("set maxUnavailable: 1 in PodDisruptionBudget web",)


def test_a_change_that_only_moves_what_blocks_is_no_fix() -> None:
    found = upgraded(
        snapshot_of(pool(1), replicas(1, 1, cpu="3"), [budget(0, healthy=1, desired=1)]), new_sizes=["cpu=1"]
    )
    assert [use.fixes for use in found.budgets] == [()]


def test_an_upgrade_that_hangs_has_no_sum_of_node_hours_that_would_grow() -> None:
    found = upgraded(snapshot_of(pool(1), replicas(1, 1), [budget(0, healthy=1, desired=1)]))
    assert found.more_node_hours is None
    assert found.verdict.endswith("2 nodes at most, 1 extra for as long as it hangs")


AFTER_TIMEOUT = {
    "GKE deletes the pod after an hour": ("gke-surge", "done", 120 + 3600 + 30),
    "EKS gives up after a quarter of an hour": ("eks", "failed", 120 + 900),
    "AKS gives up after half an hour": ("aks", "failed", 120 + 1800),
}


@pytest.mark.parametrize("name", AFTER_TIMEOUT)
def test_what_becomes_of_a_drain_that_takes_too_long(name: str) -> None:
    strategy, outcome, time = AFTER_TIMEOUT[name]
    found = upgraded(snapshot_of(pool(1), replicas(1, 1), [budget(0, healthy=1, desired=1)]), strategy)
    assert (found.phase, found.time) == (outcome, time)
    assert found.forced == (("default/web-1-0",) if outcome == "done" else ())
    assert found.exit_code == 1


def test_a_budget_refuses_and_is_asked_again_when_pods_are_ready() -> None:
    snapshot = snapshot_of(pool(1), replicas(2, 1), [budget(1, healthy=2, desired=1)])
    found = upgraded(snapshot)
    refusals = [entry for entry in found.timeline if entry.what == "an eviction is refused"]
    assert [entry.time for entry in refusals] == [120]
    # The first pod recreated is ready after 30 s; the next round is at a multiple of 5 s, and takes 30 s.
    assert (found.phase, found.time) == ("done", 120 + 35 + 30)


def test_pods_without_room_wait_until_nodes_come() -> None:
    found = upgraded(snapshot_of(pool(2), replicas(2, 2, cpu="3")), surge="0", unavailable="1")
    assert found.phase == "done"
    first = found.pending[0]
    # The node is empty after 30 s, and another one is there 120 s later.
    assert (first.since, first.until) == (0, 150)
    assert found.homeless == ()


def test_new_nodes_that_are_too_small_leave_pods_without_a_home() -> None:
    found = upgraded(snapshot_of(pool(1), replicas(1, 1, cpu="3")), new_sizes=["cpu=1"])
    (span,) = found.homeless
    assert "Insufficient cpu" in span.message
    assert found.exit_code == 1


def test_blue_nodes_stay_for_an_hour_after_the_last_is_drained() -> None:
    found = upgraded(snapshot_of(pool(2), replicas(2, 2)), "gke-blue-green")
    assert found.peak_nodes == 4
    assert [n.deleted for n in found.nodes] == [120 + 30 + 30 + 3600] * 2


def test_karpenter_begins_no_node_with_a_pod_that_must_not_be_disrupted() -> None:
    stays = web("web-1-0", "old-0")
    annotated = replace(stays.metadata, annotations={"karpenter.sh/do-not-disrupt": "true"})
    stays = replace(stays, metadata=annotated)
    found = upgraded(snapshot_of(pool(2), [stays]), "karpenter")
    assert [n.deleted is not None for n in found.nodes] == [False, True]
    (obstacle,) = found.obstacles
    assert (obstacle.pod, obstacle.reason) == ("default/web-1-0", "it bears the annotation karpenter.sh/do-not-disrupt")


def test_an_upgrade_that_takes_longer_than_it_may_is_no_good() -> None:
    snapshot = snapshot_of(pool(1), replicas(1, 1))
    assert upgraded(snapshot, within_seconds=150.0).exit_code == 0
    assert upgraded(snapshot, within_seconds=149.0).exit_code == 1


def test_blue_green_has_no_surge_of_its_own() -> None:
    with pytest.raises(UsageError, match="makes a whole new pool first"):
        upgraded(snapshot_of(pool(1)), "gke-blue-green", surge="1")


def test_a_plan_that_can_replace_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="no node can ever be replaced"):
        upgraded(snapshot_of(pool(1)), surge="0")


DEFAULTS = {
    "gke-surge": (1, 0, 3600.0),
    "gke-blue-green": (10, 0, 3600.0),
    "eks": (6, 0, 900.0),
    "aks": (1, 0, 1800.0),
    "capi": (1, 0, None),
    "karpenter": (1, 0, None),
    "surge": (1, 0, None),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_defaults_of_a_strategy_are_those_of_its_documents(strategy: str) -> None:
    plan = plan_of(strategy, 10, 3)
    assert (plan.surge, plan.unavailable, plan.drain_timeout) == DEFAULTS[strategy]


@pytest.mark.long
@given(
    st.integers(1, 4),
    st.integers(2, 8),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(["surge", "capi", "karpenter", "gke-surge"]),
)
def test_with_budgets_that_allow_it_a_pool_is_replaced_and_no_budget_is_passed(
    size: int, count: int, surge: int, unavailable: int, strategy: str
) -> None:
    spare = 1
    allowing = budget(spare, healthy=count, desired=count - spare)
    more = [node(f"other-{i}") for i in range(2)]
    plan = {"surge": str(max(surge, 1 if not unavailable else surge)), "unavailable": str(unavailable)}
    found = upgraded(snapshot_of(pool(size), more, replicas(count, size), [allowing]), strategy, **plan)
    assert (found.phase, found.forced, found.homeless) == ("done", (), ())
    (workload,) = found.workloads
    assert workload.lowest >= count - spare
    assert workload.after == count


def test_one_node_without_surge_is_a_drain_and_a_new_node() -> None:
    pods = [*replicas(4, 2), web("web-1-x", "other", cpu="100m")]
    allowing = budget(2, healthy=5, desired=3)
    nodes = [node("old-0", labels=POOL), node("old-1"), node("other")]
    found = upgraded(snapshot_of(nodes, pods, [allowing]), surge="0", unavailable="1")
    drained = ask(
        Drain(nodes=["old-0"], ignore_daemonsets=True, delete_emptydir_data=True, force=True),
        Scenario(Inputs(snapshot_of(nodes, pods, [allowing])), SchedulerOptions(policy="default")),
    )
    assert found.phase == "done"
    assert found.nodes[0].evicted == drained.nodes[0].evicted
    assert {p.pod: p.node for p in found.placements} == {p.pod: p.node for p in drained.placements}
    assert found.time == (found.nodes[0].deleted or 0.0) + 120


def test_the_page_shows_the_pool_over_time_and_the_map_without_nodes_that_have_left() -> None:
    snapshot = snapshot_of(pool(2), replicas(2, 2))
    question = Upgrade(pool="pool=old", strategy="surge")
    found = ask(question, Scenario(Inputs(snapshot, with_map=True), SchedulerOptions(policy="default")))
    data = page_data(found)["pool"]
    assert (data["size"], data["end"]) == (2, 300)
    assert list(zip(data["time"], data["old"], data["new"], strict=True)) == [
        *((0, 2, 0), (120, 2, 1), (150, 1, 1), (270, 1, 2), (300, 0, 2)),
    ]
    assert data["nodes"] == [["old-0", 120, 150, 150], ["old-1", 270, 300, 300]]
    mapped = found.cluster_map
    assert mapped is not None
    where = {pod.pod: [mapped.nodes[at].node if at >= 0 else "" for at in pod.at] for pod in mapped.pods}
    assert where["default/web-1-0"] == ["old-0", ""]
    assert where[found.replacements["default/web-1-0"]][0] == ""


def test_an_upgrade_that_fails_is_told_until_it_fails() -> None:
    found = upgraded(snapshot_of(pool(1), replicas(1, 1), [budget(0, healthy=1, desired=1)]), "eks")
    assert found.moments[-1].time == found.time


DELETE_POLICIES = {
    "Random prefers no node, which comes to the order of names": ("Random", ["old-0", "old-1", "old-2"]),
    "Newest": ("Newest", ["old-2", "old-0", "old-1"]),
    "Oldest": ("Oldest", ["old-1", "old-0", "old-2"]),
}


@pytest.mark.parametrize("name", DELETE_POLICIES)
def test_cluster_api_deletes_machines_in_the_order_of_its_policy(name: str) -> None:
    policy, order = DELETE_POLICIES[name]
    days = {"old-0": 5, "old-1": 1, "old-2": 9}
    nodes = [
        replace(each, metadata=replace(each.metadata, creation_timestamp=f"2026-10-0{days[each.name]}T00:00:00Z"))
        for each in pool(3)
    ]
    found = upgraded(snapshot_of(nodes), "capi", delete_policy=policy)
    assert sorted((each.deleted, each.node) for each in found.nodes) == [
        (found.nodes[place].deleted, name) for place, name in enumerate(order)
    ]


def test_a_delete_policy_is_cluster_apis_alone() -> None:
    with pytest.raises(UsageError, match="--delete-policy is Cluster API's, and not for eks"):
        upgraded(snapshot_of(pool(1)), "eks", delete_policy="Oldest")


def test_the_peak_of_money_and_what_is_paid_more_are_told_if_prices_are(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m.large: 0.6")
    machine = "node.kubernetes.io/instance-type"
    nodes = [node(f"old-{i}", labels={**POOL, machine: "m.large"}) for i in range(2)]
    found = upgraded(snapshot_of(nodes, replicas(2, 2)), prices=str(prices))
    assert found.cost is not None
    # A machine more for 150 s, twice: from when it is asked for until an old one goes.
    assert (found.cost.usual, found.cost.peak, found.cost.more) == (1.2, 1.8, round(300 * 0.6 / 3600, 4))


def test_without_a_price_there_is_no_sum(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m.large: 0.6")
    found = upgraded(snapshot_of(pool(1)), prices=str(prices))
    assert found.cost is not None
    assert (found.cost.more, found.cost.unknown) == (None, ("none",))


GROUPS = """
apiVersion: kwhatif.dev/v1
kind: NodeGroups
groups:
- name: extra
  min: 0
  max: 2
  price: 0.1
  template:
    capacity: {cpu: 4, memory: 8Gi, pods: 30}
    labels: {pool: extra}
"""


def test_autoscalers_bring_nodes_for_pods_that_a_drain_leaves_without_one(tmp_path: Path) -> None:
    file = tmp_path / "groups.yaml"
    file.write_text(GROUPS)
    snapshot = snapshot_of(pool(2), replicas(2, 2, cpu="3"))
    question = Upgrade(pool="pool=old", strategy="surge", surge=0, unavailable=1, provision_seconds=600.0)
    case = Scenario(Inputs(snapshot, autoscale=[str(file)], provision=60.0), SchedulerOptions(policy="default"))
    found = ask(question, case)
    assert (found.phase, found.homeless) == ("done", ())
    assert found.scale_up is not None
    (added,) = found.scale_up.nodes
    # The node that replaces the first is ten minutes away, that of the group a minute.
    assert (added.group, added.time) == ("extra", 60)
    assert (found.pending[0].since, found.pending[0].until) == (0, 60)
    assert found.pending[0].message == "no node took it when it was created", "though it has one by now"
    assert [entry.time for entry in found.timeline if entry.what == "a node of an autoscaler is ready"] == [60]
