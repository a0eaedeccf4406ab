"""What Kueue's controllers do between two cycles: who is tried again, who is evicted, and whom that wakes."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.api.kueue import KueueWorkload
from kwhatif.kueue.kueue_objects import KueueState, kueue_objects
from kwhatif.kueue.run import KueueRun
from kwhatif.snapshot.read.objects import decode_objects
from tests.commands.queue.test_queue import cluster_queue, kueue, workload

Json = dict[str, Any]
NOW = 1_772_000_000 * 10**9
TIME = "2026-01-02T00:00:00Z"


def condition(kind: str, status: str, reason: str) -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": TIME}


def local(name: str, queue: str, **spec: Any) -> Json:
    return kueue("LocalQueue", name, "ml", spec={"clusterQueue": queue, **spec})


def waiting(name: str, queue: str, cpu: int, *conditions: Json, number: int = 0, **spec: Any) -> Json:
    made = workload(name, queue, cpu)
    made["metadata"] |= {"uid": name, "creationTimestamp": f"2026-01-01T00:00:{number:02}Z"}
    made["spec"] |= spec
    made["status"] = {"conditions": list(conditions)}
    return made


def running(name: str, queue: str, cpu: int, cluster_queue: str, **status: Any) -> Json:
    made = waiting(name, queue, cpu, condition("QuotaReserved", "True", "R"), condition("Admitted", "True", "R"))
    assigned = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": str(cpu)}}
    made["status"] |= {"admission": {"clusterQueue": cluster_queue, "podSetAssignments": [assigned]}, **status}
    return made


def prepare(*objects: Json) -> KueueRun:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    found = kueue_objects(decode_objects([namespace, kueue("ResourceFlavor", "default", spec={}), *objects]), {}, {})
    return KueueRun(KueueState(found), found.workloads, NOW)


def begin(*objects: Json) -> KueueRun:
    run = prepare(*objects)
    run.rest()
    return run


def test_a_cycle_that_changes_nothing_is_the_last_one_and_is_not_counted() -> None:
    """The head of a StrictFIFO queue stays in line: the first try tells it why it does not fit, the second nothing."""
    queue = cluster_queue("a", 1)
    queue["spec"]["queueingStrategy"] = "StrictFIFO"
    run = prepare(queue, local("a", "a"), waiting("large", "a", 2))
    assert [[entry.workload.name for entry in cycle.entries] for cycle in run.rest()] == [["large"]]


@pytest.mark.parametrize(
    ("reason", "requeued"),
    [
        ("ClusterQueueStopped", "ClusterQueueRestarted"),
        ("LocalQueueStopped", "LocalQueueRestarted"),
        ("Deactivated", "Reactivated"),
        ("AdmissionCheck", "BackoffFinished"),
        ("PodsReadyTimeout", "BackoffFinished"),
    ],
)
def test_a_workload_is_tried_again_once_what_kept_it_back_is_over(reason: str, requeued: str) -> None:
    kept = waiting("w", "a", 1, condition("Requeued", "False", reason))
    run = begin(cluster_queue("a", 1), local("a", "a"), kept)
    found = run.state.workloads["ml/w"]
    assert (found.status, found.conditions["Requeued"].reason) == ("admitted", requeued)


@pytest.mark.parametrize("state", [{"requeueState": {"requeueAt": "2030-01-01T00:00:00Z"}}, {}])
def test_backoff_that_is_not_over_keeps_a_workload_back(state: Json) -> None:
    kept = waiting("w", "a", 1, condition("Requeued", "False", "AdmissionCheck"))
    kept["status"] |= state
    run = begin(cluster_queue("a", 1), local("a", "a"), kept)
    assert run.state.workloads["ml/w"].status == ("pending" if state else "admitted")


@pytest.mark.parametrize(
    ("state", "active", "message"),
    [
        ("Rejected", False, 'The workload is deactivated due to AdmissionCheck in Rejected state: "c" (no)'),
        ("Retry", True, 'Evicted due to AdmissionCheck in Retry state: "c" (no)'),
    ],
)
def test_a_check_that_does_not_pass_takes_the_quota_back(state: str, active: bool, message: str) -> None:
    check = kueue("AdmissionCheck", "c", spec={"controllerName": "x"})
    check["status"] = {"conditions": [condition("Active", "True", "R")]}
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]}}
    seconds = {"requeueAfterSeconds": 2**31 - 1, "lastTransitionTime": TIME}
    held = running("w", "a", 1, "a", admissionChecks=[{"name": "c", "state": state, "message": "no", **seconds}])
    del held["status"]["conditions"][1]
    run = begin(cluster_queue("a", 1, **checks), local("a", "a"), check, held)
    found = run.state.workloads["ml/w"]
    assert (found.status, found.active, found.conditions["Evicted"].message) == ("pending", active, message)
    assert found.conditions["Requeued"].status is False


@pytest.mark.parametrize(("policy", "woken"), [("None", True), ("Hold", False)])
def test_quota_of_a_workload_whose_local_queue_is_stopped_wakes_nobody(policy: str, woken: bool) -> None:
    ends = running("ends", "held", 2, "a")
    run = begin(
        cluster_queue("a", 2), local("a", "a"), local("held", "a", stopPolicy=policy), ends, waiting("w", "a", 1)
    )
    assert run.state.workloads["ml/w"].status == "pending"
    run.finish(["ml/ends"])
    run.rest()
    assert (run.state.workloads["ml/w"].status == "admitted") is woken


def test_an_admission_counts_as_a_change_after_which_the_search_for_a_flavor_begins_anew() -> None:
    run = begin(cluster_queue("a", 2), local("a", "a"))
    before = run.state.queues["a"].generation
    run.create(decode_objects([waiting("w", "a", 1)]).list_all(KueueWorkload))
    run.rest()
    assert run.state.workloads["ml/w"].status == "admitted"
    assert run.state.queues["a"].generation > before


def test_a_queue_that_goes_away_admits_nobody() -> None:
    made = cluster_queue("a", 1)
    made["metadata"]["deletionTimestamp"] = TIME
    run = begin(made, local("a", "a"), waiting("w", "a", 1))
    assert run.state.queues["a"].inactive_reason == (
        "Terminating",
        "Can't admit new workloads; clusterQueue is terminating",
    )
    assert run.state.workloads["ml/w"].status == "pending"


def test_without_its_topology_a_queue_of_other_clusters_is_active_and_lets_nobody_in() -> None:
    check = kueue("AdmissionCheck", "remote", spec={"controllerName": "kueue.x-k8s.io/multikueue"})
    check["status"] = {"conditions": [condition("Active", "True", "R")]}
    queue = cluster_queue("a", 1, admissionChecksStrategy={"admissionChecks": [{"name": "remote"}]})
    flavor = kueue("ResourceFlavor", "default", spec={"topologyName": "racks"})
    run = begin(flavor, check, queue, local("a", "a"), waiting("w", "a", 1))
    assert run.state.queues["a"].is_active
    assert run.state.workloads["ml/w"].conditions["QuotaReserved"].message == "ClusterQueue a is inactive"


@pytest.mark.parametrize(("delayed", "status"), [("Pending", "quotaReserved"), ("Ready", "admitted")])
def test_a_workload_is_admitted_once_its_delayed_topology_is_there(delayed: str, status: str) -> None:
    queue = cluster_queue("a", 1, admissionChecksStrategy={"admissionChecks": [{"name": "nodes"}]})
    check = kueue("AdmissionCheck", "nodes", spec={"controllerName": "kueue.x-k8s.io/provisioning-request"})
    check["status"] = {"conditions": [condition("Active", "True", "R")]}
    there = running("w", "a", 1, "a", admissionChecks=[{"name": "nodes", "state": "Ready"}])
    there["status"]["conditions"] = [condition("QuotaReserved", "True", "R"), condition("Admitted", "False", "R")]
    there["status"]["admission"]["podSetAssignments"][0]["delayedTopologyRequest"] = delayed
    assert begin(queue, check, local("a", "a"), there).state.workloads["ml/w"].status == status
