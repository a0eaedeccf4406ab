"""Updates judged from a dump that leaves out parts of pod templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, run
from tests.snapshot.server import ApiServer, objects_in

GAP = "the snapshot leaves out command, env of pod templates"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump as it is by default, and one with whole templates."""
    directory = tmp_path_factory.mktemp("dumps")
    with ApiServer() as server:
        for name, words in (("pruned", ()), ("whole", ("--keep-templates",))):
            config, out = server.kubeconfig(directory), str(directory / f"{name}.json")
            ran = run("snapshot", "dump", "--kubeconfig", config, "-o", out, "--chunk-size", "50", *words)
            assert ran.code == 0, ran.err
    return directory


def stored(plural: str = "deployments", name: str = "web") -> dict[str, Any]:
    """A workload as its manifest may have been, with its commands and environment."""
    kinds = {"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"}
    there = {obj["metadata"]["name"]: obj for obj in objects_in(f"/apis/apps/v1/{plural}")}
    obj: dict[str, Any] = json.loads(json.dumps(there[name]))
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": "apps/v1", "kind": kinds[plural], "metadata": metadata, "spec": obj["spec"]}


def container(obj: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = obj["spec"]["template"]["spec"]["containers"][0]
    return found


def place(dumps: Path, obj: dict[str, Any], dump: str = "pruned", *words: str) -> Ran:
    manifest = dumps / "manifest.json"
    manifest.write_text(json.dumps(obj))
    return run("place", str(manifest), "--snapshot", str(dumps / f"{dump}.json"), "-o", "json", *words)


def replaced(ran: Ran) -> int:
    """How many pods the update takes away."""
    return sum(plan["removes"] for plan in json.loads(ran.out)["rollouts"])


def gaps(ran: Ran) -> dict[str, list[str]]:
    return {gap["what"]: gap["pods"] for gap in json.loads(ran.out)["fidelity"]["gaps"]}


@pytest.mark.parametrize(("plural", "name"), [("deployments", "web"), ("statefulsets", "db"), ("daemonsets", "agent")])
def test_a_workload_whose_manifest_did_not_change_is_not_rolled_out(plural: str, name: str, dumps: Path) -> None:
    obj = stored(plural, name)
    assert "env" in container(obj) or name != "web"
    ran = place(dumps, obj)
    assert replaced(ran) == 0
    assert gaps(ran)[GAP] == [f"{obj['kind']} {obj['metadata']['namespace']}/{name}"]


def test_what_was_left_out_is_taken_to_be_as_it_was(dumps: Path) -> None:
    obj = stored()
    container(obj)["env"] = [{"name": "PASSWORD", "value": "new"}]
    ran = place(dumps, obj)
    assert (replaced(ran), GAP in gaps(ran)) == (0, True)


@pytest.mark.long
def test_with_whole_templates_a_changed_environment_is_an_update(dumps: Path) -> None:
    obj = stored()
    assert replaced(place(dumps, obj, "whole")) == 0
    container(obj)["env"] = [{"name": "PASSWORD", "value": "new"}]
    ran = place(dumps, obj, "whole")
    assert replaced(ran) > 0
    assert GAP not in gaps(ran)


@pytest.mark.long
@pytest.mark.parametrize(
    "change",
    [
        {"image": "registry.example/app1:v2"},
        {"resources": {"requests": {"cpu": "150m"}}},
        {"livenessProbe": {"httpGet": {"path": "/", "port": 80}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_the_snapshot_knows_has_changed_is_an_update(change: dict[str, Any], dumps: Path) -> None:
    """Also what no template of the cluster had: had there been any, the file would say that it was left out."""
    obj = stored()
    container(obj).update(change)
    ran = place(dumps, obj)
    assert replaced(ran) > 0
    assert GAP not in gaps(ran)


@pytest.mark.long
def test_under_strict_an_unchanged_workload_is_not_certain_enough(dumps: Path) -> None:
    ran = place(dumps, stored(), "pruned", "--strict")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == f"kwhatif: --strict: {GAP}: touches Deployment shop/web"


def test_expand_says_so_too(dumps: Path) -> None:
    (dumps / "manifest.json").write_text(json.dumps(stored()))
    ran = run("expand", str(dumps / "manifest.json"), "--snapshot", str(dumps / "pruned.json"))
    told = "if they changed, every pod would be replaced; a dump with --keep-templates would tell"
    assert f"warning: {GAP}: {told} [Deployment shop/web]" in ran.err.splitlines()
    strict = run("expand", str(dumps / "manifest.json"), "--snapshot", str(dumps / "pruned.json"), "--strict")
    assert (strict.code, strict.out) == (2, "")


def test_new_pods_of_an_update_have_the_manifests_environment(dumps: Path) -> None:
    obj = stored()
    obj["spec"]["replicas"] = 130
    (dumps / "manifest.json").write_text(json.dumps(obj))
    ran = run("expand", str(dumps / "manifest.json"), "--snapshot", str(dumps / "pruned.json"), "-o", "json")
    pods = json.loads(ran.out)["pods"]
    assert pods
    assert all(pod["object"]["spec"]["containers"][0]["env"][0]["value"] == "hunter2" for pod in pods)
