"""The objects that admission looks up."""

from __future__ import annotations

from typing import Any

from kwhatif.admission.object_store import Index, ObjectStore, name_of
from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from tests.admission.objects import in_cluster, make, pod


def test_objects_are_found_by_kind_namespace_and_name() -> None:
    node, there = in_cluster("Node", "n"), pod("p")
    world = ObjectStore([node, there])
    assert world.get("Node", "", "n") is node
    assert world.get("Pod", "default", "p") is there
    assert world.get("Pod", "other", "p") is None
    assert list(world.all("Pod", "default")) == list(world.all("Pod")) == [there]
    assert (world.knows("Pod"), world.knows("LimitRange")) == (True, False)


def test_a_kind_stays_known_when_its_last_object_has_gone() -> None:
    world = ObjectStore([make("LimitRange")])
    world.remove("LimitRange", "default", "x")
    assert world.knows("LimitRange")
    assert not list(world.all("LimitRange"))


def test_who_watches_sees_what_was_and_what_is() -> None:
    first, second = pod("p"), pod("p", nodeName="n")
    seen: list[tuple[Any, Any]] = []
    world = ObjectStore()
    world.watch(lambda before, now: seen.append((before, now)))
    world.put(first)
    world.put(second)
    world.remove("Pod", "default", "p")
    world.remove("Pod", "default", "p")
    assert seen == [(None, first), (first, second), (second, None)]


def _stored(*names: str) -> ObjectStore:
    """A store with pods that nobody has looked at yet."""
    world = ObjectStore()
    world.put_all("Pod", [convert(pod(name), Pod) for name in names])
    return world


def test_objects_that_nobody_has_looked_at_were_there_first() -> None:
    world = _stored("a", "b")
    world.put(pod("c"))
    assert world.get("Pod", "default", "d") is None
    assert [name_of(each) for each in world.all("Pod", "default")] == ["a", "b", "c"]
    assert [name_of(each) for each in world.all("Pod")] == ["a", "b", "c"]
    assert [world.is_sketch(each) for each in world.all("Pod")] == [True, True, False]


def test_one_that_nobody_has_looked_at_is_replaced_and_removed_as_any() -> None:
    seen: list[tuple[str, str]] = []
    world = _stored("a", "b", "c")
    world.watch(lambda before, now: seen.append((name_of(before or {}), name_of(now or {}))))
    twin = world.copy()
    world.put(pod("b", nodeName="n"))
    world.remove("Pod", "default", "a")
    assert seen == [("b", "b"), ("a", "")]
    assert [name_of(each) for each in world.all("Pod")] == ["b", "c"]
    assert [name_of(each) for each in twin.all("Pod")] == ["a", "b", "c"]
    assert not world.is_sketch(world.get("Pod", "default", "b") or {})


def test_a_kind_is_indexed_with_those_that_nobody_has_looked_at() -> None:
    index = Index("Pod", lambda obj: [name_of(obj)])
    world = _stored("a")
    world.put(pod("b"))
    assert [len(world.find(index, name)) for name in "abc"] == [1, 1, 0]
    assert (world.has("Pod"), world.has_sketches("Pod"), world.has_sketches("Node")) == (True, True, False)
