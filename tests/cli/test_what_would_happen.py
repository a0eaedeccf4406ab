"""``kwhatif diff``, ``capacity`` and ``drain`` as their users meet them; what they print is in the golden files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.running import CLUSTER, refused, run

SAMPLE = "../samples/cluster"
PACKING = "../samples/policies/most-allocated.yaml"
WEB = "../samples/manifests/web.yaml"

NO_SENSE = {
    "diff of one policy": (
        f"diff --snapshot {SAMPLE} --policy default --replay all",
        "nothing to compare: give a --policy other than the default, --against-snapshot, or --old and --new",
    ),
    "diff of a cluster in two files": (
        f"diff --snapshot {SAMPLE} --snapshot {CLUSTER} --replay all",
        "nothing to compare: give --policy, --against-snapshot, or --old and --new",
    ),
    "diff of three policies": (
        f"diff --snapshot {SAMPLE} --policy default --policy default@1.33 --policy {PACKING} --replay all",
        "--policy is given 3 times: there are two sides",
    ),
    "diff without the other manifests": (
        f"diff --snapshot {SAMPLE} --old {WEB}",
        "--old and --new go together: manifests of side A and of side B",
    ),
    "diff of no pods": (
        f"diff --snapshot {SAMPLE} --policy default --policy {PACKING}",
        "name files with pods to schedule, or pods of the snapshot with --replay",
    ),
    "a replay of something else": (
        f"diff --snapshot {SAMPLE} --against-snapshot {CLUSTER} --replay running",
        "--replay running: expected pending, namespace=NAME or all",
    ),
    "a replay of a namespace without pods": (
        f"diff --snapshot {SAMPLE} --against-snapshot {CLUSTER} --replay namespace=nowhere",
        "--replay namespace=nowhere: the snapshot has no pods in it",
    ),
    "two sides of one standard input": (
        "diff --snapshot - --against-snapshot - --replay all",
        "'-' is given more than once: standard input can be read only once",
    ),
    "capacity that must stop too early": (
        f"capacity {WEB} --snapshot {SAMPLE} --limit 2 --at-least 3",
        "--limit 2 ends the count before --at-least 3 can be reached",
    ),
    "capacity of no pods": (
        f"capacity data/no-pods.yaml --snapshot {SAMPLE}",
        "data/no-pods.yaml: no pods in here, only 2 ConfigMap, 1 Service",
    ),
    "capacity of nothing": (
        f"capacity - --snapshot {SAMPLE}",
        "standard input: holds no objects: it is empty",
    ),
    "drain of a node that is not there": (f"drain nowhere --snapshot {SAMPLE}", 'there is no node "nowhere"'),
    "drain of no node": (f"drain pool=none --snapshot {SAMPLE}", 'no node matches "pool=none"'),
    "trim with extenders": (
        f"snapshot trim shop/sessions-0 --snapshot {SAMPLE} -o out.json --call-extenders",
        "--call-extenders: trim decides again and again, too often to ask extenders each time",
    ),
}


@pytest.mark.parametrize("case", NO_SENSE)
def test_what_makes_no_sense_is_refused_in_one_line(case: str) -> None:
    words, problem = NO_SENSE[case]
    assert refused(*words.split()) == problem


def asked(*words: str, stdin: str = "") -> dict[str, Any]:
    ran = run(*words, "-o", "json", stdin=stdin)
    assert ran.code in (0, 1), ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.long
def test_diff_exits_with_1_for_a_difference_unless_told_otherwise() -> None:
    words = ("diff", "--snapshot", SAMPLE, "--policy", "default", "--policy", PACKING, "--replay", "all")
    assert [run(*words).code, run(*words, "--exit-zero").code] == [1, 0]
    assert run("diff", "--snapshot", SAMPLE, "--against-snapshot", SAMPLE, "--replay", "all").code == 0


@pytest.mark.long
def test_each_side_of_diff_places_what_place_places() -> None:
    def placed(policy: str) -> dict[str, str]:
        found = asked("place", WEB, "--snapshot", SAMPLE, "--policy", policy)
        return {placement["pod"]: placement["node"] for placement in found["placements"]}

    a, b = placed("default"), placed(PACKING)
    found = asked("diff", WEB, "--snapshot", SAMPLE, "--policy", "default", "--policy", PACKING)
    assert (found["a"]["placed"], found["b"]["placed"]) == (len(a), len(b))
    assert {c["pod"]: (c["nodeA"], c["nodeB"]) for c in found["changes"]} == {
        pod: (a[pod], b[pod]) for pod in a if a[pod] != b[pod]
    }


def test_diff_says_of_a_node_that_one_side_lacks_that_it_is_not_there() -> None:
    ran = run("diff", WEB, "--snapshot", SAMPLE, "--against-snapshot", "../samples/three-nodes.json")
    assert ran.code == 1
    assert "A did not score ada: it has no such node" in ran.out


def test_diff_takes_the_version_from_behind_the_policy_and_else_from_the_option() -> None:
    words = ("diff", WEB, "--snapshot", SAMPLE, "--policy", "default", "--policy", "default@1.33")
    found = asked(*words, "--kubernetes-version", "1.31")
    assert [found[side]["fidelity"]["rules"] for side in "ab"] == ["1.31", "1.33"]


@pytest.mark.long
def test_capacity_places_pods_that_edits_left_without_a_node_before_it_counts() -> None:
    edited = asked("capacity", WEB, "--snapshot", SAMPLE, "--remove-node", "general-b-1")
    assert (edited["fits"], edited["first"]) == (0, 8)
    gone = asked("capacity", WEB, "--snapshot", SAMPLE, "--cordon", "general-b-1")
    assert (gone["fits"], gone["first"], gone["firstPending"]) == (1, 0, [])


@pytest.mark.long
def test_capacity_tells_what_more_nodes_are_good_for() -> None:
    more = asked("capacity", WEB, "--snapshot", SAMPLE, "--add-nodes", "3", "--like", "general-a-1")
    assert more["fits"] > asked("capacity", WEB, "--snapshot", SAMPLE)["fits"]


@pytest.mark.long
def test_capacity_exits_with_1_if_fewer_fit_than_are_asked_for() -> None:
    words = ("capacity", WEB, "--snapshot", SAMPLE, "--at-least")
    assert [run(*words, number).code for number in ("2", "3")] == [0, 1]


def test_capacity_of_what_the_api_server_refuses_has_no_table_of_nodes() -> None:
    ran = run("capacity", "data/small.yaml", "-n", "nowhere", "--snapshot", SAMPLE)
    assert ran.code == 1
    assert "Unit:        nothing" in ran.lines
    assert "NODES" not in ran.lines
    assert 'namespaces "nowhere" not found' in ran.out


@pytest.mark.long
def test_drain_takes_names_and_selectors_and_each_node_once() -> None:
    words = ("--snapshot", SAMPLE, "--ignore-daemonsets", "--delete-emptydir-data", "--force")
    by_name = asked("drain", "general-a-1", "general-a-2", *words)
    by_zone = asked("drain", "topology.kubernetes.io/zone=eu-west-1a", "general-a-1", *words)
    assert by_name == by_zone


def test_drain_places_pods_where_place_does_once_they_are_deleted() -> None:
    drained = asked("drain", "general-a-2", "--snapshot", SAMPLE, "--ignore-daemonsets", "--delete-emptydir-data")
    gone = [pod["pod"] for pod in drained["pods"] if pod["outcome"] == "evicted"]
    deletions = [word for pod in gone for word in ("--delete", pod)]
    placed = asked("place", "--snapshot", SAMPLE, "--cordon", "general-a-2", *deletions)
    assert {pod["replacement"]: pod["landsOn"] for pod in drained["pods"] if pod["replacement"]} == {
        placement["pod"]: placement["node"] for placement in placed["placements"]
    }


def test_an_update_goes_on_from_pods_that_an_edit_left_without_a_node_and_that_found_one() -> None:
    words = ("place", "../samples/manifests/sessions.yaml", "--snapshot", SAMPLE, "--delete", "shop/sessions-1")
    found = asked(*words)
    (rollout,) = found["rollouts"]
    assert (rollout["creates"], rollout["removes"], rollout["unfinished"]) == (3, 3, "")
