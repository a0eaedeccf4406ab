"""Kinds that make pods by data: lists, counts, roles and names, of a command line and of a document."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.server import ApiServer
from kwhatif.bounds import pods_to_make
from kwhatif.errors import InputError, UsageError
from kwhatif.workloads.controllers import TemplatePath, merge_paths, reconcile
from kwhatif.workloads.object_creation import CreatedObjects
from kwhatif.workloads.objects import controller_of, name_of
from kwhatif.workloads.operators.kinds_document import read_kinds
from kwhatif.workloads.operators.table import KINDS
from kwhatif.workloads.workload_kind import Companions, UpdateOrder, WorkloadKind
from tests.workloads.builders import Json, template
from tests.workloads.operators.examples import example


def farm(**spec: Any) -> Json:
    metadata = {"name": "farm", "namespace": "default", "uid": "u1"}
    return {"apiVersion": "example.com/v1", "kind": "Farm", "metadata": metadata, "spec": spec}


def made_of(obj: Json, *kinds: WorkloadKind) -> CreatedObjects:
    return reconcile(ApiServer(ObjectStore()), obj, [], templates=kinds)


def names(obj: Json, *kinds: WorkloadKind) -> list[str]:
    return [name_of(pod) for pod in made_of(obj, *kinds).pods]


LINES = [
    ("a list", "$.spec.workers[*].template", ["farm-0-1", "farm-0-2", "farm-1-1"]),
    ("a list with roles", "$.spec.workers[*].template,role=.kind", ["farm-hen-1", "farm-hen-2", "farm-cow-1"]),
    ("a count of its own", "$.spec.workers[*].template,count=.size", [*(f"farm-0-{n}" for n in (1, 2, 3)), "farm-1-1"]),
    ("a count of the object", "$.spec.workers[0].template,count=$.spec.total", [f"farm-{n}" for n in range(1, 5)]),
    ("a number", "$.spec.workers[1].template,count=2", ["farm-1", "farm-2"]),
    ("a word for a role", "$.spec.workers[1].template,role=cow", ["farm-cow-1"]),
    ("a map", "$.spec.roles[*].template", ["farm-a-1", "farm-b-1", "farm-b-2"]),
]


@pytest.mark.parametrize(("path", "expected"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_a_line_says_where_templates_are_how_many_and_in_which_role(path: str, expected: list[str]) -> None:
    workers = [
        {"kind": "hen", "replicas": 2, "size": 3, "template": template()},
        {"kind": "cow", "template": template()},
    ]
    roles = {"b": {"replicas": 2, "template": template()}, "a": {"template": template()}}
    obj = farm(workers=workers, roles=roles, total=4)
    assert names(obj, TemplatePath.parse(f"example.com/Farm={path}")) == expected


def test_several_lines_about_one_kind_are_all_of_its_templates() -> None:
    paths = [TemplatePath.parse(f"example.com/Farm=$.spec.{part}") for part in ("head", "tail")]
    (kind,) = merge_paths(paths)
    assert names(farm(head=template("one"), tail=template("two")), kind) == ["farm-1", "farm-2"]


@pytest.mark.parametrize("rest", [",size=.x", ",count=many", ",role=Not a word", ",count"])
def test_a_line_that_cannot_be_read_is_refused_with_what_is_expected(rest: str) -> None:
    with pytest.raises(UsageError, match=re.escape("with [*] for lists and ,count=PATH and ,role=PATH after it")):
        TemplatePath.parse(f"example.com/Farm=$.spec.template{rest}")


def test_an_empty_list_has_no_pods_and_a_missing_count_is_one() -> None:
    path = TemplatePath.parse("example.com/Farm=$.spec.workers[*].template")
    assert names(farm(workers=[]), path) == []
    assert names(farm(workers=[{"template": template()}]), path) == ["farm-0-1"]


def document(tmp_path: Path, text: str) -> str:
    path = tmp_path / "kinds.yaml"
    path.write_text(f"apiVersion: kwhatif.dev/v1\nkind: WorkloadKinds\nkinds:\n{text}", encoding="utf-8")
    return str(path)


def test_a_document_says_names_labels_and_what_is_made(tmp_path: Path) -> None:
    (kind,) = read_kinds(
        document(
            tmp_path,
            """
- group: example.com
  kind: Farm
  suspended: [$.spec.paused]
  update: one-by-one
  sets:
  - template: $.spec.roles[*].template
    makes: StatefulSet
    role: "{key|lower}"
    name: "{name}-{role}"
    labels: {part-of: "{name}", size: "{.replicas}-of-{$.spec.total}"}
  - template: $.spec.head
    name: "{name}-head-{index}"
    first: 5
    count: 2
    group: part-of
""",
        )
    )
    obj = farm(roles={"Cow": {"replicas": 2, "template": template()}}, head=template(), total=7)
    made = made_of(obj, kind)
    assert [name_of(pod) for pod in made.pods] == ["farm-cow-0", "farm-cow-1", "farm-head-5", "farm-head-6"]
    first, *_, last = made.pods
    assert (controller_of(first)["kind"], controller_of(last)["kind"]) == ("StatefulSet", "Farm")
    assert first["metadata"]["labels"]["size"] == "2-of-7"
    assert names(farm(**obj["spec"], paused=True), kind) == []
    assert kind.update_of(obj) == UpdateOrder.one_by_one
    assert kind.together_by(obj) == "part-of"
    assert list(kind.doubts_of(obj, Companions(), updated=True)) == []


def test_an_order_that_nobody_told_is_a_doubt_about_an_update() -> None:
    kind = TemplatePath.parse("example.com/Farm=$.spec.template")
    (doubt,) = kind.doubts_of(farm(), Companions(), updated=True)
    assert doubt.what == "in which order pods of Farm farm are replaced is not known"
    assert list(kind.doubts_of(farm(), Companions(), updated=False)) == []


WRONG = [
    ("- {group: a, kind: B, sets: [{template: spec.template}]}", r"\$\.kinds\[0\]\.sets\[0\]\.template"),
    ("- {group: a, kind: B, sets: [{template: $.x, count: ..}]}", r"\$\.kinds\[0\]\.sets\[0\]\.count"),
    ('- {group: a, kind: B, sets: [{template: $.x, name: "{who}"}]}', r"\$\.kinds\[0\]\.sets\[0\]\.name"),
    ("- {group: a, kind: B, suspended: [.x], sets: [{template: $.x}]}", r"\$\.kinds\[0\]\.suspended\[0\]"),
    ("- {group: a, kind: B, sets: []}", r"\$\.kinds\[0\]\.sets"),
    ("- {group: a, kind: B, sets: [{template: $.x, makes: Thing}]}", r"\$\.kinds\[0\]\.sets\[0\]\.makes"),
]


@pytest.mark.parametrize(("text", "place"), WRONG, ids=[row[1] for row in WRONG])
def test_a_mistake_in_a_document_is_told_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(InputError, match=place):
        read_kinds(document(tmp_path, text))


def test_more_pods_than_may_be_made_are_refused_before_any_is() -> None:
    path = TemplatePath.parse("example.com/Farm=$.spec.template")
    with pods_to_make(3):
        assert len(made_of(farm(template=template(), replicas=3), path).pods) == 3
    with pods_to_make(3), pytest.raises(InputError, match="no more than 3 pods in all"):
        made_of(farm(template=template(), replicas=2_000_000_000), path)


def test_a_field_of_a_type_that_no_definition_lets_in_is_an_error_and_no_accident() -> None:
    obj = example("RayCluster.ray.io")
    obj["spec"]["workerGroupSpecs"][0]["minReplicas"] = {}
    with pytest.raises(InputError, match="RayCluster raw has a field of a type that it cannot have"):
        made_of(obj, *KINDS)
