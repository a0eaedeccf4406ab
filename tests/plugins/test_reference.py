"""Columns against loops: what plugins say of all nodes at once is what the rules say of one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Namespace, Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.interface import Plugin
from kwhatif.framework.status import SKIP, Skip
from tests.asking import raw_scores, refusals, scores
from tests.builders import GPU, Json, plugin_of, pod
from tests.plugins import reference
from tests.plugins.reference import Place
from tests.strategies import GeneratedCluster, kinds, scenarios

pytestmark = pytest.mark.long

REASONS = {
    "missing": "node(s) didn't match pod topology spread constraints (missing required label)",
    "crowded": "node(s) didn't match pod topology spread constraints",
    "near": "node(s) didn't match pod affinity rules",
    "far": "node(s) didn't match pod anti-affinity rules",
    "existing": "node(s) didn't satisfy existing pods anti-affinity rules",
}

SPREADING = scenarios(
    parts=("spread", "tolerations", "node selector", "node affinity"), max_running=12, terminating=True
)
SOCIAL = scenarios(parts=("near", "far", "prefers near", "prefers far"), max_running=12, terminating=True)
HUNGRY = scenarios(parts=("requests", "small", "devices", "init", "overhead"), max_running=12)


def places_of(scenario: GeneratedCluster) -> list[Place]:
    return [Place(n, [p for p in scenario.running if p.spec.node_name == n.name]) for n in scenario.nodes]


def said(plugin: Plugin[Any, Any], pod: Pod, cluster: Cluster) -> dict[str, str]:
    return {name: reasons[0] for name, (_, reasons) in refusals(plugin, pod, cluster).items()}


def spelt(found: dict[str, str]) -> dict[str, str]:
    return {name: REASONS[reason] for name, reason in found.items()}


def drawn_names(data: st.DataObject, scenario: GeneratedCluster) -> list[str]:
    names = [n.name for n in scenario.nodes]
    return data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))


@given(SPREADING, st.data())
def test_topology_spread(scenario: GeneratedCluster, data: st.DataObject) -> None:
    cluster, plugin = scenario.cluster(), plugin_of("PodTopologySpread")
    places = places_of(scenario)
    for pending in scenario.pending:
        if not pending.spec.topology_spread_constraints:
            continue
        assert said(plugin, pending, cluster) == spelt(reference.spread_refusals(places, pending))
        feasible = drawn_names(data, scenario)
        expected = reference.spread_scores(places, [p for p in places if p.name in feasible], pending)
        found = scores(plugin, pending, cluster, among=feasible)
        assert found == (SKIP if expected is None else expected)


@given(SOCIAL, st.sampled_from([0, 1, 30]), st.data())
def test_affinity_between_pods(scenario: GeneratedCluster, hard_weight: int, data: st.DataObject) -> None:
    cluster = scenario.cluster()
    plugin = plugin_of("InterPodAffinity", {"hardPodAffinityWeight": hard_weight})
    places, namespaces = places_of(scenario), [o for o in scenario.objects if isinstance(o, Namespace)]
    for pending in scenario.pending:
        expected = reference.affinity_refusals(places, pending, namespaces)
        assert said(plugin, pending, cluster) == spelt(expected)
        feasible = drawn_names(data, scenario)
        sums = reference.affinity_sums(places, pending, namespaces, hard_weight)
        among = {name: sums[name] for name in feasible}
        found = raw_scores(plugin, pending, cluster, among=feasible)
        if isinstance(found, Skip):
            assert not any(among.values())
        else:
            assert found == among
            assert scores(plugin, pending, cluster, among=feasible) == reference.affinity_scores(among)


def amounts_of(cluster: Cluster, resource: str, row: int, *, non_zero: bool) -> tuple[int, int]:
    """What is in use of a resource on a node, and what there is."""
    column = cluster.shapes.resources.find(resource)
    assert column is not None
    used = cluster.non_zero[row] if non_zero and column < 2 else cluster.requested[row]
    return int(used[column]), int(cluster.columns.allocatable[row, column])


RESOURCES = st.lists(
    st.tuples(st.sampled_from(["cpu", "memory", GPU, "ephemeral-storage"]), st.integers(1, 9)),
    min_size=1,
    max_size=4,
    unique_by=lambda resource: resource[0],
)


@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated"])
@given(scenario=HUNGRY, resources=RESOURCES)
def test_how_full_a_node_is(kind: str, scenario: GeneratedCluster, resources: list[tuple[str, int]]) -> None:
    cluster = scenario.cluster()
    rate = reference.least_allocated if kind == "LeastAllocated" else reference.most_allocated
    specs: Json = {"type": kind, "resources": [{"name": n, "weight": w} for n, w in resources]}
    plugin = plugin_of("NodeResourcesFit", {"scoringStrategy": specs})
    for pending in scenario.pending:
        asked = cluster.shapes.info(pending).shape.fit_score_requests
        counted = [(n, w) for n, w in resources if (n != GPU or asked.get(n)) and known(cluster, n)]
        expected = {}
        for row, name in enumerate(cluster.columns.names):
            amounts = [
                (used + asked.get(resource, 0), capacity, weight)
                for resource, weight in counted
                for used, capacity in [amounts_of(cluster, resource, row, non_zero=True)]
            ]
            expected[name] = reference.weighted_mean(rate, amounts)
        assert scores(plugin, pending, cluster) == expected


def known(cluster: Cluster, resource: str) -> bool:
    return cluster.shapes.resources.find(resource) is not None


@given(HUNGRY, RESOURCES)
def test_how_balanced_a_node_is(scenario: GeneratedCluster, resources: list[tuple[str, int]]) -> None:
    cluster = scenario.cluster()
    names = [name for name, _ in resources]
    args: Json = {"resources": [{"name": name, "weight": 1} for name in names]}
    plugin = plugin_of("NodeResourcesBalancedAllocation", args)
    for pending in scenario.pending:
        asked = cluster.shapes.info(pending).shape.score_requests
        if not any(asked.get(name) for name in names):
            assert scores(plugin, pending, cluster) is SKIP
            continue
        counted = [n for n in names if (n != GPU or asked.get(n)) and known(cluster, n)]
        expected = {}
        for row, node in enumerate(cluster.columns.names):
            amounts = [(n, *amounts_of(cluster, n, row, non_zero=False)) for n in counted]
            before = reference.balance((used, capacity) for _, used, capacity in amounts)
            after = reference.balance((used + asked.get(n, 0), capacity) for n, used, capacity in amounts)
            expected[node] = 50 + (50 + after - before) // 2
        assert scores(plugin, pending, cluster) == expected


@given(scenarios(max_running=12), kinds(("ports",), most=1))
def test_ports(scenario: GeneratedCluster, kind: Json) -> None:
    cluster, plugin = scenario.cluster(), plugin_of("NodePorts")
    waiting = pod("waiting", **kind)
    wanted = cluster.shapes.info(waiting).shape.ports
    in_use = [[port for info in pods for port in info.shape.ports] for pods in cluster.pods_on]
    clashing = np.array(
        [
            any(p[1:] == q[1:] and (p[0] == q[0] or "0.0.0.0" in (p[0], q[0])) for p in wanted for q in ports)
            for ports in in_use
        ]
    )
    assert set(said(plugin, waiting, cluster)) == {
        name for name, clash in zip(cluster.columns.names, clashing, strict=True) if clash
    }
