"""What the controllers make of workloads agrees with a real controller manager 1.36."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.workloads.controllers import CreationFailure, makes_pods, reconcile
from kwhatif.workloads.objects import group_of
from kwhatif.workloads.rollout import plan_rollout
from tests.simulation.expansion import recorded

Json = dict[str, Any]

FOUND, CASES = recorded.load()
NODES = FOUND["nodes"]


def concerns_controllers(case: Json) -> bool:
    return bool(case.get("claims")) or any(obj["kind"] != "Pod" for obj in case["manifests"])


WORKLOADS = [case for case in CASES if concerns_controllers(case)]
ROLLOUTS = [case for case in CASES if case.get("updates")]


class Cluster:
    """A case's namespace: the objects it starts with, and everything that was made of the manifests."""

    def __init__(self, case: Json) -> None:
        self.server = ApiServer(ObjectStore([*FOUND["global"], *NODES]))
        self.answers: list[StoredObject | RequestRefusal] = []
        self.claims: list[Json] = []
        self.failures: list[CreationFailure] = []
        for obj in case["context"]:
            assert isinstance(self.server.create(recorded.in_namespace(obj)), StoredObject)
        for manifest in case["manifests"]:
            answer = self.server.create(recorded.in_namespace(manifest))
            self.answers.append(answer)
            if isinstance(answer, StoredObject):
                made = reconcile(self.server, answer.object, NODES, ready=False)
                self.failures += made.refusals
        self.pods = list(self.server.world.all("Pod"))
        self.claims = list(self.server.world.all("PersistentVolumeClaim"))


def names(cases: list[Json]) -> list[str]:
    return [case["name"] for case in cases]


@pytest.mark.parametrize("case", WORKLOADS, ids=names(WORKLOADS))
def test_pods_claims_and_failures_agree(case: Json) -> None:
    cluster = Cluster(case)
    codes = [201 if isinstance(answer, StoredObject) else answer.code for answer in cluster.answers]
    assert codes == [response["code"] for response in case["responses"]]
    assert recorded.pods_of(cluster.pods) == recorded.recorded_pods(case["pods"])
    assert recorded.claims_of(cluster.claims) == recorded.recorded_claims(case.get("claims", []))
    told = {recorded.message(failure.message) for failure in cluster.failures}
    assert told == {recorded.message(text) for text in case.get("failedCreate", [])}


@pytest.mark.parametrize("case", ROLLOUTS, ids=names(ROLLOUTS))
def test_the_steps_of_a_rollout_agree(case: Json) -> None:
    cluster = Cluster(case)
    (first,) = cluster.answers
    assert isinstance(first, StoredObject)
    old, pods = first.object, copy.deepcopy(cluster.pods)
    for pod in pods:
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    (update,) = case["updates"]
    (manifest,) = update["manifests"]
    answer = cluster.server.update(recorded.in_namespace(manifest))
    assert isinstance(answer, StoredObject)
    steps = [
        {
            "live": {"old": step.live.old, "new": step.live.new},
            "terminating": {"old": step.terminating.old, "new": step.terminating.new},
        }
        for step in plan_rollout(old, answer.object, pods, NODES)
    ]
    assert steps == [{key: step[key] for key in ("live", "terminating")} for step in update["steps"]]


def test_the_recording_has_every_kind_that_makes_pods_here_but_cron_jobs() -> None:
    seen = {(group_of(obj), obj["kind"]) for case in CASES for obj in case["manifests"] if makes_pods(obj)}
    assert {kind for _, kind in seen} == {
        *("Pod", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job", "DaemonSet")
    }
    assert len(WORKLOADS) >= 40
    assert len(ROLLOUTS) == 14
