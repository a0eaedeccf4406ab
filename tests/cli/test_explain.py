from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kwhatif.results.explain import ExplainResult
from kwhatif.results.outcome import Outcome
from tests.cli.running import CLUSTER, TESTS, refused, run

PODS = "data/pods.yaml"
MANY = "data/many-nodes.json"


def explain(*words: str, snapshot: str = CLUSTER, stdin: bytes | str = b"") -> ExplainResult:
    """What ``explain -o json`` says, whatever its exit code."""
    ran = run("explain", *words, "--snapshot", snapshot, "-o", "json", stdin=stdin)
    assert ran.code in (0, 1), ran.err
    result = msgspec.json.decode(ran.out, type=ExplainResult)
    assert result.exit_code == ran.code
    assert json.loads(msgspec.json.encode(result)) == json.loads(ran.out)
    return result


OUTCOMES = [
    f"{PODS} --snapshot {CLUSTER}",
    f"{PODS} --snapshot {CLUSTER} --remove-node bee-2",
    "data/update-stuck.yaml --snapshot data/two-nodes.yaml",
    "../samples/manifests/web.yaml ../samples/manifests/too-big.yaml --snapshot ../samples/cluster",
    "../samples/manifests/urgent.yaml --snapshot ../samples/cluster --cordon general-c-1",
]


@pytest.mark.long
@pytest.mark.parametrize("line", OUTCOMES)
def test_manifests_come_out_as_place_says(line: str) -> None:
    told, placed = run("explain", *line.split(), "--no-fixes", "-o", "json"), run("place", *line.split(), "-o", "json")
    assert told.code == placed.code
    result, place = json.loads(told.out), json.loads(placed.out)
    assert result["outcome"] == place["outcome"]
    counts = {each["workload"]: each["together"] for each in result["workloads"]}
    assert sum(counts.values()) == sum(each["outcome"] in ("placed", "skipped") for each in place["placements"])
    shown = run("explain", *line.split(), "--no-fixes", "-o", "text").lines
    assert shown[0] == place["outcome"]["verdict"]


@pytest.mark.long
def test_the_pods_of_a_workload_that_wait_are_placed_together_and_the_others_asked_where_they_would_go(
    tmp_path: Path,
) -> None:
    whole = json.loads((TESTS / CLUSTER).read_text())
    web = next(pod for pod in whole["objects"]["Pod"] if pod["metadata"]["name"] == "web-1")
    for number in range(3, 15):
        spec = {key: value for key, value in web["spec"].items() if key != "nodeName"}
        metadata = {**web["metadata"], "name": f"web-{number}", "uid": f"more-{number}"}
        whole["objects"]["Pod"].append({**web, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})
    snapshot = tmp_path / "waiting.json"
    snapshot.write_text(json.dumps(whole))
    result = explain("replicaset/web", snapshot=str(snapshot))
    (workload,) = result.workloads
    assert (workload.workload, workload.pods, workload.alone) == ("ReplicaSet/shop/web", 12, 12)
    assert 0 < workload.together < 12
    assert isinstance(result.outcome, Outcome)
    assert len(result.outcome.pending) >= 12 - workload.together
    first, *running = result.pods
    assert not first.runs_on
    assert all(report.runs_on for report in running)
    assert sum(1 + len(report.alike) for report in running) == 2
    web, report = (run("explain", f"replicaset/{name}", "--snapshot", CLUSTER).lines[0] for name in ("web", "report"))
    assert web == "Fits: 2 pods run; scheduled today, 2 would stay."
    assert report == "Fits: 2 pods run; scheduled today, 2 would go elsewhere."


def asked(result: ExplainResult) -> list[str]:
    return [report.pod for report in result.pods]


# --- which pods are meant


@pytest.mark.parametrize(
    "words",
    [
        ["shop/late"],
        ["late", "-n", "shop"],
        ["late"],
        ["pod/late", "--namespace", "shop"],
        ["pods/shop/late"],
        ["po/late"],
    ],
    ids=" ".join,
)
def test_a_pod_of_the_snapshot_is_meant_by_its_name(words: list[str]) -> None:
    assert asked(explain(*words)) == ["shop/late"]


@pytest.mark.long
def test_a_manifest_means_all_its_pods() -> None:
    every = ["shop/web-3", "shop/big", "shop/gated", "shop/vip"]
    assert asked(explain(PODS)) == every
    assert asked(explain("-", stdin=(TESTS / PODS).read_bytes())) == every
    assert asked(explain("-f", PODS)) == every


def test_with_names_the_files_offered_are_only_where_to_look() -> None:
    assert asked(explain("-f", PODS, "big", "gated")) == ["shop/big", "shop/gated"]
    assert asked(explain("-f", PODS, "late", "big")) == ["shop/late", "shop/big"]
    assert asked(explain("data/small.yaml", "-f", PODS, "big", "big")) == ["default/small", "shop/big"]


def test_a_file_wins_over_a_pod_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late").write_bytes((TESTS / "data/small.yaml").read_bytes())
    monkeypatch.setattr("tests.cli.running.TESTS", tmp_path)
    assert asked(explain("late", snapshot=str(TESTS / CLUSTER))) == ["default/small"]


def test_a_pod_that_nobody_knows_is_an_error_with_a_hint() -> None:
    error = refused("explain", "shop/lat", "--snapshot", CLUSTER)
    assert error == "shop/lat is neither a file nor a pod of the snapshot; did you mean shop/late?"
    assert refused("explain", "late", "-n", "batch", "--snapshot", CLUSTER).startswith("late is neither")
    assert refused("explain", "nowhere.yaml", "--snapshot", CLUSTER) == "nowhere.yaml: no such file or directory"
    assert refused("explain", "./nowhere", "--snapshot", CLUSTER) == "./nowhere: no such file or directory"


def test_a_name_in_several_namespaces_is_an_error_that_lists_them(tmp_path: Path) -> None:
    whole = json.loads((TESTS / CLUSTER).read_text())
    late = next(pod for pod in whole["objects"]["Pod"] if pod["metadata"]["name"] == "late")
    whole["objects"]["Pod"].append({**late, "metadata": {"name": "late", "namespace": "batch"}})
    twice = tmp_path / "twice.json"
    twice.write_text(json.dumps(whole))
    error = refused("explain", "late", "--snapshot", str(twice))
    assert error == "pod late is in several namespaces (batch, shop): name one with -n or as NAMESPACE/NAME"
    assert asked(explain("batch/late", "late", "-n", "shop", snapshot=str(twice))) == ["batch/late", "shop/late"]


def test_somebody_has_to_be_asked_about() -> None:
    assert refused("explain", "-n", "kube-system", "--snapshot", CLUSTER).startswith("no pod waits in namespace")
    assert "no pods in here" in refused("explain", "data/no-pods.yaml", "--snapshot", CLUSTER)
    assert "no pods in here" in refused("explain", "late", "-f", "data/no-pods.yaml", "--snapshot", CLUSTER)


def test_where_nobody_is_named_the_pods_that_wait_are_explained() -> None:
    assert asked(explain(snapshot=CLUSTER)) == ["shop/late", "shop/late-big"]
    assert asked(explain("-n", "shop", snapshot=CLUSTER)) == ["shop/late", "shop/late-big"]


def test_a_pod_of_another_scheduler_is_unclaimed() -> None:
    text = (TESTS / "data/small.yaml").read_text().replace("spec:", "spec:\n  schedulerName: volcano")
    ran = run("explain", "-", "--snapshot", CLUSTER, stdin=text)
    assert ran.code == 1
    assert "Outcome:    unclaimed: no profile of the configuration has its schedulerName" in ran.lines
    assert "Message:    schedulerName volcano is none of the configuration's profiles" in ran.lines


# --- pods that run


def test_a_pod_that_runs_is_explained_as_if_it_did_not_yet() -> None:
    (web, api) = explain("shop/web-1", "shop/api-1").pods
    (again,) = explain("shop/api-1").pods
    assert web.placement.node == "ant-1"
    assert api == again, "that web-1 was taken off does not matter to api-1"


def test_a_pod_that_runs_is_told_from_where_it_would_go_today() -> None:
    (web, api) = explain("shop/web-1", "shop/api-1").pods
    assert (web.runs_on, web.since, web.placement.node) == ("ant-1", "2026-02-01T00:00:00Z", "ant-1")
    assert api.runs_on != api.placement.node
    told = run("explain", "shop/api-1", "--snapshot", CLUSTER).lines[0]
    assert told == (
        f"Fits: shop/api-1 runs on {api.runs_on} since {api.since}; scheduled today, "
        f"it would go to {api.placement.node}."
    )


def test_a_manifest_of_a_running_pod_takes_its_place() -> None:
    text = (TESTS / "data/small.yaml").read_text().replace("name: small", "name: api-1\n  namespace: shop")
    (found,) = explain("-", stdin=text.replace("100m", "1500m")).pods
    assert {report.node for report in found.nodes if report.feasible} == {"ant-1", "bee-1", "bee-2"}


# --- which nodes


def test_every_node_is_there_with_its_blockers_or_scores() -> None:
    (found,) = explain("-f", PODS, "big").pods
    assert {report.node for report in found.nodes} == {"ant-1", "ant-2", "bee-1", "bee-2", "cat-1"}
    ant = next(report for report in found.nodes if report.node == "ant-2")
    assert [(blocker.plugin, blocker.reported) for blocker in ant.blockers] == [
        ("NodeUnschedulable", True),
        ("TaintToleration", False),
        ("NodeResourcesFit", False),
    ]


def test_one_node_can_be_asked_about() -> None:
    (found,) = explain("late", "--node", "ant-2").pods
    assert [report.node for report in found.nodes] == ["ant-2"]
    assert found.placement.node == "bee-1"


def test_two_nodes_can_be_compared() -> None:
    (found,) = explain("late", "--versus", "ant-1").pods
    assert found.comparison is not None
    assert (found.comparison.left.node, found.comparison.right.node) == ("bee-1", "ant-1")
    (found,) = explain("late", "--node", "ant-2", "--versus", "ant-1").pods
    assert found.comparison is not None
    assert found.comparison.verdict.startswith("ant-1 fits, ant-2 does not: ")


def test_the_chosen_node_is_compared_with_the_next_best_rather_than_with_itself() -> None:
    (found,) = explain("late", "--versus", "bee-1").pods
    assert found.comparison is not None
    assert (found.comparison.left.node, found.comparison.right.node) == ("bee-1", "ant-1")


def test_nodes_that_are_not_there_are_errors() -> None:
    for option in ("--node", "--versus"):
        error = refused("explain", "late", option, "eel-1", "--snapshot", CLUSTER)
        assert error == "node eel-1 is not in the snapshot; did you mean bee-1?"
    error = refused("explain", "late-big", "--versus", "ant-1", "--snapshot", CLUSTER)
    assert error == "--versus needs --node NODE, since the pod fits on no node"


def test_many_nodes_are_grouped_unless_all_are_asked_for() -> None:
    grouped = run("explain", "data/picky.yaml", "--snapshot", MANY).out
    every = run("explain", "data/picky.yaml", "--all", "--snapshot", MANY).out
    assert "node-01, node-02, node-03 and 8 more" in grouped
    assert "--all shows every node by itself." in grouped
    assert all(f"\nnode-{i:02} " in every for i in range(30) if i not in (4, 8, 16))
    assert "--all" not in every


def test_ten_rows_of_feasible_nodes_are_enough_unless_all_are_asked_for() -> None:
    some = run("explain", "data/small.yaml", "--snapshot", MANY).out
    every = run("explain", "data/small.yaml", "--all", "--snapshot", MANY).out
    assert "4 more feasible nodes are not shown (--all shows them)." in some
    assert "\n21 " not in some
    assert "\n21 " in every


# --- ways out


def test_fixes_can_be_left_out() -> None:
    (found,) = explain("-f", PODS, "big").pods
    assert found.fixes
    (without,) = explain("-f", PODS, "big", "--no-fixes").pods
    assert (without.fixes, without.tried) == ((), 0)
    assert "FIXES" not in run("explain", "-f", PODS, "big", "--no-fixes", "--snapshot", CLUSTER).out


def test_it_is_said_when_nothing_helps() -> None:
    text = (TESTS / "data/small.yaml").read_text().replace("spec:", "spec:\n  nodeSelector: {a: b, c: d}")
    ran = run("explain", "-", "--snapshot", CLUSTER, stdin=text)
    assert ran.code == 1
    assert "FIXES: none of 5 changes tried helps.\n" in ran.out


def test_a_pod_that_evicts_others_says_whom_and_why_there() -> None:
    ran = run("explain", "-f", PODS, "vip", "--snapshot", CLUSTER)
    assert "it would evict 2 pods on bee-2 and go there" in ran.out
    assert "lowest highest priority" in ran.out


def test_a_refusal_before_any_node_is_looked_at_is_told() -> None:
    text = (
        (TESTS / "data/small.yaml")
        .read_text()
        .replace(
            "spec:",
            "spec:\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchFields: [{key: metadata.name, operator: In, values: [a]}, "
            "{key: metadata.name, operator: In, values: [b]}]}]}}}",
        )
    )
    ran = run("explain", "-", "--snapshot", CLUSTER, stdin=text)
    assert ran.code == 1
    assert "No node was looked at: " in ran.out


# --- the rest


@pytest.mark.long
def test_policies_plugins_and_strictness_are_as_with_place() -> None:
    small = ["explain", "data/small.yaml", "--snapshot", CLUSTER]
    assert "Coordinating" in refused(*small, "--policy", "data/unknown-plugin.yaml")
    skipping = [*small, "--policy", "data/unknown-plugin.yaml", "--skip-unknown-plugins"]
    assert run(*skipping).code == 0
    assert refused(*skipping, "--strict").startswith("--strict: plugin Coordinating")
    ran = run(*small, "--policy", "data/with-plugin.yaml", "--plugin", "data/plugins.py:OnlyCats", "--all-nodes")
    assert ran.code == 1
    assert "node(s) were no cats" in ran.out


def test_other_objects_count_and_are_told() -> None:
    ran = run("explain", "data/others.yaml", "--snapshot", CLUSTER)
    assert ran.code == 0
    assert "goes to dog-1" in ran.out
    assert "Node dog-1 added" in ran.err
    assert "* kinds unknown to kwhatif: 1 Gadget" in ran.out
