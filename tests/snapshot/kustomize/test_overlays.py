"""Forty overlays come out as ``kubectl kustomize`` has them: recorded ones, and asked again where kubectl is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import items_of, plain_of, read_documents
from kwhatif.snapshot.repository.file_trees import DiskTree
from kwhatif.snapshot.repository.kustomization_builds import KustomizationBuilder
from kwhatif.snapshot.repository.kustomizations import KustomizationGraph
from tests.security.repositories import write_files
from tests.snapshot.kustomize.overlay_parts import overlays

OVERLAYS = dict(overlays())
RECORDED = Path(__file__).parent / "kubectl-kustomize.json"
"""What kubectl 1.32 (kustomize 5.5) makes of each, or its refusal."""


def build(folder: Path) -> list[dict[str, Any]] | None:
    tree = DiskTree(str(folder))
    graph = KustomizationGraph(tree)
    try:
        return [item.value for item in KustomizationBuilder(tree, graph).build(str(folder / "top"), {})]
    except InputError:
        return None


def ask_kubectl(folder: Path) -> list[dict[str, Any]] | None:
    done = subprocess.run(["kubectl", "kustomize", str(folder / "top")], capture_output=True, check=False)
    if done.returncode:
        return None
    return [plain_of(item) for document in read_documents(Text("built", done.stdout)) for item in items_of(document)]


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_is_built_as_kubectl_kustomize_builds_it(name: str, tmp_path: Path) -> None:
    write_files(tmp_path, OVERLAYS[name])
    assert build(tmp_path) == json.loads(RECORDED.read_text())[name]


@pytest.mark.parametrize(
    ("base", "overlay", "is_hashed"),
    [
        ("{name: c, literals: [a=1]}", "{name: c, behavior: merge, literals: [b=2]}", True),
        ("{name: c, literals: [a=1]}", "{name: c, behavior: replace, literals: [b=2], OFF}", False),
        ("{name: c, literals: [a=1], OFF}", "{name: c, behavior: merge, literals: [b=2]}", False),
        ("{name: c, literals: [a=1], OFF}", "{name: c, behavior: replace, literals: [b=2]}", False),
        ("", "{name: c, behavior: merge, literals: [b=2]}", False),
    ],
)
def test_the_name_of_a_merged_config_map_has_a_hash_if_both_generators_give_it_one(
    base: str, overlay: str, is_hashed: bool, tmp_path: Path
) -> None:
    off = "options: {disableNameSuffixHash: true}"
    plain = {"base/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"}
    made = f"configMapGenerator: [{base.replace('OFF', off)}]\n" if base else "resources: [c.yaml]\n"
    top = f"resources: [../base]\nconfigMapGenerator: [{overlay.replace('OFF', off)}]\n"
    write_files(tmp_path, {"base/kustomization.yaml": made, "top/kustomization.yaml": top} | ({} if base else plain))
    (found,) = build(tmp_path) or []
    assert (found["metadata"]["name"] != "c") == is_hashed


def test_no_annotations_are_none_and_a_secret_of_nothing_has_data(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: }\n"
    write_files(tmp_path, {"top/kustomization.yaml": "resources: [a.yaml]\nsecretGenerator: [{name: s}]\n"})
    write_files(tmp_path, {"top/a.yaml": pod})
    secret, found = build(tmp_path) or []
    assert found["metadata"] == {"name": "a"}
    assert secret == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s-46f8b28mk5"},
        "type": "Opaque",
        "data": {},
    }


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
@pytest.mark.skipif("KWHATIF_LONG" not in os.environ, reason="kubectl takes a second for each")
def test_what_is_recorded_is_what_kubectl_makes_of_them(tmp_path: Path) -> None:
    found = {}
    for number, (name, files) in enumerate(OVERLAYS.items()):
        write_files(tmp_path / str(number), files)
        found[name] = ask_kubectl(tmp_path / str(number))
    if os.environ["KWHATIF_LONG"] == "record":
        lines = [
            f"{json.dumps(name)}: {json.dumps(each, sort_keys=True, separators=(',', ':'))}"
            for name, each in found.items()
        ]
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert found == json.loads(RECORDED.read_text())


@pytest.mark.parametrize(
    ("field", "operation", "annotations"),
    [
        ("patches", "{op: add, path: /metadata/annotations/a.b~1c, value: '1'}", {"a.b/c": "1"}),
        ("patches", "{op: replace, path: /metadata/annotations/a, value: '1'}", {"a": "1"}),
        ("patches", "{op: remove, path: /metadata/annotations}", None),
        ("namePrefix: x-\npatchesJson6902", "{op: add, path: /metadata/annotations/a, value: '1'}", {"a": "1"}),
        ("patchesJson6902", "{op: add, path: /metadata/annotations/a, value: '1'}", "refused"),
        ("patches", "{op: add, path: /metadata/labels/a, value: '1'}", "refused"),
    ],
)
def test_a_patch_finds_annotations_once_kustomize_keeps_former_names_in_them(
    field: str, operation: str, annotations: object, tmp_path: Path
) -> None:
    top = f"resources: [c.yaml]\n{field}:\n- target: {{kind: ConfigMap, name: c}}\n  patch: |-\n    - {operation}\n"
    files = {"top/kustomization.yaml": top, "top/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"}
    write_files(tmp_path, files)
    built = build(tmp_path)
    assert (built[0]["metadata"].get("annotations") if built else "refused") == annotations


@pytest.mark.parametrize("resource", ["https://example.com/app.yaml", "c.yaml"])
def test_a_component_s_patch_may_be_for_what_is_at_an_address_of_whoever_includes_it(
    resource: str, tmp_path: Path
) -> None:
    patch = "{apiVersion: v1, kind: ConfigMap, metadata: {name: away}, data: {a: b}}"
    files = {
        "top/kustomization.yaml": f"resources: [{resource}]\ncomponents: [../part]\n",
        "top/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
        "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        f"patches: [{{patch: '{patch}'}}]\n",
    }
    write_files(tmp_path, files)
    assert build(tmp_path) == ([] if "://" in resource else None)
