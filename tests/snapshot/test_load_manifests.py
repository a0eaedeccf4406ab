"""Loading manifests: order, origins, kinds of all sorts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwhatif.api.meta import Resource
from kwhatif.errors import InputError
from kwhatif.snapshot.load import Manifest, Origin, load_manifests
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

WEB = """\
# the shop
apiVersion: v1
kind: Service
metadata:
  name: web
---

---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
  template: {spec: {containers: [{name: c, image: web}]}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: one}
- apiVersion: v1
  kind: Pod
  metadata: {name: two, namespace: other}
"""


def load(directory: Path, text: str, name: str = "web.yaml", namespace: str = "default") -> list[Manifest]:
    (directory / name).write_text(text)
    return load_manifests([str(directory / name)], namespace)


def test_manifests_keep_their_order_and_know_where_they_came_from(tmp_path: Path) -> None:
    found = load(tmp_path, WEB)
    assert [(m.obj.kind, m.obj.namespace, m.obj.name) for m in found] == [
        ("Service", "default", "web"),
        ("Deployment", "default", "web"),
        ("Pod", "default", "one"),
        ("Pod", "other", "two"),
    ]
    assert [str(m.origin).replace(f"{tmp_path}/", "") for m in found] == [
        "web.yaml document 1 (line 2)",
        "web.yaml document 3 (line 9)",
        "web.yaml document 4 (line 20) items[0]",
        "web.yaml document 4 (line 23) items[1]",
    ]


def test_an_origin_prints_the_document_unless_nothing_stands_before_it() -> None:
    assert str(Origin("web.yaml", 2, 14)) == "web.yaml document 2 (line 14)"
    assert str(Origin("web.yaml")) == "web.yaml"
    assert str(Origin("web.yaml", 1, 3)) == "web.yaml document 1 (line 3)"
    assert str(Origin("pods.json", index=7)) == "pods.json items[7]"


def test_json_documents_have_lines_too(tmp_path: Path) -> None:
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}} for name in "abc"]
    text = "\n".join(json.dumps(pod, indent=2) for pod in pods)
    assert [(m.origin.document, m.origin.line) for m in load(tmp_path, text, "pods.json")] == [
        (1, 1),
        (2, 8),
        (3, 15),
    ]


def test_only_the_heads_are_typed_and_all_is_kept_as_it_is(tmp_path: Path) -> None:
    service, deployment, *pods = load(tmp_path, WEB)
    assert all(type(each.obj) is Resource for each in (service, *pods))
    assert (service.raw["kind"], service.raw["metadata"]) == ("Service", {"name": "web"})
    assert type(deployment.obj) is Resource
    assert deployment.raw["spec"]["replicas"] == 3
    assert deployment.raw["metadata"] == {"name": "web"}


def test_raw_objects_are_the_same_from_json(tmp_path: Path) -> None:
    deployment = load(tmp_path, WEB)[1].raw
    assert load(tmp_path, json.dumps(deployment), "web.json")[0].raw == deployment


def test_only_kinds_that_live_in_namespaces_get_one(tmp_path: Path) -> None:
    kinds = ["Pod", "Job", "LimitRange", "Node", "PriorityClass", "ClusterRole", "Gadget"]
    text = "\n---\n".join(f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}" for kind in kinds)
    found = {m.obj.kind: m.obj.namespace for m in load(tmp_path, text, namespace="team")}
    assert found == {**dict.fromkeys(kinds[:3], "team"), **dict.fromkeys(kinds[3:], "")}


def test_a_generated_name_will_do_and_may_be_used_again(tmp_path: Path) -> None:
    text = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n"
    found = load(tmp_path, f"{text}---\n{text}")
    assert [(m.obj.name, m.obj.metadata.generate_name) for m in found] == [("", "run-")] * 2


@pytest.mark.parametrize("api_version", ["v1", "example.com/v1"])
def test_a_manifest_twice_is_an_error_that_names_both_places(tmp_path: Path, api_version: str) -> None:
    text = f"apiVersion: {api_version}\nkind: Pod\nmetadata: {{name: web}}\n"
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"{text}---\n{text}spec: {{}}\n")
    message = str(caught.value).replace(f"{tmp_path}/", "")
    assert message.startswith("web.yaml document 2 (line 5): $: Pod ")
    assert message.endswith("appears twice: it is also in web.yaml")


def test_one_kind_in_two_groups_is_two_kinds(tmp_path: Path) -> None:
    text = "apiVersion: {}\nkind: Pod\nmetadata: {{name: web}}\n"
    assert len(load(tmp_path, text.format("v1") + "---\n" + text.format("example.com/v1"))) == 2


def test_a_snapshot_is_no_manifest(tmp_path: Path) -> None:
    text = json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "objects": {}})
    with pytest.raises(InputError, match=r"\$\.kind: expected manifests, found a whole ClusterSnapshot"):
        load(tmp_path, text, "cluster.json")


def test_directories_and_files_may_be_given_together(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    for name, file in (("b", "dir/b.yaml"), ("a", "dir/a.yml"), ("z", "z.txt")):
        (tmp_path / file).write_text(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n")
    found = load_manifests([str(tmp_path / "z.txt"), str(tmp_path / "dir")])
    assert [m.obj.name for m in found] == ["z", "a", "b"]


def test_of_a_key_of_yaml_that_appears_twice_the_last_one_counts_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  key: old\n  key: new\n")
    report = ReadingReport()
    (found,) = load_manifests([str(path)], report=report)
    assert found.raw["data"] == {"key": "new"}
    assert report.duplicates == [
        f'{path}: line 6, column 3: the key "key" appears twice (first in line 5): the last one counts'
    ]


def test_custom_resources_of_operators_get_the_namespace_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec: {}\n")
    options = ReadingOptions(namespaced=frozenset({("tekton.dev", "PipelineRun")}))
    (found,) = load_manifests([str(path)], "shop", options)
    assert (found.obj.namespace, found.raw["metadata"]["namespace"]) == ("shop", "shop")
    (other,) = load_manifests([str(path)], "shop")
    assert other.obj.namespace == ""
