"""``kwhatif snapshot info``, ``validate``, ``diff`` and ``trim`` as their users meet them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.snapshot.load import load_snapshot
from tests.cli.running import CLUSTER, TESTS, refused, run

BROKEN = "data/broken-snapshot.json"
LATER = "data/cluster-later.json"
PODS = "data/pods.yaml"
ONE_NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: dog-1}\n"
OTHERS_POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {schedulerName: other, containers: [{name: c, image: i}]}\n"
)


def test_info_tells_the_age() -> None:
    ran = run("snapshot", "info", CLUSTER)
    assert (ran.code, ran.err) == (0, "")
    taken = next(line for line in ran.lines if line.startswith("Taken:"))
    assert taken.removeprefix("Taken:").strip() == "2026-03-01T12:00:00Z (266 days ago, as of 2026-11-22T12:00:00Z)"


def test_info_as_json_has_numbers() -> None:
    found = json.loads(run("snapshot", "info", CLUSTER, "--nodes", "-o", "json").out)
    assert found["kind"] == "SnapshotInfo"
    cpu = next(use for use in found["resources"] if use["resource"] == "cpu")
    assert cpu == {
        "resource": "cpu", "allocatable": 32_000, "requested": 8_000, "free": 20_000, "largestFree": 16_000,
        "on": "cat-1",
    }  # fmt: skip
    assert {group["zone"]: group["nodes"] for group in found["groups"]} == {"a": 2, "b": 2, "c": 1}
    assert [node["node"] for node in found["nodes"]] == ["ant-1", "ant-2", "bee-1", "bee-2", "cat-1"]
    assert isinstance(found["ageSeconds"], int)


GPUS = "../samples/gpu/cluster.json"
DEVICES = """
DEVICES
DRIVER           CLASS      NODES  DEVICES  ALLOCATED
gpu.example.com  gpu        4      18       3
gpu.example.com  whole-gpu  3      12       3
"""


def test_info_counts_devices() -> None:
    assert DEVICES in run("snapshot", "info", GPUS).out
    found = json.loads(run("snapshot", "info", GPUS, "--delete", "ml/train-0", "-o", "json").out)["devices"]
    assert found == [
        {"driver": "gpu.example.com", "deviceClass": name, "nodes": nodes, "devices": devices, "allocated": 1}
        for name, nodes, devices in (("gpu", 4, 18), ("whole-gpu", 3, 12))
    ]
    raw = json.loads((TESTS / GPUS).read_text())
    del raw["objects"]["Pod"]
    assert "4      18       3" in run("snapshot", "info", "-", stdin=json.dumps(raw)).out


def test_info_reads_standard_input_and_several_files() -> None:
    text = (TESTS / CLUSTER).read_text()
    assert "NODES: 5" in run("snapshot", "info", "-", stdin=text).lines
    assert "NODES: 6" in run("snapshot", "info", CLUSTER, "-", stdin=ONE_NODE).lines
    assert refused("snapshot", "info", "-", "-").startswith("'-' is given more than once")


def test_a_label_for_the_pool_that_no_node_has_is_a_slip() -> None:
    assert refused("snapshot", "info", CLUSTER, "--by", "nowhere") == "--by nowhere: no node has this label"


@pytest.mark.long
def test_validate_exits_with_1_for_errors_and_with_strict_for_warnings() -> None:
    assert run("snapshot", "validate", CLUSTER).code == 0
    ran = run("snapshot", "validate", BROKEN)
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines[0] == f"Invalid: {BROKEN}, 15 objects, 19 errors, 10 warnings."
    doubtful = "data/hostile-cluster.json"
    assert [run("snapshot", "validate", doubtful, *more).code for more in ((), ("--strict",))] == [0, 1]


def test_validate_says_of_no_json_where_it_breaks_off() -> None:
    ran = run("snapshot", "validate", "-", stdin='{"kind": [')
    assert ran.code == 1
    assert "not valid JSON: the text ends too early" in ran.out
    assert refused("snapshot", "validate", "data/none.json") == "data/none.json: no such file or directory"


def test_diff_exits_with_1_where_something_changed() -> None:
    assert run("snapshot", "diff", CLUSTER, CLUSTER).code == 0
    ran = run("snapshot", "diff", CLUSTER, LATER)
    assert ran.code == 1
    assert run("snapshot", "diff", CLUSTER, LATER, "--exit-zero").code == 0
    found = json.loads(run("snapshot", "diff", CLUSTER, LATER, "-o", "json").out)
    assert found["totals"]["Pod"] == {"changed": 1, "finished": 1, "replaced": 2}
    assert found["replaced"] == [{"controller": "ReplicaSet shop/web", "pods": 2, "moved": 1}]


def test_diff_the_other_way_round_takes_back_what_was_added() -> None:
    there = json.loads(run("snapshot", "diff", CLUSTER, LATER, "-o", "json").out)
    back = json.loads(run("snapshot", "diff", LATER, CLUSTER, "-o", "json").out)
    assert [(c["object"], c["change"]) for c in there["changes"] if c["change"] in ("added", "removed")] == [
        (c["object"], {"added": "removed", "removed": "added"}[c["change"]])
        for c in back["changes"]
        if c["change"] in ("added", "removed")
    ]


# --- trim


def trimmed(tmp_path: Path, *words: str, name: str = "small.json") -> tuple[dict[str, Any], str]:
    file, report = str(tmp_path / name), tmp_path / "report.json"
    ran = run("snapshot", "trim", *words, "-o", file, "--report", f"json={report}")
    assert ran.code == 0, ran.err
    return json.loads(report.read_text()), file


@pytest.mark.long
def test_reports_on_a_trimmed_snapshot_are_files_as_elsewhere(tmp_path: Path) -> None:
    words = ("snapshot", "trim", "vip", "-f", PODS, "--snapshot", CLUSTER, "-o", "/dev/null")
    files = {name: tmp_path / name for name in ("json", "yaml", "markdown")}
    assert run(*words, *(word for name, file in files.items() for word in ("--report", f"{name}={file}"))).code == 0
    for name, file in files.items():
        assert file.read_text() == (TESTS / "golden" / "reports" / f"snapshot-trim.{name}").read_text()
    for report in ("json", "html=page.html"):
        assert run(*words, "--report", report).code == 2


@pytest.mark.long
@pytest.mark.parametrize("pod", ["vip", "web-3", "big"])
@pytest.mark.parametrize("name", ["small.json", "small.json.zst"])
def test_trim_writes_a_snapshot_that_place_decides_the_same_on(tmp_path: Path, pod: str, name: str) -> None:
    result, file = trimmed(tmp_path, pod, "-f", PODS, "--snapshot", CLUSTER, name=name)
    assert run("snapshot", "validate", file, "--strict").lines[-1].endswith("no errors.")
    assert load_snapshot([file]).source == f"a shop, made up, trimmed for shop/{pod}"
    assert result["bytesAfter"] < result["bytesBefore"]
    assert sum(kind["after"] for kind in result["kinds"]) < sum(kind["before"] for kind in result["kinds"])
    explained = json.loads(run("explain", pod, "-f", PODS, "--snapshot", CLUSTER, "-o", "json").out)
    again = json.loads(run("place", "--with-pending", "--snapshot", file, "-o", "json").out)
    (mine,), (before,) = again["placements"], [report["placement"] for report in explained["pods"]]
    if not before["victims"]:
        assert [mine[key] for key in ("node", "message", "score")] == [
            before[key] for key in ("node", "message", "score")
        ]
    assert [victim["pod"] for victim in mine["victims"]] == [victim["pod"] for victim in before["victims"]]
    assert result["pods"][0]["node"] == mine["node"]


@pytest.mark.long
def test_trim_of_a_file_keeps_what_all_its_pods_depend_on(tmp_path: Path) -> None:
    two = tmp_path / "two.yaml"
    two.write_text(
        """
apiVersion: apps/v1
kind: Deployment
metadata: {name: two, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: two}}
  template:
    metadata: {labels: {app: two}}
    spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1500m}}}]}
"""
    )
    result, file = trimmed(tmp_path, str(two), "--snapshot", CLUSTER)
    before = json.loads(run("place", str(two), "--snapshot", CLUSTER, "-o", "json").out)["placements"]
    told = [(each["node"], each["score"], each["feasible"]) for each in before]
    assert len(told) == 2
    assert [(each["node"], each["score"], each["feasible"]) for each in _placed(file)] == told
    assert [each["node"] for each in result["pods"]] == [node for node, _, _ in told]


@pytest.mark.long
def test_trim_takes_a_running_pod_off_its_node(tmp_path: Path) -> None:
    result, file = trimmed(tmp_path, "web-1", "--snapshot", CLUSTER)
    assert result["pods"][0]["outcome"] == "placed"
    assert [p["pod"] for p in _placed(file)] == ["shop/web-1"]


def test_trim_with_nodes_too_tells_the_message_of_what_is_left(tmp_path: Path) -> None:
    result, file = trimmed(tmp_path, "big", "-f", PODS, "--snapshot", CLUSTER, "--nodes-too")
    assert result["pods"][0]["message"].startswith("0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had")
    assert [p["message"] for p in _placed(file)] == [result["pods"][0]["message"]]


def _placed(file: str) -> list[dict[str, Any]]:
    return list(json.loads(run("place", "--with-pending", "--snapshot", file, "-o", "json").out)["placements"])


@pytest.mark.long
def test_trim_keeps_what_the_configuration_reads(tmp_path: Path) -> None:
    words = ("web-3", "-f", PODS, "--snapshot", CLUSTER, "--policy", "../samples/policies/most-allocated.yaml")
    file = str(tmp_path / "small.json")
    ran = run("snapshot", "trim", *words, "-o", file)
    assert ran.code == 0
    assert ran.lines[-1].endswith(f"--snapshot {file} --policy ../samples/policies/most-allocated.yaml")


@pytest.mark.long
def test_trim_gives_the_same_bytes_every_time_and_a_file_of_its_owner(tmp_path: Path) -> None:
    files = [Path(trimmed(tmp_path, "vip", "-f", PODS, "--snapshot", CLUSTER, name=n)[1]) for n in ("a.json", "b.json")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert load_snapshot([str(files[0])]).taken_at == "2026-03-01T12:00:00Z"


def test_trim_that_runs_out_of_steps_says_so(tmp_path: Path) -> None:
    ran = run("snapshot", "trim", "vip", "-f", PODS, "--snapshot", CLUSTER, "--steps", "1", "-o", str(tmp_path / "x"))
    assert ran.code == 0
    assert any("1 decision replayed; it stopped there" in line for line in ran.lines)


PLACE = "$.spec.schedulerName"
REFUSED = [
    ((), "name the pods to trim for: manifests, or pods of the snapshot"),
    (("nobody",), "nobody is neither a file nor a pod of the snapshot"),
    (("web-1", "-o", "-"), "'-' is no file to write to: standard output is for the report"),
    (("web-1", "-o", "missing/x.json"), "missing/x.json: cannot be written: No such file or directory"),
    (("-",), f"standard input: {PLACE}: pod default/x: schedulerName other is none of the configuration's profiles"),
]


@pytest.mark.parametrize(("words", "problem"), REFUSED, ids=[problem[:30] for _, problem in REFUSED])
def test_trim_refuses(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    out = () if "-o" in words else ("-o", str(tmp_path / "x.json"))
    ran = run("snapshot", "trim", *words, "--snapshot", CLUSTER, *out, stdin=OTHERS_POD)
    assert (ran.code, ran.out) == (2, "")
    (line,) = [line for line in ran.err.splitlines() if line.startswith("kwhatif: ")]
    assert line == f"kwhatif: {problem}"
    assert list(tmp_path.iterdir()) == []


def test_info_of_an_edited_cluster_counts_what_the_edits_made_of_it() -> None:
    words = ("snapshot", "info", CLUSTER, "-o", "json")
    before, after = (
        json.loads(run(*words, *more).out) for more in ((), ("--remove-node", "cat-1", "--cordon", "ant-1"))
    )
    assert (before["objects"]["Node"], after["objects"]["Node"]) == (5, 4)
    assert after["edits"] == ["cordon node ant-1", "remove node cat-1"]
    assert after["closedNodes"] == before["closedNodes"] + 1
    assert refused("snapshot", "info", CLUSTER, "--cordon", "nowhere").startswith("--cordon nowhere: there is no node")


@pytest.mark.long
def test_trim_cuts_down_an_edited_cluster(tmp_path: Path) -> None:
    out = tmp_path / "small.json"
    edits = ("--remove-node", "bee-1", "--label", "ant-1=pool=new")
    assert run("snapshot", "trim", PODS, "--snapshot", CLUSTER, "-o", str(out), *edits).code == 0
    assert load_snapshot([str(out)]).edits == ["label node ant-1 with pool=new", "remove node bee-1"]
    again = run("place", "--with-pending", "--snapshot", str(out), "-o", "json")
    there = run("place", PODS, "--snapshot", CLUSTER, *edits, "-o", "json")
    nodes = [{p["pod"]: p["node"] for p in json.loads(ran.out)["placements"]} for ran in (again, there)]
    assert nodes[0].items() <= nodes[1].items()


@pytest.mark.long
def test_trim_says_with_which_options_to_see_it_again(tmp_path: Path) -> None:
    out = tmp_path / "a file.json"
    options = "--kubernetes-version 1.34 --feature-gates StorageCapacityScoring=false --all-nodes"
    ran = run("snapshot", "trim", "shop/web-3", "-f", PODS, "--snapshot", CLUSTER, "-o", str(out), *options.split())
    assert ran.lines[-1] == f"To see it again: kwhatif place --with-pending --snapshot '{out}' {options}"


def test_a_snapshot_trimmed_for_a_job_of_kueue_says_that_it_does_not_ask_kueue_again(tmp_path: Path) -> None:
    samples = TESTS.parent / "samples" / "kueue"
    words = (str(samples / "evaluate.yaml"), "--snapshot", str(samples / "cluster.yaml"), "--assume-empty")
    ran = run("snapshot", "trim", *words, "-o", str(tmp_path / "small.json"))
    assert "Kueue's decision is written into the pods" in ran.err
