"""What is kept up to date row by row is what one would find by starting over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Taint
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import Code
from tests.builders import (
    HOSTNAME,
    ZONE,
    Json,
    cluster_of,
    node,
    node_term,
    nodes_in_zones,
    pod,
    pods_like,
    pods_on,
    scheduler_for,
    select,
)
from tests.framework.plugins import Quiet, framework_of, made_up, with_quiet
from tests.strategies import GeneratedCluster, profiles, scenarios

TAINTS = [
    Taint(key="a", effect="NoSchedule"),
    Taint(key="b", value="x", effect="PreferNoSchedule"),
    Taint(key="b", value="y", effect="NoExecute"),
]


def opinion(evaluation: Evaluation, info: PodInfo, rows: np.ndarray) -> dict[str, Any]:
    """All that an evaluation says of a pod, scores among ``rows``."""
    evaluation.refresh(info)
    evaluation.begin(info)
    if evaluation.refusal is not None:
        return {"refusal": evaluation.refusal}
    verdicts = evaluation.verdicts(info)
    size = len(evaluation.cluster)
    return {
        "narrowed": None if evaluation.narrowed is None else evaluation.narrowed.tolist(),
        "passing": evaluation.passing(info).tolist(),
        "verdicts": [verdicts.status(row) for row in range(size)],
        "histogram": verdicts.histogram(),
        "totals": evaluation.totals(info, rows).tolist(),
        "scores": {s.plugin: (s.weight, s.raw.tolist(), s.normalized.tolist()) for s in evaluation.scores(info, rows)},
    }


def move_somebody(cluster: Cluster, waiting: list[PodInfo], data: st.DataObject) -> None:
    """Place a waiting pod, or let one that runs leave, be told to leave, or be promised a place."""
    running = sorted((info for info, _ in cluster.pods()), key=lambda info: info.uid)
    move = data.draw(st.sampled_from(["place", "nominate", "leave", "tell"]))
    row = data.draw(st.integers(0, len(cluster) - 1))
    if move == "place" and waiting:
        cluster.assume(waiting.pop(), row)
    elif move == "nominate" and waiting:
        cluster.nominate(waiting[-1], cluster.columns.names[row])
    elif move == "leave" and running:
        cluster.forget(data.draw(st.sampled_from(running)).uid)
    elif move == "tell" and running:
        cluster.mark_terminating(data.draw(st.sampled_from(running)).uid)


@pytest.mark.long
@given(scenarios(max_nodes=5, max_running=6, max_pending=4, terminating=True), profiles(), st.data())
def test_an_evaluation_that_follows_is_a_fresh_one(
    scenario: GeneratedCluster, config: Json | None, data: st.DataObject
) -> None:
    cluster = scenario.cluster()
    framework = scheduler_for(cluster, with_quiet(config), outside=[Quiet]).framework
    asked, *waiting = [cluster.shapes.info(pending) for pending in scenario.pending]
    followers = {info.shape.index: Evaluation(framework, cluster, info) for info in (asked, *waiting)}
    for _ in range(data.draw(st.integers(1, 5))):
        move_somebody(cluster, waiting, data)
        rows = np.array(data.draw(st.lists(st.integers(0, len(cluster) - 1), min_size=1, unique=True)), np.intp)
        for info in (asked, *waiting[:1]):
            fresh = Evaluation(framework, cluster, info)
            assert opinion(followers[info.shape.index], info, rows) == opinion(fresh, info, rows)


@pytest.mark.long
@given(scenarios(max_nodes=5, max_running=6, max_pending=3), profiles(), st.data())
def test_an_evaluation_follows_taints_that_come_and_go(
    scenario: GeneratedCluster, config: Json | None, data: st.DataObject
) -> None:
    cluster = scenario.cluster()
    framework = scheduler_for(cluster, config).framework
    pending = [cluster.shapes.info(waiting) for waiting in scenario.pending]
    followers = {info.shape.index: Evaluation(framework, cluster, info) for info in pending}
    rows = np.arange(len(cluster))
    for _ in range(data.draw(st.integers(1, 3))):
        before = data.draw(st.sampled_from(cluster.columns.nodes))
        taints = data.draw(st.lists(st.sampled_from(TAINTS), unique=True, max_size=2))
        spec = replace(before.spec, taints=taints, unschedulable=data.draw(st.booleans()))
        cluster.change_nodes([replace(before, spec=spec)])
        twin = cluster.fork()
        fresh = scheduler_for(twin, config).framework
        expected = [opinion(Evaluation(fresh, twin, info), info, rows) for info in pending]
        framework.attach(cluster)
        assert [opinion(followers[info.shape.index], info, rows) for info in pending] == expected


def test_nodes_that_a_constraint_leaves_out_for_their_taints_are_counted_anew() -> None:
    nodes = [node("a", labels={ZONE: "x"}), node("b", labels={ZONE: "y"})]
    cluster = cluster_of(nodes, [pod("there", on="a", labels={"app": "web"})])
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor"}
    spread = {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "web"}}}]}
    info = cluster.shapes.info(pod("next", labels={"app": "web"}, spec=spread))
    _, evaluation = evaluated(cluster, info)
    assert evaluation.passing(info).tolist() == [False, True]
    cluster.change_nodes([replace(nodes[1], spec=replace(nodes[1].spec, taints=[TAINTS[0]]))])
    evaluation.begin(info)
    # Nobody is spread over a zone without a node to go to.
    assert evaluation.passing(info).tolist() == [True, False]


@pytest.mark.long
@given(scenarios(max_nodes=5, max_running=6), profiles())
def test_what_passes_is_what_has_no_verdict_and_totals_are_weighted_sums(
    scenario: GeneratedCluster, config: Json | None
) -> None:
    cluster = scenario.cluster()
    framework = scheduler_for(cluster, config).framework
    rows = np.arange(len(cluster))
    for pending in scenario.pending:
        info = cluster.shapes.info(pending)
        found = opinion(Evaluation(framework, cluster, info), info, rows)
        if "refusal" in found:
            assert found["refusal"].rejected
            continue
        assert found["passing"] == [status is None for status in found["verdicts"]]
        sums = np.zeros(len(cluster), np.int64)
        for weight, _, normalized in found["scores"].values():
            assert all(0 <= score <= 100 for score in normalized)
            sums += weight * np.array(normalized)
        assert found["totals"] == sums.tolist()


def evaluated(cluster: Cluster, info: PodInfo) -> tuple[Framework, Evaluation]:
    framework = scheduler_for(cluster).framework
    evaluation = Evaluation(framework, cluster, info)
    evaluation.begin(info)
    return framework, evaluation


def test_room_is_kept_for_nominated_pods_of_no_less_priority() -> None:
    cluster = cluster_of([node("a", cpu="2"), node("b", cpu="2")])
    cluster.nominate(cluster.shapes.info(pod("promised", cpu="2", priority=5)), "a")
    for priority, expected in ((4, [False, True]), (5, [False, True]), (6, [True, True])):
        info = cluster.shapes.info(pod("late", cpu="1", priority=priority))
        _, evaluation = evaluated(cluster, info)
        assert evaluation.passing(info).tolist() == expected
        status = evaluation.verdicts(info).status(0)
        assert (status is None) == expected[0]
        assert status is None or (status.code, status.reasons) == (Code.UNSCHEDULABLE, ("Insufficient cpu",))


def test_room_on_a_node_that_is_not_there_is_kept_from_nobody() -> None:
    cluster = cluster_of([node("a", cpu="2")])
    cluster.nominate(cluster.shapes.info(pod("promised", cpu="2", priority=5)), "gone")
    late = cluster.shapes.info(pod("late", cpu="1"))
    assert evaluated(cluster, late)[1].passing(late).tolist() == [True]


def test_a_pod_keeps_no_room_for_itself() -> None:
    cluster = cluster_of([node("a", cpu="2")])
    promised = cluster.shapes.info(pod("promised", cpu="2", priority=5))
    cluster.nominate(promised, "a")
    assert evaluated(cluster, promised)[1].passing(promised).tolist() == [True]


def test_a_nominated_pod_is_not_yet_there_to_be_near_to() -> None:
    """A pod has to fit both with the nominated pods and without them."""
    cluster = cluster_of(nodes_in_zones("z0", "z1"))
    cluster.nominate(cluster.shapes.info(pod("web", labels={"app": "web"}, priority=5)), "n0")
    near = cluster.shapes.info(pod("near", near=[pods_like(select(app="web"))]))
    far = cluster.shapes.info(pod("far", far=[pods_like(select(app="web"), HOSTNAME)]))
    assert evaluated(cluster, near)[1].passing(near).tolist() == [False, False]
    assert evaluated(cluster, far)[1].passing(far).tolist() == [False, True]


def test_anti_affinity_of_nominated_pods_counts_only_beside_others() -> None:
    """InterPodAffinity's PreFilter skips a pod that nobody who runs objects to, and the skip outlasts nominations."""
    cluster = cluster_of(nodes_in_zones("z0", "z1", "z2"))
    shapes = cluster.shapes
    grumpy: Json = {"far": [pods_like(select(app="web"), ZONE)], "priority": 5}
    cluster.nominate(shapes.info(pod("nominated", **grumpy)), "n0")
    web = shapes.info(pod("web", labels={"app": "web"}))
    assert evaluated(cluster, web)[1].passing(web).tolist() == [True, True, True]
    cluster.assume(shapes.info(pod("running", **grumpy)), 1)
    assert evaluated(cluster, web)[1].passing(web).tolist() == [False, False, True]


def test_a_pod_that_names_two_nodes_at_once_is_refused_and_not_filtered() -> None:
    cluster = cluster_of([node("a"), node("b")])
    both = node_term(fields=["metadata.name In a", "metadata.name In b"])
    info = cluster.shapes.info(pod(nodes=[both]))
    _, evaluation = evaluated(cluster, info)
    assert evaluation.refusal is not None
    assert evaluation.refusal.reasons == ("pod affinity terms conflict",)
    assert evaluation.refusal.plugin == "NodeAffinity"


def test_prefilter_is_asked_no_further_than_the_plugin_that_ends_it() -> None:
    cluster = cluster_of([node("a"), node("b")])
    plain = cluster.shapes.info(pod())
    assert {"NodeAffinity", "InterPodAffinity"} <= evaluated(cluster, plain)[1].reached
    both = node_term(fields=["metadata.name In a", "metadata.name In b"])
    refused = cluster.shapes.info(pod(nodes=[both]))
    reached = evaluated(cluster, refused)[1].reached
    assert "NodeAffinity" in reached
    assert "InterPodAffinity" not in reached


def test_rows_that_changed_are_known_until_they_are_refreshed() -> None:
    cluster = cluster_of([node("a"), node("b")], pods_on({"a": 1}))
    info = cluster.shapes.info(pod())
    _, evaluation = evaluated(cluster, info)
    assert list(evaluation.find_stale_rows()) == []
    cluster.forget("uid-default-a-0")
    assert list(evaluation.find_stale_rows()) == [cluster.columns.row("a")]
    evaluation.refresh(info)
    assert list(evaluation.find_stale_rows()) == []


def test_pods_that_differ_in_labels_alone_share_what_is_known_unless_a_plugin_reads_labels() -> None:
    class Deaf(Quiet):
        depends_on_labels = False

    cluster = cluster_of([node("a")])
    one, other = (cluster.shapes.info(pod(name, labels={"name": name})).shape for name in ("p", "q"))
    asked_each_time = made_up("Each", filter=lambda pod, nodes, state: [])
    for plugin, alike in ((Quiet, False), (Deaf, True), (asked_each_time, True)):
        framework = framework_of([plugin])
        assert (framework.shape_key(one) == framework.shape_key(other)) is alike
        assert framework.shape_key(one) == framework.shape_key(
            cluster.shapes.info(pod("p2", labels={"name": "p"})).shape
        )
