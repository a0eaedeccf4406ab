"""What the API server of one cluster serves: what its objects show, and what a file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.cluster_types import ClusterTypes, cluster_types
from kwhatif.api.field_types import types_of
from kwhatif.errors import InputError
from kwhatif.simulation.api_resources import read_api_resources, types_served
from kwhatif.snapshot.load import load_snapshot
from tests.cli.running import run

BETA = "admissionregistration.k8s.io/v1beta1"
POLICY = "MutatingAdmissionPolicy"
TABLE = """\
NAME                        SHORTNAMES   APIVERSION                              NAMESPACED   KIND
pods                        po           v1                                      true         Pod
mutatingadmissionpolicies                admissionregistration.k8s.io/v1beta1    false        MutatingAdmissionPolicy
"""
RESOURCES = {
    "kind": "APIResourceList",
    "groupVersion": BETA,
    "resources": [
        {"name": "mutatingadmissionpolicies", "kind": POLICY},
        {"name": "mutatingadmissionpolicies/status", "kind": "Status"},
    ],
}
DISCOVERY = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "metadata": {"name": "admissionregistration.k8s.io"},
            "versions": [{"version": "v1beta1", "resources": [{"responseKind": {"kind": POLICY}}]}],
        },
        {"metadata": {}, "versions": [{"version": "v1", "resources": [{"responseKind": {"kind": "Pod"}}]}]},
    ],
}


def written(tmp_path: Path, name: str, content: Any) -> str:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


FILES = [
    ("a table", TABLE, {("v1", "Pod"), (BETA, POLICY)}),
    ("a list of resources", RESOURCES, {(BETA, POLICY)}),
    ("discovery of all groups", DISCOVERY, {("v1", "Pod"), (BETA, POLICY)}),
    ("a list of lists", {"kind": "List", "items": [RESOURCES]}, {(BETA, POLICY)}),
]


@pytest.mark.parametrize(("content", "expected"), [row[1:] for row in FILES], ids=[row[0] for row in FILES])
def test_a_file_says_which_kinds_are_served(content: Any, expected: set[tuple[str, str]], tmp_path: Path) -> None:
    assert read_api_resources(written(tmp_path, "served.json", content)) == expected


WRONG = [
    ("another document", {"kind": "Pod"}, "found Pod"),
    ("no kinds", {"kind": "List", "items": []}, "found no kinds"),
    ("a cut row", "NAME SHORTNAMES APIVERSION NAMESPACED KIND\npods po v1\n", "line 2: expected NAME"),
    ("a list", "[1]", "expected"),
]


@pytest.mark.parametrize(("content", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_file_that_is_something_else_is_refused(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_api_resources(written(tmp_path, "served.txt", content))


def test_a_version_that_is_off_by_default_has_the_fields_of_another() -> None:
    assert types_of("1.34").api_resource_of(BETA, POLICY) is None
    types = cluster_types("1.34", [(BETA, POLICY)])
    found = types.api_resource_of(BETA, POLICY)
    assert found is not None
    assert not found.namespaced
    assert "spec" in types.fields(found.type)
    assert BETA in types.versions[POLICY]


def test_kinds_that_a_file_leaves_out_of_its_groups_are_not_served(tmp_path: Path) -> None:
    snapshot = load_snapshot([written(tmp_path, "cluster.json", {"apiVersion": "v1", "kind": "List", "items": []})])
    types = types_served("1.35", snapshot, written(tmp_path, "served.txt", TABLE))
    assert types.api_resource_of("v1", "Pod") is not None
    assert types.api_resource_of("v1", "Service") is None
    assert types.api_resource_of("apps/v1", "Deployment") is not None, "a group that it does not name"
    assert "apps" in types.groups


def test_objects_that_a_server_has_stored_show_what_it_serves(tmp_path: Path) -> None:
    policy = {"apiVersion": BETA, "kind": POLICY, "metadata": {"name": "p", "uid": "u"}, "spec": {}}
    shown = load_snapshot([written(tmp_path, "cluster.json", policy)])
    assert types_served("1.35", shown).api_resource_of(BETA, POLICY) is not None
    del policy["metadata"]["uid"]  # type: ignore[attr-defined]
    assert (
        types_served("1.35", load_snapshot([written(tmp_path, "made.json", policy)])).api_resource_of(BETA, POLICY)
        is None
    )


def test_where_nothing_is_told_the_minor_speaks() -> None:
    assert cluster_types("1.36") is types_of("1.36", frozenset())
    assert not isinstance(cluster_types("1.36"), ClusterTypes)


def test_a_command_takes_what_the_cluster_serves(tmp_path: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    policy = {
        "apiVersion": BETA,
        "kind": POLICY,
        "metadata": {"name": "p"},
        "spec": {
            "reinvocationPolicy": "Never",
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}
                ]
            },
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}],
        },
    }
    file = written(tmp_path, "given.json", {"apiVersion": "v1", "kind": "List", "items": [pod, policy]})
    words = ("place", file, "--snapshot", "data/cluster.json", "--kubernetes-version", "1.35")
    assert "1 object refused" in run(*words).out
    assert "refused" not in run(*words, "--api-resources", written(tmp_path, "served.txt", TABLE)).out
