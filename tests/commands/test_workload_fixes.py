"""What would let all pods of a workload run: each change was placed as a whole, and its lines can be pasted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

import kwhatif
from kwhatif.api.core import ResourceRequirements
from kwhatif.api.quantity import Quantity
from kwhatif.commands.explain.text import explain_blocks
from kwhatif.plugins.shared.pod_changes import with_spec
from kwhatif.render.tables import text_of
from kwhatif.results.explain import WorkloadFix
from kwhatif.simulation.explanation.workload_changes import change_of_pod
from tests.builders import pod
from tests.scheduler_plugin_builders import Json, namespace_named, plain_node, write_cluster

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PEERS: Json = {"labelSelector": {"matchLabels": {"app": "web"}}}
APART: Json = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**PEERS, "topologyKey": ZONE}]}}
SPREAD: Json = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **PEERS}
QUOTA: Json = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "team", "namespace": "default"},
    "spec": {"hard": {"requests.cpu": "2"}},
    "status": {"hard": {"requests.cpu": "2"}, "used": {"requests.cpu": "0"}},
}


def node(name: str, zone: str, cpu: str = "4") -> Json:
    return plain_node(name, cpu, zone=zone)


def web(replicas: int, cpu: str = "1", **spec: Any) -> Json:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {**spec, "containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


@dataclass(frozen=True)
class Row:
    """``fixes`` are the changes with how many pods then run; ``lines`` stand in one of the patches."""

    there: Sequence[Json]
    workload: Json
    fixes: Mapping[str, int]
    lines: Sequence[str] = field(default_factory=list)


ROWS = {
    "more replicas than zones that must be apart": Row(
        [node("a", "a"), node("b", "b"), node("b2", "b")],
        web(3, affinity=APART),
        {
            f"keep pods apart by node, not by {ZONE}": 3,
            f"prefer the anti-affinity over {ZONE}, in place of requiring it": 3,
            "run 2 replicas, not 3": 2,
        },
        [f"-            topologyKey: {ZONE}", f"+            topologyKey: {HOST}", "-  replicas: 3", "+  replicas: 2"],
    ),
    "a spread over a zone that is full": Row(
        [node("a", "a", "1"), node("b", "b", "8")],
        web(4, topologySpreadConstraints=[SPREAD]),
        {
            f"raise maxSkew over {ZONE} from 1 to 2": 4,
            f"prefer the spread over {ZONE} (whenUnsatisfiable: ScheduleAnyway)": 4,
            "run 3 replicas, not 4": 3,
            "add 1 node like a": 4,
        },
        ["-        maxSkew: 1", "+        maxSkew: 2", "+        whenUnsatisfiable: ScheduleAnyway"],
    ),
    "a quota without room": Row(
        [node("a", "a", "8"), QUOTA],
        web(4),
        {"raise quota team: requests.cpu from 2 to 4": 4, "run 2 replicas, not 4": 2},
        ['-    requests.cpu: "2"', '+    requests.cpu: "4"'],
    ),
    "a label of the node selector that is misspelt": Row(
        [node("a", "a"), node("b", "b")],
        web(2, nodeSelector={"topology.kubernetes.io/zome": "b"}),
        {
            f"write node selector {ZONE}=b, not topology.kubernetes.io/zome=b": 2,
            "drop node selector topology.kubernetes.io/zome=b": 2,
        },
        ["-        topology.kubernetes.io/zome: b", f"+        {ZONE}: b"],
    ),
    "a quota of which two amounts are too small": Row(
        [node("a", "a", "8"), {**QUOTA, "spec": {"hard": {"requests.cpu": "2", "pods": "3"}}}],
        web(4),
        {"raise quota team: requests.cpu from 2 to 4, pods from 3 to 4": 4, "run 2 replicas, not 4": 2},
        ['-    requests.cpu: "2"', '+    requests.cpu: "4"'],
    ),
}


def explained(tmp_path: Path, there: Sequence[Json], *manifests: Json) -> kwhatif.ExplainResult:
    return kwhatif.explain(list(manifests), snapshot=write_cluster(tmp_path, namespace_named("default"), *there))


def fixes_of(found: Any) -> tuple[WorkloadFix, ...]:
    (workload,) = found.workloads
    return tuple(workload.fixes)


@pytest.mark.parametrize("name", ROWS)
def test_what_lets_all_pods_of_a_workload_run(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    fixes = fixes_of(explained(tmp_path, row.there, row.workload))
    assert {each.change: each.placed for each in fixes} == row.fixes
    lines = {line for each in fixes for line in each.patch}
    assert lines.issuperset(row.lines), sorted(lines)


def test_each_fix_is_what_place_says_of_the_changed_manifest(tmp_path: Path) -> None:
    row = ROWS["more replicas than zones that must be apart"]
    cluster = write_cluster(tmp_path, namespace_named("default"), *row.there)
    changed = web(3, affinity=yaml.safe_load(yaml.safe_dump(APART).replace(ZONE, HOST)))
    placed = kwhatif.place(changed, snapshot=cluster)
    assert placed.outcome.good
    assert placed.totals.placed == fixes_of(explained(tmp_path, row.there, row.workload))[0].placed


def test_a_fix_says_who_has_to_leave_for_it(tmp_path: Path) -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    there = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old", "namespace": "default"},
        "spec": {"nodeName": "a", "containers": [{"name": "m", "resources": {"requests": {"cpu": "3"}}}]},
        "status": {"phase": "Running"},
    }
    fixes = fixes_of(explained(tmp_path, [node("a", "a"), urgent, there], web(2)))
    (ranked,) = (each for each in fixes if "priority class" in each.change)
    assert (ranked.change, ranked.placed, ranked.victims) == ("run it as priority class urgent", 2, ("default/old",))


def test_the_report_has_the_lines_to_paste_and_not_that_nothing_helps(tmp_path: Path) -> None:
    row = ROWS["more replicas than zones that must be apart"]
    text = text_of(explain_blocks(explained(tmp_path, row.there, row.workload)))
    assert "FIXES OF Deployment/default/web: tried 3 changes, these let all its pods run" in text
    assert f"+            topologyKey: {HOST}" in text
    assert "none of" not in text


def test_a_lower_request_leaves_the_other_amounts_as_they_are_written() -> None:
    before = pod("web", cpu="3900m", memory="2Gi")
    (container,) = before.spec.containers or []
    lower = {"cpu": Quantity.parse("1700m"), "memory": Quantity.parse("2Gi")}
    edited = with_spec(before, containers=[replace(container, resources=ResourceRequirements(requests=lower))])
    written = web(1, "3900m")
    written["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "2048Mi"
    change = change_of_pod(written, "lower its cpu request", before, edited)
    assert change is not None
    (container_after,) = change.objects[0]["spec"]["template"]["spec"]["containers"]
    assert container_after["resources"]["requests"] == {"cpu": "1700m", "memory": "2048Mi"}


def test_a_fix_of_one_pod_says_how_many_of_those_that_wait_it_places(tmp_path: Path) -> None:
    cordoned = node("b", "b", "2")
    cordoned["spec"] = {**cordoned.get("spec", {}), "unschedulable": True}
    found = explained(tmp_path, [node("a", "a", "1"), cordoned], web(4))
    (report,) = found.pods
    assert [(fix.change, fix.pods, fix.waiting) for fix in report.fixes if "cordon" in fix.change] == [
        ("uncordon node b", 2, 3)
    ]
    text = text_of(explain_blocks(found))
    assert "uncordon node b" in text
    assert "2 of 3 pending" in text


def test_a_workload_of_which_no_pod_is_created_has_the_changes_that_help_it(tmp_path: Path) -> None:
    none = {**QUOTA, "spec": {"hard": {"pods": "0"}, "scopes": ["NotBestEffort"]}}
    result = explained(tmp_path, [node("a", "a", "8"), none], web(2))
    (workload,) = result.workloads
    assert (workload.workload, workload.pods, workload.explained) == ("Deployment/default/web", 0, "")
    assert [each.change for each in workload.fixes] == ["raise quota team: pods from 0 to 2"]
    assert "FIXES OF Deployment/default/web: tried 1 change" in text_of(explain_blocks(result))


def test_as_many_nodes_are_named_as_all_pods_take_and_no_more(tmp_path: Path) -> None:
    fixes = fixes_of(explained(tmp_path, [node("a", "a", "4")], web(11)))
    assert [each.change for each in fixes if "add" in each.change] == ["add 2 nodes like a"]


def test_what_helps_all_pods_is_not_said_of_one_once_more(tmp_path: Path) -> None:
    tainted = node("b", "b", "8")
    tainted["spec"] = {**tainted.get("spec", {}), "taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    text = text_of(explain_blocks(explained(tmp_path, [node("a", "a", "1"), tainted], web(4))))
    assert text.count("add a toleration for gpu") == 2  # in the table, and above the lines to paste


@pytest.mark.parametrize("name", ["web-1-2", "deploy/web"])
def test_a_pod_that_waits_in_the_snapshot_gets_the_changes_of_its_workload(name: str, tmp_path: Path) -> None:
    workload = web(2, affinity=APART) | {"status": {}}
    template = workload["spec"]["template"]
    replicas = {
        **workload,
        "kind": "ReplicaSet",
        "metadata": {**owned_by("Deployment", "web"), "name": "web-1"},
    }
    pods: list[Json] = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **owned_by("ReplicaSet", "web-1")}}
        for _ in range(2)
    ]
    for number, there in enumerate(pods, 1):
        there["metadata"]["name"] = f"web-1-{number}"
        there["spec"] = {**template["spec"], **({"nodeName": "a"} if number == 1 else {})}
    cluster = write_cluster(tmp_path, namespace_named("default"), node("a", "a"), workload, replicas, *pods)
    (explained,) = kwhatif.explain(name, snapshot=cluster).workloads
    assert explained.explained == "default/web-1-2"
    assert "run 1 replica, not 2" in {fix.change for fix in explained.fixes}


def owned_by(kind: str, name: str) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
    return {"namespace": "default", "ownerReferences": [owner]}
