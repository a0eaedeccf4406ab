"""Documents with what-if edits: what they may say, where a mistake in them is, and the schema that says so, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.commands.schema_files import cluster_edits_schema
from kwhatif.errors import InputError
from kwhatif.simulation.edits.document import Edit, read_edit, read_edits
from kwhatif.snapshot.format.model import Snapshot, write_snapshot
from kwhatif.snapshot.load import load_snapshot

ROOT = Path(__file__).parents[3]
SCHEMA_FILE = ROOT / "schemas" / "cluster-edits.schema.json"

FIELDS = {field.name: field.encode_name for field in msgspec.structs.fields(Edit)}
EDITS: dict[str, dict[str, Any]] = {
    "cordon a node": {"cordon": "n1"},
    "uncordon all nodes of a pool": {"uncordon": "pool=batch"},
    "taint a node": {"taint": {"nodes": "n1", "key": "dedicated", "value": "infra", "effect": "NoSchedule"}},
    "a taint without a value": {"taint": {"nodes": "n1", "key": "example.com/gone", "effect": "NoExecute"}},
    "take a taint away": {"untaint": {"nodes": "[gpu]", "key": "dedicated"}},
    "take one taint of a key away": {"untaint": {"nodes": "n1", "key": "dedicated", "effect": "PreferNoSchedule"}},
    "set one label and take one away": {"label": {"nodes": "n1", "labels": {"pool": "batch", "old": None}}},
    "set amounts": {"set": {"nodes": "n1", "allocatable": {"cpu": 8, "example.com/gpu": "2"}}},
    "set a capacity": {"set": {"nodes": "n1", "capacity": {"memory": "64Gi", "hugepages-2Mi": "1Gi"}}},
    "add a node": {"addNodes": {"count": 1, "like": "n1"}},
    "add nodes elsewhere": {"addNodes": {"count": 3, "like": "n1", "in": {"zone": "b"}, "labels": {"pool": "new"}}},
    "add tainted nodes": {"addNodes": {"count": 3, "like": "n1", "taints": [{"key": "a", "effect": "NoSchedule"}]}},
    "remove nodes": {"removeNodes": "zone in (a,b)"},
    "scale a workload": {"scale": {"kind": "deploy", "namespace": "shop", "name": "web", "replicas": 0}},
    "delete pods": {"deletePods": "shop/[app=web]"},
}


def document(*edits: Any) -> dict[str, Any]:
    return {"apiVersion": "kwhatif.dev/v1", "kind": "ClusterEdits", "edits": list(edits)}


def written(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "edits.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


@pytest.mark.parametrize("case", EDITS)
def test_an_edit_can_be_said(case: str) -> None:
    jsonschema.Draft202012Validator(cluster_edits_schema()).validate(document(EDITS[case]))
    read = read_edit(EDITS[case], "here")
    assert {FIELDS[read.name]} == set(EDITS[case])
    assert read.origin == "here"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an edit that nobody knows": ({"cordn": "n1"}, ': unknown field "cordn"; did you mean cordon?'),
    "two edits at once": (
        {"cordon": "n1", "uncordon": "n2"},
        ": expected exactly one of cordon, uncordon, taint, untaint, label, set, addNodes, removeNodes, scale, "
        "setResources, deletePods, quota, stopQueue, found cordon, uncordon",
    ),
    "a number for a node": ({"cordon": 1}, ".cordon: expected a string, found the number 1"),
    "no node": ({"cordon": " "}, ".cordon: expected a node or a selector, found none"),
    "no pod": ({"deletePods": ""}, ".deletePods: expected a pod or a selector, found none"),
    "an effect that is none": (
        {"taint": {"nodes": "n1", "key": "a", "effect": "noschedule"}},
        ".taint.effect: expected NoSchedule, PreferNoSchedule or NoExecute, found "
        '"noschedule"; did you mean NoSchedule?',
    ),
    "no effect": ({"taint": {"nodes": "n1", "key": "a"}}, ".taint: the field effect is missing"),
    "a key that is none": (
        {"untaint": {"nodes": "n1", "key": "a b"}},
        '.untaint.key: expected a key such as "pool" or "example.com/pool", found "a b"',
    ),
    "a label value that is none": (
        {"label": {"nodes": "n1", "labels": {"example.com/a": "-"}}},
        ".label.labels[\"example.com/a\"]: expected at most 63 letters, digits, '-', '_' and '.', ends being "
        'letters or digits, found "-"',
    ),
    "no labels": ({"label": {"nodes": "n1", "labels": {}}}, ".label.labels: expected at least one label, found none"),
    "an amount that is none": (
        {"set": {"nodes": "n1", "allocatable": {"cpu": "8 cores"}}},
        '.set.allocatable.cpu: expected a quantity such as "500m" or "1Gi", found "8 cores"',
    ),
    "an amount below zero": (
        {"set": {"nodes": "n1", "capacity": {"cpu": "-1"}}},
        '.set.capacity.cpu: expected no less than 0, found "-1"',
    ),
    "half a device": (
        {"set": {"nodes": "n1", "allocatable": {"example.com/gpu": "500m"}}},
        '.set.allocatable["example.com/gpu"]: expected a whole number, found "500m"',
    ),
    "a resource that Kubernetes does not have": (
        {"set": {"nodes": "n1", "allocatable": {"memroy": "1Gi"}}},
        '.set.allocatable.memroy: Kubernetes has no resource "memroy"; did you mean memory?',
    ),
    "a resource that nobody can have": (
        {"set": {"nodes": "n1", "allocatable": {"gpu!": "1"}}},
        '.set.allocatable["gpu!"]: expected a resource such as "cpu" or "example.com/gpu", found "gpu!"',
    ),
    "nothing to set": ({"set": {"nodes": "n1"}}, ".set: expected an amount under allocatable or capacity, found none"),
    "fewer than no nodes": (
        {"addNodes": {"count": -1, "like": "n1"}},
        ".addNodes.count: expected an integer from 1 to 10000, found the number -1",
    ),
    "nodes like nothing": ({"addNodes": {"count": 1}}, ".addNodes: the field like is missing"),
    "a taint of new nodes with a slip in it": (
        {"addNodes": {"count": 1, "like": "n1", "taints": [{"key": "a", "efect": "NoExecute"}]}},
        '.addNodes.taints[0]: unknown field "efect"; did you mean effect?',
    ),
    "fewer than no pods": (
        {"scale": {"kind": "Deployment", "name": "web", "replicas": -1}},
        ".scale.replicas: expected an integer from 0 to 100000, found the number -1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_told_with_its_place(case: str, tmp_path: Path) -> None:
    edit, problem = REFUSED[case]
    path = written(tmp_path, document({"cordon": "n1"}, edit))
    with pytest.raises(InputError) as refused:
        read_edits([path])
    place, _, rest = problem.partition(": ")
    assert str(refused.value) == f"{path}: $.edits[1]{place}: {rest}"


_WORDS = st.sampled_from(
    [*FIELDS.values(), "nodes", "key", "effect", "labels", "count", "like", "in", "n1", "NoExecute"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(_WORDS, _VALUES, max_size=2))
def test_whatever_stands_for_an_edit_it_is_read_or_refused(value: dict[str, Any]) -> None:
    problem = ""
    try:
        assert read_edit(value, "edits.yaml", "$.edits[0]").what is not None
    except InputError as error:
        problem = str(error)
    assert not problem or problem.startswith("edits.yaml: $.edits[0]")


BROKEN = {
    "another kind": ({"apiVersion": "v1", "kind": "List", "items": []}, '$.apiVersion: expected "kwhatif.dev/v1"'),
    "a snapshot": ({"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot"}, '$.kind: expected "ClusterEdits"'),
    "no kind": ({"apiVersion": "kwhatif.dev/v1"}, '$.kind: expected "ClusterEdits", found none'),
    "a version to come": ({**document(), "apiVersion": "kwhatif.dev/v2"}, '$.apiVersion: expected "kwhatif.dev/v1"'),
    "no edits": ({"apiVersion": "kwhatif.dev/v1", "kind": "ClusterEdits"}, "$: the field edits is missing"),
    "edits that are no list": ({**document(), "edits": {"cordon": "n1"}}, "$.edits: expected a list"),
    "a field too many": ({**document(), "edit": []}, '$: unknown field "edit"; did you mean edits?'),
    "nothing at all": ("", "holds no ClusterEdits: it is empty"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_document_that_holds_no_edits_is_refused(case: str, tmp_path: Path) -> None:
    content, problem = BROKEN[case]
    path = written(tmp_path, content)
    with pytest.raises(InputError) as refused:
        read_edits([path])
    assert str(refused.value).startswith(f"{path}: {problem}")


def test_edits_of_several_documents_and_files_come_in_their_order(tmp_path: Path) -> None:
    two = tmp_path / "two.yaml"
    two.write_text("---\n".join(yaml.safe_dump(document({"cordon": name})) for name in ("a", "b")))
    one = tmp_path / "one.json"
    one.write_text(json.dumps(document({"cordon": "c"}, {"cordon": "d"})))
    given = read_edits([str(two), str(one)])
    assert [edit.what for edit in given] == ["a", "b", "c", "d"]
    assert given[1].origin.startswith(f"{two} document 2 (line ")
    assert given[3].origin == f"{one} $.edits[1]"


# --- the schema


# What the schema does not say: keys and values of labels, resources and quantities that nobody can read or use.
UNSAID = {
    *("no node", "no pod", "a key that is none", "a label value that is none", "no labels", "nothing to set"),
    *("an amount that is none", "an amount below zero", "half a device"),
    *("a resource that Kubernetes does not have", "a resource that nobody can have"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_no_edit_by_the_schema(case: str) -> None:
    valid = jsonschema.Draft202012Validator(cluster_edits_schema()).is_valid(document(REFUSED[case][0]))
    assert valid == (case in UNSAID)


# --- snapshots that were edited


def test_a_snapshot_keeps_what_was_edited_when_it_is_written_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "edited.json")
    write_snapshot(Snapshot(edits=["cordon node n1", "remove node n2"]), path)
    assert load_snapshot([path]).edits == ["cordon node n1", "remove node n2"]
