"""Groups of pods that run: which of them break when nodes are drained or fail."""

from __future__ import annotations

import pytest

import kwhatif
from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.pod_groups import PodGroup
from kwhatif.results.disruption import DrainResult, OutageResult
from kwhatif.results.group_outcome import GroupDisruption
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import node
from tests.scheduling.test_pod_groups import group, member

RACKS = {"GenericWorkload": True, "GangScheduling": True, "TopologyAwareWorkloadScheduling": True}
JOB = ("batch/v1", "Job", "train")


def snapshot_of(nodes: list[Node], *objects: Pod | PodGroup) -> Snapshot:
    held = Objects()
    for each in (*nodes, *objects):
        held.add(each)
    return Snapshot(objects=held)


def racks(**nodes: int) -> list[Node]:
    """So many nodes in each rack, with room for two workers each."""
    return [
        node(f"{rack}-{number}", cpu="2", labels={"rack": rack})
        for rack, size in nodes.items()
        for number in range(size)
    ]


def workers(*homes: str) -> list[Pod]:
    status = {"phase": "Running"}
    return [member(f"g-{i}", "g", cpu="1", on=home, owner=JOB, status=status) for i, home in enumerate(homes)]


def drain(nodes: list[Node], *objects: Pod | PodGroup, name: str = "a-0") -> DrainResult:
    return kwhatif.drain(name, snapshot=snapshot_of(nodes, *objects), feature_gates=RACKS)


def outage(nodes: list[Node], *objects: Pod | PodGroup, **options: tuple[str, ...]) -> OutageResult:
    return kwhatif.outage(nodes=("a-0",), snapshot=snapshot_of(nodes, *objects), feature_gates=RACKS, **options)


def texts(groups: object) -> list[str]:
    return [each.text for each in groups if isinstance(each, GroupDisruption)] if isinstance(groups, tuple) else []


CASES = [
    pytest.param(
        3,
        "rack",
        "gang default/g loses its quorum: 2 of 4 stay, needs 4; 2 run again elsewhere",
        id="members find nodes in the rack of those that stay",
    ),
    pytest.param(
        2,
        "rack",
        "gang default/g loses its quorum: 2 of 4 stay, needs 4; nobody runs again",
        id="another rack has room, but the group is kept in one",
    ),
    pytest.param(
        2,
        "",
        "gang default/g loses its quorum: 2 of 4 stay, needs 4; 2 run again elsewhere",
        id="a group without a constraint goes anywhere",
    ),
]


@pytest.mark.parametrize(("nodes", "key", "text"), CASES)
def test_a_drain_tells_which_gang_loses_its_quorum(nodes: int, key: str, text: str) -> None:
    result = drain(racks(a=nodes, b=2), group("g", least=4, key=key), *workers("a-0", "a-0", "a-1", "a-1"))
    assert texts(result.groups) == [text]
    comes_back = "nobody" not in text
    assert (
        ", 1 gang loses its quorum;" if comes_back else ", 1 gang loses its quorum for good;"
    ) in result.outcome.verdict
    assert result.exit_code == (not comes_back)
    assert not [gap for gap in result.fidelity.gaps if "one by one" in gap.what]


@pytest.mark.parametrize(("nodes", "key", "text"), CASES)
def test_an_outage_tells_which_gang_loses_its_quorum(nodes: int, key: str, text: str) -> None:
    objects = (group("g", least=4, key=key), *workers("a-0", "a-0", "a-1", "a-1"))
    (failure,) = outage(racks(a=nodes, b=2), *objects).failures
    assert texts(failure.groups) == [text]
    assert (failure.quorums_lost, failure.back) == (1, 0 if "nobody" in text else 2)


def test_one_failure_after_the_other_finds_the_groups_as_they_were() -> None:
    nodes, objects = racks(a=3), (group("g", least=4, key="rack"), *workers("a-0", "a-0", "a-1", "a-1"))
    result = kwhatif.outage(["nodes"], snapshot=snapshot_of(nodes, *objects), feature_gates=RACKS)
    told = {failure.name: texts(failure.groups) for failure in result.failures}
    assert (
        told["a-0"] == told["a-1"] == ["gang default/g loses its quorum: 2 of 4 stay, needs 4; 2 run again elsewhere"]
    )
    assert told["a-2"] == []


def test_surviving_may_take_the_quorum_of_gangs() -> None:
    objects = (group("g", least=4), *workers("a-0", "a-0", "a-1", "a-1"))
    assert outage(racks(a=3), *objects, survive=("node",), require=("quorum",)).exit_code == 1
    spare = (group("g", least=2), *workers("a-0", "a-0", "a-1", "a-1"))
    assert outage(racks(a=3), *spare, survive=("node",), require=("quorum",)).exit_code == 0


def test_a_gang_with_members_to_spare_keeps_its_quorum() -> None:
    result = drain(racks(a=2), group("g", least=2), *workers("a-0", "a-0", "a-1", "a-1"))
    assert texts(result.groups) == ["gang default/g is disrupted: 2 of 4 stay, needs 2; nobody runs again"]
    assert "quorum" not in result.outcome.verdict


def test_members_of_two_drained_nodes_come_back_together() -> None:
    """Two that wait alone are below the quorum; with two more it is met."""
    snapshot = snapshot_of(racks(a=2, b=2), group("g", least=4), *workers("a-0", "a-0", "a-1", "a-1"))
    result = kwhatif.drain(["a-0", "a-1"], snapshot=snapshot, feature_gates=RACKS)
    assert texts(result.groups) == ["gang default/g loses its quorum: 0 of 4 stay, needs 4; 4 run again elsewhere"]
    assert result.exit_code == 0


def test_without_the_gates_nothing_is_said_of_groups() -> None:
    snapshot = snapshot_of(racks(a=2), *workers("a-0", "a-1"))
    assert texts(kwhatif.drain("a-0", snapshot=snapshot).groups) == []
