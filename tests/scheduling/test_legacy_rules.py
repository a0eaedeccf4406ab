"""What the scheduling cycle of 1.22 said and did otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import LEGACY_MINOR, features_of
from tests.builders import HOSTNAME, budget, cluster_of, node, pod, pods_like, scheduler_for, select

OF_1_22, OF_1_29 = features_of(LEGACY_MINOR), features_of("1.29")


def test_a_failure_says_nothing_of_preemption() -> None:
    cluster = cluster_of([node("a", cpu="1")], features=OF_1_22)
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(pod(cpu="2")))
    assert attempt.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_refusal_for_the_whole_pod_counts_for_every_node() -> None:
    claims = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    cluster = cluster_of([node("a"), node("b")], features=OF_1_22)
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(pod(spec=claims)))
    assert attempt.message == '0/2 nodes are available: 2 persistentvolumeclaim "data" not found.'


@pytest.mark.parametrize("everything", [False, True])
def test_a_policy_may_ask_all_predicates(everything: bool) -> None:
    policy = {"kind": "Policy", "apiVersion": "v1", "alwaysCheckAllPredicates": everything}
    cluster = cluster_of([node("a", cpu="1", zone="z")], features=OF_1_22)
    attempt = scheduler_of(policy, cluster).attempt(cluster.shapes.info(pod(cpu="2", node_selector={"disk": "ssd"})))
    affinity = "1 node(s) didn't match Pod's node affinity/selector"
    expected = f"1 Insufficient cpu, {affinity}" if everything else "1 Insufficient cpu"
    assert attempt.message == f"0/1 nodes are available: {expected}."
    assert attempt.diagnosis is not None
    status = attempt.diagnosis.status(0)
    assert status is not None
    assert status.plugin == ("" if everything else "NodeResourcesFit")
    assert len(attempt.diagnosis.preemptable()) == (0 if everything else 1)


def scheduler_of(policy: Any, cluster: Any) -> Scheduler:
    configuration = load_configuration(policy, source="", features=OF_1_22)
    return Scheduler(cluster, Setup(configuration, OF_1_22).profile(configuration.profiles[0]))


@pytest.mark.parametrize(("features", "node_chosen"), [(OF_1_22, "b"), (OF_1_29, "a")], ids=["1.22", "1.29"])
def test_victims_whose_budget_breaks_stood_for_the_highest_priority(features: Any, node_chosen: str) -> None:
    # The highest priority among the victims is 4 on a and 5 on b; of those with a budget, 4 on a and 1 on b.
    running = [
        pod("a-free", on="a", cpu="2", priority=3),
        pod("a-kept", on="a", cpu="2", priority=4, labels={"app": "kept"}),
        pod("b-free", on="b", cpu="2", priority=5),
        pod("b-kept", on="b", cpu="2", priority=1, labels={"app": "kept"}),
    ]
    kept = budget("kept", select(app="kept"), allowed=0)
    cluster = cluster_of([node("a"), node("b")], running, [kept], features=features)
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(pod(cpu="4", priority=9)))
    assert attempt.nominated == node_chosen


def test_after_the_nominated_node_the_search_begins_at_the_first_node() -> None:
    nodes = [node(name) for name in ("a", "b", "c")]
    for features, start in ((OF_1_22, 0), (OF_1_29, 2)):
        cluster = cluster_of(nodes, features=features)
        scheduler = scheduler_for(cluster)
        scheduler.shared.next_start = 2
        attempt = scheduler.decide(cluster.shapes.info(pod(nominated="b")))
        assert (attempt.row, scheduler.shared.next_start) == (1, start)


@pytest.mark.parametrize(("features", "fits"), [(OF_1_22, False), (OF_1_29, True)], ids=["1.22", "1.29"])
def test_anti_affinity_of_nominated_pods_keeps_pods_without_terms_away(features: Any, fits: bool) -> None:
    shy = pod("shy", priority=9, nominated="a", far=[pods_like(select(app="web"), HOSTNAME)])
    cluster = cluster_of([node("a")], [shy], features=features)
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(pod(labels={"app": "web"})))
    assert attempt.is_placed is fits
