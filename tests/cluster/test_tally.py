"""Counts that keep themselves up to date are the counts one would come to by starting over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.selectors import Selector
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView, change_of
from kwhatif.cluster.shapes import Selection
from kwhatif.cluster.tally import TallySpec, Weighing
from tests.builders import HOSTNAME, ZONE, cluster_of, node, pod, pods_on
from tests.strategies import GeneratedCluster, scenarios

WEB = {"app": "web"}
NODES = [node("a0", zone="z0"), node("a1", zone="z0"), node("b", zone="z1"), node("lost")]


def labelled(**labels: str) -> Selection:
    return Selection(Selector.from_labels(labels), None)


WEBS = Weighing(((labelled(app="web"), 1),))


def by_zone(cluster: Cluster, **more: object) -> TallySpec:
    return TallySpec("by zone", WEBS, topology=cluster.columns.label(ZONE), **more)  # type: ignore[arg-type]


def test_pods_are_counted_by_node_and_by_domain() -> None:
    cluster = cluster_of(NODES, pods_on({"a0": 2, "a1": 1, "lost": 4}, labels=WEB))
    cluster.add(cluster.shapes.info(pod("other", labels={"app": "db"})), "b")
    tally = cluster.tally(by_zone(cluster))
    rows = {name: cluster.columns.row(name) for name in ("a0", "a1", "b", "lost")}
    assert {name: int(tally.by_node[row]) for name, row in rows.items()} == {"a0": 2, "a1": 1, "b": 0, "lost": 4}
    assert dict(zip(cluster.columns.label(ZONE).values, tally.by_domain.tolist(), strict=False)) == {"z0": 3, "z1": 0}
    assert tally.by_domain[-1] == 0
    assert tally.total == 3
    assert tally.open_domains(cluster.active, cluster.membership_version).tolist() == [True, True, False]


def test_without_a_topology_nodes_are_all_there_is() -> None:
    cluster = cluster_of(NODES, pods_on({"a0": 2, "lost": 4}, labels=WEB))
    tally = cluster.tally(TallySpec("by node", WEBS))
    assert tally.total == 6
    assert tally.by_domain.shape == (0,)
    assert tally.eligible_nodes.tolist() == [1, 1, 1, 1]


def test_pods_on_nodes_that_may_not_be_counted_count_for_their_node_alone() -> None:
    cluster = cluster_of(NODES, pods_on({"a0": 2, "a1": 1, "b": 5}, labels=WEB))
    eligible = np.array([name not in ("a0", "b") for name in cluster.columns.names])
    tally = cluster.tally(by_zone(cluster, eligible=eligible))
    z0 = cluster.columns.label(ZONE).values.index("z0")
    assert tally.by_node.sum() == 8
    assert (tally.by_domain[z0], tally.total) == (1, 1)
    assert tally.open_domains(cluster.active, cluster.membership_version).sum() == 1
    assert tally.eligible_nodes.sum() == 1


def test_equal_keys_share_a_tally_until_all_are_dropped() -> None:
    cluster = cluster_of(NODES, pods_on({"a0": 1}, labels=WEB))
    tally = cluster.tally(by_zone(cluster))
    assert cluster.tally(by_zone(cluster)) is tally
    cluster.drop_tallies()
    again = cluster.tally(by_zone(cluster))
    assert again is not tally
    assert again.total == 1
    cluster.assume(cluster.shapes.info(pod("more", labels=WEB)), 0)
    assert (tally.total, again.total) == (1, 2)


def test_what_is_worked_out_once_a_cluster_goes_with_the_tallies() -> None:
    @cached_per_cluster
    def work(cluster: Cluster, *about: str) -> object:
        return object()

    cluster = cluster_of(NODES)
    first = work(cluster, "a")
    assert work(cluster, "a") is first
    assert work(cluster, "b") is not first
    assert work(cluster.fork(), "a") is not first
    cluster.drop_tallies()
    assert work(cluster, "a") is not first
    assert not cluster.too_many_tallies


def test_a_change_is_weighed_by_its_own_rule() -> None:
    cluster = cluster_of(NODES, pods_on({"a0": 2}, labels=WEB))
    tally = cluster.tally(by_zone(cluster, moved=Weighing(of_template=lambda shape: 10)))
    row = cluster.columns.row("a0")
    assert row is not None
    rows = np.array([row], np.intp)
    gone = change_of(cluster, rows, [cluster.pods_on[row][:1]], -1)
    view = NodeView(cluster, rows, gone)
    assert view.counts(tally).tolist() == [2 - 10]
    shift = view.shift(tally)
    assert shift is not None
    assert shift.tolist() == [-10]
    assert NodeView(cluster, rows).shift(tally) is None


def specs_of(cluster: Cluster) -> list[TallySpec]:
    """Tallies of several kinds: by zone, by host, by node, and with nodes left out."""
    even = np.arange(len(cluster)) % 2 == 0

    apps = Weighing(((labelled(app="a"), 1), (labelled(app="b"), 3)))
    priorities = Weighing(of_template=lambda shape: shape.priority)
    return [
        TallySpec("zones", apps, topology=cluster.columns.label(ZONE)),
        TallySpec("hosts", priorities, topology=cluster.columns.label(HOSTNAME)),
        TallySpec("nodes", apps),
        TallySpec("some", apps, topology=cluster.columns.label(ZONE), eligible=even),
    ]


@pytest.mark.long
@given(scenarios(max_nodes=5), st.data())
def test_counting_along_is_counting_anew(scenario: GeneratedCluster, data: st.DataObject) -> None:
    cluster = scenario.cluster()
    specs = specs_of(cluster)
    early = [cluster.tally(spec) for spec in specs[:2]]
    waiting = [cluster.shapes.info(pending) for pending in scenario.pending]
    for _ in range(data.draw(st.integers(1, 8))):
        running = sorted((info for info, _ in cluster.pods()), key=lambda info: info.uid)
        if waiting and (not running or data.draw(st.booleans())):
            cluster.assume(waiting.pop(), data.draw(st.integers(0, len(cluster) - 1)))
        elif running:
            cluster.forget(data.draw(st.sampled_from(running)).uid)
    live = [*early, *(cluster.tally(spec) for spec in specs[2:])]
    fresh = cluster.fork()
    for tally, spec in zip(live, specs, strict=True):
        anew = fresh.tally(spec)
        assert tally is not anew
        assert tally.by_node.tolist() == anew.by_node.tolist()
        assert tally.by_domain.tolist() == anew.by_domain.tolist()
        assert tally.total == anew.total
        recount = [sum(int(tally.weights[info.shape.index]) for info in pods) for pods in cluster.pods_on]
        assert tally.by_node.tolist() == recount
