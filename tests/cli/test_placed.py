"""One meaning of "placed": the same words, count and exit code in every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import write_objects
from tests.cli.running import run

STRANGER = "schedulerName volcano is none of the configuration's profiles"


def node(name: str, cpu: str = "1") -> Any:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def spec(cpu: str = "1", **more: Any) -> Any:
    return {"containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}], **more}


def deployment(replicas: int = 2, **more: Any) -> Any:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec("100m", **more)}
    wanted = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": wanted}


def pod(name: str, **more: Any) -> Any:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec(**more)}


def write(folder: Path, name: str, *objects: Any) -> str:
    path = folder / name
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


COUNTS = {
    "place": "0 of 2 pods placed, 2 unclaimed",
    "place --timeline": "0 of 2 pods placed, 2 unclaimed",
    "explain": "Outcome:    unclaimed: no profile of the configuration has its schedulerName",
    "capacity": "Does not fit: 0 times",
    "gate": "0 of 2 pods find a node",
}


@pytest.mark.parametrize("command", COUNTS)
def test_pods_of_a_scheduler_that_nobody_knows_are_not_placed(command: str, tmp_path: Path) -> None:
    web = write(tmp_path, "web.json", deployment(schedulerName="volcano"))
    cluster = write_objects(tmp_path / "cluster.json", node("a"))
    ran = run(*command.split(), web, "--snapshot", cluster)
    assert ran.code == (0 if command == "gate" else 1)
    # The gate breaks its lines.
    text = " ".join(ran.out.split())
    assert STRANGER in text
    assert "unclaimed" in text or command == "gate"
    assert " ".join(COUNTS[command].split()) in text


@pytest.mark.parametrize("command", COUNTS)
def test_they_are_where_the_configuration_has_a_profile_of_that_name(command: str, tmp_path: Path) -> None:
    web = write(tmp_path, "web.json", deployment(schedulerName="volcano"))
    cluster = write_objects(tmp_path / "cluster.json", node("a"))
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: volcano\n"
    )
    ran = run(*command.split(), web, "--snapshot", cluster, "--policy", str(policy))
    assert ran.code == 0, ran.out
    assert "unclaimed" not in ran.out


OWNED = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "low", "uid": "1", "controller": True}


def preempting(folder: Path, *more: Any) -> tuple[str, str]:
    """A pod that evicts another, which its controller makes again."""
    low = pod("low", nodeName="a")
    low["metadata"]["ownerReferences"] = [OWNED]
    return (
        write(folder, "vip.json", pod("vip", priority=1000)),
        write(folder, "cluster.json", node("a"), low, *more),
    )


@pytest.mark.parametrize("how", [[], ["--timeline"]], ids=["at once", "over time"])
def test_victims_that_stay_pending_count_against_the_answer(how: list[str], tmp_path: Path) -> None:
    words = preempting(tmp_path)
    ran = run("place", words[0], "--snapshot", words[1], *how)
    assert ran.code == 1, ran.out
    if not how:
        assert [line for line in ran.lines if "pods placed" in line or "pod placed" in line] == [
            "Does not fit: 1 evicted pod stays pending, 1 of 1 pod placed, 1 pod evicted; "
            "Pod could not be read: the list holds those of "
            "namespace default alone; the snapshot holds no PodDisruptionBudget"
        ]


@pytest.mark.parametrize("how", [[], ["--timeline"]], ids=["at once", "over time"])
def test_victims_that_find_another_node_do_not(how: list[str], tmp_path: Path) -> None:
    full = pod("full", nodeName="b", cpu="1")
    full["spec"]["priority"] = 2000
    roomy = node("c")
    roomy["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    words = preempting(tmp_path, node("b"), full, roomy)
    low = json.loads(Path(words[1]).read_text())
    low["items"][1]["spec"]["tolerations"] = [{"operator": "Exists"}]
    Path(words[1]).write_text(json.dumps(low))
    ran = run("place", words[0], "--snapshot", words[1], *how)
    assert ran.code == 0, ran.out


def test_names_alone_leave_no_refusal_and_no_missing_pod_unsaid(tmp_path: Path) -> None:
    bad = pod("bad")
    bad["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "100m"}
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "50m"}}]},
    }
    files = write(tmp_path, "bad.json", bad), write(tmp_path, "web.json", deployment())
    cluster = write_objects(tmp_path / "cluster.json", node("a"), limits)
    ran = run("place", *files, "--snapshot", cluster, "-o", "name")
    assert (ran.code, ran.out) == (1, "")
    assert any(note.startswith("warning: Pod default/bad is refused: ") for note in ran.notes)
    assert any(note.startswith("warning: ") and ": 2 pods not created: " in note for note in ran.notes)


# --- strict


GADGET = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"replicas": 2}}
STANDS_ON: dict[str, tuple[list[Any], list[Any], str]] = {
    "a kind that nobody knows": ([deployment(), GADGET], [], "kinds unknown to kwhatif: 1 Gadget"),
    "a workload that is missing while its pods are there": (
        [deployment()],
        [{**pod("web-old-x", nodeName="a"), "metadata": {"name": "web-old-x", "namespace": "default"}}],
        "Deployment default/web is not in the snapshot, though 1 pod of it is",
    ),
}


@pytest.mark.parametrize("command", ["place", "explain", "capacity", "gate", "expand"])
@pytest.mark.parametrize("case", STANDS_ON)
def test_under_strict_no_command_answers_that_stands_on(case: str, command: str, tmp_path: Path) -> None:
    manifests, running, gap = STANDS_ON[case]
    for one in running:
        labels = {"app": "web", "pod-template-hash": "old"}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-old", "uid": "1", "controller": True}
        one["metadata"] |= {"labels": labels, "ownerReferences": [owner]}
    files = write(tmp_path, "web.json", *manifests), write_objects(tmp_path / "cluster.json", node("a"), *running)
    ran = run(command, files[0], "--snapshot", files[1], "-o", "json")
    assert gap in ran.out
    strict = run(command, files[0], "--snapshot", files[1], "--strict")
    assert (strict.code, strict.out) == (2, "")
    assert strict.err.startswith("kwhatif: --strict: ")
