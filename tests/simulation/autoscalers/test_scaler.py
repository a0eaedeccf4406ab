"""Autoscalers in other answers: nodes join while a scheduler is asked, for either autoscaler and for both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.results.place import PlaceResult
from tests.builders import write_objects
from tests.cli.running import TESTS, refused

SAMPLES = TESTS.parent / "samples"
AUTOSCALED, KARPENTER = SAMPLES / "autoscaled", SAMPLES / "karpenter"
GROUPS, CATALOGUE = AUTOSCALED / "groups.yaml", KARPENTER / "catalogue.yaml"


def asking(replicas: int, cpu: str, *, old: bool = False, **spec: Any) -> dict[str, Any]:
    """A Deployment; an ``old`` one is there already, with a template of its own."""
    template = {
        "metadata": {"labels": {"app": "w"}},
        "spec": {
            "containers": [{"name": "c", "image": "v1" if old else "v2", "resources": {"requests": {"cpu": cpu}}}]
        },
    }
    metadata = {"name": "w", "namespace": "shop"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "w"}}, "template": template, **spec},
    }


def placed(sample: Path, document: Path, *manifests: Any, **options: Any) -> PlaceResult:
    return kwhatif.place(list(manifests), snapshot=sample / "cluster.yaml", autoscale=document, **options)


@pytest.mark.long
@settings(max_examples=8)
@given(
    st.sampled_from(((AUTOSCALED, GROUPS), (KARPENTER, CATALOGUE))),
    st.integers(1, 30),
    st.sampled_from(("300m", "1500m", "3", "7500m")),
)
def test_whoever_gets_a_node_runs_there_and_no_node_or_group_is_overfull(
    sample: tuple[Path, Path], replicas: int, cpu: str
) -> None:
    found = placed(*sample, asking(replicas, cpu))
    added = found.scale_up
    assert added is not None
    assert all(each.max is None or each.to <= each.max for each in added.groups)
    homes = {each.pod: each.node for each in found.placements if each.good}
    for node in added.nodes:
        assert set(node.pods) == {pod for pod, home in homes.items() if home == node.node}
    for pool in found.totals.pools:
        assert all(each.requested <= each.allocatable for each in pool.resources)
    helped = {each.pod for each in added.unhelped}
    assert helped == {each.pod for each in found.placements if not each.good}
    assert len(added.nodes) == sum(each.to - each.size for each in added.groups)


def test_an_update_goes_on_when_nodes_have_come_for_its_pods(tmp_path: Path) -> None:
    snapshot = tmp_path / "later.json"
    assert placed(AUTOSCALED, GROUPS, asking(2, "1", old=True), write_snapshot=snapshot).exit_code == 0
    update = asking(2, "3500m", strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    assert kwhatif.place(update, snapshot=snapshot).rollouts[0].unfinished
    found = kwhatif.place(update, snapshot=snapshot, autoscale=GROUPS)
    assert (found.rollouts[0].unfinished, found.exit_code) == ("", 0)
    assert found.scale_up is not None
    assert [(each.group, each.to - each.size) for each in found.scale_up.groups] == [("general", 2)]


def test_victims_that_find_no_node_get_one() -> None:
    urgent = asking(1, "3")
    urgent["spec"]["template"]["spec"] |= {"priority": 1000, "nodeSelector": {"pool": "memory"}}
    classes = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    urgent["spec"]["template"]["spec"] |= {"priorityClassName": "high"}
    full = asking(6, "1300m") | {"metadata": {"name": "full", "namespace": "shop"}}
    plain = kwhatif.place([classes, full, urgent], snapshot=AUTOSCALED / "cluster.yaml")
    scaled = placed(AUTOSCALED, GROUPS, classes, full, urgent)
    assert not scaled.homeless
    assert scaled.exit_code == 0, "whoever had to leave gets a node"
    assert plain.exit_code == 1


def test_nodes_come_up_after_a_while_and_the_scheduler_hears_of_them() -> None:
    found = placed(AUTOSCALED, GROUPS, AUTOSCALED / "training.yaml", timeline=True, provision_seconds=90)
    told = [(each.time, each.pod.partition("/")[2], each.what, each.node) for each in found.timeline]
    assert told[4:] == [
        (0, "", "requested", "gpu-new-1"),
        (90, "", "joined", "gpu-new-1"),
        (90, "training-sdj9w-1", "active", ""),
        (90, "training-sdj9w-2", "active", ""),
        (90, "training-sdj9w-1", "bound", "gpu-new-1"),
        (90, "training-sdj9w-2", "bound", "gpu-new-1"),
    ]
    assert [each.outcome for each in found.placements] == ["autoscaled", "autoscaled"]


@pytest.mark.parametrize(("sample", "document"), [(AUTOSCALED, GROUPS), (KARPENTER, CATALOGUE)])
def test_over_time_the_same_nodes_come(sample: Path, document: Path) -> None:
    at_once, later = (placed(sample, document, sample / "web.yaml", timeline=timeline) for timeline in (False, True))
    ends = [{(each.pod, each.outcome, each.node) for each in found.placements} for found in (at_once, later)]
    assert ends[0] == ends[1]
    assert at_once.scale_up == later.scale_up


def test_both_autoscalers_help_each_with_nodes_of_its_own(tmp_path: Path) -> None:
    groups = tmp_path / "groups.yaml"
    groups.write_text(
        "apiVersion: kwhatif.dev/v1\nkind: NodeGroups\ngroups:\n"
        "- {name: huge, max: 1, template: {capacity: {cpu: 64, memory: 1Ti, pods: 10}}}\n"
    )
    cluster = KARPENTER / "cluster.yaml"
    found = kwhatif.place(KARPENTER / "web.yaml", snapshot=cluster, autoscale=[groups, CATALOGUE])
    assert found.exit_code == 0, "only a node of the group is large enough for the warehouse"
    assert found.scale_up is not None
    assert {each.autoscaler for each in found.scale_up.nodes} == {"cluster-autoscaler", "Karpenter"}


def test_the_cluster_afterwards_has_the_new_nodes(tmp_path: Path) -> None:
    later = tmp_path / "later.json"
    first = placed(KARPENTER, CATALOGUE, KARPENTER / "web.yaml", write_snapshot=later)
    assert first.scale_up is not None
    names = {node.node for node in first.scale_up.nodes}
    assert first.fidelity.source == str(KARPENTER / "cluster.yaml")
    assert kwhatif.load_snapshot([str(later)]).source == f"{later}, made from {first.fidelity.source}"
    assert names <= {node.name for node in kwhatif.load_snapshot([str(later)]).objects.list_all(kwhatif.api.core.Node)}
    again = kwhatif.place(with_pending=True, snapshot=later, autoscale=CATALOGUE)
    assert again.scale_up is not None
    assert not again.scale_up.nodes, "what was bought is there"


JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "nightly", "namespace": "shop"},
    "spec": {"parallelism": 1, "template": {"spec": {"restartPolicy": "Never"}}},
}


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        pytest.param(0, "1 new node, 0.19 an hour while Jobs run", id="and it goes when they are done"),
        pytest.param(1, "2 new nodes, 138.70 more a month, 0.19 an hour while Jobs run", id="beside one that stays"),
    ],
)
def test_a_node_that_only_jobs_need_costs_by_the_hour(beside: int, words: str) -> None:
    job = json.loads(json.dumps(JOB))
    job["spec"]["template"]["spec"]["containers"] = asking(1, "3500m")["spec"]["template"]["spec"]["containers"]
    found = placed(AUTOSCALED, GROUPS, job, *[asking(1, "3600m")] * beside)
    assert words in found.verdict


def test_a_full_group_helps_nobody_any_more() -> None:
    found = kwhatif.capacity(AUTOSCALED / "more.yaml", snapshot=AUTOSCALED / "cluster.yaml", autoscale=GROUPS)
    plain = kwhatif.capacity(AUTOSCALED / "more.yaml", snapshot=AUTOSCALED / "cluster.yaml")
    assert (plain.fits, found.fits) == (3, 13)
    assert found.scale_up is not None
    assert {each.group: each.full for each in found.scale_up.groups} == {"general": True, "memory": True}


def test_counting_without_an_end_is_refused() -> None:
    words = ("capacity", str(KARPENTER / "more.yaml"), "--snapshot", str(KARPENTER / "cluster.yaml"))
    assert "steady may grow without end: set --limit N" in refused(*words, "--autoscale", str(CATALOGUE))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: ClusterEdits\napiVersion: kwhatif.dev/v1", "expected NodeGroups, InstanceTypes, or NodePools"),
        ("kind: NodePool\napiVersion: karpenter.sh/v1\nmetadata: {name: a}", "expected InstanceTypes beside NodePools"),
        ("kind: NodeGroups\napiVersion: kwhatif.dev/v1\ngroups: [{name: g, min: -1}]", "$.groups[0].min"),
    ],
)
def test_a_document_of_no_autoscaler_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(text + "\n")
    words = ("place", str(KARPENTER / "web.yaml"), "--snapshot", str(KARPENTER / "cluster.yaml"))
    error = refused(*words, "--autoscale", str(path))
    assert message in error
    assert "some.yaml" in error


def test_a_cluster_with_karpenter_says_so() -> None:
    found = kwhatif.place(KARPENTER / "web.yaml", snapshot=KARPENTER / "cluster.yaml")
    assert any("the cluster has Karpenter" in note for note in found.notes)


def test_a_rules_file_that_names_an_autoscaler_is_pointed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nautoscale: groups.yaml\n"
    (tmp_path / ".kwhatif.yaml").write_text(rules)
    monkeypatch.chdir(tmp_path)
    found = kwhatif.place(AUTOSCALED / "training.yaml", snapshot=AUTOSCALED / "cluster.yaml")
    assert any("names an autoscaler: --autoscale" in note and "groups.yaml" in note for note in found.notes)


@pytest.mark.long
def test_pods_below_the_cutoff_are_named_where_an_autoscaler_expects_room_that_the_scheduler_does_not_have() -> None:
    samples = AUTOSCALED.parent
    found = kwhatif.capacity(samples / "manifests/web.yaml", snapshot=samples / "cluster", autoscale=GROUPS)
    assert found.scale_up is not None
    (why,) = [str(refusal) for each in found.scale_up.unhelped for refusal in each.refusals]
    assert why.endswith("to fit on general-b-1, where 2 pods of a priority below the cutoff -10 do not count")


def test_a_node_comes_for_the_pod_of_a_release_that_the_scheduler_leaves_over(tmp_path: Path) -> None:
    """An autoscaler fills one node after the other, the scheduler spreads: only one of them finds room for all."""
    group = {"name": "g", "nodes": {"names": ["a", "b"]}, "min": 0, "max": 3}
    (tmp_path / "groups.json").write_text(
        json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "NodeGroups", "groups": [group]})
    )
    room = {"cpu": "2", "memory": "8Gi", "pods": "9"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}],
            },
        }
        for name in "ab"
    ]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
        }
        for number, cpu in enumerate("112")
    ]
    cluster = write_objects(tmp_path / "nodes.json", *nodes)
    found = kwhatif.capacity(pods, snapshot=cluster, autoscale=tmp_path / "groups.json", limit=1)
    assert found.scale_up is not None
    assert (found.fits, [each.group for each in found.scale_up.nodes]) == (1, ["g"])
