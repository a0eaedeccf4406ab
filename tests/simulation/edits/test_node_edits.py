"""What becomes of a node when somebody edits it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given

from kwhatif.api.core import Condition, Node, Taint
from kwhatif.api.quantity import Quantity
from kwhatif.simulation.edits.add_nodes import new_node
from kwhatif.simulation.edits.cordon import cordon_node, uncordon_node
from kwhatif.simulation.edits.label import label_node
from kwhatif.simulation.edits.set_amount import resize_node
from kwhatif.simulation.edits.taint import taint_node, untaint_node
from tests.builders import HOSTNAME, REGION, ZONE, node
from tests.strategies import node_lists


def amounts(**texts: str) -> dict[str, Quantity]:
    return {name.replace("_", "-"): Quantity.parse(text) for name, text in texts.items()}


def taints(of: Node) -> list[str]:
    return [f"{t.key}={t.value or ''}:{t.effect}" for t in of.spec.taints or ()]


def test_a_cordon_comes_with_the_taint_that_the_node_lifecycle_controller_adds() -> None:
    edited = cordon_node(node("n", taints=["a:NoSchedule"]))
    assert edited.spec.unschedulable
    assert taints(edited) == ["a=:NoSchedule", "node.kubernetes.io/unschedulable=:NoSchedule"]


@given(node_lists(max_size=1))
def test_cordoning_twice_is_cordoning_once_and_uncordoning_undoes_it(nodes: list[Node]) -> None:
    (one,) = nodes
    was = uncordon_node(one)
    assert cordon_node(cordon_node(one)) is not one
    assert cordon_node(was) == cordon_node(cordon_node(was))
    back = uncordon_node(cordon_node(was))
    assert (back.spec.unschedulable or False, back.spec.taints or []) == (False, was.spec.taints or [])
    assert msgspec.structs.replace(back, spec=was.spec) == was


def test_a_taint_takes_the_place_of_one_with_the_same_key_and_effect() -> None:
    edited = taint_node(
        node("n", taints=["a=1:NoSchedule", "a=1:NoExecute"]), Taint(key="a", value="2", effect="NoSchedule")
    )
    assert taints(edited) == ["a=2:NoSchedule", "a=1:NoExecute"]
    assert taints(taint_node(edited, Taint(key="b", effect="NoExecute")))[-1] == "b=:NoExecute"


def test_taints_go_by_key_or_by_key_and_effect() -> None:
    both = node("n", taints=["a=1:NoSchedule", "a=1:NoExecute", "b:NoSchedule"])
    assert taints(untaint_node(both, "a")) == ["b=:NoSchedule"]
    assert taints(untaint_node(both, "a", "NoExecute")) == ["a=1:NoSchedule", "b=:NoSchedule"]
    assert untaint_node(both, "c") is both


UNCHANGED: dict[str, Callable[[Node], Node]] = {
    "cordon a cordoned node": cordon_node,
    "a taint that is there": lambda n: taint_node(n, Taint(key="a", value="1", effect="NoSchedule")),
    "a label that is there": lambda n: label_node(n, {HOSTNAME: "n", "gone": None}),
    "the amounts it has": lambda n: resize_node(n, amounts(cpu="4"), {}),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_is_so_already_comes_back_as_it_is(case: str) -> None:
    there = cordon_node(node("n", taints=["a=1:NoSchedule"]))
    assert UNCHANGED[case](there) is there


def test_labels_are_set_and_taken_away() -> None:
    edited = label_node(node("n", labels={"a": "1", "b": "2"}), {"a": "3", "b": None, "c": "4"})
    assert edited.metadata.labels == {HOSTNAME: "n", "a": "3", "c": "4"}


def test_an_allocatable_amount_is_set_alone() -> None:
    edited = resize_node(node("n", cpu="4", memory="8Gi"), amounts(cpu="8"), {})
    assert edited.status.for_pods == {**amounts(cpu="8", memory="8Gi", pods="110")}


SIZES = {
    "what is reserved stays so": ("16", "13500m"),
    "less than what is reserved leaves nothing": ("2", "0"),
    "the same capacity": ("4", "1500m"),
}


@pytest.mark.parametrize("case", SIZES)
def test_a_capacity_moves_what_is_allocatable(case: str) -> None:
    capacity, left = SIZES[case]
    there = node("n", cpu="1500m")
    there = msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, capacity=amounts(cpu="4")))
    edited = resize_node(there, {}, amounts(cpu=capacity))
    assert (edited.status.capacity or {})["cpu"] == Quantity.parse(capacity)
    assert edited.status.for_pods["cpu"] == Quantity.parse(left)


def test_a_capacity_of_something_new_is_allocatable_as_a_whole_and_what_is_said_wins() -> None:
    edited = resize_node(node("n"), {}, amounts(ephemeral_storage="10Gi"))
    assert edited.status.for_pods["ephemeral-storage"] == Quantity.parse("10Gi")
    edited = resize_node(node("n"), amounts(cpu="3"), amounts(cpu="8"))
    assert edited.status.for_pods["cpu"] == Quantity.parse("3")


# --- new nodes


def test_a_new_node_is_like_another_but_for_what_tells_how_that_one_fares() -> None:
    like = node(
        "n",
        zone="a",
        labels={REGION: "r", "pool": "batch", "topology.example.com/node": "n"},
        taints=["dedicated=batch:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"],
        images={"app:v1": 7},
        cordoned=True,
    )
    like = msgspec.structs.replace(
        like, status=msgspec.structs.replace(like.status, conditions=[Condition(type="Ready", status="False")])
    )
    made = new_node(like, "n-new-1", places={}, labels={}, taints=[])
    own = {HOSTNAME: "n-new-1", ZONE: "a", REGION: "r", "pool": "batch", "topology.example.com/node": "n-new-1"}
    assert made.metadata.labels == own
    assert (made.name, made.spec.unschedulable, made.spec.provider_id) == ("n-new-1", None, None)
    assert taints(made) == ["dedicated=batch:NoSchedule"]
    assert made.status.images is None
    assert made.status.for_pods == like.status.for_pods
    assert [(c.type, c.status) for c in made.status.conditions or ()] == [("Ready", "True")]
    assert made.metadata.uid
    assert made.metadata.uid != like.metadata.uid


def test_zone_means_the_labels_of_that_name_that_agree_with_kubernetes_own() -> None:
    labels = {"topology.csi.example.com/zone": "a", "other.example.com/zone": "z", "pool": "a"}
    made = new_node(node("n", zone="a", labels=labels), "new", places={"zone": "b"}, labels={}, taints=[])
    found = made.metadata.labels or {}
    assert (found[ZONE], found["topology.csi.example.com/zone"]) == ("b", "b")
    assert (found["other.example.com/zone"], found["pool"]) == ("z", "a")


def test_any_other_place_is_a_label() -> None:
    made = new_node(node("n"), "new", places={"rack": "7"}, labels={"pool": "x", HOSTNAME: None}, taints=[])
    assert made.metadata.labels == {"rack": "7", "pool": "x"}


def test_a_new_node_can_have_taints_of_its_own() -> None:
    more = [Taint(key="a", effect="NoSchedule"), Taint(key="b", value="2", effect="NoExecute")]
    made = new_node(node("n", taints=["a=1:NoSchedule"]), "new", places={}, labels={}, taints=more)
    assert taints(made) == ["a=:NoSchedule", "b=2:NoExecute"]
