"""``autoscale``: the scheduler first, then the autoscaler; and the documents that it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from kwhatif.commands.autoscale.result import AutoscaleResult
from tests.cli.running import TESTS, refused, run

SAMPLE = TESTS.parent / "samples" / "autoscaled"
CLUSTER, GROUPS = str(SAMPLE / "cluster.yaml"), str(SAMPLE / "groups.yaml")
HEAD = "apiVersion: kwhatif.dev/v1\nkind: NodeGroups\n"


def autoscaled(*names: str, scale_down: bool = False) -> AutoscaleResult:
    manifests = [SAMPLE / f"{name}.yaml" for name in names]
    return kwhatif.autoscale(manifests, snapshot=CLUSTER, groups=GROUPS, scale_down=scale_down)


def test_the_scheduler_goes_first() -> None:
    outlooks = {each.pod.partition("/")[2]: each for each in autoscaled("web").pods}
    counts = [each.outcome for each in outlooks.values()]
    assert [counts.count(outcome) for outcome in ("placed", "triggered", "helpless")] == [3, 3, 1]
    assert outlooks["warehouse"].message == (
        "1 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 Insufficient memory"
    )


@pytest.mark.long
def test_a_pod_that_nobody_helps_is_a_no() -> None:
    assert autoscaled("web").exit_code == 1
    assert autoscaled("training").exit_code == 0


def test_a_group_grows_from_zero_by_its_template() -> None:
    (growth,) = autoscaled("training").plan
    assert (growth.group, growth.size, growth.to, growth.cost) == ("gpu", 0, 1, 2854.3)


def test_nodes_that_go_and_nodes_that_stay_are_told_with_the_reason() -> None:
    found = autoscaled(scale_down=True)
    nodes = {each.node: each for each in found.nodes}
    assert found.saved == pytest.approx(sum(each.after is not None for each in found.nodes) * 0.19 * 730)
    assert [name for name, each in nodes.items() if each.unneeded] == ["general-c"]
    assert nodes["general-c"].moves == {"shop/report-1": "general-b"}
    assert (nodes["general-c"].after, nodes["general-c"].first) == (600, True)
    assert nodes["memory-a"].reason == "NodeGroupMinSizeReached"
    assert found.uncounted == ()


@pytest.mark.long
def test_what_is_left_to_chance_is_told(tmp_path: Path) -> None:
    groups = tmp_path / "groups.yaml"
    groups.write_text(HEAD + "groups: [{name: one, max: 1, price: 1, template: {like: general-a}}]\n")
    found = kwhatif.autoscale([SAMPLE / "web.yaml"], snapshot=CLUSTER, groups=groups)
    assert (found.chance.orders, found.chance.plans) == (6, ()), "one node, whoever gets it"
    helped = {each.pod for each in found.pods if each.outcome == "triggered"}
    assert len(helped) == 2 < len(found.chance.pods)
    ran = run("autoscale", str(SAMPLE / "web.yaml"), "--snapshot", CLUSTER, "--groups", str(groups))
    assert "With nodes and pods in another order, these pods may or may not be helped: " in ran.out


BAD = [
    ("groups: []\nflags: {expandr: random}", "$.flags.expandr: unknown flag", "did you mean expander?"),
    ("groups: []\nflags: {expander: dearest}", "$.flags.expander: expected one of", "found dearest"),
    ("groups: []\nflags: {cores-total: many}", "$.flags.cores-total", "min:max"),
    ("groups: []\nflags: {scale-down-unneeded-time: soon}", "$.flags.scale-down-unneeded-time", "invalid duration"),
    ("groups: [{name: g, min: 3, max: 2}]", "$.groups[0].max", "expected at least min, which is 3, found 2"),
    ("groups: [{name: g, nodes: {names: [general-x]}}]", "$.groups[0].nodes.names[0]", "did you mean general-"),
    (
        "groups: [{name: g, nodes: {labels: {pool: general}}}, {name: h, nodes: {names: [general-a]}}]",
        "$.groups[1].nodes",
        "node general-a is of group g already",
    ),
    ("groups: [{name: g}, {name: g}]", "$.groups[1].name", "group g is listed twice"),
    ("groups: [{name: g, template: {labels: {a: b}}}]", "$.groups[0].template", "expected capacity"),
    ("groups: [{name: g, template: {capacity: {cpu: 1}}}]", "$.groups[0].template.capacity", "an amount of memory"),
    ("groups: [{name: g, template: {like: nobody}}]", "$.groups[0].template.like", "no node nobody"),
    ("groups: [{name: g, nodes: {providerID: '('}}]", "$.groups[0].nodes.providerID", "error parsing regexp"),
    ("groups: [{name: g, size: 2}]", "$.groups[0]", 'unknown field "size"'),
    ("groups: [{name: g, min: -1}]", "$.groups[0].min", "0"),
]


@pytest.mark.parametrize(("text", "place", "problem"), BAD, ids=[place for _, place, _ in BAD])
def test_a_document_that_is_wrong_is_refused_with_the_place(
    text: str, place: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "groups.yaml"
    path.write_text(HEAD + text)
    error = refused("autoscale", "--snapshot", CLUSTER, "--groups", str(path))
    assert f"groups.yaml: {place}" in error
    assert problem in error


def test_groups_are_found_by_labels_and_by_the_autoscalers_own_flags(tmp_path: Path) -> None:
    snapshot = tmp_path / "cluster.yaml"
    snapshot.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {eks.amazonaws.com/nodegroup: general}}\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: autoscaler, namespace: kube-system}\n"
        "spec: {template: {spec: {containers: [{name: c, command: [./cluster-autoscaler, --expander=random, "
        "'--nodes=1:9:general', '--nodes=0:3:spot', --v=4]}]}}}\n"
        "---\napiVersion: v1\nkind: PodList\nitems: []\n"
    )
    ran = run("autoscale", "groups", "--snapshot", str(snapshot))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "---",
        "apiVersion: kwhatif.dev/v1",
        "kind: NodeGroups",
        "source: Deployment kube-system/autoscaler",
        "incomplete: 'flags that decide nothing here: v; what a node of spot would be is unknown'",
        "flags:",
        "  expander:",
        "  - random",
        "groups:",
        "- name: general",
        "  min: 1",
        "  max: 9",
        "  nodes:",
        "    labels:",
        "      eks.amazonaws.com/nodegroup: general",
        "  source: --nodes of Deployment kube-system/autoscaler; label eks.amazonaws.com/nodegroup of nodes",
        "- name: spot",
        "  max: 3",
        "  source: --nodes of Deployment kube-system/autoscaler",
    ]
    path = tmp_path / "groups.yaml"
    path.write_text(ran.out)
    assert run("autoscale", "--snapshot", str(snapshot), "--groups", str(path)).code == 0


def test_a_snapshot_without_groups_is_a_no_and_says_where_they_were_sought() -> None:
    ran = run("autoscale", "groups", "--snapshot", CLUSTER)
    assert ran.code == 1
    assert "no node group is found: neither the status of a cluster-autoscaler" in ran.err


def test_pods_for_which_a_group_would_need_more_nodes_than_it_may_have_are_not_helped(tmp_path: Path) -> None:
    groups = tmp_path / "groups.yaml"
    groups.write_text(HEAD + "groups: [{name: one, max: 1, price: 1, template: {like: general-a}}]\n")
    found = kwhatif.autoscale([SAMPLE / "web.yaml"], snapshot=CLUSTER, groups=groups)
    full = [each for each in found.pods if each.message == "1 max node group size reached"]
    assert full
    assert {(each.outcome, each.rejections[0].reasons) for each in full} == {
        ("helpless", ("max node group size reached",))
    }


def test_scheduler_and_autoscaler_take_turns_until_nothing_more_happens() -> None:
    manifests = [SAMPLE / f"{name}.yaml" for name in ("web", "training")]
    found = kwhatif.autoscale(manifests, snapshot=CLUSTER, groups=GROUPS, until_quiet=True, provision_seconds=90)
    assert [(step.time, step.what, step.nodes, step.waiting) for step in found.steps] == [
        (0, "the scheduler is done", 4, 6),
        (90, "new nodes: gpu from 0 to 1", 5, 4),
        (180, "new nodes: general from 3 to 5", 7, 1),
    ]
    assert found.peak == 7


def test_nodes_go_in_the_end_and_their_pods_are_placed_again() -> None:
    found = kwhatif.autoscale(snapshot=CLUSTER, groups=GROUPS, until_quiet=True, provision_seconds=90)
    assert [(step.time, step.what, step.nodes, step.waiting) for step in found.steps] == [
        (0, "the scheduler is done", 4, 0),
        (601, "1 node goes: general-c", 3, 0),
    ]


def test_the_next_nodes_go_once_the_delay_after_the_last_deletion_is_over(tmp_path: Path) -> None:
    groups = tmp_path / "groups.yaml"
    groups.write_text(
        HEAD
        + "flags: {scale-down-delay-after-delete: 30m, scale-down-utilization-threshold: 0.9, "
        + "max-scale-down-parallelism: 1}\ngroups: [{name: all, max: 6, nodes: {labels: {}}}]\n"
    )
    found = kwhatif.autoscale(snapshot=CLUSTER, groups=groups, until_quiet=True, provision_seconds=90)
    assert [step.time for step in found.steps if "goes" in step.what] == [601, 601 + 1800]


def test_groups_below_their_minimum_grow_although_there_may_be_no_more_nodes(tmp_path: Path) -> None:
    groups = tmp_path / "groups.yaml"
    groups.write_text(
        HEAD
        + "flags: {max-nodes-total: 4, enforce-node-group-min-size: true}\n"
        + "groups: [{name: general, max: 6, nodes: {labels: {pool: general}}}, "
        + "{name: spare, min: 1, max: 2, template: {like: general-a}}]\n"
    )
    found = kwhatif.autoscale([SAMPLE / "web.yaml"], snapshot=CLUSTER, groups=groups)
    assert [(each.group, each.size, each.to) for each in found.plan] == [("spare", 0, 1)]
    helpless = [each.message for each in found.pods if each.outcome == "helpless"]
    assert helpless == ["max total nodes in cluster reached"] * 4
    counts = [
        each.outcome for each in kwhatif.place([SAMPLE / "web.yaml"], snapshot=CLUSTER, autoscale=groups).placements
    ]
    assert counts.count("autoscaled") == 2


def test_a_time_that_is_none_is_refused() -> None:
    words = ("autoscale", "--snapshot", CLUSTER, "--groups", GROUPS, "--until-quiet", "--provision-time", "soon")
    assert "--provision-time: time: invalid duration" in refused(*words)


# --- in other answers


def test_place_counts_a_pod_that_a_node_comes_for() -> None:
    manifests = [SAMPLE / "training.yaml"]
    assert kwhatif.place(manifests, snapshot=CLUSTER).exit_code == 1
    found = kwhatif.place(manifests, snapshot=CLUSTER, autoscale=GROUPS)
    assert found.exit_code == 0
    assert {(each.outcome, each.reason) for each in found.placements} == {
        ("autoscaled", "a node of group gpu is added for it (1 of 1 new)")
    }


def test_place_says_that_there_is_an_autoscaler(tmp_path: Path) -> None:
    deployment = tmp_path / "autoscaler.yaml"
    deployment.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: scaler, namespace: kube-system}\n"
        "spec: {template: {spec: {containers: [{name: c, command: [cluster-autoscaler]}]}}}\n"
    )
    found = kwhatif.place([SAMPLE / "training.yaml"], snapshot=[CLUSTER, str(deployment)])
    note = "Deployment kube-system/scaler is an autoscaler: --autoscale FILE, with its node groups, says for which "
    assert f"note: {note}pods nodes are added" in found.notes


@pytest.mark.parametrize(
    ("rule", "titles"),
    [
        ("{}", ["group gpu reaches its maximum of 1 node"]),
        ("{full: false}", []),
        ("{most: 0, full: false}", ["1 new node, at most 0 may be added"]),
        ("{cost: 100, full: false}", ["2,854.30 more a month, at most 100.00 may be spent"]),
    ],
)
def test_the_gate_judges_what_the_autoscaler_adds(rule: str, titles: list[str], tmp_path: Path) -> None:
    groups, rules = tmp_path / "groups.yaml", tmp_path / "rules.yaml"
    groups.write_text(Path(GROUPS).read_text().replace("  min: 0\n  max: 2", "  min: 0\n  max: 1"))
    rules.write_text(
        "apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nautoscale: groups.yaml\n"
        f"rules: {{unschedulable: error, scale-up: {rule}}}\n"
    )
    found = kwhatif.gate([SAMPLE / "training.yaml"], snapshot=CLUSTER, config=rules)
    assert [each.title for each in found.findings] == titles
    assert all(each.rule == "scale-up" for each in found.findings), "no pod is without a node"


def test_the_gate_without_groups_says_so(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nrules: {scale-up: {}}\n")
    found = kwhatif.gate([SAMPLE / "training.yaml"], snapshot=CLUSTER, config=rules)
    assert [each.summary for each in found.rules] == ["no autoscaler was given: --autoscale names its document"]
