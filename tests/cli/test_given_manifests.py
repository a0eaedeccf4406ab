"""Manifests as people have them: doubled, not rendered, with files of macOS beside them; and answers with no room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders import write_objects
from tests.cli.running import CLUSTER, TESTS, refused, run

SMALL = "data/small.yaml"


def written(folder: Path, *objects: Any, name: str = "given.json") -> str:
    (folder / name).write_text("\n".join(map(json.dumps, objects)))
    return str(folder / name)


def claim(size: str) -> Any:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}


def pod(cpu: str) -> Any:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": [container]}}


def test_the_same_object_twice_is_one(tmp_path: Path) -> None:
    given = written(tmp_path, pod("1m"), pod("1m"))
    assert run("place", given, "--snapshot", CLUSTER, "-o", "name").out.count("pod/default/one") == 1


def test_of_two_that_make_no_pods_the_last_counts_and_that_is_said(tmp_path: Path) -> None:
    given = written(tmp_path, claim("1Gi"), pod("1m"), claim("2Gi"))
    ran = run("expand", given, "--snapshot", CLUSTER, "-o", "json")
    (made,) = json.loads(ran.out)["claims"]
    assert made["spec"]["resources"]["requests"] == {"storage": "2Gi"}
    assert f"warning: PersistentVolumeClaim data appears twice: {given} document 3 (line 3) counts, not {given}" in (
        ran.err.splitlines()
    )


def test_so_it_is_of_kinds_that_only_the_server_reads(tmp_path: Path) -> None:
    maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": text}} for text in "12"]
    ran = run("expand", written(tmp_path, *maps, pod("1m")), "--snapshot", CLUSTER)
    assert ran.code == 0
    assert "warning: ConfigMap a appears twice" in ran.err


def test_of_two_that_make_pods_nobody_knows_which_is_meant(tmp_path: Path) -> None:
    ran = run("place", written(tmp_path, pod("1m"), pod("2m")), "--snapshot", CLUSTER)
    assert ran.code == 2
    assert "appears twice" in ran.err


NOT_RENDERED = {
    "a value": "metadata:\n  name: {{ .Values.name }}\n",
    "a block": "{{- if .Values.enabled }}\nkind: Pod\n{{- end }}\n",
    "a name in quotes": 'metadata:\n  name: "{{ .Release.Name }}-web"\n',
    "a function": 'metadata:\n  labels:\n    {{- include "labels" . | nindent 4 }}\n',
}


@pytest.mark.parametrize("command", ["place", "explain", "expand", "capacity", "gate"])
@pytest.mark.parametrize("text", NOT_RENDERED.values(), ids=list(NOT_RENDERED))
def test_a_template_is_to_be_rendered_first(text: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n" + text)
    ran = run(command, str(tmp_path / "pod.yaml"), "--snapshot", CLUSTER)
    assert ran.code == 2
    assert "a template that was not rendered: render it first, as helm template does" in ran.err


KUSTOMIZATION = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["a.yaml"]}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        pytest.param(KUSTOMIZATION, "a Kustomization, which is no object of a cluster", id="a kustomization"),
        pytest.param(
            {"resources": ["a.yaml"], "namePrefix": "x-"},
            "a Kustomization, which is no object of a cluster: render it first, as kubectl kustomize does",
            id="a kustomization that does not say so",
        ),
        pytest.param(
            {"apiVersion": "v2", "name": "web", "version": "1.0.0"},
            "a chart, which is no object of a cluster: render it first, as helm template does",
            id="a chart",
        ),
        pytest.param(
            {"resource": ["a.yaml"]}, '$.apiVersion: expected a string such as "v1", found none', id="neither"
        ),
    ],
)
def test_so_is_what_objects_are_made_of(document: Any, said: str, tmp_path: Path) -> None:
    file = written(tmp_path, document)
    for words in (("place", file, "--snapshot", CLUSTER), ("gate", file, "--snapshot", CLUSTER), ("expand", file)):
        ran = run(*words)
        assert ran.code == 2
        assert said in ran.err
    assert said in run("snapshot", "info", file).err


def test_what_macos_writes_beside_files_is_passed_over(tmp_path: Path) -> None:
    written(tmp_path, pod("1m"))
    (tmp_path / "._given.json").write_bytes(b"\x00\x05\x16\x07\x00")
    assert run("place", str(tmp_path), "--snapshot", CLUSTER).code == 0


def test_a_kind_of_another_group_is_named_with_it(tmp_path: Path) -> None:
    job = {"apiVersion": "batch.example.com/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}
    assert (
        'neither Kubernetes nor a definition at hand has kind "Job" in version "batch.example.com/v1": no pods of it '
        "are known; --pod-template-path says where a kind has its pod template"
        in run("place", written(tmp_path, job), "--snapshot", CLUSTER).err
    )


def test_names_alone_leave_no_refusal_unsaid(tmp_path: Path) -> None:
    wrong = pod("1m")
    wrong["spec"]["containers"] = []
    ran = run("place", written(tmp_path, wrong), "--snapshot", CLUSTER, "-o", "name")
    assert (ran.code, ran.out) == (1, "")
    assert "warning: Pod default/one is refused: " in ran.err


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_disk_that_is_full_is_no_mistake_of_ours() -> None:
    words = [sys.executable, "-m", "kwhatif", "place", SMALL, "--snapshot", CLUSTER]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(words, cwd=TESTS, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1] == "kwhatif: standard output cannot be written: No space left on device"


def test_a_node_that_is_there_keeps_what_its_manifest_leaves_out(tmp_path: Path) -> None:
    status = {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "9"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}, "status": status}
    cluster = write_objects(tmp_path / "cluster.json", node)
    labelled = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"disk": "ssd"}}}
    wanted = pod("1m")
    wanted["spec"]["nodeSelector"] = {"zone": "a", "disk": "ssd"}
    ran = run("place", written(tmp_path, labelled, wanted), "--snapshot", cluster, "-o", "name")
    assert (ran.code, ran.out) == (0, "pod/default/one -> node/n1\n"), ran.err


def test_a_directory_of_directories_names_the_option_that_reads_them(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    written(tmp_path / "shop", pod("1m"))
    hint = "1 file in directories below: --recursive (-R) reads them, too"
    assert refused("place", str(tmp_path), "--snapshot", CLUSTER) == f"{tmp_path}: holds no objects itself; {hint}"
