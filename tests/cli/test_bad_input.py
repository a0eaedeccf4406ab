"""Whatever is wrong: exit code 2, one line on standard error that names the culprit, nothing on standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import write_objects
from tests.cli.running import CLUSTER, TESTS, refused, run
from tests.snapshot.broken_inputs import BROKEN, Broken

SMALL = "data/small.yaml"
POLICY = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
by_name = pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)


def names(broken: Broken, error: str, directory: Path) -> bool:
    told = error.replace(f"{directory}/", "")
    return broken.file in told.split(": ")[0] and broken.problem in told


@pytest.mark.parametrize("broken", [b for b in BROKEN if not b.mistyped], ids=lambda broken: broken.name)
def test_a_broken_manifest_is_refused(broken: Broken, tmp_path: Path) -> None:
    path = broken.write(tmp_path)
    assert broken.file in refused("place", "-f", path, "--snapshot", CLUSTER, "--strict")


@pytest.mark.parametrize("broken", [b for b in BROKEN if b.mistyped], ids=lambda broken: broken.name)
def test_the_api_server_refuses_a_value_of_a_wrong_type(broken: Broken, tmp_path: Path) -> None:
    path = broken.write(tmp_path)
    for command in ("place", "explain"):
        ran = run(command, "-f", path, "--snapshot", CLUSTER)
        assert ran.code == 1
        told = ran.out.replace(f"{tmp_path}/", "")
        assert "REFUSED by the API server" in told
        assert broken.file in told
        assert broken.place.removeprefix("$.items[0].items[0]") in told


@by_name
def test_a_broken_snapshot_is_refused(broken: Broken, tmp_path: Path) -> None:
    assert names(broken, refused("place", SMALL, "--snapshot", broken.write(tmp_path)), tmp_path)


@pytest.mark.parametrize("broken", [b for b in BROKEN if "\0" not in b.argument][::4], ids=lambda broken: broken.name)
def test_explain_refuses_it_as_well(broken: Broken, tmp_path: Path) -> None:
    path = broken.write(tmp_path)
    if not broken.mistyped:
        assert broken.file in refused("explain", "-f", path, "--snapshot", CLUSTER)
    assert names(broken, refused("explain", SMALL, "--snapshot", path), tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Object 'Kind' is missing"),
        ("just words", "cannot unmarshal string"),
        ("a: [", "line 2"),
        ("kind: KubeSchedulerConfiguration\n", "apiVersion"),
        (POLICY.replace("/v1", "/v9"), "v9"),
        (POLICY.replace("KubeScheduler", "Kubelet"), "KubeletConfiguration"),
        (POLICY + "parallelism: 0\n", "parallelism: Invalid value: 0"),
        (POLICY + "parallelism: many\n", "parallelism"),
        (POLICY + "profile: []\n", 'unknown field "profile"'),
        (POLICY + "profiles: {}\n", "profiles"),
        (POLICY + "profiles: [{schedulerName: ''}]\n", "profiles[0].schedulerName"),
        (POLICY + "profiles: [{schedulerName: a}, {schedulerName: a}]\n", "profiles[1].schedulerName"),
        (POLICY + "percentageOfNodesToScore: 101\n", "percentageOfNodesToScore"),
        (POLICY + "profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]\n", "NodeName"),
        (POLICY + "profiles: [{plugins: {filter: {enabled: [{name: Nobody}]}}}]\n", "Nobody"),
        (POLICY + "profiles: [{plugins: {multiPoint: {disabled: [{name: PrioritySort}]}}}]\n", "queue"),
        (POLICY + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {a: 1}}]}]\n", "a"),
        (POLICY + "parallelism: 1\nparallelism: 2\n", "parallelism"),
        ("\x00", "scheduler.yaml"),
    ],
)
def test_a_broken_policy_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    policy = tmp_path / "scheduler.yaml"
    policy.write_text(text)
    for command in ("place", "explain"):
        error = refused(command, SMALL, "--snapshot", CLUSTER, "--policy", str(policy))
        assert problem in error


def test_policies_that_are_not_there_are_refused(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere.yaml")
    error = refused("place", SMALL, "--snapshot", CLUSTER, "--policy", nowhere)
    assert error == f"{nowhere}: no such file or directory"
    directory = refused("place", SMALL, "--snapshot", CLUSTER, "--policy", str(tmp_path))
    assert directory == f"{tmp_path}: expected a file, found a directory"


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        ("Nothing", "expected package.module:Class"),
        ("no.such.module:Class", "ModuleNotFoundError"),
        ("data/nowhere.py:Class", "data/nowhere.py is no file"),
        ("data/plugins.py:Dogs", "has no Dogs"),
        ("data/plugins.py:annotations", "expected a class"),
        ("data/plugins.py:Nameless", "has no name"),
        ("data/plugins.py:Hookless", "implements none of the hooks"),
        ("data/plugins.py:WrongArguments", "filter_node(pod) should take (pod, node)"),
        ("data/plugins.py:Refuses", "ValueError: cannot be made"),
        ("data/plugins.py:Raises", "RuntimeError: no idea"),
        (f"{CLUSTER}:Class", "data/cluster"),
    ],
)
def test_a_broken_plugin_is_refused_and_named(plugin: str, problem: str) -> None:
    error = refused("place", SMALL, "--snapshot", CLUSTER, "--policy", "data/with-plugin.yaml", "--plugin", plugin)
    assert problem in error
    assert plugin.rpartition(":")[2] in error or "OnlyCats" in error


def test_a_plugin_file_that_is_no_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text("class Plugin\n    pass\n")
    error = refused("place", SMALL, "--snapshot", CLUSTER, "--plugin", f"{tmp_path}/plugin.py:Plugin")
    assert "SyntaxError" in error
    assert "plugin.py" in error


def test_a_plugin_given_twice_is_refused() -> None:
    twice = ["--plugin", "data/plugins.py:OnlyCats"] * 2
    assert "OnlyCats is given twice" in refused("place", SMALL, "--snapshot", CLUSTER, *twice)


# --- sound files that make no sense


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("  topologySpreadConstraints: [{maxSkew: x}]", "$.spec.topologySpreadConstraints[0].maxSkew"),
        (
            "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: a, operator: In, values: 3}]}]}}}",
            "$.spec.affinity.nodeAffinity",
        ),
        ("  nodeName: [ant-1]", "$.spec.nodeName"),
        ("  priority: high", "$.spec.priority"),
    ],
)
def test_a_pod_that_makes_no_sense_is_refused(change: str, problem: str) -> None:
    text = (TESTS / SMALL).read_text().replace("spec:", f"spec:\n{change}")
    for command in ("place", "explain"):
        ran = run(command, "-", "--snapshot", CLUSTER, stdin=text)
        assert ran.code == 1
        assert "standard input" in ran.out
        assert problem in ran.out


@pytest.mark.parametrize("bound", [True, False])
def test_so_it_is_in_a_snapshot(bound: bool, tmp_path: Path) -> None:
    text = (
        (TESTS / SMALL)
        .read_text()
        .replace(
            "spec:",
            "spec:\n  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, "
            "labelSelector: {matchExpressions: [{key: a, operator: Sounds}]}}]}}"
            + ("\n  nodeName: node-1" if bound else ""),
        )
    )
    snapshot = tmp_path / "snapshot.yaml"
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
    snapshot.write_text(f"{node}---\n{text}")
    error = refused("place", "data/pods.yaml", "--with-pending", "--snapshot", str(snapshot))
    assert error.startswith(str(snapshot))
    assert "Sounds" in error


def test_standard_input_is_given_only_once() -> None:
    for words in (["-", "--snapshot", "-"], ["-", "-f", "-", "--snapshot", CLUSTER]):
        assert "standard input can be read only once" in refused("place", *words, stdin="a")
        assert "standard input can be read only once" in refused("explain", *words, stdin="a")
    words = [SMALL, "--snapshot", "-", "--policy", "-"]
    assert "standard input can be read only once" in refused("place", *words, stdin="a")


def test_hostile_names_in_errors_do_no_harm(tmp_path: Path) -> None:
    hostile = tmp_path / "a\x1b[31m\nb.yaml"
    error = refused("place", str(hostile), "--snapshot", CLUSTER)
    assert "\\x1b[31m" in error
    assert "\\x1b[31m" in refused("explain", "a\x1b[31m\n", "--snapshot", CLUSTER)


# --- values that only later stages look at

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def bound(name: str, **others: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "labels": {"app": "a"}, **others.pop("metadata", {})}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, **others}


def workload(kind: str, name: str, owner: str = "") -> dict[str, Any]:
    owners = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "uid": owner, "controller": True}]
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    meta = {"name": name, "namespace": "default", "uid": name, **({"ownerReferences": owners} if owner else {})}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def owned(name: str, **metadata: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    return bound(name, metadata={"ownerReferences": [owner], **metadata}, status={"phase": "Running"})


@pytest.mark.parametrize(
    ("objects", "words", "problem"),
    [
        (
            [bound("a", status={"startTime": "soon"})],
            (),
            '$.items[1].status.startTime: expected a time such as "2026-03-01T11:29:02Z", found "soon"',
        ),
        (
            [
                owned("a", creationTimestamp="2026-03-01T11:29:02"),
                owned("b", creationTimestamp="2026-03-01T11:29:02Z"),
                workload("ReplicaSet", "r", "d"),
                workload("Deployment", "d"),
            ],
            ("--scale", "deployment/default/d=1"),
            '$.items[1].metadata.creationTimestamp: expected a time such as "2026-03-01T11:29:02Z", '
            'found "2026-03-01T11:29:02"',
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_object(
    objects: list[Any], words: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, *objects]}))
    assert refused("place", SMALL, "--snapshot", str(path), *words) == f"{path}: {problem}"


def test_a_pod_that_nobody_schedules_is_not_trimmed_for_and_its_file_is_named(tmp_path: Path) -> None:
    pod = bound("a")
    pod["spec"] = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    write_objects(tmp_path / "cluster.json", NODE)
    words = ("snapshot", "trim", str(tmp_path / "pod.json"), "--snapshot", str(tmp_path / "cluster.json"))
    line = refused(*words, "-o", str(tmp_path / "out.json"))
    problem = "$.spec.schedulerName: pod default/a: schedulerName nobody is none of the configuration's profiles"
    assert line == f"{tmp_path}/pod.json: {problem}"
