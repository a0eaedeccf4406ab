"""Groups of pods: which of those that run break when nodes are drained or fail, and how many more of one fit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kwhatif
from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.commands.capacity.result import CapacityResult
from kwhatif.commands.chances.result import ChancesResult
from kwhatif.errors import UsageError
from kwhatif.results.disruption import DrainResult, OutageResult
from kwhatif.results.group_outcome import GroupDisruption
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import Json, node
from tests.scheduling.test_pod_groups import group, member

RACKS = {"GenericWorkload": True, "GangScheduling": True, "TopologyAwareWorkloadScheduling": True}
SAMPLES = Path(__file__).parents[2] / "samples" / "training"
JOB = ("batch/v1", "Job", "train")


def snapshot_of(nodes: list[Node], *objects: Resource) -> Snapshot:
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


def drain(nodes: list[Node], *objects: Resource, name: str = "a-0") -> DrainResult:
    return kwhatif.drain(name, snapshot=snapshot_of(nodes, *objects), feature_gates=RACKS)


def outage(nodes: list[Node], *objects: Resource, **options: Any) -> OutageResult:
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
        "gang default/g loses its quorum: 2 of 4 stay, needs 4; none run again",
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
    comes_back = "none run" not in text
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
    assert (failure.quorums_lost, failure.back) == (1, 0 if "none run" in text else 2)


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
    assert texts(result.groups) == ["gang default/g is disrupted: 2 of 4 stay, needs 2; none run again"]
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


# --- how many more fit


def capacity(name: str, **options: Any) -> CapacityResult:
    return kwhatif.capacity(
        [SAMPLES / f"{name}.yaml"], snapshot=SAMPLES / "cluster.yaml", feature_gates=RACKS, **options
    )


@pytest.mark.parametrize(
    ("name", "fits", "unit"), [("tune", 4, "of 4 pods"), ("train", 1, "of 8 pods"), ("pretrain", 0, "of 12 pods")]
)
def test_gangs_are_counted_as_such(name: str, fits: int, unit: str) -> None:
    """There is room for 17 workers; what counts is how many of a gang one rack has room for."""
    result = capacity(name)
    assert (result.fits, result.unit) == (fits, f"gang ml/{name} {unit}")
    assert isinstance(result.groups, tuple)
    (failing,) = result.groups
    assert failing.group == f"ml/{name}-copy-{fits + 1}"
    assert len(failing.domains) == 3
    assert not [gap for gap in result.fidelity.gaps if "one by one" in gap.what]


def test_what_capacity_counts_place_places() -> None:
    """One of the gang of eight fits, so a second one does not once the first is there."""
    gangs = [SAMPLES / f"{name}.yaml" for name in ("train", "finetune")]
    result = kwhatif.place(gangs, snapshot=SAMPLES / "cluster.yaml", feature_gates=RACKS)
    assert isinstance(result.groups, tuple)
    assert sorted((each.group, each.bound) for each in result.groups) == [("ml/finetune", 0), ("ml/train", 8)]


def test_one_pod_of_a_gang_is_not_counted_by_itself() -> None:
    with pytest.raises(UsageError, match="they are counted together"):
        capacity("tune", pod=True)


def test_nobody_is_evicted_for_a_copy_of_a_gang() -> None:
    gates = {"GenericWorkload": True, "GangScheduling": True, "WorkloadAwarePreemption": True}
    result = kwhatif.capacity([SAMPLES / "urgent.yaml"], snapshot=SAMPLES / "cluster.yaml", feature_gates=gates)
    assert result.fits == 0
    assert isinstance(result.groups, tuple)
    assert [each.evicted for each in result.groups] == [()]


# --- chances


def chances(tmp_path: Path, nodes: list[Node], *, pods: int, least: int) -> ChancesResult:
    """The chances of a gang of so many pods, in one rack."""
    gang = {"schedulingPolicy": {"gang": {"minCount": least}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}
    api = "scheduling.k8s.io/v1alpha2"
    items: list[Json] = [{"apiVersion": api, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": gang}]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulingGroup": {"podGroupName": "g"}, "containers": [container]}
    items += [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"g-{n}"}, "spec": spec} for n in range(pods)]
    manifests = tmp_path / "group.json"
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return kwhatif.chances([manifests], snapshot=snapshot_of(nodes), feature_gates=RACKS, trials=60, workers=1)


def test_of_domains_with_equal_scores_chance_takes_one(tmp_path: Path) -> None:
    result = chances(tmp_path, racks(a=1, b=1), pods=2, least=2)
    assert isinstance(result.groups, tuple)
    (found,) = result.groups
    assert found.scheduled.share == 1
    assert {each.name for each in found.domains} == {"a", "b"}
    assert all(0.2 < each.probability.share < 0.8 for each in found.domains)
    assert any("members of a group" in sentence for sentence in result.chance)


def test_which_member_finds_no_node_is_chance(tmp_path: Path) -> None:
    """Two of three have room: who comes first is as good as chance."""
    result = chances(tmp_path, racks(a=1), pods=3, least=2)
    assert all(0.1 < pod.pending.share < 0.6 for pod in result.pods)
    assert sum(pod.pending.times for pod in result.pods) == 60
    assert isinstance(result.groups, tuple)
    assert result.groups[0].scheduled.share == 1


def test_trials_leave_no_members_behind(tmp_path: Path) -> None:
    """A gang that lacks a pod waits in every trial, whatever pods there were in the one before."""
    result = chances(tmp_path, racks(a=2), pods=2, least=3)
    assert isinstance(result.groups, tuple)
    assert [(each.scheduled.times, each.domains) for each in result.groups] == [(0, ())]


# --- schemas


def test_recorded_scenarios_with_groups_are_what_their_schema_says() -> None:
    schema = json.loads((SAMPLES.parents[1] / "schemas" / "group-scenario.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    recorded = SAMPLES.parents[1] / "tests" / "conformance" / "groups" / "1.36-gang-topology.jsonl.gz"
    with gzip.open(recorded, "rt") as lines:
        for line in list(lines)[:3]:
            validator.validate(json.loads(line))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"name": "x", "objects": [], "steps": [{"create": "pods"}]})


def test_a_gap_says_that_autoscalers_see_members_one_by_one() -> None:
    groups = SAMPLES.parents[0] / "autoscaled" / "groups.yaml"
    found = kwhatif.place(
        [SAMPLES / "pretrain.yaml"], snapshot=SAMPLES / "cluster.yaml", feature_gates=RACKS, autoscale=groups
    )
    assert any("autoscalers see the members of groups" in gap.what for gap in found.fidelity.gaps)
