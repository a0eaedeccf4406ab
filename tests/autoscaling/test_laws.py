"""Laws of the autoscaler, in random clusters."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from tests.autoscaling.worlds import group, ready, ready_node, world
from tests.builders import cluster_of, scheduler_for
from tests.strategies import GeneratedCluster, scenarios

pytestmark = pytest.mark.long

TEMPLATES = [
    ready_node("t0", cpu="2", memory="4Gi", pods=4, zone="z0", labels={"disk": "ssd"}),
    ready_node("t1", cpu="8", memory="8Gi", pods=8, zone="z1", taints=["k=v:NoSchedule"]),
]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[GeneratedCluster, AutoscalingContext]:
    """A cluster whose nodes are of one group, and two groups without nodes."""
    found = draw(scenarios(max_nodes=4, max_running=8, max_pending=6))
    nodes = [ready(each) for each in found.nodes]
    groups = [
        group("own", nodes, most=draw(st.integers(len(nodes), 6))),
        *(group(f"g{n}", template=each, most=draw(st.integers(0, 4))) for n, each in enumerate(TEMPLATES)),
    ]
    flags = {
        "expander": draw(st.sampled_from(("least-waste", "most-pods", "least-nodes"))),
        "max-nodes-total": draw(st.sampled_from((0, 0, 3, 6))),
        "skip-nodes-with-custom-controller-pods": False,
        "scale-down-unneeded-time": "0s",
    }
    safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    running = [
        msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, annotations=safe))
        for each in found.running
    ]
    seen = world(nodes, groups, running=running, pending=found.pending, objects=found.objects, flags=flags)
    return GeneratedCluster(nodes, running, found.pending, found.objects), seen


@settings(max_examples=40)
@given(worlds())
def test_no_group_grows_beyond_its_limits(drawn: tuple[GeneratedCluster, AutoscalingContext]) -> None:
    found, seen = drawn
    plan = StaticAutoscaler().loop(seen).scale_up.plan
    assert all(each.current_size < each.new_size <= each.group.max_size for each in plan)
    if seen.flags.max_nodes_total:
        assert (
            not plan
            or len(found.nodes) + sum(each.new_size - each.current_size for each in plan) <= seen.flags.max_nodes_total
        )


@settings(max_examples=40)
@given(worlds())
def test_every_pod_that_a_node_comes_for_passes_the_schedulers_filters_there(
    drawn: tuple[GeneratedCluster, AutoscalingContext],
) -> None:
    found, seen = drawn
    loop = StaticAutoscaler().loop(seen)
    if loop.scale_up.chosen is None:
        return
    fresh, _ = loop.templates[loop.scale_up.chosen.group.name].fresh("fresh")
    for pod in loop.scale_up.triggered:
        cluster = cluster_of([*found.nodes, fresh], found.running, found.objects)
        for other in found.pending:
            home = loop.placed.get(other.key)
            if home is not None:
                cluster.add(cluster.shapes.info(other), home)
        info = cluster.shapes.info(pod.pod)
        evaluation = scheduler_for(cluster).evaluate_all_nodes(info)
        assert evaluation is not None
        row = cluster.columns.row("fresh")
        assert row is not None
        assert evaluation.verdicts(info).feasible[row]


@settings(max_examples=40)
@given(worlds())
def test_what_scale_down_moves_passes_the_schedulers_filters_where_it_goes(
    drawn: tuple[GeneratedCluster, AutoscalingContext],
) -> None:
    found, seen = drawn
    loop = StaticAutoscaler().loop(seen, up=False, down=True)
    cluster = seen.without_expendable()
    for other in found.pending:
        home = loop.placed.get(other.key)
        if home is not None:
            cluster.add(cluster.shapes.info(other), home)
    scheduler = scheduler_for(cluster)
    for node, removal in loop.scale_down.unneeded.items():
        row = cluster.columns.row(node)
        assert row is not None
        leaving = {pod.key: pod for pod in cluster.pods_on[row]}
        assert leaving.keys() == removal.moves.keys(), "no pod stays behind"
        for pod in leaving.values():
            cluster.forget(pod.uid)
        for key, home in removal.moves.items():
            info, there = leaving[key], cluster.columns.row(home)
            assert there is not None
            assert there != row
            evaluation = scheduler.evaluate_all_nodes(info)
            assert evaluation is not None
            assert evaluation.verdicts(info).feasible[there]
            cluster.assume(info, there)
        cluster = cluster.without_nodes([node])
        scheduler = scheduler_for(cluster)
