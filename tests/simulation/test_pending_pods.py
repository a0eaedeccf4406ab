"""The order in which a snapshot's own pods wait for a node, and what it leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from kwhatif.api.core import Pod
from kwhatif.api.meta import ObjectMeta
from kwhatif.simulation.session import pending_pods
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import write_objects


def waiting(name: str, created: str, version: str | None) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="shop", creation_timestamp=created, resource_version=version))


@pytest.mark.parametrize(
    ("pods", "order"),
    [
        pytest.param(
            [waiting("old", "2026-01-01T00:00:00Z", "90"), waiting("young", "2026-01-02T00:00:00Z", "8")],
            ["young", "old"],
            id="who was tried longest ago comes first, whatever the age",
        ),
        pytest.param(
            [waiting("young", "2026-01-02T00:00:00Z", None), waiting("old", "2026-01-01T00:00:00Z", None)],
            ["old", "young"],
            id="without versions the oldest comes first",
        ),
        pytest.param(
            [waiting("young", "2026-01-02T00:00:00Z", "x"), waiting("old", "2026-01-01T00:00:00Z", "y")],
            ["old", "young"],
            id="versions that are no numbers say nothing",
        ),
    ],
)
def test_waiting_pods_come_in_the_order_of_the_queue(pods: list[Pod], order: list[str]) -> None:
    snapshot = Snapshot(source="test")
    for pod in pods:
        snapshot.objects.add(pod)
    assert [item.pod.name for item in pending_pods(snapshot)] == order


ONE_CPU = {"containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}


def object_of(kind: str, name: str, spec: object, **status: object) -> dict[str, object]:
    home = {} if kind == "Node" else {"namespace": "shop", "uid": name}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **home}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("cpu", "priority", "said"),
    [
        pytest.param("1", 0, ["shop/b may get the room of shop/a"], id="an equal pod may have the room instead"),
        pytest.param("1", -1, [], id="a pod of lower priority comes later in any case"),
        pytest.param("2", 0, [], id="where all find room there is no doubt"),
        pytest.param("0", 0, [], id="where none finds room there is no doubt"),
    ],
)
def test_room_that_equal_pods_wait_for_may_go_to_another(
    cpu: str, priority: int, said: list[str], tmp_path: Path
) -> None:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    cluster = write_objects(
        tmp_path / "cluster.json",
        object_of("Node", "node-1", {}, allocatable=amounts, capacity=amounts),
        object_of("Pod", "a", ONE_CPU),
        object_of("Pod", "b", {**ONE_CPU, "priority": priority}),
    )
    result = kwhatif.place(with_pending=True, snapshot=cluster)
    assert [gap.effect for gap in result.fidelity.gaps if "waiting pod" in gap.what] == said


REFUSED = [{"type": "ReplicaFailure", "status": "True", "message": 'pods "r-1" is forbidden: exceeded quota: limit'}]
METADATA = {"namespace": "shop", "labels": {"app": "x"}}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": ONE_CPU}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "hard", "said"),
    [
        ("ReplicaSet", {"replicas": 3}, {"conditions": REFUSED}, "3", "2 pods of ReplicaSet shop/r"),
        ("Job", {"parallelism": 1}, {"startTime": "2026-01-01T00:00:00Z"}, "2", "1 pod of Job shop/r"),
        ("StatefulSet", {"replicas": 3}, {"replicas": 1, "readyReplicas": 1}, "3", "2 pods of StatefulSet shop/r"),
        ("DaemonSet", {}, {"desiredNumberScheduled": 1, "currentNumberScheduled": 0}, "2", "1 pod of DaemonSet shop/r"),
        ("StatefulSet", {"replicas": 3}, {"replicas": 1, "readyReplicas": 0}, "3", ""),
        ("ReplicaSet", {"replicas": 3}, {"conditions": REFUSED}, "0", ""),
        ("ReplicaSet", {"replicas": 3}, {}, "2", ""),
        ("Job", {"suspend": True}, {}, "2", ""),
    ],
    ids=[
        "refused before",
        "a job without pods",
        "a stateful set with fewer pods",
        "a daemon set with fewer pods",
        "an ordered set that waits for a pod it has",
        "still no room",
        "refused by nobody",
        "one that has not begun",
    ],
)
def test_pods_that_a_quota_lets_in_by_now_may_come(
    kind: str, spec: dict[str, object], status: dict[str, object], hard: str, said: str, tmp_path: Path
) -> None:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    cluster = write_objects(
        tmp_path / "cluster.json",
        object_of("Node", "node-1", {}, allocatable=amounts, capacity=amounts),
        object_of("ResourceQuota", "limit", {"hard": {"pods": hard}}, hard={"pods": hard}, used={"pods": "0"}),
        {
            **object_of(kind, "r", {**spec, "template": TEMPLATE}, **status),
            "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        },
        object_of("Pod", "a", ONE_CPU),
    )
    result = kwhatif.place(with_pending=True, snapshot=cluster)
    gaps = [gap for gap in result.fidelity.gaps if gap.what.startswith("when controllers try again")]
    wanted = [(f"{said} may come and take room", ("shop/a",))] if said else []
    assert [(gap.effect, gap.pods) for gap in gaps] == wanted


def web_on_two_nodes(at: Path, started: tuple[str, str], *more: dict[str, object]) -> tuple[str, dict[str, object]]:
    """A cluster in which a pod waits, full with the two pods of a Deployment; and the Deployment with one."""
    amounts = {"cpu": "1", "memory": "8Gi", "pods": "10"}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}

    def owned(obj: dict[str, object], kind: str, owner: str) -> dict[str, object]:
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": owner, "controller": True}
        metadata = {**METADATA, **obj["metadata"], "ownerReferences": [reference]}  # type: ignore[dict-item]
        return {**obj, "metadata": metadata}

    pods = []
    for number, time in enumerate(started, 1):
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": f"2026-01-01T{time}:00Z"}
        pod = object_of("Pod", f"web-{number}", {**ONE_CPU, "nodeName": f"node-{number}"})
        pods.append(owned({**pod, "status": {"phase": "Running", "conditions": [ready]}}, "ReplicaSet", "web-1"))
    waits = object_of("Pod", "a", ONE_CPU)
    waits["metadata"] = {"name": "a", "namespace": "shop", "uid": "a", "creationTimestamp": "2026-01-01T12:00:00Z"}
    replicas = owned({**object_of("ReplicaSet", "web-1", spec), "apiVersion": "apps/v1"}, "Deployment", "web")
    deployment = {**object_of("Deployment", "web", spec), "apiVersion": "apps/v1"}
    nodes = [object_of("Node", f"node-{n}", {}, allocatable=amounts, capacity=amounts) for n in (1, 2)]
    cluster = write_objects(at / "cluster.json", *nodes, deployment, replicas, *pods, waits, *more)
    return cluster, {**deployment, "metadata": {"name": "web", "namespace": "shop"}, "spec": {**spec, "replicas": 1}}


@pytest.mark.parametrize(
    ("started", "said"),
    [
        pytest.param(("09:00", "09:00"), ["shop/a"], id="two that became ready in the same second"),
        pytest.param(("09:00", "11:00"), [], id="the one that is ready for half the time goes first"),
    ],
)
def test_room_that_one_of_two_equal_pods_leaves_may_come_elsewhere(
    started: tuple[str, str], said: list[str], tmp_path: Path
) -> None:
    cluster, change = web_on_two_nodes(tmp_path, started)
    edit = {"scale": {"kind": "Deployment", "namespace": "shop", "name": "web", "replicas": 1}}
    for result in (
        kwhatif.place([change], with_pending=True, snapshot=cluster),
        kwhatif.place(with_pending=True, snapshot=cluster, edits=[edit]),
    ):
        assert [gap.pods for gap in result.fidelity.gaps if "deletes first" in gap.what] == [tuple(said)] * bool(said)


@pytest.mark.parametrize(
    ("replicas", "said"),
    [
        pytest.param(1, ["2 pods of ReplicaSet shop/r may come and take room"], id="a pod leaves"),
        pytest.param(2, [], id="no pod leaves"),
    ],
)
def test_pods_that_a_full_quota_refused_may_come_once_an_update_frees_some_of_it(
    replicas: int, said: list[str], tmp_path: Path
) -> None:
    quota = object_of("ResourceQuota", "limit", {"hard": {"pods": "3"}}, hard={"pods": "3"}, used={"pods": "3"})
    refused = object_of("ReplicaSet", "r", {"replicas": 2, "template": TEMPLATE}, conditions=REFUSED)
    cluster, change = web_on_two_nodes(tmp_path, ("09:00", "11:00"), quota, {**refused, "apiVersion": "apps/v1"})
    change = {**change, "spec": {**change["spec"], "replicas": replicas}}  # type: ignore[dict-item]
    result = kwhatif.place([change], with_pending=True, snapshot=cluster)
    gaps = [gap.effect for gap in result.fidelity.gaps if gap.what.startswith("when controllers try again")]
    assert gaps == said
