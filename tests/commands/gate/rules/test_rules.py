"""What each rule finds and lets pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kwhatif.api.core import Node
from kwhatif.api.decode import convert
from kwhatif.api.workloads_and_storage import PriorityClass, StatefulSet
from kwhatif.commands.gate.context import GrownCluster
from kwhatif.commands.gate.formats.words import describe_change
from kwhatif.results.gate import GateResult, Location
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import HOSTNAME, ZONE, Json, budget, node, pod, select
from tests.commands.gate.judging import found, judged, new, only, snapshot_of, workload
from tests.simulation.edits.editing import of
from tests.workloads.test_pod_autoscalers import hpa

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def three(cpu: str = "4", **more: Any) -> Snapshot:
    """Three nodes in two zones, with nothing on them."""
    nodes = [node("n1", zone="a", cpu=cpu), node("n2", zone="a", cpu=cpu), node("n3", zone="b", cpu=cpu)]
    return snapshot_of(nodes, **more)


def ask(rule: str, snapshot: Snapshot, *head: Json, **parameters: Any) -> GateResult:
    more = {key: parameters.pop(key) for key in ("base", "now") if key in parameters}
    return judged(snapshot, *head, rules={rule: {"level": "error", **parameters}}, **more)


# --- unschedulable


def test_pods_without_a_node_are_counted_and_explained_where_their_manifest_stands() -> None:
    result = ask("unschedulable", three(), new("Deployment", "small"), new("Deployment", "big", 4, cpu="3"))
    finding = only(result.findings)
    assert finding.title == "1 of 4 new pods find no node"
    assert finding.location == Location(file="head.yaml", line=11)
    assert finding.numbers == {"pods": 4, "pending": 1, "most": 0}
    assert "3 Insufficient cpu" in finding.message
    assert (result.verdict, result.exit_code) == ("fail", 1)


def test_as_many_pods_as_the_rule_allows_may_stay_pending() -> None:
    result = ask("unschedulable", three(), new("Deployment", "big", 4, cpu="3"), most=1)
    assert (result.verdict, result.findings) == ("pass", ())
    assert result.rules[0].summary == "3 of 4 new pods have a node"


def test_gated_pods_count_unless_they_are_said_to_be_meant() -> None:
    held = new("Deployment", "held", pod={"schedulingGates": [{"name": "example.com/wait"}]})
    assert ask("unschedulable", three(), held).verdict == "fail"
    assert ask("unschedulable", three(), held, gated=False).verdict == "pass"


def test_a_new_pod_that_a_later_one_drives_out_again_has_no_node() -> None:
    objects = [
        convert({"apiVersion": "v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}, PriorityClass)
    ]
    running = [of("ReplicaSet", "web-x", "web-x-1", "n1", requests={"cpu": "1"})]
    whole = [workload("Deployment", "web", 1, cpu="1"), workload("ReplicaSet", "web-x", 1, owner="web", cpu="1")]
    snapshot = snapshot_of([node("n1", cpu="4")], running, objects, whole)
    update = new("Deployment", "web", 1, cpu="3", pod={"priorityClassName": "high"})
    result = ask("unschedulable", snapshot, new("Deployment", "low", 1, cpu="1500m"), update)
    finding = only(result.findings)
    assert str(finding.subject) == "Deployment shop/low"
    assert "lost n1 to shop/web-" in finding.message


def test_pods_that_another_scheduler_places_are_counted_apart() -> None:
    result = ask("unschedulable", three(), new("Deployment", "web", 2, pod={"schedulerName": "volcano"}))
    assert result.rules[0].summary == "0 of 2 new pods have a node, 2 left to other schedulers"
    assert (result.warnings, result.findings) == ((), ())


# --- preempts


def evicting(**parameters: Any) -> GateResult:
    """A change that drives two pods out, one of them against a budget."""
    objects = [
        convert({"apiVersion": "v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}, PriorityClass),
        budget("b", select(app="b"), namespace="shop"),
    ]
    pods = [
        of("ReplicaSet", "a", "a-1", "n1", cpu="2", priority=1),
        of("ReplicaSet", "b", "b-1", "n1", cpu="2", priority=2),
    ]
    snapshot = snapshot_of([node("n1", cpu="4")], pods, objects)
    head = new("Deployment", "web", 1, cpu="4", pod={"priorityClassName": "high"})
    return ask("preempts", snapshot, head, **parameters)


def test_evicted_pods_are_named_with_owner_budget_and_what_becomes_of_them() -> None:
    finding = only(evicting().findings)
    assert finding.title == "evicts 2 pods, 1 against a PodDisruptionBudget"
    assert "shop/a-1 (priority 1, of ReplicaSet/a, recreated, but finds no node)" in finding.message
    assert "shop/b-1 (priority 2, of ReplicaSet/b, against b, " in finding.message


@pytest.mark.parametrize(
    ("verdict", "parameters"),
    [
        pytest.param("fail", {"most": 1, "mostViolations": 1}, id="more than allowed"),
        pytest.param("pass", {"most": 2, "mostViolations": 1}, id="as many as allowed"),
        pytest.param("fail", {"most": 2}, id="against a budget"),
        pytest.param("pass", {"most": 0, "priorityFrom": 3, "mostViolations": 1}, id="none of that priority"),
        pytest.param("fail", {"most": 0, "priorityFrom": 2, "mostViolations": 1}, id="one of that priority"),
        pytest.param("pass", {"most": 1, "owners": ["ReplicaSet/a*"], "mostViolations": 1}, id="few of that owner"),
        pytest.param("fail", {"most": 0, "owners": ["ReplicaSet/a*"], "mostViolations": 1}, id="one of that owner"),
    ],
)
def test_evictions_count_by_number_priority_owner_and_budget(verdict: str, parameters: Json) -> None:
    assert evicting(**parameters).verdict == verdict


# --- rollout-deadlock


def running_web(cpu: str = "3") -> Snapshot:
    """A deployment of one pod on each of two nodes."""
    pods = [of("ReplicaSet", "web-x", f"web-x-{n}", f"n{n}", cpu=cpu) for n in (1, 2)]
    whole = [workload("Deployment", "web", 2, cpu=cpu), workload("ReplicaSet", "web-x", 2, owner="web", cpu=cpu)]
    return snapshot_of([node("n1"), node("n2")], pods, whole=whole)


def strategy(surge: int, unavailable: int) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def test_an_update_that_waits_for_room_only_its_old_pods_could_leave_is_stuck() -> None:
    head = new("Deployment", "web", 2, cpu="3500m", strategy=strategy(1, 0))
    finding = only(ask("rollout-deadlock", running_web(), head).findings)
    assert finding.title == "the update gets stuck"
    assert finding.message.startswith("0 of 2 updated pods are available, 2 old pods remain. shop/web-")


def test_of_a_workload_that_grows_the_replicas_that_fit_are_the_hint_and_those_wanted_are_told_apart() -> None:
    result = ask("unschedulable", running_web(cpu="1500m"), new("Deployment", "web", 9, cpu="1200m"))
    assert only(result.findings).hint == "6 replicas would fit"
    (change,) = result.changes
    assert change.pods == "2 -> 9 (11 while the update hangs)"
    assert "spec.template.spec.containers[0].resources.requests.cpu: 1500m -> 1200m" in change.details


def apart(key: str) -> Json:
    """A required anti-affinity between the pods of web."""
    web = {"key": "app", "operator": "In", "values": ["web", "web-x"]}
    term = {"labelSelector": {"matchExpressions": [web]}, "topologyKey": key}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.mark.parametrize(
    ("head", "hint"),
    [
        pytest.param({"cpu": "3500m"}, "replace its pods one by one, without surge", id="old pods that leave first"),
        pytest.param({"cpu": "64"}, "--explain shop/web-6pxbv-1 says why no node takes it", id="nothing"),
        pytest.param(
            {"cpu": "1", "pod": apart(ZONE)},
            "replace its pods one by one, without surge",
            id="a pod a zone: neither nodes nor surge help",
        ),
    ],
)
def test_a_stuck_update_gets_the_first_change_that_was_tried_and_helps(head: Json, hint: str) -> None:
    change = new("Deployment", "web", 2, strategy=strategy(1, 0), **head)
    zones = [node("n1", zone="a"), node("n2", zone="b")]
    snapshot = running_web()
    snapshot.objects.put(Node, zones)
    assert only(ask("rollout-deadlock", snapshot, change).findings).hint == hint


def test_an_update_that_lets_old_pods_go_first_goes_through() -> None:
    head = new("Deployment", "web", 2, cpu="3500m", strategy=strategy(0, 1))
    result = ask("rollout-deadlock", running_web(), head)
    assert (result.verdict, result.rules[0].checked) == ("pass", 1)


def test_where_nothing_is_updated_the_rule_does_not_apply() -> None:
    assert ask("rollout-deadlock", three(), new("Deployment", "web")).rules[0].status == "not applicable"


# --- fits-without


@pytest.mark.parametrize(
    ("gone", "cpu", "bad"),
    [
        pytest.param(["biggest-node"], "1", [], id="room for the pods of the biggest node"),
        pytest.param(["any-node"], "1", [], id="room for those of any node"),
        pytest.param(["any-zone"], "3", ["any one zone"], id="no room for those of two nodes on one"),
        pytest.param(["any-node"], "3", ["any one node"], id="no room for those of one node on two that are full"),
    ],
)
def test_lost_pods_have_to_fit_on_the_nodes_that_are_left(gone: list[str], cpu: str, bad: list[str]) -> None:
    result = ask("fits-without", three(), new("Deployment", "web", 3, cpu=cpu), gone=gone)
    assert bool(result.findings) == bool(bad)
    assert all(text in result.rules[0].threshold for text in bad)


def test_the_message_tells_what_is_gone_how_many_are_lost_and_why_they_stay_pending() -> None:
    result = ask("fits-without", three(), new("Deployment", "web", 3, cpu="3"), gone=["any-zone"])
    finding = only(result.findings)
    assert finding.title == "2 pods would not fit without zone a, the worst of 2 zones"
    assert list(finding.numbers.items()) == [
        *(("gone", "zone a"), ("pods", 2), ("stranded", 2), ("strandedHere", 2), ("before", 0), ("most", 0))
    ]
    assert finding.message.endswith("0/1 nodes are available: 1 Insufficient cpu.")


@pytest.mark.parametrize(
    ("cpu", "gone", "hint"),
    [
        pytest.param("3", "any-node", "add 1 node like n1", id="one node more is enough"),
        pytest.param("3", "any-zone", "", id="two pods want two nodes"),
    ],
)
def test_a_node_is_offered_only_where_the_loss_was_tried_with_it(cpu: str, gone: str, hint: str) -> None:
    result = ask("fits-without", three(), new("Deployment", "web", 3, cpu=cpu), gone=[gone])
    assert only(result.findings).hint == hint
    assert only(result.findings).title.endswith(", the worst of 3 nodes") is (gone == "any-node")


def test_pods_that_a_set_would_not_make_count_with_the_change_as_without_it() -> None:
    ordered = workload("StatefulSet", "db", 2, cpu="2")
    pods = [of("StatefulSet", "db", f"db-{n}", "n1", cpu="2") for n in (0, 1)]
    pods.append(of("ReplicaSet", "old", "old-1", "n2", cpu="4"))
    snapshot = snapshot_of([node("n1", cpu="5"), node("n2", cpu="4")], pods, whole=[ordered])
    snapshot.objects.add(convert(ordered, StatefulSet))
    finding = only(ask("fits-without", snapshot, new("Deployment", "web", 1, cpu="1"), gone=["any-node"]).findings)
    assert finding.title == "1 pod would not fit without node n1"
    assert (finding.numbers["stranded"], finding.numbers["before"]) == (3, 2)


def test_what_did_not_fit_before_either_is_not_held_against_the_change() -> None:
    pods = [of("ReplicaSet", "old", f"old-{n}", f"n{n}", cpu="3") for n in (1, 2, 3)]
    nodes = [node("n1"), node("n2"), node("n3")]
    tiny = new("Deployment", "tiny", 1, cpu="100m")
    assert ask("fits-without", snapshot_of(nodes, pods), tiny, gone=["any-node"]).verdict == "pass"
    grown = new("Deployment", "grown", 1, cpu="1")
    result = ask("fits-without", snapshot_of(nodes, pods), grown, gone=["any-node"])
    assert result.verdict == "pass", "there is room for it on two others"
    filling = new("Deployment", "filling", 3, cpu="1")
    finding = only(ask("fits-without", snapshot_of(nodes, pods), filling, gone=["any-node"]).findings)
    assert (finding.numbers["before"], finding.numbers["stranded"]) == (1, 2)


def test_other_workloads_that_would_lose_their_room_to_the_change_are_told_without_a_subject() -> None:
    pods = [of("ReplicaSet", "old", "old-1", "n1", cpu="3")]
    snapshot = snapshot_of([node("n1", memory="16Gi"), node("n2", zone="a")], pods)
    head = new("Deployment", "new", 1, cpu="2", pod={"nodeSelector": {HOSTNAME: "n2"}})
    finding = only(ask("fits-without", snapshot, head).findings)
    assert finding.subject is None
    assert finding.title == "other workloads: 1 pod would not fit without node n1"


def test_the_cluster_is_the_same_after_the_question() -> None:
    asked, again = (
        ask("fits-without", three(), new("Deployment", "web", 3, cpu="3"), gone=gone)
        for gone in (["any-node", "any-zone"], ["any-zone", "any-node"])
    )
    assert asked.findings == again.findings


# --- headroom


def pools() -> Snapshot:
    labels = {"karpenter.sh/nodepool": "web"}
    return snapshot_of([node("n1", labels=labels), node("n2", labels=labels), node("n3", cpu="1")])


def test_a_pool_that_gets_pods_keeps_its_share() -> None:
    head = new("Deployment", "web", 2, cpu="3500m")
    finding = only(ask("headroom", pools(), head, percent=20).findings)
    assert (str(finding.subject), finding.title) == ("Pool web", "pool web: 12.5% of cpu left")
    assert finding.numbers["freePercentBefore"] == 100.0
    assert ask("headroom", pools(), head, percent=12.5).verdict == "pass"


def test_pools_that_the_change_does_not_touch_are_not_looked_at() -> None:
    head = new("Deployment", "web", 1, cpu="1", pod={"nodeSelector": {HOSTNAME: "n3"}})
    result = ask("headroom", pools(), head, percent=90)
    assert [finding.subject and finding.subject.name for finding in result.findings] == ["<none>"]
    assert result.rules[0].checked == 1


def test_a_resource_that_no_node_has_is_told() -> None:
    result = ask("headroom", pools(), new("Deployment", "web", 1), resources=["cpu", "example.com/tpu"])
    assert result.rules[0].summary.endswith("; no node has example.com/tpu")


def test_nodes_for_a_pool_are_as_many_as_keep_its_share_free() -> None:
    head = new("Deployment", "web", 2, cpu="3500m")
    hints = [only(ask("headroom", pools(), head, percent=share).findings).hint for share in (20, 50, 100)]
    assert hints == ["add 1 node like n1", "add 2 nodes like n1", ""]


# --- spread, single-node


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        pytest.param(
            {"affinity": {"nodeAffinity": {}}}, f"add a topologySpreadConstraint over {ZONE} ", id="it spreads"
        ),
        pytest.param({"nodeSelector": {HOSTNAME: "n1"}}, "", id="pods of one node wait then"),
    ],
)
def test_a_constraint_is_proposed_only_where_all_pods_run_with_it(more: Json, hint: str) -> None:
    if "affinity" in more:
        more["affinity"]["nodeAffinity"] = prefers("a")
    rule = "spread" if hint else "single-node"
    finding = only(ask(rule, three(), new("Deployment", "web", 2, cpu="1", pod=more)).findings)
    assert finding.hint.startswith(hint)
    assert bool(finding.hint) == bool(hint)


def test_pods_that_all_landed_on_one_node_are_told() -> None:
    head = new("Deployment", "web", 2, pod={"nodeSelector": {HOSTNAME: "n2"}})
    finding = only(ask("single-node", three(), head).findings)
    assert finding.title == "all 2 pods are on node n2"
    assert ask("single-node", three(), head, replicas=3).verdict == "pass"
    assert ask("single-node", three(), head, kinds=["StatefulSet"]).rules[0].status == "not applicable"


def test_the_skew_is_that_of_the_pods_as_they_lie_over_places_they_may_go_to() -> None:
    head = new("Deployment", "web", 4, pod={"nodeSelector": {ZONE: "a"}})
    assert ask("spread", three(), head).verdict == "pass", "zone b is none of its places"
    three_in_a = new("Deployment", "web", 3, cpu="1", pod={"affinity": {"nodeAffinity": prefers("a")}})
    finding = only(ask("spread", three(), three_in_a).findings)
    assert (finding.title, finding.numbers["skew"]) == (f"skew of 3 over {ZONE}", 3)
    assert "a: 3, b: 0" in finding.message
    assert ask("spread", three(), three_in_a, maxSkew=3).verdict == "pass"


def prefers(zone: str) -> Json:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}


# --- quota, limits


def with_quota(**spec: Any) -> Snapshot:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": spec or {"hard": {"requests.cpu": "1"}},
    }
    return three(whole=[quota])


def test_pods_beyond_a_quota_are_for_the_rule_quota_alone() -> None:
    head = new("Deployment", "web", 3, cpu="400m")
    result = judged(with_quota(), head, rules={"quota": {}, "limits": {}})
    finding = only(result.findings)
    assert (finding.rule, finding.title) == ("quota", "1 pod cannot be made")
    assert "exceeded quota: q" in finding.message
    assert finding.hint == "raise quota q: requests.cpu from 1 to 1200m"


def test_a_quota_is_raised_by_all_that_the_pods_take_though_the_api_server_names_what_is_exceeded_first() -> None:
    snapshot = with_quota(hard={"requests.cpu": "500m", "pods": "1"}, scopes=["NotBestEffort"])
    result = judged(snapshot, new("Deployment", "web", 3, cpu="200m"), rules={"quota": {}})
    finding = only(result.findings)
    assert "requested: pods=1, used: pods=1, limited: pods=1" in finding.message
    assert finding.hint == "raise quota q: pods from 1 to 3, requests.cpu from 500m to 600m"


def test_what_the_api_server_would_not_take_is_for_the_rule_limits() -> None:
    head = new("Deployment", "Web")
    result = judged(three(), head, rules={"quota": {}, "limits": {}})
    finding = only(result.findings)
    assert (finding.rule, finding.title) == ("limits", "the API server refuses Deployment shop/Web")
    assert finding.numbers["code"] == 422


# --- pinned


@pytest.mark.parametrize(
    ("pod_spec", "number"),
    [
        pytest.param({"nodeSelector": {HOSTNAME: "n1"}}, 1, id="a node selector"),
        pytest.param({"nodeSelector": {"disk": "none"}}, 0, id="a label no node has"),
        pytest.param({"nodeSelector": {ZONE: "a"}}, 2, id="a zone of two nodes"),
        pytest.param({}, 3, id="no demands"),
    ],
)
def test_the_nodes_that_could_ever_take_a_pod_are_counted(pod_spec: Json, number: int) -> None:
    result = ask("pinned", three(), new("Deployment", "web", 1, pod=pod_spec), nodes=4)
    assert only(result.findings).numbers["nodes"] == number
    assert (ask("pinned", three(), new("Deployment", "web", 1, pod=pod_spec)).verdict == "pass") == (number >= 2)


def test_other_pods_do_not_pin_a_pod_but_the_size_of_nodes_does() -> None:
    near = {"labelSelector": {"matchLabels": {"app": "nobody"}}, "topologyKey": HOSTNAME}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    assert ask("pinned", three(), new("Deployment", "web", 1, pod={"affinity": affinity})).verdict == "pass"
    full = snapshot_of([node("n1"), node("n2")], [pod(on="n1", cpu="4")])
    assert ask("pinned", full, new("Deployment", "web", 1, cpu="4")).verdict == "pass"
    mixed = snapshot_of([node("n1"), node("n2", cpu="8")])
    assert ask("pinned", mixed, new("Deployment", "web", 1, cpu="6")).verdict == "fail"


# --- score-margin


def test_ties_are_margins_of_nothing() -> None:
    nodes = [node("n1"), node("n2")]
    finding = only(ask("score-margin", snapshot_of(nodes), new("Deployment", "web")).findings)
    assert finding.numbers["margin"] == 0
    assert "tied with 1 other node" in finding.message
    uneven = snapshot_of(nodes, [pod(on="n1", cpu="2")])
    assert ask("score-margin", uneven, new("Deployment", "web")).verdict == "pass"


def test_pods_of_another_scheduler_are_unknown_and_no_fault() -> None:
    head = new("Deployment", "web", 1, pod={"schedulerName": "volcano"})
    result = judged(three(), head, rules={"unschedulable": {}, "fidelity": {}})
    (finding,) = [each for each in result.findings if "volcano" in each.title]
    assert (finding.rule, finding.level) == ("fidelity", "warn")
    assert "--policy names a configuration with it" in finding.message
    assert not [each for each in result.findings if each.level == "error"]


# --- new-nodes


def test_nodes_to_be_added_are_counted_by_what_they_would_be_like() -> None:
    snapshot = snapshot_of(
        [node("big", cpu="8", labels={"pool": "x", "karpenter.sh/nodepool": "x"}), node("small", cpu="2")]
    )
    head = new("Deployment", "web", 8, cpu="2")
    finding = only(ask("new-nodes", snapshot, head).findings)
    assert finding.title == "1 new node needed"
    assert "1 like big, 3 like small" in finding.message
    assert ask("new-nodes", snapshot, head, most=1).verdict == "pass"
    assert only(ask("new-nodes", snapshot, head, like=["small"]).findings).numbers["nodes"] == 3


def test_the_first_number_of_new_nodes_tried_has_places_for_all_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    placed = GrownCluster._count_placed

    def noted(self: GrownCluster, pods: Any, like: str, count: int) -> int:
        tried.append(count)
        return placed(self, pods, like, count)

    monkeypatch.setattr(GrownCluster, "_count_placed", noted)
    snapshot = snapshot_of([node("n1", cpu="4", pods=5)])
    finding = only(ask("new-nodes", snapshot, new("Deployment", "web", 50, cpu="1m")).findings)
    assert finding.numbers["nodes"] == 9
    assert tried == [9]


def test_daemons_take_their_share_of_new_nodes() -> None:
    daemon = of("DaemonSet", "agent", "agent-1", "n1", cpu="1")
    snapshot = snapshot_of([node("n1", cpu="4")], [daemon])
    assert only(ask("new-nodes", snapshot, new("Deployment", "web", 5, cpu="2")).findings).numbers["nodes"] == 4


def test_where_no_node_would_help_that_is_said() -> None:
    finding = only(ask("new-nodes", three(), new("Deployment", "web", 1, cpu="5")).findings)
    assert finding.title == "no new nodes would help 1 pod without a node"
    assert finding.numbers["nodes"] == -1


def test_a_pod_that_is_evicted_and_finds_no_other_node_needs_one() -> None:
    victim = of("ReplicaSet", "old", "old-1", "n1", cpu="3", priority=0)
    snapshot = snapshot_of([node("n1", cpu="4")], [victim])
    head = new("Deployment", "web", 1, cpu="3", pod={"priority": 1000, "priorityClassName": "high"})
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    result = ask("new-nodes", snapshot, high, head)
    assert only(result.findings).title == "1 new node needed"
    assert describe_change(result).endswith("1 of 1 pod finds a node, 1 evicted pod finds none.")


# --- snapshot-age, fidelity


@pytest.mark.parametrize(
    ("taken", "age", "verdict"),
    [
        pytest.param("2026-03-01T11:00:00Z", "24h", "pass", id="an hour"),
        pytest.param("2026-03-01T11:00:00Z", "59m", "fail", id="older than that"),
        pytest.param("2026-03-01T11:00:00Z", "60m", "pass", id="just as old"),
        pytest.param("2026-03-02T11:00:00Z", "1h", "pass", id="of tomorrow"),
        pytest.param(None, "24h", "fail", id="nobody knows"),
    ],
)
def test_the_snapshot_may_be_so_old(taken: str | None, age: str, verdict: str) -> None:
    snapshot = replace(three(), taken_at=taken)
    assert ask("snapshot-age", snapshot, new("Deployment", "web"), maxAge=age).verdict == verdict


def test_gaps_that_touch_a_pod_of_the_change_are_findings_unless_they_are_accepted() -> None:
    head = new("Deployment", "web", pod={"priorityClassName": "gold"})
    result = ask("fidelity", three(), head)
    assert ("fidelity", "", "the snapshot holds no PriorityClass") in found(result)
    assert all("It touches shop/web-" in finding.message for finding in result.findings)
    assert ask("fidelity", three(), head, accept=["the snapshot holds no *"]).verdict == "pass"


# --- pool-upgrade


def test_a_budget_that_allows_nothing_makes_the_upgrade_of_the_pool_hang() -> None:
    snapshot = three()
    snapshot.objects.add(budget("web", select(app="web"), namespace="shop", least=2))
    result = ask("pool-upgrade", snapshot, new("Deployment", "web", 2))
    finding = only(result.findings)
    assert finding.title == "the upgrade of pool <none> hangs on it"
    assert "cannot be evicted from" in finding.message


def test_a_budget_counts_the_pods_that_the_change_leaves_whatever_its_status_said_before() -> None:
    snapshot = three()
    snapshot.objects.add(budget("web", select(app="web"), namespace="shop", allowed=1))
    result = ask("pool-upgrade", snapshot, new("Deployment", "web", 1))
    assert only(result.findings).title == "the upgrade of pool <none> hangs on it"


def _budget_of(least: int | str, name: str = "web") -> Json:
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "shop"}}
    return {**head, "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}}


def _running_web(count: int = 2) -> Snapshot:
    """Pods of a Deployment that the change leaves alone."""
    pods = [
        pod(
            f"web-x-{i}",
            namespace="shop",
            labels={"app": "web"},
            on=f"n{i % 3 + 1}",
            owner=("apps/v1", "ReplicaSet", "web-x"),
            status=READY,
        )
        for i in range(count)
    ]
    whole = [workload("Deployment", "web", count), workload("ReplicaSet", "web-x", count, owner="web")]
    return snapshot_of([node(f"n{i}", zone="ab"[i % 2]) for i in (1, 2, 3)], pods, whole=whole)


def test_a_budget_alone_is_a_change_that_makes_the_upgrade_of_its_pods_pool_hang() -> None:
    result = ask("pool-upgrade", _running_web(), _budget_of(2), base=[])
    finding = only(result.findings)
    assert str(finding.subject) == "Deployment shop/web"
    assert finding.location == Location(file="head.yaml", line=1)
    assert result.note == ""


# --- blocking-budget


@pytest.mark.parametrize("base", [None, []], ids=["of everything", "of a change"])
def test_a_new_budget_that_allows_no_eviction_of_healthy_pods_is_found_though_no_pod_changes(
    base: list[Json] | None,
) -> None:
    result = ask("blocking-budget", _running_web(12), _budget_of(12), base=base)
    finding = only(result.findings)
    assert str(finding.subject) == "PodDisruptionBudget shop/web"
    assert finding.message.startswith("minAvailable is 12, so 12 of its 12 pods must be healthy, and 12 are")
    assert finding.hint == "set maxUnavailable: 1 in PodDisruptionBudget web"
    assert (result.verdict, result.note) == ("fail", "")


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        ([], [_budget_of(11)], "pass"),
        ([_budget_of(11)], [_budget_of(12)], "fail"),
        ([], [_budget_of("100%")], "fail"),
        ([_budget_of(12)], [_budget_of(12)], "pass"),
        ([], [_budget_of(1), _budget_of(1, "also")], "fail"),
    ],
    ids=["it allows one", "it changed", "a share", "it was there before", "two over the same pods"],
)
def test_budgets_that_come_or_change_are_judged(base: list[Json], head: list[Json], verdict: str) -> None:
    assert ask("blocking-budget", _running_web(12), *head, base=base).verdict == verdict


def test_a_budget_that_is_in_the_way_twice_is_one_budget() -> None:
    result = ask("blocking-budget", _running_web(12), _budget_of(1), _budget_of(12, "also"), base=[])
    assert (len(result.findings), result.rules[0].summary) == (3, "2 of 2 budgets in the way")


def test_a_workload_that_shrinks_below_its_budget_is_found_where_its_manifest_stands() -> None:
    snapshot = three()
    snapshot.objects.add(budget("web", select(app="web"), namespace="shop", allowed=1, least=2))
    finding = only(ask("blocking-budget", snapshot, new("Deployment", "web", 2)).findings)
    assert str(finding.subject) == "PodDisruptionBudget shop/web"
    assert finding.location == Location(file="head.yaml", line=1)


def test_a_change_that_no_rule_looks_at_is_named() -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
    result = ask("blocking-budget", _running_web(), settings, base=[])
    assert result.note.endswith("; no rule looks at ConfigMap shop/settings")


def test_a_pool_whose_budgets_allow_it_is_replaced_on_paper() -> None:
    result = ask("pool-upgrade", three(), new("Deployment", "web", 2))
    assert (result.verdict, result.findings) == ("pass", ())
    assert result.rules[0].summary == "1 pool simulated"


# --- fits-at-max


def test_a_workload_that_would_not_fit_at_its_upper_bound_is_a_finding() -> None:
    head = [new("Deployment", "web", cpu="1"), hpa(minReplicas=2, maxReplicas=13)]
    finding = only(ask("fits-at-max", three(), *head).findings)
    assert finding.title == "1 pod without a node at 13 replicas"
    assert finding.numbers == {"replicas": 13, "pending": 1, "notCreated": 0, "most": 0}
    assert "HorizontalPodAutoscaler shop/web, 2 to 13" in finding.message
    assert "3 Insufficient cpu" in finding.message
    assert ask("fits-at-max", three(), *head, most=1).verdict == "pass"


def test_what_is_not_scaled_is_not_asked_about() -> None:
    result = ask("fits-at-max", three(), new("Deployment", "web", 2))
    assert (result.rules[0].status, result.rules[0].checked) == ("not applicable", 0)


def test_a_changed_autoscaler_alone_is_judged() -> None:
    snapshot = running_web(cpu="1")
    snapshot.whole["HorizontalPodAutoscaler"] = [hpa(maxReplicas=4)]
    result = ask("fits-at-max", snapshot, hpa(maxReplicas=9), base=[hpa(maxReplicas=4)])
    assert (result.verdict, result.note) == ("fail", "")
    assert str(only(result.findings).subject) == "Deployment shop/web"


def test_pods_that_a_changed_lower_bound_asks_for_are_of_their_workload() -> None:
    snapshot = running_web(cpu="1")
    result = ask("unschedulable", snapshot, hpa(minReplicas=9), base=[hpa()])
    assert only(result.findings).title == "1 of 7 new pods find no node"
    changed = result.changes[-1]
    assert (str(changed.subject), changed.pods_before, changed.pods_after) == ("Deployment shop/web", 2, 9)
    assert changed.details == ("spec.replicas: 2 -> 9, by HorizontalPodAutoscaler shop/web, 9 to 10",)


def test_pods_that_a_quota_forbids_at_the_upper_bound_count() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "shop"},
        "spec": {"hard": {"pods": "3"}},
        "status": {"hard": {"pods": "3"}, "used": {"pods": "0"}},
    }
    head = [new("Deployment", "web", cpu="1"), hpa(maxReplicas=5)]
    finding = only(ask("fits-at-max", three(whole=[quota]), *head).findings)
    assert (finding.numbers["pending"], finding.numbers["notCreated"]) == (0, 2)
