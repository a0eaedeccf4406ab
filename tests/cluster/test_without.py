"""A cluster without some of its nodes is what it would have been had they never joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.tally import TallySpec, Weighing
from tests.builders import ZONE, cluster_of, node, pod
from tests.strategies import GeneratedCluster, scenarios


def contents(cluster: Cluster) -> dict[str, tuple[Any, ...]]:
    """All there is to know of a cluster, by name."""
    names = cluster.columns.names
    everybody = cluster.tally(TallySpec("everybody", Weighing(of_template=lambda shape: 1)))
    requested, resources = cluster.requested, cluster.shapes.resources.names
    return {
        name: (
            {resource: int(requested[row, i]) for i, resource in enumerate(resources) if requested[row, i]},
            {resource: int(cluster.columns.allocatable[row, i]) for i, resource in enumerate(resources)},
            cluster.non_zero[row].tolist(),
            int(cluster.pod_count[row]),
            sorted(info.key for info in cluster.pods_on[row]),
            sorted(port for port, column in cluster.port_index.items() if cluster.ports[row, column]),
            int(everybody.by_node[row]),
        )
        for row, name in enumerate(names)
    }


@pytest.mark.long
@given(scenario=scenarios(), data=st.data())
def test_it_is_what_it_would_have_been_without_them(scenario: GeneratedCluster, data: st.DataObject) -> None:
    cluster = scenario.cluster()
    before = contents(cluster)
    gone = data.draw(st.sets(st.sampled_from(cluster.columns.names), max_size=len(cluster)))
    rest = cluster.without_nodes(gone)
    expected = Cluster([n for n in scenario.nodes if n.name not in gone], cluster.shapes)
    for info, row in cluster.pods():
        if cluster.columns.names[row] not in gone:
            expected.add(info, cluster.columns.names[row])
    assert rest.columns.names == expected.columns.names
    assert contents(rest) == contents(expected)
    for info, row in rest.pods():
        assert any(other is info for other in rest.pods_on[row])
    assert contents(cluster) == before, "the cluster itself stays as it is"


def test_labels_taints_and_domains_are_those_of_the_nodes_that_are_left() -> None:
    cluster = cluster_of([node("a", zone="x"), node("b", zone="y", taints=["k=v:NoSchedule"]), node("c", zone="x")])
    rest = cluster.without_nodes({"b"})
    assert rest.columns.label(ZONE).values == ["x"]
    assert rest.columns.taints[1] == [()]
    assert rest.columns.row("b") is None
    assert len(cluster.without_nodes({"nobody"})) == 3


def test_a_tally_made_between_two_pods_of_a_shape_counts_both() -> None:
    cluster = cluster_of([node("a"), node("b")])
    first, second = (cluster.shapes.info(pod(name, labels={"app": "web"})) for name in ("p", "q"))
    early = cluster.tally(TallySpec("early", Weighing(of_template=lambda shape: 1)))
    cluster.assume(first, 0)
    late = cluster.tally(TallySpec("late", Weighing(of_template=lambda shape: 2)))
    cluster.assume(second, 1)
    assert early.by_node.tolist() == [1, 1]
    assert late.by_node.tolist() == [2, 2]
    cluster.forget(first.uid)
    assert np.array_equal(late.by_node, [0, 2])
