from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.selectors import SelectorError
from kwhatif.cluster.columns import ResourceAxis
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import NEVER_STARTED, start_time
from tests.builders import FEATURES, GIB, GPU, MIB, Json, container, pod, pods_like, select
from tests.strategies import Kind, kinds


def table() -> ShapeTable:
    return ShapeTable(FEATURES)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"name": "twin"}, id="another name"),
        pytest.param({"started": "2026-01-01T00:00:00Z"}, id="another start"),
        pytest.param({"nominated": "n"}, id="a nomination"),
        pytest.param({"status": {"phase": "Running"}}, id="another phase"),
        pytest.param({"labels": {"b": "2", "a": "1"}}, id="labels in another order"),
    ],
)
def test_pods_that_no_plugin_can_tell_apart_have_one_shape(other: dict[str, Any]) -> None:
    shapes = table()
    common: Json = {"labels": {"a": "1", "b": "2"}, "cpu": "1"}
    assert shapes.info(pod(**{**common, **other})).shape is shapes.info(pod(**common)).shape
    assert len(shapes) == 1


def test_volumes_of_which_only_a_made_up_name_is_kept_leave_pods_alike() -> None:
    shapes = table()
    data = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    plain = shapes.info(pod()).shape
    for token in ("kube-api-access-x7k2p", "kube-api-access-9hq4d"):
        assert shapes.info(pod(spec={"volumes": [{"name": token, "projected": {}}]})).shape is plain
    (first, second) = (
        shapes.info(pod(spec={"volumes": [data, {"name": token}]})).shape for token in ("token-a", "token-b")
    )
    assert first is second
    assert first is not plain


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"namespace": "other"}, id="another namespace"),
        pytest.param({"labels": {"a": "2"}}, id="other labels"),
        pytest.param({"cpu": "2"}, id="other requests"),
        pytest.param({"priority": 1}, id="another priority"),
        pytest.param({"owner": ("apps/v1", "ReplicaSet", "r")}, id="a controller"),
        pytest.param({"terminating": True}, id="on its way out"),
        pytest.param(
            {"status": {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}},
            id="in the middle of a resize",
        ),
        pytest.param({"status": {"allocatedResources": {"cpu": "3"}}}, id="promised more"),
        pytest.param({"on": "n"}, id="a node it asks for"),
    ],
)
def test_what_plugins_look_at_makes_another_shape(other: dict[str, Any]) -> None:
    shapes = table()
    common: Json = {"labels": {"a": "1"}, "cpu": "1"}
    assert shapes.info(pod(**{**common, **other})).shape is not shapes.info(pod(**common)).shape


def test_where_a_bound_pod_runs_is_no_part_of_its_shape() -> None:
    shapes = table()
    here, there = (shapes.info(pod(name, on=name), bound=True) for name in ("a", "b"))
    assert here.shape is there.shape is shapes.info(pod()).shape
    assert here.shape.spec.node_name is None


def test_a_pod_has_a_key_and_an_identity() -> None:
    info = table().info(pod("web", namespace="shop"))
    assert (info.key, info.uid) == ("shop/web", "uid-shop-web")
    nameless = pod("web")
    bare = table().info(replace(nameless, metadata=replace(nameless.metadata, uid=None, namespace=None)))
    assert (bare.key, bare.uid, bare.shape.namespace) == ("default/web", "default/web", "default")


def test_a_pod_brings_its_nomination_and_its_priority() -> None:
    info = table().info(pod(nominated="n", priority=7))
    assert (info.nominated, info.priority) == ("n", 7)
    plain = table().info(pod())
    assert (plain.nominated, plain.priority, plain.start) == ("", 0, NEVER_STARTED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, NEVER_STARTED, id="never"),
        pytest.param("", NEVER_STARTED, id="an empty text"),
        pytest.param("1970-01-01T00:00:01Z", 10**9, id="seconds"),
        pytest.param("1970-01-01T00:00:00.25Z", 250_000_000, id="fractions"),
        pytest.param("1970-01-01T00:00:00.000000001Z", 1, id="nanoseconds"),
        pytest.param("1970-01-01T00:00:00.1234567899Z", 123_456_789, id="finer ones are cut off"),
        pytest.param("1970-01-01T01:00:01+01:00", 10**9, id="another time zone"),
        pytest.param("1969-12-31T23:59:59Z", -(10**9), id="before 1970"),
    ],
)
def test_start_times(text: str | None, expected: int) -> None:
    assert start_time(text) == expected


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="noon"):
        start_time("noon")


@pytest.mark.parametrize(
    ("kind", "ports"),
    [
        pytest.param({"ports": ["80"]}, [("0.0.0.0", "TCP", 80)], id="every address and TCP by default"),
        pytest.param({"ports": ["10.0.0.1:53/UDP"]}, [("10.0.0.1", "UDP", 53)], id="as they are given"),
        pytest.param({"containers": [{"ports": [{"containerPort": 80}]}]}, [], id="only ports of the host"),
        pytest.param({"containers": [{"ports": [{"hostPort": 0}]}]}, [], id="zero is none"),
        pytest.param(
            {
                "init": [container(ports=["1"]), container(ports=["2"], restart="Always")],
                "containers": [container(ports=["3"]), container(ports=["4"])],
            },
            [("0.0.0.0", "TCP", 2), ("0.0.0.0", "TCP", 3), ("0.0.0.0", "TCP", 4)],
            id="of sidecars and containers",
        ),
    ],
)
def test_host_ports(kind: Json, ports: list[tuple[str, str, int]]) -> None:
    assert list(table().info(pod(**kind)).shape.ports) == ports


def test_what_a_pod_asks_for_and_what_it_is_scored_with() -> None:
    waiting = pod(
        cpu="1",
        pod_level={"memory": "1.5Gi"},
        overhead={"memory": "1Mi"},
        status={"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
    )
    shape = table().info(waiting).shape
    assert shape.requests == {"cpu": 1000, "memory": 3 * GIB // 2 + MIB}
    assert shape.score_requests == {"cpu": 2000, "memory": 3 * GIB // 2 + MIB}
    assert shape.fit_score_requests == {"cpu": 1000, "memory": 201 * MIB}
    assert shape.drift == {"memory": MIB}


def test_every_further_sum_adds_the_drift() -> None:
    shapes = table()
    info = shapes.info(pod(pod_level={"memory": "1.5Gi"}, overhead={"memory": "1Mi"}))
    grown = shapes.drift_shape(info, 3)
    assert grown is not info.shape
    assert grown.requests["memory"] == info.shape.requests["memory"] + 3 * MIB
    info.shape = grown
    assert shapes.drift_shape(info, 1).requests["memory"] == grown.requests["memory"] + MIB


def test_terms_mean_their_own_namespace_unless_they_say_otherwise() -> None:
    terms = [
        pods_like(select(app="a")),
        pods_like(select(app="b"), namespaces=["x", "y"]),
        pods_like(select(app="c"), namespace_selector=select(team="blue")),
    ]
    shape = table().info(pod(namespace="home", near=terms, prefers_far=[(7, terms[0])])).shape
    assert [sorted(term.namespaces) for term in shape.affinity] == [["home"], ["x", "y"], []]
    assert [str(term.namespace_selector) for term in shape.affinity] == ["<none>", "<none>", "team=blue"]
    assert [term.weight for term in (*shape.affinity, *shape.preferred_anti_affinity)] == [0, 0, 0, 7]


def test_a_term_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(SelectorError, match="Near"):
        table().info(pod(near=[pods_like(select("app Near web"))]))


def test_the_axis_of_resources_only_grows() -> None:
    axis = ResourceAxis()
    axis.add(["memory", GPU, "cpu", GPU])
    assert [axis.column(name) for name in ("memory", GPU, "cpu")] == [1, 3, 0]
    assert axis.names == ["cpu", "memory", "ephemeral-storage", GPU]
    assert axis.columns(["cpu", "memory"]) == slice(0, 2)
    assert np.arange(4)[axis.columns(["memory", "cpu"])].tolist() == [1, 0]


def test_who_reads_about_a_resource_that_nobody_has_named_adds_no_column() -> None:
    axis = ResourceAxis()
    matrix = np.arange(6).reshape(2, 3)
    assert axis.find(GPU) is None
    assert axis.amounts(matrix, GPU).tolist() == [0, 0]
    assert axis.amounts(matrix, "memory").tolist() == [1, 4]
    for read in (axis.column, lambda name: axis.columns(["cpu", name])):
        with pytest.raises(KeyError):
            read(GPU)
    assert len(axis) == 3


def test_what_is_marked_to_go_is_a_pod_of_another_shape() -> None:
    shapes = table()
    info = shapes.info(pod("web", labels={"app": "web"}, started="2026-01-01T00:00:00Z"))
    going = shapes.terminating(info)
    assert going.shape.terminating
    assert not info.shape.terminating
    assert (going.uid, going.key, going.start) == (info.uid, info.key, info.start)


@given(st.lists(kinds(), min_size=3, max_size=3))
def test_the_table_holds_every_shape_as_a_row(some: list[Kind]) -> None:
    shapes = table()
    # More than the table has room for at first.
    infos = [shapes.info(pod(priority=priority, **kind)) for kind in some for priority in range(9)]
    assert [info.shape.index for info in infos] == [shapes.shapes.index(info.shape) for info in infos]
    assert shapes.priorities.tolist() == [shape.priority for shape in shapes.shapes]
    assert shapes.requests.shape == (len(shapes), len(shapes.resources))
    for shape, row in zip(shapes.shapes, shapes.requests, strict=True):
        named = dict(zip(shapes.resources.names, row.tolist(), strict=True))
        assert {name: amount for name, amount in named.items() if amount} == {
            name: amount for name, amount in shape.score_requests.items() if amount
        }


def test_the_table_widens_for_many_resources() -> None:
    shapes = table()
    names = [f"example.com/r{i}" for i in range(20)]
    infos = [shapes.info(pod(name[-3:], requests={name: "3"})) for name in names]
    assert shapes.requests.shape == (20, 23)
    assert all(shapes.requests[info.shape.index, 3 + i] == 3 for i, info in enumerate(infos))
    assert shapes.requests.sum() == 60
