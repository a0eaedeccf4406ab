"""Updates that wait go on once there is room: others have shrunk, pods have left, nodes have come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.results.place import PlaceResult
from tests.scheduler_plugin_builders import Json, namespace_named, plain_node, plain_pod, write_cluster

IMPORTANT: Json = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "important"},
    "value": 10,
}


def deployment(
    name: str, replicas: int, cpu: str = "1", *, image: str = "app:1", surge: int = 1, important: bool = False
) -> Json:
    """A Deployment of which no pod may be unavailable, unless it has no ``surge``."""
    requests = {"requests": {"cpu": cpu, "memory": "1Mi"}}
    spec: Json = {"containers": [{"name": "main", "image": image, "resources": requests}]}
    if important:
        spec["priorityClassName"] = "important"
    rolling = {"maxSurge": surge, "maxUnavailable": 0 if surge else 1}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    }


def running(found: Json, node: str = "n1") -> list[Json]:
    """A Deployment as it runs: with its replica set, and all pods on a node."""
    name, labels = found["metadata"]["name"], {"app": found["metadata"]["name"], "pod-template-hash": "old"}
    spec = found["spec"]
    template = {"metadata": {"labels": labels}, "spec": spec["template"]["spec"]}
    replica_set: Json = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"{name}-old", "namespace": "default", "uid": f"{name}-old", "labels": labels},
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template},
    }
    replica_set["metadata"]["ownerReferences"] = [owner_reference("Deployment", name)]
    pods = []
    for number in range(spec["replicas"]):
        metadata: Json = {"name": f"{name}-old-{number}", "namespace": "default", "uid": f"{name}-{number}"}
        metadata |= {"labels": labels, "ownerReferences": [owner_reference("ReplicaSet", f"{name}-old")]}
        status = {
            "phase": "Running",
            "startTime": "2026-01-01T10:00:00Z",
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        pod_spec = {**template["spec"], "nodeName": node}
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec, "status": status})
    return [found, replica_set, *pods]


def owner_reference(kind: str, name: str) -> Json:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}


def placed(tmp_path: Path, there: Sequence[Json], manifests: Sequence[Json], **options: Any) -> PlaceResult:
    cluster = write_cluster(tmp_path, namespace_named("default"), IMPORTANT, *there)
    return kwhatif.place(list(manifests), snapshot=cluster, **options)


@dataclass(frozen=True)
class Row:
    """``unfinished`` is what is left to do, by object."""

    there: Sequence[Json]
    manifests: Sequence[Json]
    unfinished: Sequence[str] = ()
    victims: int = 0


SHRINKING = deployment("other", 2)
ROWS = {
    "one that finds no room waits": Row(
        [plain_node("n1", "4"), *running(deployment("web", 1, "2")), *running(SHRINKING)],
        [deployment("web", 1, "2", image="app:2")],
        ["0 of 1 updated pods are available, 1 old pod remains"],
    ),
    "one that waits goes on once another, later one has shrunk": Row(
        [plain_node("n1", "4"), *running(deployment("web", 1, "2")), *running(SHRINKING)],
        [deployment("web", 1, "2", image="app:2"), deployment("other", 0)],
    ),
    "each goes on as far as the others let it": Row(
        [plain_node("n1", "5"), *running(deployment("web", 2, "1")), *running(deployment("other", 2, "1500m"))],
        [deployment("other", 2, "1500m", image="app:2"), deployment("web", 2, "1", image="app:2", surge=0)],
        ["0 of 2 updated pods are available, 2 old pods remain"],
    ),
    "one that waits goes on once a more important one has driven out more than it needs": Row(
        [
            plain_node("n1", "6"),
            *running(deployment("web", 1, "2")),
            *running(deployment("first", 1, "1", important=True)),
            plain_pod("bulky", "3", node="n1", memory="1Mi"),
        ],
        [deployment("web", 1, "2", image="app:2"), deployment("first", 2, "1", important=True)],
        victims=1,
    ),
}


@pytest.mark.parametrize("timeline", [False, True], ids=["at once", "over time"])
@pytest.mark.parametrize("name", ROWS)
def test_an_update_at_rest(name: str, timeline: bool, tmp_path: Path) -> None:
    row = ROWS[name]
    found = placed(tmp_path, row.there, row.manifests, timeline=timeline)
    assert [each.unfinished for each in found.rollouts if each.unfinished] == list(row.unfinished)
    assert len(found.outcome.victims) == row.victims
    assert ("stuck" in found.verdict) is bool(row.unfinished)


def test_what_goes_on_in_the_end_is_in_the_cluster_that_is_written(tmp_path: Path) -> None:
    row, out = (
        ROWS["one that waits goes on once a more important one has driven out more than it needs"],
        tmp_path / "o",
    )
    found = placed(tmp_path, row.there, row.manifests, write_snapshot=out)
    (web,) = (each for each in found.rollouts if each.object.endswith("web"))
    assert (web.creates, web.removes) == (1, 1)
    assert {each.pod for each in found.placements if each.good} == {each.pod for each in found.placements}
    again = kwhatif.place(list(row.manifests), snapshot=str(out), with_pending=True)
    assert again.outcome.evicted == 0
    assert [each.unfinished for each in again.rollouts if each.unfinished] == []


@pytest.mark.long
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),
            st.sampled_from(["500m", "1", "2"]),
            st.integers(0, 3),
            st.booleans(),
            st.integers(0, 1),
            st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 2),
)
def test_no_update_that_waits_could_go_on(
    tmp_path: Path, workloads: list[tuple[int, str, int, bool, int, bool]], bulky: int
) -> None:
    there = [plain_node("n1", "8")]
    there += [plain_pod(f"bulky-{number}", "1", node="n1", memory="1Mi") for number in range(bulky)]
    manifests = []
    for number, (replicas, cpu, then, important, surge, updated) in enumerate(workloads):
        of: Json = {"surge": surge, "important": important}
        there += running(deployment(f"d{number}", replicas, cpu, **of))
        manifests.append(deployment(f"d{number}", then, cpu, image="app:2" if updated else "app:1", **of))
    out = tmp_path / "o"
    first = placed(tmp_path, there, manifests, write_snapshot=out)
    over_time = placed(tmp_path, there, manifests, timeline=True)
    assert _end_of(over_time) == _end_of(first)
    again = kwhatif.place(manifests, snapshot=str(out), with_pending=True)
    assert again.outcome.evicted == 0
    waited = {each.object: each.unfinished for each in first.rollouts if each.unfinished}
    assert waited.items() <= {each.object: each.unfinished for each in again.rollouts}.items()


def _end_of(found: PlaceResult) -> tuple[object, ...]:
    """What is left, by workload, and how far each update has come."""
    pending = sorted(each.workload or each.pod for each in found.outcome.pending)
    return pending, {each.object: each.unfinished for each in found.rollouts}


def test_the_story_of_an_update_has_each_step(tmp_path: Path) -> None:
    there = [plain_node("n1", "3"), *running(deployment("web", 2, "1"))]
    found = placed(tmp_path, there, [deployment("web", 2, "1", image="app:2")], timeline=True)
    story = [(each.time, each.what) for each in found.timeline if each.what in ("queued", "bound", "gone")]
    assert story == [
        (0.0, "queued"),
        (0.0, "bound"),
        # The next one is made as an old one goes, and has room once that has left.
        (0.0, "queued"),
        (30.0, "gone"),
        (30.0, "bound"),
        (60.0, "gone"),
    ]


def images_of(path: Path) -> list[tuple[str, bool]]:
    """The images of the pods of a written cluster, each with whether it has a node."""
    pods = json.loads(path.read_text())["objects"]["Pod"]
    return sorted((pod["spec"]["containers"][0]["image"], bool(pod["spec"].get("nodeName"))) for pod in pods)


def test_an_update_that_hung_before_goes_on_when_its_pod_finds_a_node(tmp_path: Path) -> None:
    """A later question: nobody updates the Deployment again, and there is a node more."""
    there = [plain_node("n1", cpu="2"), namespace_named("default"), *running(deployment("web", 2))]
    hung, done = tmp_path / "hung.json", tmp_path / "done.json"
    first = kwhatif.place(
        [deployment("web", 2, image="app:2")], snapshot=write_cluster(tmp_path, *there), write_snapshot=hung
    )
    assert first.rollouts[0].unfinished
    assert images_of(hung) == [("app:1", True), ("app:1", True), ("app:2", False)]
    more: Any = {"edits": [{"addNodes": {"count": 1, "like": "n1"}}], "with_pending": True}
    second = kwhatif.place(snapshot=hung, write_snapshot=done, **more)
    assert images_of(done) == [("app:2", True), ("app:2", True)]
    assert ([placement.good for placement in second.placements], second.rollouts) == ([True, True], ())
    still = kwhatif.place(snapshot=hung, with_pending=True)
    assert [placement.good for placement in still.placements] == [False], "its pod waits, and so does the controller"


def test_an_ordered_set_makes_its_next_pod_when_the_one_that_waits_finds_a_node(tmp_path: Path) -> None:
    ordered = deployment("db", 3)
    ordered |= {"kind": "StatefulSet"}
    ordered["spec"] = {**ordered["spec"], "serviceName": "db"}
    del ordered["spec"]["strategy"]
    waiting = plain_pod("db-0", cpu="1", namespace="default")
    waiting["metadata"] |= {"labels": {"app": "db"}, "ownerReferences": [owner_reference("StatefulSet", "db")]}
    cluster = write_cluster(tmp_path, plain_node("n1", cpu="2"), namespace_named("default"), ordered, waiting)
    result = kwhatif.place(snapshot=cluster, with_pending=True)
    assert [(placement.pod, placement.node) for placement in result.placements] == [
        ("default/db-0", "n1"),
        ("default/db-1", "n1"),
        ("default/db-2", ""),
    ]


def test_a_pod_that_waited_ran_and_was_evicted_again_is_written_once(tmp_path: Path) -> None:
    """Between the old pod, which leaves, and the new one, which comes later, the room is anybody's."""
    vip, low = running(deployment("vip", 1, important=True)), running(deployment("low", 1))
    del low[-1]["spec"]["nodeName"]
    low[-1]["status"] = {"phase": "Pending"}
    update = deployment("vip", 1, image="app:2", important=True)
    update["spec"]["strategy"] = {"type": "Recreate"}
    after = tmp_path / "after.json"
    there = [plain_node("n1", cpu="1"), *vip, *low]
    result = placed(tmp_path, there, [update], with_pending=True, write_snapshot=after)
    assert "default/low-old-0" in {victim.pod for victim in result.outcome.victims}
    assert images_of(after) == [("app:1", False), ("app:2", True)]


def test_pods_that_a_quota_refuses_are_named_also_where_others_of_the_workload_wait(tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"hard": {"pods": "3"}},
    }
    there = running(deployment("web", 2))
    del there[-1]["spec"]["nodeName"]
    there[-1]["status"] = {"phase": "Pending"}
    more: Any = {"edits": [{"scale": {"kind": "Deployment", "name": "web", "replicas": 5}}], "with_pending": True}
    result = placed(tmp_path, [plain_node("n1", cpu="8"), quota, *there], [], **more)
    assert [placement.good for placement in result.placements] == [True, True]
    assert sum(failed.pods for failed in result.failed) == 2
    assert result.exit_code == 1
