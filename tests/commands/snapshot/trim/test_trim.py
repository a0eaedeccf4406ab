"""What is cut away changes nothing: checked against decisions recorded from a real kube-scheduler, and in the small."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.commands.conformance.scenario_files import read_scenarios, replay_scenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.commands.snapshot.trim.decision import decide
from kwhatif.commands.snapshot.trim.text import trim_blocks
from kwhatif.commands.snapshot.trim.trim import TrimmedSnapshot, build_trim_result, check_and_write, trim, unbind_pods
from kwhatif.errors import InputError
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.render.tables import text_of
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.inputs import SchedulerOptions
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import decode_objects
from kwhatif.snapshot.read.objects import decode
from tests.builders import FEATURES, budget, namespace, node, pod, pods_like, select, service
from tests.simulation.snapshots import snapshot_of
from tests.storage_builders import claim, claiming, storage_class

RECORDED = Path(__file__).parents[3] / "conformance"
# Those of equal nodes are replayed in another way; in the others nominations of pods that are not asked about count.
NOT_TRIMMED = ("ties", "edges")
FAMILIES = sorted(
    path.name for path in RECORDED.glob("1.36-*.jsonl.gz") if not any(name in path.name for name in NOT_TRIMMED)
)
SETUP = Setup(load_configuration(None, source=""), FEATURES)


def trimmed(
    snapshot: Snapshot, *pods: Pod, setup: Setup = SETUP, nodes_too: bool = False, steps: int | None = None
) -> TrimmedSnapshot:
    waiting, asked = unbind_pods(snapshot, [PodToSchedule(each) for each in pods])
    return trim(Session(waiting, setup), asked, nodes_too=nodes_too, most_steps=steps)


def names(result: TrimmedSnapshot) -> set[str]:
    return {f"{type(obj).__name__} {obj.name}" for obj in result.snapshot.objects}


# --- the law


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_a_trimmed_recording_is_decided_as_it_was_recorded(family: str) -> None:
    # Clusters that are sampled have hundreds of nodes; one of them takes as long as all others together.
    before = after = 0
    for where, scenario in islice(read_scenarios(str(RECORDED / family)), 1 if "sampling" in family else 3):
        assert isinstance(scenario, SchedulerScenario)
        snapshot, (first, *_) = Snapshot(objects=decode_objects(scenario.objects)), scenario.pods
        setup = Setup(load_configuration(scenario.config, source=where), FEATURES)
        result = trimmed(snapshot, decode(first, Pod), setup=setup)
        assert result.complete
        before, after = before + len(snapshot.objects) + 1, after + len(result.snapshot.objects)
        check_against_the_recording(scenario, result)
    assert after < 0.7 * before


def check_against_the_recording(scenario: SchedulerScenario, result: TrimmedSnapshot) -> None:
    """Replay what is left, in the way recordings are replayed."""
    left = [
        obj for obj in result.snapshot.objects if not (isinstance(obj, Pod) and obj.key == result.decision.pods[0][0])
    ]
    raws = [_raw(obj) for obj in left]
    got = replay_scenario(SchedulerScenario(scenario.name, raws, scenario.pods[:1], scenario.config))["pods"][0][
        "attempts"
    ]
    assert scenario.expected is not None
    wanted = msgspec.to_builtins(scenario.expected.pods[0].attempts)
    assert len(got) == len(wanted)
    there = {obj.name for obj in left if isinstance(obj, Node)}
    for mine, recorded in zip(got, wanted, strict=True):
        for field in ("selected", "message", "nominated", "victims", "winners", "error"):
            assert mine.get(field) == recorded.get(field), (scenario.name, field)
        rejected = {name: status for name, status in (recorded["rejected"] or {}).items() if name in there}
        assert {name: dict(status) for name, status in mine.get("rejected", {}).items()}.keys() == rejected.keys()
        for name, status in rejected.items():
            assert sorted(mine["rejected"][name]["reasons"]) == sorted(status["reasons"]), (scenario.name, name)
        if len(recorded["sampled"] or ()) > 1 and sorted(recorded["sampled"]) == recorded["feasible"]:
            assert _added(mine.get("scores")) == _added(recorded["scores"]), scenario.name


def _raw(obj: Resource) -> msgspec.Raw:
    groups = {"PodDisruptionBudget": "policy/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}
    kind = type(obj).__name__
    plain = msgspec.to_builtins(obj, enc_hook=plain_quantity)
    return msgspec.Raw(msgspec.json.encode({"apiVersion": groups.get(kind, "v1"), "kind": kind} | plain))


def _added(scores: dict[str, dict[str, int]] | None) -> dict[str, dict[str, int]]:
    """To skip a pod is to add nothing."""
    return {node: {p: score for p, score in own.items() if score} for node, own in (scores or {}).items()}


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_with_fewer_nodes_the_outcome_is_the_recorded_one_but_for_numbers(family: str) -> None:
    for where, scenario in islice(read_scenarios(str(RECORDED / family)), 1 if "sampling" in family else 2):
        assert isinstance(scenario, SchedulerScenario)
        setup = Setup(load_configuration(scenario.config, source=where), FEATURES)
        snapshot = Snapshot(objects=decode_objects(scenario.objects))
        result = trimmed(snapshot, decode(scenario.pods[0], Pod), setup=setup, nodes_too=True)
        assert scenario.expected is not None
        _, cycles = decide(Session(result.snapshot, setup), result.snapshot, _waiting(result)).pods[0]
        recorded = scenario.expected.pods[0].attempts
        # Recorders take the first of the winners by name; which one a scheduler takes depends on the nodes there are.
        assert all(cycle.node in (attempt.winners or [""]) for cycle, attempt in zip(cycles, recorded, strict=True))
        assert [sorted(cycle.victims) for cycle in cycles] == [attempt.victims or [] for attempt in recorded]


def _waiting(result: TrimmedSnapshot) -> list[PodToSchedule]:
    key = result.decision.pods[0][0]
    return [PodToSchedule(pod) for pod in result.snapshot.objects.list_all(Pod) if pod.key == key]


# --- in the small

FULL = [node("a", cpu="2"), node("b", cpu="2"), node("c", cpu="4", taints=["gpu:NoSchedule"])]
TENANTS = [pod(f"{name}{i}", on=name, cpu="900m", priority=5) for name in "ab" for i in range(2)]


def test_what_no_plugin_reads_and_what_is_over_goes() -> None:
    snapshot = snapshot_of(
        *FULL, *TENANTS, namespace("default"), service("s", {"app": "web"}), storage_class("std"),
        pod("done", on="a", cpu="1", status={"phase": "Succeeded"}), pod("also-waiting", cpu="1"),
    )  # fmt: skip
    assert names(trimmed(snapshot, pod("p", cpu="1"))) == {
        *("Node a", "Node b", "Node c", "Pod p"), *("Pod a0", "Pod a1", "Pod b0", "Pod b1"),
    }  # fmt: skip


def test_of_the_pods_in_the_way_as_few_are_kept_as_are_in_the_way() -> None:
    crowd = [pod(f"small{i}", on="a", cpu="100m", priority=5) for i in range(20)]
    snapshot = snapshot_of(node("a", cpu="2"), *crowd)
    result = trimmed(snapshot, pod("p", cpu="1500m", priority=1))
    # 1500m do not fit beside 600m; with five of them they would.
    assert len(result.snapshot.objects.list_all(Pod)) == 1 + 6
    assert [cycle.message for cycle in result.decision.cycles] == [
        cycle.message for cycle in decide(Session(result.snapshot, SETUP), result.snapshot, _waiting(result)).cycles
    ]


def test_a_message_keeps_its_nodes_unless_they_may_go_too() -> None:
    many = [node(f"n{i:02}", cpu="1") for i in range(20)] + [node("t", taints=["gpu:NoSchedule"])]
    asks = pod("p", cpu="3")
    kept = trimmed(snapshot_of(*many), asks)
    assert len(kept.snapshot.objects.list_all(Node)) == 21
    few = trimmed(snapshot_of(*many), asks, nodes_too=True)
    assert names(few) == {"Node n00", "Node t", "Pod p"}
    (cycle,) = decide(Session(few.snapshot, SETUP), few.snapshot, _waiting(few)).cycles
    assert cycle.message.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).")


def test_a_pod_that_is_placed_keeps_its_rivals_unless_they_may_go_too() -> None:
    rivals = [node(f"n{i}", cpu=str(2 + i)) for i in range(5)]
    snapshot = snapshot_of(*rivals, node("small", cpu="1"), node("t", taints=["gpu:NoSchedule"]))
    assert names(trimmed(snapshot, pod("p", cpu="2"))) == {*(f"Node n{i}" for i in range(5)), "Pod p"}
    assert names(trimmed(snapshot, pod("p", cpu="2"), nodes_too=True)) == {"Node n3", "Node n4", "Pod p"}


def test_a_running_pod_waits_in_the_new_snapshot() -> None:
    runs = pod("p", on="a", cpu="1", started="2026-01-01T00:00:00Z", status={"phase": "Running"})
    result = trimmed(snapshot_of(node("a"), runs), runs)
    (left,) = result.snapshot.objects.list_all(Pod)
    assert (left.spec.node_name, left.status.phase, left.status.start_time) == (None, "Pending", None)
    assert result.decision.cycles[0].node == "a"


def test_victims_and_what_protects_others_stay() -> None:
    snapshot = snapshot_of(
        node("a", cpu="2"), node("b", cpu="2"),
        pod("guarded", on="a", cpu="2", labels={"app": "db"}), pod("free", on="b", cpu="2"),
        budget("db", select(app="db")), budget("other", select(app="other")),
    )  # fmt: skip
    result = trimmed(snapshot, pod("p", cpu="2", priority=10))
    assert names(result) == {"Node a", "Node b", "Pod guarded", "Pod free", "Pod p", "PodDisruptionBudget db"}
    assert result.decision.cycles[0].victims == ("default/free",)


def test_claims_and_pods_that_affinity_is_about_stay() -> None:
    near = pods_like(select(app="web"), by="kubernetes.io/hostname")
    snapshot = snapshot_of(
        *(node(name) for name in "abc"), pod("web", on="b", labels={"app": "web"}), pod("db", on="c"),
        claim("data"), claim("other"), storage_class("std", provisioner="kubernetes.io/no-provisioner"),
    )  # fmt: skip
    result = trimmed(snapshot, pod("p", near=[near]))
    assert names(result) == {"Node b", "Pod web", "Pod p"}
    lacking = trimmed(snapshot, claiming("data", name="q"))
    assert {"PersistentVolumeClaim data", "StorageClass std"} <= names(lacking)
    assert "PersistentVolumeClaim other" not in names(lacking)


def test_several_pods_are_placed_one_after_the_other() -> None:
    snapshot = snapshot_of(node("a", cpu="2"), pod("other", on="gone"))
    result = trimmed(snapshot, pod("p", cpu="2"), pod("q", cpu="1", priority=5))
    assert [(key, cycles[-1].outcome) for key, cycles in result.decision.pods] == [
        ("default/q", "placed"),
        ("default/p", "unschedulable"),
    ]
    assert names(result) == {"Node a", "Pod p", "Pod q"}


def test_a_gated_pod_depends_on_nothing() -> None:
    gated = pod("p", spec={"schedulingGates": [{"name": "example.com/quota"}]})
    assert names(trimmed(snapshot_of(*FULL, *TENANTS), gated, nodes_too=True)) <= {"Node a", "Pod p"}


def test_a_pod_that_is_refused_at_once_needs_one_node_to_be_refused() -> None:
    snapshot = snapshot_of(*FULL, *TENANTS)
    snapshot.objects.put(PersistentVolumeClaim, [])
    result = trimmed(snapshot, claiming("gone", name="p"), nodes_too=True)
    assert names(result) == {"Node a", "Pod p"}


def test_where_the_steps_run_out_what_is_left_still_decides_the_same() -> None:
    snapshot = snapshot_of(*FULL, *TENANTS, namespace("default"))
    result = trimmed(snapshot, pod("p", cpu="100m"), steps=2)
    assert (result.steps, result.complete) == (2, False)
    same, _ = result.decision.against(
        decide(Session(result.snapshot, SETUP), result.snapshot, _waiting(result)), loosely=False
    )
    assert same


def test_the_same_question_gives_the_same_snapshot() -> None:
    snapshot = snapshot_of(*FULL, *TENANTS)
    once, again = (trimmed(snapshot, pod("p", cpu="1")) for _ in range(2))
    assert list(once.snapshot.objects) == list(again.snapshot.objects)
    assert once.steps == again.steps


def test_a_pod_that_has_a_nomination_stays_where_it_takes_the_room(tmp_path: Path) -> None:
    first = pod("first", cpu="2", priority=10, nominated="a")
    snapshot = snapshot_of(node("a", cpu="2"), first, pod("idle", nominated="a", priority=10))
    result = trimmed(snapshot, pod("p", cpu="1"))
    assert "1 Insufficient cpu" in result.decision.cycles[0].message
    assert names(result) == {"Node a", "Pod first", "Pod p"}
    file = str(tmp_path / "small.json")
    decision = check_and_write(result, Session(snapshot, SETUP), _waiting(result), file, loosely=False)
    told_of = build_trim_result(snapshot, result, decision, file, SchedulerOptions())
    assert told_of.others_pending == ("default/first",)
    shown = text_of(trim_blocks(told_of))
    assert "Nominated pods are kept, too" in shown
    assert shown.splitlines()[3].endswith(file)


def test_what_reads_back_otherwise_is_not_written(tmp_path: Path) -> None:
    result = trimmed(snapshot_of(*FULL), pod("p", cpu="1"))
    other = trimmed(snapshot_of(*FULL), pod("p", cpu="3"))
    file = tmp_path / "small.json"
    with pytest.raises(InputError, match="gives another decision once it is read back: nothing was written"):
        check_and_write(
            replace(result, decision=other.decision),
            Session(result.snapshot, SETUP),
            _waiting(result),
            str(file),
            loosely=False,
        )
    assert list(tmp_path.iterdir()) == []
