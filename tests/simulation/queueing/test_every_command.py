"""Every command gates a managed job as Kueue does, and says who had to go for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import kwhatif
from kwhatif.snapshot.format.model import Snapshot
from tests.commands.gate.judging import judged
from tests.commands.queue.test_queue import cluster_queue, job, kueue, queues, there
from tests.simulation.queueing.test_queued_scenario import EVALUATE, SAMPLES, TRAIN, cluster, read

GROUPS = str(SAMPLES.parent / "autoscaled" / "groups.yaml")
SPACE = {"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", "weights": {"NodeResourcesFit": [5]}}
CASES: dict[str, Callable[[str], Any]] = {
    "autoscale": lambda job: kwhatif.autoscale([job], snapshot=cluster(), groups=GROUPS),
    "capacity": lambda job: kwhatif.capacity([job], snapshot=cluster()),
    "chances": lambda job: kwhatif.chances([job], snapshot=cluster(), trials=2),
    "diff": lambda job: kwhatif.diff(snapshot=cluster(), old=[job], new=[job]).b,
    "drain": lambda job: kwhatif.drain(["a100-1"], snapshot=cluster(), manifests=[job], force=True),
    "explain": lambda job: kwhatif.explain([job], snapshot=cluster()),
    "gate": lambda job: kwhatif.gate([job], snapshot=cluster()),
    "outage": lambda job: kwhatif.outage(snapshot=cluster(), manifests=[job], nodes=["a100-1"]),
    "place": lambda job: kwhatif.place([job], snapshot=cluster()),
    "review": lambda job: kwhatif.review([job], snapshot=cluster()),
    "sweep": lambda job: kwhatif.sweep([job], snapshot=cluster(), space=SPACE),
}


@pytest.mark.parametrize("command", CASES)
def test_every_command_gates_a_managed_job_as_kueue_does(command: str) -> None:
    assert "Kueue admits 0 of 1 workload" in CASES[command](EVALUATE).outcome.verdict


@pytest.mark.parametrize("command", CASES)
def test_every_command_lets_an_admitted_job_start_and_evicts_whom_kueue_evicts(command: str) -> None:
    verdict = CASES[command](TRAIN).outcome.verdict
    assert "Kueue admits 1 of 1 workload; Kueue evicts 1 workload" in verdict


def test_a_pod_that_is_named_beside_its_file_waits_for_kueue_too() -> None:
    waits = kwhatif.explain(["vision/evaluate-1"], snapshot=cluster(), files=[EVALUATE])
    assert waits.pods[0].placement.outcome == "gated"
    assert waits.pods[0].refusal.startswith("Kueue: ")
    starts = kwhatif.explain(["job/language/train"], snapshot=cluster(), files=[TRAIN])
    assert {each.placement.node for each in starts.pods} == {"a100-2"}


def test_the_gate_fails_for_pods_that_kueue_evicts_and_lets_wait() -> None:
    result = kwhatif.gate([TRAIN], snapshot=cluster())
    (finding,) = [each for each in result.findings if each.rule == "unschedulable"]
    assert (str(finding.subject), finding.title) == ("Job vision/tune", "1 evicted pod finds no other node")
    assert finding.message.startswith("vision/tune-0: Kueue: ")


def test_the_gate_points_at_the_queue_of_a_job_that_waits() -> None:
    result = kwhatif.gate([EVALUATE], snapshot=cluster())
    assert [each.hint for each in result.findings if each.rule == "unschedulable"] == [
        "kwhatif queue says whose end frees the quota, and what would change it"
    ]


def test_a_review_names_the_pods_that_kueue_evicts() -> None:
    (gone,) = kwhatif.review([TRAIN], snapshot=cluster()).evicted
    assert (gone.pod, gone.taken_by, gone.replacement, gone.lands_on) == (
        "vision/tune-0",
        "Kueue",
        "vision/tune-0",
        "",
    )


def many_cpus(*flavors: str) -> Snapshot:
    """A node of 64 cpus, a queue with a quota of 3 in each of these flavors, and nobody else."""
    room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": room}}
    made = queues(cluster_queue("a", "3"))
    group = made[1]["spec"]["resourceGroups"][0]
    group["flavors"] = [{**group["flavors"][0], "name": flavor} for flavor in flavors]
    return there(*made, *(kueue("ResourceFlavor", flavor, spec={}) for flavor in flavors[1:]), node)


@pytest.mark.parametrize(
    ("flavors", "single", "fits", "gap"),
    [
        (("default",), False, 3, ""),
        (("default", "spot"), False, 3, "Kueue admits copy 4 in other flavors (spot)"),
        (("default",), True, 3, ""),
    ],
    ids=["the quota ends it", "the next goes to another flavor", "single pods of a job of one"],
)
def test_capacity_counts_the_copies_that_kueue_lets_in(
    flavors: tuple[str, ...], single: bool, fits: int, gap: str
) -> None:
    result = kwhatif.capacity(
        [job("train", "1", **{"queue-name": "a"})], snapshot=many_cpus(*flavors), assume_empty=True, pod=single
    )
    quota = result.quota
    assert (result.fits, result.ended, quota and quota.quota) == (fits, "quota", "ClusterQueue a")
    kueues = [each.what for each in result.fidelity.gaps if each.what.startswith("Kueue")]
    assert kueues == ([gap] if gap else [])


def racks(quota: str) -> Snapshot:
    """A queue with a quota of cpus in three racks, of one node of 4 cpus each; one of them has 2 left."""
    levels = [{"nodeLabel": "cloud/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    made = queues(cluster_queue("a", quota))
    made[0]["spec"] = {"nodeLabels": {"pool": "a"}, "topologyName": "racks"}
    nodes = []
    for name in ("n0", "n1", "n2"):
        labels = {"pool": "a", "cloud/rack": f"rack-{name}", "kubernetes.io/hostname": name}
        room = {"cpu": "2" if name == "n2" else "4", "memory": "64Gi", "pods": "110"}
        ready = [{"type": "Ready", "status": "True"}]
        status = {"allocatable": room, "conditions": ready}
        nodes.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
        )
    return there(*made, kueue("Topology", "racks", spec={"levels": levels}), *nodes)


@pytest.mark.parametrize(
    ("quota", "fits", "why"),
    [("5", 2, "cpu in default"), ("64", 5, 'topology "racks" doesn\'t allow to fit any of 2 pod(s)')],
    ids=["the quota ends it", "the racks are full"],
)
def test_capacity_counts_copies_in_the_domains_that_kueue_gives_to_each(quota: str, fits: int, why: str) -> None:
    train = job("train", "1", **{"queue-name": "a"})
    train["spec"] |= {"parallelism": 2, "completions": 2}
    train["spec"]["template"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": "cloud/rack"}}
    result = kwhatif.capacity([train], snapshot=racks(quota), assume_empty=True)
    assert result.quota is not None
    assert (result.fits, result.ended, why in result.quota.resource) == (fits, "quota", True)
    assert not [gap.what for gap in result.fidelity.gaps if gap.what.startswith("Kueue")]


def test_capacity_counts_single_pods_of_a_job_on_nodes_alone_and_says_so() -> None:
    result = kwhatif.capacity([TRAIN], snapshot=cluster(), pod=True)
    assert "Kueue is asked about the whole job alone, not about single pods" in [
        each.what for each in result.fidelity.gaps
    ]
    assert result.ended == "nodes"


@pytest.mark.parametrize("seed", range(4))
def test_queue_place_and_gate_let_the_same_jobs_start(seed: int) -> None:
    chance = random.Random(seed)
    cohort = {"cohortName": "all"} if chance.random() < 0.5 else {}
    made = queues(*(cluster_queue(name, str(chance.randint(1, 4)), **cohort) for name in "ab"))
    jobs = [
        job(f"job-{number}", str(chance.randint(1, 3)), **{"queue-name": chance.choice("ab")}) for number in range(6)
    ]
    snapshot = there(*made, read("cluster")[0])
    admitted = {each.job: each.status == "admitted" for each in kwhatif.queue(jobs, snapshot=snapshot).workloads}
    placed = kwhatif.place(jobs, snapshot=snapshot).placements
    assert {f"Job {each.pod.rpartition('-')[0]}": each.outcome == "placed" for each in placed} == admitted
    waiting = judged(snapshot, *jobs, rules={"queue-wait": {"level": "error"}}).findings
    assert {str(each.subject) for each in waiting} == {name for name, starts in admitted.items() if not starts}
    assert 0 < sum(admitted.values()) < len(jobs)
