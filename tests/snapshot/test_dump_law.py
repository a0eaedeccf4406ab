"""What a dump leaves out changes no answer: it gives the same as the whole objects, as kubectl prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.kinds import READ_KINDS
from tests.cli.running import run
from tests.snapshot.server import ApiServer, objects_in
from tests.snapshot.test_dump import UNSERVED

pytestmark = pytest.mark.long

Plain = dict[str, Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The recorded cluster: dumped, and as a list of all its objects."""
    directory = tmp_path_factory.mktemp("law")
    whole = directory / "kubectl.json"
    items = []
    for kind in READ_KINDS:
        if kind.name not in UNSERVED:
            version = kind.api_version("v1")
            items += [{"apiVersion": version, "kind": kind.name, **o} for o in objects_in(kind.path("v1"))]
    whole.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with ApiServer() as server:
        config, out = server.kubeconfig(directory), str(directory / "dump.json")
        ran = run("snapshot", "dump", "--kubeconfig", config, "-o", out, "--chunk-size", "50")
        assert ran.code == 0, ran.err
    return out, str(whole)


def workload(plural: str, name: str) -> Plain:
    kinds = {"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"}
    there = {obj["metadata"]["name"]: obj for obj in objects_in(f"/apis/apps/v1/{plural}")}
    obj: Plain = json.loads(json.dumps(there[name]))
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": "apps/v1", "kind": kinds[plural], "metadata": metadata, "spec": obj["spec"]}


def changed(obj: Plain, **fields: Any) -> Plain:
    obj["spec"]["template"]["spec"]["containers"][0] |= fields
    return obj


def renamed(obj: Plain) -> Plain:
    obj["metadata"]["name"] += "-2"
    return obj


def pod(**spec: Any) -> Plain:
    containers = [{"name": "c", "image": "registry.example/app1:v1", "resources": {"requests": {"cpu": "1500m"}}}]
    metadata = {"name": "asked", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


WEB = ("deployments", "web")
SIZED = workload(*WEB)["spec"]
QUESTIONS = {
    "pods and workloads that are new": [
        pod(priorityClassName="std"),
        renamed(workload(*WEB)),
        renamed(workload("statefulsets", "db")),
        renamed(workload("daemonsets", "agent")),
    ],
    "updates of what is there": [
        changed(workload(*WEB), image="registry.example/app9:v2"),
        changed(workload("statefulsets", "db"), image="y"),
        changed(workload("daemonsets", "agent"), image="y"),
        changed(workload("deployments", "runner"), image="y"),
    ],
    "more replicas of what is there": [{**workload(*WEB), "spec": SIZED | {"replicas": 140}}],
    "fewer replicas of what is there": [{**workload(*WEB), "spec": SIZED | {"replicas": 100}}],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_dump_gives_the_answer_of_the_whole_objects(question: str, files: tuple[str, str], tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": QUESTIONS[question]}))
    answers = []
    for file in files:
        ran = run("place", str(manifest), "--snapshot", file, "--with-pending", "-o", "json")
        assert ran.out, ran.err
        answer = json.loads(ran.out)
        assert answer.pop("fidelity")
        for placement in answer["placements"]:
            # Of pods that wait in the cluster this is the snapshot's own name.
            placement.pop("origin")
        answers.append(answer)
    assert answers[0] == answers[1]
    assert answers[0]["placements"] or answers[0]["rollouts"]
