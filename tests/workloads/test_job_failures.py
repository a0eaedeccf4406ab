"""A Job that loses more pods than its backoffLimit allows fails: in every question nothing of it is made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from tests.scheduler_plugin_builders import Json, namespace_named, plain_node, plain_pod, write_cluster

POLICY: Json = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def job_of_three(spec: Json, failed: int) -> list[Json]:
    """A Job with two pods on node n1 and one on n2."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "sums", "uid": "sums", "controller": True}
    pods = [plain_pod(f"sums-{number}", node="n2" if number == 2 else "n1") for number in range(3)]
    for pod in pods:
        pod["metadata"] |= {"ownerReferences": [owner], "uid": pod["metadata"]["name"]}
        pod["status"] = {"phase": "Running"}
    template = {"spec": {**plain_pod("x")["spec"], "restartPolicy": "Never"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sums", "namespace": "default", "uid": "sums"},
        "spec": {"parallelism": 3, "completions": 9, "template": template, **spec},
        "status": {"active": 3, "failed": failed},
    }
    return [job, *pods]


@pytest.mark.parametrize(
    ("spec", "failed", "left"),
    [
        ({}, 0, 3),
        ({}, 4, 3),
        ({}, 5, 0),
        ({"backoffLimit": 0}, 0, 0),
        ({"backoffLimit": 1}, 0, 0),
        ({"backoffLimit": 2}, 0, 3),
        ({"backoffLimit": 0, "podFailurePolicy": POLICY}, 0, 3),
        ({"backoffLimit": 0, "backoffLimitPerIndex": 1, "completionMode": "Indexed"}, 0, 3),
    ],
    ids=str,
)
def test_every_question_has_the_job_fail_alike(spec: Json, failed: int, left: int, tmp_path: Path) -> None:
    objects = [plain_node("n1"), plain_node("n2"), namespace_named("default"), *job_of_three(spec, failed)]
    cluster, after = write_cluster(tmp_path, *objects), tmp_path / "after.json"
    drained = kwhatif.drain(["n1"], snapshot=cluster, write_snapshot=after)
    assert _pods_of(after) == left
    assert {pod.reason for pod in drained.pods if pod.outcome == "evicted"} == (
        {""} if left else {"its job fails for it, beyond its backoffLimit"}
    )
    kwhatif.place(snapshot=cluster, edits=[{"removeNodes": "n1"}], write_snapshot=after)
    assert _pods_of(after) == left
    (failure,) = kwhatif.outage(nodes=["n1"], snapshot=cluster).failures
    assert (failure.back, failure.lost) == ((2, 0) if left else (0, 2))


def _pods_of(path: Path) -> int:
    from kwhatif.api.core import Pod
    from kwhatif.snapshot.load import load_snapshot

    pods: list[Any] = load_snapshot([str(path)]).objects.list_all(Pod)
    return sum(pod.spec.node_name == "n2" for pod in pods)


@pytest.mark.parametrize("kind", ["Job", "ReplicaSet"])
def test_room_goes_to_others_before_a_job_makes_its_pod_again(kind: str, tmp_path: Path) -> None:
    """Its backoff is ten seconds at least; the pod of another controller comes at once, though it was named later."""
    owners = [{"kind": kind, "name": "early"}, {"kind": "ReplicaSet", "name": "late"}]
    pods = [plain_pod(name, cpu="2", node="n1") for name in ("a-early", "b-late")]
    for pod, owner in zip(pods, owners, strict=True):
        pod["metadata"] |= {
            "ownerReferences": [{"apiVersion": "v1", "uid": owner["name"], "controller": True, **owner}],
            "uid": pod["metadata"]["name"],
        }
        pod["status"] = {"phase": "Running"}
    cluster = write_cluster(tmp_path, plain_node("n1", cpu="4"), plain_node("n2", cpu="2"), *pods)
    result = kwhatif.place(snapshot=cluster, edits=[{"removeNodes": "n1"}])
    homes = {placement.pod.partition("-")[0]: placement.node for placement in result.placements}
    first, second = ("default/late", "default/early") if kind == "Job" else ("default/early", "default/late")
    assert homes == {first: "n2", second: ""}
