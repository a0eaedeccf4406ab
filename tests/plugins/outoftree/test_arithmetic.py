"""What explain tells of the arithmetic of scheduler-plugins: behind refusals, and behind scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.results.explain import PodReport
from tests.scheduler_plugin_builders import (
    Json,
    elastic_quota,
    namespace_named,
    numa_cells,
    plain_node,
    plain_pod,
    policy_with,
    write_cluster,
    write_load,
)

WATCHED = {"watcherAddress": "http://load-watcher.example:2020"}
GROUP, WORKLOAD = "appgroup.diktyo.x-k8s.io", "appgroup.diktyo.x-k8s.io.workload"


def explained(pod: Json, cluster: str, policy: Json, **options: Any) -> PodReport:
    result = kwhatif.explain(pod, snapshot=cluster, policy=policy, fixes=False, **options)
    (report,) = result.pods
    return report


def blockers(report: PodReport) -> dict[str, list[str]]:
    return {node.node: [each.detail for each in node.blockers] for node in report.nodes if not node.feasible}


def arithmetic(report: PodReport, plugin: str) -> dict[str, object]:
    return {
        node.node: score.detail
        for node in report.nodes
        if node.feasible
        for score in node.scores
        if score.plugin == plugin
    }


def test_of_each_numa_cell_it_says_what_it_lacks(tmp_path: Path) -> None:
    cells = numa_cells("n1", {"cpu": "3", "memory": "12Gi"}, {"cpu": "7", "memory": "2Gi"})
    roomy = numa_cells("n2", {"cpu": "8", "memory": "16Gi"}, {"cpu": "8", "memory": "8Gi"})
    cluster = write_cluster(tmp_path, plain_node("n1"), plain_node("n2"), cells, roomy)
    pod = plain_pod("aligned", "5", memory="4Gi", guaranteed=True)
    report = explained(pod, cluster, policy_with("NodeResourceTopologyMatch"))
    assert blockers(report) == {
        "n1": ["node-0 cpu: asks 5, available 3; node-1 memory: asks 4Gi, available 2Gi"],
    }
    assert arithmetic(report, "NodeResourceTopologyMatch") == {
        "n2": "LeastAllocated, the lowest above 0 of main: node-0 56, node-1 43",
    }


@pytest.mark.parametrize(
    ("cpu", "detail"),
    [
        pytest.param("7", "cpu: asks 7, used 2 of max 8 (min 4)", id="more than the namespace may use at most"),
        pytest.param(
            "3",
            "cpu: asks 3, used team-a 2 of min 4, team-b 5 of min 4 (borrows 1)",
            id="more than all are entitled to, since another namespace borrows",
        ),
    ],
)
def test_a_refusal_by_quotas_says_what_is_used_and_who_borrows(tmp_path: Path, cpu: str, detail: str) -> None:
    cluster = write_cluster(
        tmp_path,
        plain_node("n1"),
        *map(namespace_named, ("team-a", "team-b")),
        elastic_quota("team-a", least={"cpu": "4", "memory": "8Gi"}, most={"cpu": "8", "memory": "16Gi"}),
        elastic_quota("team-b", least={"cpu": "4", "memory": "8Gi"}, most={"cpu": "12", "memory": "16Gi"}),
        plain_pod("a-0", "2", namespace="team-a", node="n1"),
        plain_pod("b-0", "5", namespace="team-b", node="n1"),
    )
    report = explained(plain_pod("a-1", cpu, namespace="team-a"), cluster, policy_with("CapacityScheduling"))
    assert report.refusal_detail == detail


def test_network_cost_is_told_by_dependency(tmp_path: Path) -> None:
    info: Json = {"kind": "Deployment", "apiVersion": "apps/v1", "namespace": "default"}
    web, database, cache = ({**info, "name": name, "selector": name} for name in ("web", "db", "cache"))
    depends = [{"workload": database, "maxNetworkCost": 15}, {"workload": cache, "maxNetworkCost": 30}]
    spec = {"numMembers": 3, "workloads": [{"workload": web, "dependencies": depends}, {"workload": database}]}
    meta = {"namespace": "default"}
    group = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "AppGroup", "metadata": {**meta, "name": "shop"}, "spec": spec}
    costs = [
        {"origin": "a", "costList": [{"destination": "b", "networkCost": 20}]},
        {"origin": "b", "costList": [{"destination": "a", "networkCost": 20}]},
    ]
    levels = [{"topologyKey": "topology.kubernetes.io/zone", "originList": costs}]
    topology = {
        "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {**meta, "name": "nt-default"},
        "spec": {"weights": [{"name": "UserDefined", "topologyList": levels}]},
    }

    def member(name: str, **more: Any) -> Json:
        return plain_pod(f"{name}-0", labels={GROUP: "shop", WORKLOAD: name}, **more)

    cluster = write_cluster(
        tmp_path,
        *(plain_node(name, zone=zone) for name, zone in (("n1", "a"), ("n2", "b"), ("n3", ""))),
        *(group, topology, member("db", node="n1"), member("cache", node="n2")),
    )
    report = explained(member("web"), cluster, policy_with("NetworkOverhead"))
    assert arithmetic(report, "NetworkOverhead") == {
        "n1": "db on n1: same node, costs 0; cache on n2: costs 20 of at most 30",
        "n2": "db on n1: costs 20 of at most 15, too much; cache on n2: same node, costs 0",
        "n3": "db on n1: costs 100 as its cost is not given; cache on n2: costs 100 as its cost is not given",
    }


@pytest.mark.parametrize(
    ("plugin", "args", "busy", "unknown"),
    [
        pytest.param(
            "TargetLoadPacking",
            WATCHED,
            "cpu 35% of 16 in use, 6 by this pod: 72.5% predicted, target 40%",
            "no figures of its load",
            id="predicted utilisation against the target",
        ),
        pytest.param(
            "LoadVariationRiskBalancing",
            WATCHED,
            "cpu 35% in use (deviation 12%), 4 of 16 by this pod: 64.0",
            "no figures of its load",
            id="mean and deviation",
        ),
        pytest.param(
            "LowRiskOverCommitment",
            WATCHED,
            "the higher risk of cpu 0.49: 0.5 * 0.15 (limits 18 of 16) + 0.5 * 0.83 (load above requests); "
            "memory 0.00: 0.5 * 0.00 (limits 3Gi of 32Gi) + 0.5 * 0.00 (load above requests)",
            "no figures of its load",
            id="risks by limits and by load",
        ),
        pytest.param(
            "Peaks",
            {"WatcherAddress": "http://x", "NodePowerModel": {"n1": {"k0": 1, "k1": 2, "k2": 0.01}}},
            "cpu 35% in use, 4 by this pod: 60% predicted; power rises by 0.8061 (k1 2, k2 0.01)",
            "no figures of its load, which costs nothing",
            id="power by predicted utilisation",
        ),
    ],
)
def test_scores_by_load_are_worked_out_for_people(
    tmp_path: Path, plugin: str, args: Json, busy: str, unknown: str
) -> None:
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "14", "memory": "2Gi"}}
    burstable = plain_pod("old", node="n1", containers=[{"name": "main", "image": "app", "resources": resources}])
    cluster = write_cluster(tmp_path, plain_node("n1"), plain_node("n2"), burstable)
    load = write_load(tmp_path, n1=(35, 12))
    report = explained(plain_pod("new", "4"), cluster, policy_with(plugin, args), load=load)
    assert arithmetic(report, plugin) == {"n1": busy, "n2": unknown}


def test_the_lines_stand_below_the_scores_with_equal_nodes_together(tmp_path: Path) -> None:
    from kwhatif.commands.explain.text import explain_blocks
    from kwhatif.render.blocks import Table

    cluster = write_cluster(tmp_path, *map(plain_node, ("n1", "n2", "n3")))
    load = write_load(tmp_path, n1=(35, 12), n2=(35, 12), n3=(70, 1))
    policy = policy_with("TargetLoadPacking", WATCHED)
    result = kwhatif.explain(plain_pod("new", "2"), snapshot=cluster, policy=policy, load=load)
    tables = [block for block in explain_blocks(result) if isinstance(block, Table)]
    (found,) = [table for table in tables if "ARITHMETIC" in table.headers]
    assert [row[:3] for row in found.rows] == [
        ("2 nodes: n1, n2", "TargetLoadPacking", "31"),
        ("n3", "TargetLoadPacking", "8"),
    ]
