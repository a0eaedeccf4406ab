"""Who is nominated where, and who takes precedence there."""

from __future__ import annotations

from kwhatif.cluster.nominations import Nominations
from kwhatif.cluster.shapes import PodInfo
from tests.builders import cluster_of, node, pod


def nominations_of(*pods: tuple[str, str, int]) -> tuple[Nominations, dict[str, PodInfo]]:
    """Nominations of pods by name, node and priority, and the pods by name."""
    cluster = cluster_of([node("a"), node("b")])
    infos = {name: cluster.shapes.info(pod(name, priority=priority)) for name, _, priority in pods}
    for name, on, _ in pods:
        cluster.nominate(infos[name], on)
    return cluster.nominated, infos


def keys_of(nominated: Nominations, info: PodInfo) -> dict[str, list[str]]:
    return nominated.derive(
        info, (), lambda by_node: {on: [other.pod.name for other in others] for on, others in by_node.items()}
    )


def test_pods_of_lesser_priority_and_the_pod_itself_take_no_precedence() -> None:
    nominated, infos = nominations_of(("low", "a", 1), ("mid", "a", 5), ("high", "b", 9))
    assert keys_of(nominated, infos["mid"]) == {"b": ["high"]}
    assert keys_of(nominated, infos["low"]) == {"a": ["mid"], "b": ["high"]}
    assert keys_of(nominated, infos["high"]) == {}


def test_each_nomination_that_comes_or_goes_is_another_version() -> None:
    nominated, infos = nominations_of(("one", "a", 0), ("two", "a", 0))
    before = nominated.version
    nominated.remove("nobody")
    nominated.remove_nodes(["b"])
    assert nominated.version == before
    nominated.remove(infos["one"].uid)
    nominated.remove_nodes(["a"])
    assert (nominated.version, dict(nominated)) == (before + 2, {})


def test_a_checkpoint_brings_the_pods_back_to_their_nodes() -> None:
    nominated, infos = nominations_of(("one", "a", 0), ("two", "b", 0))
    point = nominated.checkpoint()
    nominated.remove(infos["one"].uid)
    infos["one"].nominated = ""
    nominated.go_back(point)
    assert {on: [info.pod.name for info in others] for on, others in nominated.items()} == {"a": ["one"], "b": ["two"]}
    assert (infos["one"].nominated, infos["two"].nominated) == ("a", "b")


def test_a_copy_goes_its_own_way() -> None:
    nominated, infos = nominations_of(("one", "a", 0))
    twin = nominated.copy()
    twin.remove(infos["one"].uid)
    assert (list(nominated), list(twin)) == (["a"], [])
