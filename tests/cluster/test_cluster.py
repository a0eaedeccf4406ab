"""What holds of the cache whatever pods come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume as given_that
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.cluster.claim_store import Devices
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import Owners, PodInfo
from kwhatif.cluster.storage import Storage
from tests.builders import FEATURES, GPU, ZONE, cluster_of, node, pod, pods_on, service
from tests.cluster.test_tally import specs_of
from tests.device_builders import device_class
from tests.storage_builders import claim
from tests.strategies import NODE_NAMES, GeneratedCluster, scenarios


def state_of(cluster: Cluster) -> dict[str, Any]:
    """All that can be seen of a cluster, by node name."""
    names = cluster.columns.names
    columns = sorted(cluster.port_index, key=str)
    tallies, anew = [cluster.tally(spec) for spec in specs_of(cluster)], cluster.fork()
    return {
        "requested": {
            name: {
                resource: amount for resource, amount in zip(cluster.shapes.resources.names, row, strict=True) if amount
            }
            for name, row in zip(names, cluster.requested.tolist(), strict=True)
        },
        "non_zero": dict(zip(names, cluster.non_zero.tolist(), strict=True)),
        "pod_count": dict(zip(names, cluster.pod_count.tolist(), strict=True)),
        "ports": {
            name: [port for port in columns if cluster.ports[row, cluster.port_index[port]]]
            for row, name in enumerate(names)
        },
        "pods_on": {name: [info.uid for info in pods] for name, pods in zip(names, cluster.pods_on, strict=True)},
        "where": {info.uid: names[row] for info, row in cluster.pods()},
        "by_node": [tally.by_node.tolist() for tally in tallies],
        "by_domain": [tally.by_domain.tolist() for tally in tallies],
        "totals": [tally.total for tally in tallies],
        "by_node anew": [anew.tally(spec).by_node.tolist() for spec in specs_of(cluster)],
        "nominated": {name: [info.uid for info in infos] for name, infos in cluster.nominated.items()},
    }


def clashes(cluster: Cluster, info: PodInfo, row: int) -> bool:
    """Whether a pod on the node holds one of these very ports already."""
    return any(set(info.shape.ports) & set(other.shape.ports) for other in cluster.pods_on[row])


# --- loading


def test_pods_that_run_are_counted_and_finished_or_waiting_ones_are_not() -> None:
    cluster = cluster_of(
        [node("a")],
        [
            pod("runs", on="a", cpu="1", requests={GPU: "1"}),
            pod("done", on="a", cpu="1", status={"phase": "Succeeded"}),
            pod("failed", on="a", cpu="1", status={"phase": "Failed"}),
            pod("waits", cpu="1"),
            pod("promised", cpu="1", nominated="a"),
        ],
    )
    assert [info.key for info, _ in cluster.pods()] == ["default/runs"]
    assert cluster.requested.tolist() == [[1000, 0, 0, 1]]
    assert cluster.non_zero.tolist() == [[1000, 200 * 1024**2]]
    assert cluster.pod_count.tolist() == [1]
    assert [info.key for info in cluster.nominated["a"]] == ["default/promised"]
    assert cluster.find("uid-default-runs") == (cluster.pods_on[0][0], 0)
    assert cluster.find("uid-default-waits") is None


def test_places_are_kept_for_pods_that_queue_and_run_nowhere() -> None:
    objects = Objects()
    for obj in (
        node("a"),
        pod("queues", nominated="a"),
        pod("held", nominated="a"),
        pod("runs", on="a", nominated="a"),
        pod("over", nominated="a", status={"phase": "Failed"}),
        pod("waits"),
    ):
        objects.add(obj)
    cluster = Cluster.load(objects, FEATURES, lambda each: each.name != "held")
    assert {name: [info.key for info in infos] for name, infos in cluster.nominated.items()} == {
        "a": ["default/queues"]
    }
    assert [info.key for info, _ in cluster.pods()] == ["default/runs"]


def test_a_pod_cannot_be_on_two_nodes() -> None:
    cluster = cluster_of([node("a"), node("b")], [pod("web", on="a")])
    with pytest.raises(ValueError, match="default/web is already on a node"):
        cluster.add(cluster.shapes.info(pod("web")), "b")


def test_a_pod_on_a_node_that_is_not_there_is_remembered() -> None:
    cluster = cluster_of([node("a")], [pod("web", on="later", cpu="1")])
    assert cluster.pod_count.tolist() == [0]
    for there, counts in ((["a", "later"], [0, 1]), (["later"], [1]), (["a"], [0]), (["a", "later"], [0, 1])):
        cluster.replace_nodes([node(name) for name in there])
        assert cluster.columns.names == there
        assert cluster.pod_count.tolist() == counts


def test_who_is_not_there_cannot_be_forgotten() -> None:
    with pytest.raises(KeyError):
        cluster_of([node("a")]).forget("nobody")


def test_the_last_pod_takes_the_place_of_the_one_that_goes() -> None:
    cluster = cluster_of([node("a")], pods_on({"a": 4}))
    cluster.forget("uid-default-a-1")
    assert [info.pod.name for info in cluster.pods_on[0]] == ["a-0", "a-3", "a-2"]
    cluster.forget("uid-default-a-2")
    assert [info.pod.name for info in cluster.pods_on[0]] == ["a-0", "a-3"]


def test_every_change_of_a_row_is_in_the_journal() -> None:
    cluster = cluster_of([node("a"), node("b")])
    info = cluster.shapes.info(pod())
    seen = len(cluster.journal)
    cluster.assume(info, 1)
    cluster.forget(info.uid)
    assert cluster.journal[seen:] == [1, 1]


# --- assume and forget


@pytest.mark.long
@given(scenarios(max_nodes=4), st.data())
def test_forget_undoes_assume(scenario: GeneratedCluster, data: st.DataObject) -> None:
    cluster = scenario.cluster()
    info = cluster.shapes.info(scenario.pending[0])
    row = data.draw(st.integers(0, len(cluster) - 1))
    given_that(not clashes(cluster, info, row))
    before = state_of(cluster)
    cluster.assume(info, row)
    assert state_of(cluster) != before
    assert cluster.forget(info.uid) == row
    assert state_of(cluster) == before


@pytest.mark.long
@given(scenarios(max_nodes=4, max_pending=4), st.data())
def test_pods_add_up_in_any_order(scenario: GeneratedCluster, data: st.DataObject) -> None:
    one, other = scenario.cluster(), scenario.cluster()
    rows = [data.draw(st.integers(0, len(one) - 1)) for _ in scenario.pending]
    placed = list(zip(scenario.pending, rows, strict=True))
    for pending, row in placed:
        one.assume(one.shapes.info(pending), row)
    for pending in scenario.pending:
        other.shapes.info(pending)  # so that shapes have the same numbers
    for pending, row in reversed(placed):
        other.assume(other.shapes.info(pending), row)
    found, expected = state_of(one), state_of(other)
    for state in (found, expected):
        state["pods_on"] = {name: sorted(uids) for name, uids in state["pods_on"].items()}
    assert found == expected


@pytest.mark.long
@given(scenarios(max_nodes=4))
def test_totals_are_what_the_pods_of_a_node_ask_for(scenario: GeneratedCluster) -> None:
    cluster = scenario.cluster()
    table = cluster.shapes
    for row, pods in enumerate(cluster.pods_on):
        indices = [info.shape.index for info in pods]
        assert cluster.requested[row].tolist() == table.requests[indices].sum(axis=0).tolist()
        assert cluster.non_zero[row].tolist() == table.non_zero[indices].sum(axis=0).tolist()
        assert cluster.pod_count[row] == len(pods)
        held = {port for info in pods for port in info.shape.ports}
        assert {port for port, column in cluster.port_index.items() if cluster.ports[row, column]} == held


def test_a_pod_told_to_go_still_counts_for_its_node() -> None:
    cluster = cluster_of([node("a", zone="z")], pods_on({"a": 2}, cpu="1", labels={"app": "a"}))
    tally = cluster.tally(specs_of(cluster)[0])
    requested = cluster.requested.tolist()
    cluster.mark_terminating("uid-default-a-0")
    found = cluster.find("uid-default-a-0")
    assert found is not None
    assert found[0].shape.terminating
    assert [info.shape.terminating for info in cluster.pods_on[0]] == [True, False]
    assert cluster.requested.tolist() == requested
    assert tally.total == 2
    assert cluster.forget("uid-default-a-0") == 0
    assert tally.total == 1


# --- forks


@pytest.mark.long
@given(scenarios(max_nodes=4), st.data())
def test_a_fork_is_the_same_and_goes_its_own_way(scenario: GeneratedCluster, data: st.DataObject) -> None:
    cluster = scenario.cluster()
    before = state_of(cluster)
    twin = cluster.fork()
    assert state_of(twin) == before
    for pending in scenario.pending:
        twin.assume(twin.shapes.info(pending), data.draw(st.integers(0, len(cluster) - 1)))
    uids = sorted(info.uid for info, _ in twin.pods())
    told, gone = data.draw(st.sampled_from(uids)), data.draw(st.sampled_from(uids))
    twin.mark_terminating(told)
    twin.forget(gone)
    twin.nominate(twin.shapes.info(pod("late")), cluster.columns.names[0])
    twin.port_columns([("0.0.0.0", "TCP", port) for port in range(1, 20)])
    assert state_of(cluster) == before


def test_a_fork_does_not_follow_the_original() -> None:
    cluster = cluster_of([node("a")], pods_on({"a": 1}, cpu="1"))
    twin = cluster.fork()
    cluster.forget("uid-default-a-0")
    assert twin.requested.tolist() == [[1000, 0, 0]]
    assert twin.journal == []
    assert twin.columns is cluster.columns


# --- nodes


@pytest.mark.long
@given(scenarios(max_nodes=5), st.data())
def test_replacing_nodes_is_loading_anew(scenario: GeneratedCluster, data: st.DataObject) -> None:
    cluster = scenario.cluster()
    staying = data.draw(st.lists(st.sampled_from(scenario.nodes), unique_by=lambda n: n.name))
    nodes = [*staying, node(NODE_NAMES[-1], zone="z9")]
    cluster.replace_nodes(nodes)
    fresh = cluster_of(nodes, scenario.running, scenario.objects)
    found, expected = state_of(cluster), state_of(fresh)
    assert found == expected
    cluster.replace_nodes(scenario.nodes)
    back, first = state_of(cluster), state_of(scenario.cluster())
    assert back == first


def test_nodes_that_are_replaced_deal_rows_anew() -> None:
    cluster = cluster_of([node("a", zone="x"), node("b", zone="x")], pods_on({"b": 2}, cpu="1"))
    cluster.replace_nodes([node("b", zone="x"), node("c", zone="y"), node("a", zone="x", cpu="8")])
    assert cluster.columns.names == ["b", "c", "a"]
    assert cluster.requested[:, 0].tolist() == [2000, 0, 0]
    assert cluster.columns.allocatable[:, 0].tolist() == [4000, 4000, 8000]
    assert cluster.columns.label(ZONE).values == ["x", "y"]


# --- nominations and ports


def test_a_pod_is_nominated_for_one_node_at_a_time() -> None:
    cluster = cluster_of([node("a"), node("b")])
    info = cluster.shapes.info(pod())
    cluster.nominate(info, "a")
    cluster.nominate(info, "b")
    assert info.nominated == "b"
    assert {name: [i.uid for i in infos] for name, infos in cluster.nominated.items()} == {"b": [info.uid]}
    cluster.remove_nomination(info.uid)
    assert not cluster.nominated
    cluster.remove_nomination("nobody")


def test_port_columns_are_made_when_ports_are_new() -> None:
    cluster = cluster_of([node("a")], [pod("p", on="a", ports=["80"])])
    ports = [("0.0.0.0", "TCP", port) for port in (80, 81, 82)]
    assert cluster.port_columns(ports) == [0, 1, 2]
    assert cluster.port_columns(ports[::-1]) == [2, 1, 0]
    assert cluster.ports[0, :3].tolist() == [True, False, False]
    assert cluster.ports.dtype == np.bool_


def test_where_a_bound_pod_runs_is_no_part_of_its_shape() -> None:
    """Pods of one template share what is worked out for them, wherever they run."""
    cluster = cluster_of([node("a"), node("b")], [pod("p", on="a"), pod("q", on="b")])
    shapes = {info.shape for info, _ in cluster.pods()}
    assert shapes == {cluster.shapes.info(pod("waiting")).shape}


@pytest.mark.parametrize(
    "obj", [service("s", {"app": "a"}), claim("c"), device_class()], ids=lambda obj: type(obj).__name__
)
def test_a_cluster_reads_again_what_follows_from_the_kinds_that_changed_and_nothing_else(obj: Resource) -> None:
    cluster = cluster_of([node("n")], pods_on({"n": 1}))
    before = {name: getattr(cluster, name) for name in ("owners", "storage", "devices")}
    cluster.objects.add(obj)
    cluster.invalidate_kinds({type(obj).__name__})
    anew = [name for name, old in before.items() if getattr(cluster, name) is not old]
    kinds = {"owners": Owners.KINDS, "storage": Storage.KINDS, "devices": Devices.KINDS}
    assert anew == [name for name, read in kinds.items() if type(obj).__name__ in read]
    assert len(anew) == 1
    assert sum(1 for _ in cluster.pods()) == 1
