"""The objects that admission looks up."""

from __future__ import annotations

from typing import Any

from kwhatif.admission.object_store import ObjectStore
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
