"""Every question goes by what Kueue decides: who waits has no node, who is admitted has its flavors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from kwhatif.api.kueue import KueueWorkload
from kwhatif.errors import UsageError
from kwhatif.kueue.kueue_objects import KueueState, kueue_objects
from kwhatif.kueue.run import KueueRun
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.objects import decode_objects
from tests.commands.queue.test_queue import cluster_queue, job, kueue, queues, there, workload

SAMPLES = Path(__file__).parents[3] / "samples" / "kueue"
TRAIN, EVALUATE, MORE = (str(SAMPLES / f"{name}.yaml") for name in ("train", "evaluate", "more"))


def read(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((SAMPLES / f"{name}.yaml").read_text()))


def pod(name: str, namespace: str, job: str, node: str = "", **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": True}
    container = {"name": "main", "image": "main", "resources": {"requests": {"nvidia.com/gpu": "4"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": name, "ownerReferences": [owner]},
        "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
        "status": {"phase": "Running" if node else "Pending"},
    }


def cluster(*pods: dict[str, Any]) -> Snapshot:
    """The sample, with the pods of its workloads: segment has one node of A100, tune half of the other."""
    running = [
        *(pod(f"segment-{k}", "vision", "segment", "a100-1") for k in range(2)),
        pod("tune-0", "vision", "tune", "a100-2"),
        *(pod(f"tokenize-{k}", "language", "tokenize", "h100-1") for k in range(2)),
    ]
    return Snapshot(objects=decode_objects([*read("cluster"), *running, *pods]))


def test_pods_of_a_job_that_waits_are_gated_with_kueues_reason() -> None:
    result = kwhatif.place([EVALUATE], snapshot=cluster())
    assert [each.outcome for each in result.placements] == ["gated", "gated"]
    assert "insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more needed" in result.placements[0].message
    assert "Kueue admits 0 of 1 workload" in result.verdict
    assert result.exit_code == 1


def test_pods_of_an_admitted_job_go_where_their_flavor_is_once_the_preempted_are_gone() -> None:
    result = kwhatif.place([TRAIN], snapshot=cluster())
    assert {each.node for each in result.placements} == {"a100-2"}
    assert [each.pod for each in result.outcome.victims] == ["vision/tune-0"]
    waits = [(each.pod, each.cause) for each in result.outcome.pending]
    assert waits == [("vision/tune-0", "evicted")]
    assert result.outcome.pending[0].why.startswith("Kueue: ")
    assert not result.good


def test_admitted_by_kueue_but_without_a_node() -> None:
    other = pod("other", "language", "other", "a100-2")
    result = kwhatif.place([TRAIN], snapshot=cluster(other))
    assert [each.outcome for each in result.placements] == ["placed", "unschedulable"]
    assert "1 of 2 pods placed" in result.verdict
    assert "Kueue admits 1 of 1 workload" in result.verdict


def test_room_for_a_job_that_waits_ends_with_kueues_reason_and_not_with_the_nodes() -> None:
    result = kwhatif.capacity([EVALUATE], snapshot=cluster(), assume_empty=True)
    assert (result.fits, result.ended, result.exit_code) == (0, "gate", 1)
    assert result.message.startswith("Kueue: couldn't assign flavors")


def test_with_more_quota_those_that_waited_begin_too() -> None:
    result = kwhatif.place([EVALUATE, MORE], snapshot=cluster(), assume_empty=True)
    pods = {each.pod for each in result.placements}
    assert pods == {"vision/evaluate-1", "vision/evaluate-2", "vision/ablation-main-0", "vision/ablation-main-1"}
    assert "Kueue admits 1 of 1 workload" in result.verdict


def test_a_pod_behind_the_gate_is_released_when_its_workload_is_admitted() -> None:
    held = pod("ablation-0", "vision", "ablation", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    waits = kwhatif.explain(["vision/ablation-0"], snapshot=cluster(held))
    assert waits.pods[0].placement.outcome == "gated"
    assert waits.pods[0].refusal.startswith("Kueue: ")
    assert not waits.pods[0].fixes
    begins = kwhatif.place([MORE], snapshot=cluster(held))
    assert [(each.pod, each.node) for each in begins.placements] == [("vision/ablation-0", "a100-2")]


@pytest.mark.long
@pytest.mark.parametrize("ask", [kwhatif.place, kwhatif.gate])
def test_place_and_gate_say_what_queue_says(ask: Any) -> None:
    for manifest in (TRAIN, EVALUATE):
        admitted = kwhatif.queue([manifest], snapshot=cluster()).workloads[0].status == "admitted"
        outcome = ask([manifest], snapshot=cluster()).outcome
        assert f"Kueue admits {int(admitted)} of 1 workload" in outcome.verdict


def test_expand_shows_the_pods_as_kueue_lets_them_start() -> None:
    admitted = kwhatif.expand([TRAIN], snapshot=cluster())
    assert {each.pod for each in admitted.pods} == {"language/train-1", "language/train-2"}
    assert {each.object["spec"]["nodeSelector"]["example.com/gpu"] for each in admitted.pods} == {"a100"}
    assert not any("Kueue" in gap.what for gap in admitted.gaps)
    (change,) = [each for each in admitted.pods[0].changes if each.step == "Kueue"]
    assert (change.path, change.text) == ("spec.nodeSelector", 'set to {"example.com/gpu": "a100"}')
    waits = kwhatif.expand([EVALUATE], snapshot=cluster())
    assert waits.pods[0].object["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/admission"}]


def test_of_a_suspended_job_without_pods_explain_says_that_kueue_lets_it_wait() -> None:
    with pytest.raises(
        UsageError, match="has no pods in the snapshot: Kueue lets its workload vision/job-ablation wait"
    ):
        kwhatif.explain(["job/vision/ablation"], snapshot=cluster())


def test_two_configurations_of_kueue_are_compared_by_what_becomes_of_the_pods() -> None:
    old = [each for each in read("cluster") if (each["kind"], each["metadata"]["name"]) == ("ClusterQueue", "vision")]
    result = kwhatif.diff([EVALUATE], old=old, new=read("more"), snapshot=cluster())
    assert "Kueue admits 0 of 1 workload" in result.a.outcome.verdict
    assert "Kueue admits 1 of 1 workload" in result.b.outcome.verdict
    assert {each.pod for each in result.changes if each.what == "only in B"} == {
        "vision/ablation-main-0",
        "vision/ablation-main-1",
    }


@pytest.mark.parametrize(("answers", "status"), [(True, "admitted"), (False, "quotaReserved")])
def test_autoscalers_answer_provisioning_requests_and_nobody_other_checks(answers: bool, status: str) -> None:
    check = kueue(
        "AdmissionCheck",
        "nodes",
        spec={"controllerName": "kueue.x-k8s.io/provisioning-request"},
        status={"conditions": [{"type": "Active", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    )
    made = there(
        *queues(cluster_queue("a", "4", admissionChecksStrategy={"admissionChecks": [{"name": "nodes"}]})), check
    )
    found = kueue_objects(made.objects, {}, {})
    asked = decode_objects([workload("train", "a", "1")]).list_all(KueueWorkload)
    run = KueueRun(KueueState(found), [*found.workloads, *asked], 0, answers_provisioning=answers)
    run.rest()
    assert run.state.workloads["ml/train"].status == status


def test_objects_of_kueue_in_the_manifests_are_no_unknown_kinds() -> None:
    result = kwhatif.place([EVALUATE, MORE], snapshot=cluster(), assume_empty=True)
    assert [each.what for each in result.fidelity.gaps if "unknown to kwhatif" in each.what] == []


def test_autoscale_is_asked_by_kueue_before_it_admits(tmp_path: Path) -> None:
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request"}
    queue = cluster_queue("a", "4", admissionChecksStrategy={"admissionChecks": [{"name": "nodes"}]})
    made = there(*queues(queue), kueue("AdmissionCheck", "nodes", spec=spec))
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    groups = {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "NodeGroups",
        "groups": [{"name": "g", "min": 0, "max": 2, "template": {"capacity": room, "allocatable": room}}],
    }
    mine = job("mine", "1", **{"queue-name": "a"})
    path = tmp_path / "groups.json"
    path.write_text(json.dumps(groups))
    result = kwhatif.autoscale([mine], snapshot=made, groups=str(path), assume_empty=True)
    assert "Kueue admits 1 of 1 workload" in result.outcome.verdict
    assert "1 of 1 pod" in result.outcome.verdict


def test_pods_go_to_the_domains_that_the_topology_gives_them() -> None:
    levels = ("rack", "kubernetes.io/hostname")
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"rack": rack, "kubernetes.io/hostname": name}},
            "status": {
                "allocatable": {"cpu": "2", "pods": "10", "memory": "1Gi"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2"), ("n4", "r2"))
    ]
    busy = pod("busy", "ml", "other", "n1")
    busy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    made = queues(cluster_queue("a", "100"))
    made[0]["spec"] = {"topologyName": "racks"}
    topology = kueue("Topology", "racks", spec={"levels": [{"nodeLabel": level} for level in levels]})
    asked = job("train", "1", **{"queue-name": "a"})
    asked["spec"] |= {"parallelism": 4, "completions": 4}
    asked["spec"]["template"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}
    result = kwhatif.place([asked], snapshot=there(*made, topology, *nodes, busy))
    assert sorted(each.node for each in result.placements) == ["n3", "n3", "n4", "n4"]
    asked["spec"] |= {"parallelism": 5, "completions": 5}
    waits = kwhatif.place([asked], snapshot=there(*made, topology, *nodes, busy))
    assert {each.outcome for each in waits.placements} == {"gated"}
    assert 'topology "racks" allows to fit only' in waits.placements[0].message


def test_domains_that_wait_for_an_autoscaler_are_a_gap() -> None:
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request"}
    queue = cluster_queue("a", "4", admissionChecksStrategy={"admissionChecks": [{"name": "nodes"}]})
    made = queues(queue)
    made[0]["spec"] = {"topologyName": "racks"}
    others = (
        kueue("AdmissionCheck", "nodes", spec=spec),
        kueue("Topology", "racks", spec={"levels": [{"nodeLabel": "rack"}]}),
    )
    mine = job("mine", "1", **{"queue-name": "a"})
    result = kwhatif.place([mine], snapshot=there(*made, *others), assume_empty=True)
    said = "domains that Kueue chooses once an autoscaler has made the nodes are not modelled"
    assert said in [each.what for each in result.fidelity.gaps]


@pytest.mark.parametrize("kind", ["Cohort", "LocalQueue", "ResourceFlavor", "Workload"])
def test_a_kind_of_kueue_that_the_snapshot_lacks_is_a_gap_of_every_answer(kind: str, tmp_path: Path) -> None:
    there_, empty = tmp_path / "there.json", tmp_path / "empty.json"
    objects = [each for each in read("cluster") if each["kind"] != kind]
    there_.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    missing = f"the snapshot has no {kind} of Kueue"
    assert missing in [each.what for each in kwhatif.queue([EVALUATE], snapshot=str(there_)).gaps]
    gaps = kwhatif.place([EVALUATE], snapshot=str(there_), assume_empty=True).fidelity.gaps
    (command,) = next(each.closed_by for each in gaps if each.what == missing)
    # What the command prints where there are none.
    api_version = command.partition("/apis/")[2].rpartition("/")[0]
    empty.write_text(json.dumps({"apiVersion": api_version, "kind": f"{kind}List", "items": []}))
    closed = kwhatif.queue([EVALUATE], snapshot=[str(there_), str(empty)])
    assert missing not in [each.what for each in closed.gaps]
