from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Node
from kwhatif.api.decode import convert
from kwhatif.api.selectors import Requirement, find_untolerated_taints
from kwhatif.cluster.columns import NodeColumns, ResourceAxis
from kwhatif.cluster.shape_table import ShapeTable
from tests.builders import FEATURES, GPU, Json, node, pod
from tests.strategies import PARTS, node_lists


def columns_of(*nodes: Node) -> NodeColumns:
    return NodeColumns(nodes, ResourceAxis())


def test_names_have_rows_and_ranks() -> None:
    columns = columns_of(node("m", zone="x"), node("c", zone="x"), node("a", zone="y"))
    assert columns.names == ["m", "a", "c"]
    assert [columns.row(name) for name in ("m", "a", "c", "none")] == [0, 1, 2, None]
    assert columns.name_rank.tolist() == [2, 0, 1]
    assert [found.name for found in columns.given] == ["m", "c", "a"]
    assert len(columns) == 3


def test_allocatable_amounts_are_millicores_and_units() -> None:
    axis = ResourceAxis()
    nodes = [
        node("a", cpu="1500m", memory="1Ki", pods=7, allocatable={"ephemeral-storage": "1500m", GPU: "3"}),
        node("b", cpu="0.0001", memory="0", pods=None, allocatable={"hugepages-2Mi": "4Mi", "odd": "5"}),
    ]
    columns = NodeColumns(nodes, axis)
    assert axis.names == ["cpu", "memory", "ephemeral-storage", GPU, "hugepages-2Mi"]
    assert columns.allocatable.tolist() == [[1500, 1024, 2, 3, 0], [1, 0, 0, 0, 4 * 1024**2]]
    assert columns.allowed_pods.tolist() == [7, 0]


def test_the_axis_may_grow_later() -> None:
    axis = ResourceAxis()
    columns = NodeColumns([node("a")], axis)
    assert columns.allocatable.shape == (1, 3)
    axis.add(["example.com/new"])
    assert columns.allocatable.tolist() == [[4000, 8 * 1024**3, 0, 0]]


def test_all_resources_of_the_nodes_are_on_the_axis_from_the_start() -> None:
    axis = ResourceAxis()
    NodeColumns([node("a", allocatable={GPU: "1"})], axis)
    assert axis.find(GPU) == 3


def test_labels_are_codes_and_distinct_values() -> None:
    columns = columns_of(node("a", labels={"disk": "ssd"}), node("b"), node("c", labels={"disk": "ssd"}))
    disk = columns.label("disk")
    assert disk.codes.tolist() == [0, -1, 0]
    assert disk.values == ["ssd"]
    assert disk.present.tolist() == [True, False, True]
    assert disk.broadcast([False], missing=True).tolist() == [False, True, False]
    assert columns.label("disk") is disk
    assert columns.label("none").codes.tolist() == [-1, -1, -1]


def test_an_empty_value_is_a_value() -> None:
    disk = columns_of(node("a", labels={"disk": ""}), node("b")).label("disk")
    assert disk.codes.tolist() == [0, -1]
    assert disk.values == [""]


def test_answers_are_remembered_and_not_to_be_written_to() -> None:
    columns = columns_of(node("a", labels={"disk": "ssd"}), node("b"))
    wanted = Requirement("disk", "Exists", ())
    answer = columns.having(wanted)
    assert answer is columns.having(Requirement("disk", "Exists", ()))
    with pytest.raises(ValueError, match="read-only"):
        answer[0] = False


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        pytest.param("In", ("a",), [True, False], id="the name is one of them"),
        pytest.param("NotIn", ("a",), [False, True], id="the name is none of them"),
    ],
)
def test_fields_are_names(operator: str, values: tuple[str, ...], expected: list[bool]) -> None:
    columns = columns_of(node("a"), node("b"))
    assert columns.having(Requirement("metadata.name", operator, values), field=True).tolist() == expected
    unknown = Requirement("spec.other", operator, values)
    assert columns.having(unknown, field=True).tolist() == [operator == "NotIn"] * 2


def test_taints_are_codes_and_distinct_lists() -> None:
    columns = columns_of(
        node("a", taints=["x:NoSchedule"]),
        node("b"),
        node("c", taints=["x:NoSchedule"]),
        node("d", taints=["x=1:NoSchedule"]),
    )
    codes, lists = columns.taints
    assert codes.tolist() == [1, 0, 1, 2]
    assert [[t.value for t in taints] for taints in lists] == [[], [None], ["1"]]


def test_images_know_their_nodes_and_their_first_size() -> None:
    columns = columns_of(
        node("a", zone="x", images={"app:v1": 10}),
        node("b", zone="x", images={"app:v1": 30}),
        node("c", zone="y", images={"app:v1": 20, "db:v2": 5}),
    )
    assert columns.names == ["a", "c", "b"]
    assert columns.images["app:v1"].size == 10
    assert sorted(columns.images["app:v1"].rows.tolist()) == [0, 1, 2]
    assert columns.images["db:v2"].rows.tolist() == [1]
    assert "none" not in columns.images


def test_declared_features() -> None:
    columns = columns_of(node("a", declares=["x", "y"]), node("b"))
    assert columns.declared_features == [{"x", "y"}, frozenset()]


# --- columns say what one would say node by node


@pytest.mark.long
@given(node_lists(), st.one_of(PARTS["node selector"], PARTS["node affinity"]))
def test_a_node_affinity_matches_columns_as_it_matches_nodes(nodes: list[Node], kind: Json) -> None:
    columns = columns_of(*nodes)
    affinity = ShapeTable(FEATURES).info(pod(**kind)).shape.node_affinity
    found = columns.matching(affinity)
    assert found.dtype == np.bool_
    assert found.tolist() == [affinity.matches(n.metadata.labels or {}, n.name) for n in columns.nodes]


@pytest.mark.long
@given(node_lists(), PARTS["tolerations"])
def test_taints_are_tolerated_in_columns_as_on_nodes(nodes: list[Node], kind: Json) -> None:
    columns = columns_of(*nodes)
    shape = ShapeTable(FEATURES).info(pod(**kind)).shape
    effects = ("NoSchedule", "NoExecute")
    codes, lists = columns.find_untolerated_taints(shape, effects, comparison_operators=False)
    one_by_one = [
        find_untolerated_taints(n.spec.taints or (), shape.spec.tolerations or (), effects, comparison_operators=False)
        for n in columns.nodes
    ]
    assert [lists[code] for code in codes] == one_by_one


@pytest.mark.parametrize(
    ("status", "millicores"),
    [
        pytest.param({"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}, 3000, id="what pods may use"),
        pytest.param({"capacity": {"cpu": "4"}}, 4000, id="all there is, where nothing else is said"),
        pytest.param({"capacity": {"cpu": "4"}, "allocatable": {}}, 0, id="nothing, where that is said"),
        pytest.param({}, 0, id="nothing at all"),
    ],
)
def test_nodes_without_allocatable_amounts(status: Json, millicores: int) -> None:
    bare = convert({"metadata": {"name": "a"}, "status": status}, Node)
    assert columns_of(bare).allocatable[0, 0] == millicores
