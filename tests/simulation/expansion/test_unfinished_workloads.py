"""A StatefulSet in the middle of an update makes a lost pod again as the update has it, unless a partition says no."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from tests.scheduler_plugin_builders import Json, namespace_named, plain_node, plain_pod, write_cluster


def updating(strategy: Json, old: int = 3) -> list[Json]:
    """A StatefulSet of three pods of 1 CPU on node n1, of which the first ones are ``old``; its template says 3 CPU."""
    template = plain_pod("x", cpu="3")
    stateful_set: Json = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default", "uid": "db"},
        "spec": {
            "replicas": 3,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "updateStrategy": strategy,
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": template["spec"]},
        },
        "status": {"replicas": 3, "currentRevision": "db-old", "updateRevision": "db-new"},
    }
    pods = [plain_pod(f"db-{number}", cpu="1", node="n1") for number in range(3)]
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    for number, pod in enumerate(pods):
        revision = "db-old" if number < old else "db-new"
        pod["metadata"] |= {
            "labels": {"app": "db", "controller-revision-hash": revision},
            "ownerReferences": [owner],
            "uid": f"db-{number}",
        }
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return [namespace_named("default"), stateful_set, *pods]


@pytest.mark.parametrize(
    ("strategy", "nodes"),
    [
        ({"type": "OnDelete"}, ["n2", "", ""]),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}, ["n2", "", ""]),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}, ["n2", "n2", "n2"]),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, ["n2", "n2", ""]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("question", ["drain", "the node is removed"])
def test_a_lost_pod_comes_back_at_the_revision_of_the_update(
    strategy: Json, nodes: list[str], question: str, tmp_path: Path
) -> None:
    objects = [plain_node("n1", cpu="4"), plain_node("n2", cpu="4"), *updating(strategy)]
    objects[-4]["spec"]["podManagementPolicy"] = "Parallel"
    cluster = write_cluster(tmp_path, *objects)
    result: Any
    if question == "drain":
        result = kwhatif.drain(["n1"], snapshot=cluster)
    else:
        result = kwhatif.place(snapshot=cluster, edits=[{"removeNodes": "n1"}])
    assert [placement.node for placement in result.placements] == nodes


def test_a_pod_of_the_new_revision_stays_what_it_is(tmp_path: Path) -> None:
    objects = [plain_node("n1", cpu="4"), plain_node("n2", cpu="4"), *updating({"type": "OnDelete"}, old=0)]
    result = kwhatif.place(snapshot=write_cluster(tmp_path, *objects), edits=[{"removeNodes": "n1"}])
    assert [placement.node for placement in result.placements] == ["n2", "n2", "n2"]


def test_an_update_that_hung_goes_on_in_the_written_cluster(tmp_path: Path) -> None:
    """Its status says which revision the set is on its way to."""
    objects = [plain_node("n1", cpu="4"), *updating({"type": "RollingUpdate"})]
    stateful_set = objects[2]
    update = {key: deepcopy(value) for key, value in stateful_set.items() if key != "status"}
    stateful_set["spec"]["template"]["spec"] = plain_pod("x", cpu="1")["spec"]
    stateful_set["status"] |= {"updateRevision": "db-old"}
    hung, done = tmp_path / "hung.json", tmp_path / "done.json"
    first = kwhatif.place([update], snapshot=write_cluster(tmp_path, *objects), write_snapshot=hung)
    assert [(placement.pod, placement.node) for placement in first.placements] == [("default/db-2", "")]
    more: Any = {"edits": [{"addNodes": {"count": 2, "like": "n1"}}], "with_pending": True}
    second = kwhatif.place(snapshot=hung, write_snapshot=done, **more)
    assert [placement.node for placement in second.placements] == ["n1-new-1", "n1-new-2", "n1"]
    again = kwhatif.place([update], snapshot=done)
    assert (again.placements, again.rollouts[0].keeps, again.rollouts[0].unfinished) == ((), 3, "")
