"""Workloads explained as they would be placed: alone, together, and the first pod that finds no node in its state."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.results.explain import ExplainResult, PodReport, WorkloadReport
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.explanation.observer import MOST_RECORDED
from kwhatif.simulation.explanation.options import ExplainOptions
from kwhatif.simulation.explanation.workloads import BEFORE_ALL, explain_workloads
from tests.builders import node, pod
from tests.commands.answers import place
from tests.simulation.sessions import asking, session_of

SET = ("apps/v1", "ReplicaSet")


def replicas(name: str, number: int, cpu: str = "1", priority: int = 0, **more: object) -> list[Pod]:
    return [
        pod(f"{name}-{at}", cpu=cpu, priority=priority, owner=(*SET, name), **more)  # type: ignore[arg-type]
        for at in range(1, number + 1)
    ]


def explained(
    nodes: Sequence[Node], bound: Sequence[Pod], change: Sequence[Pod], looking: ExplainOptions | None = None
) -> ExplainResult:
    """The explanation of a change, whose outcome is that of placing it, and which leaves the session as it was."""
    session = session_of(nodes, bound)
    before = {info.key: row for info, row in session.cluster.pods()}
    found = explain_workloads(session, asking(*change), looking or ExplainOptions())
    assert {info.key: row for info, row in session.cluster.pods()} == before
    result = found.answer().result
    assert result.outcome == place(session_of(nodes, bound), asking(*change)).outcome
    return result


def of(result: ExplainResult, workload: str) -> tuple[WorkloadReport, PodReport]:
    (found,) = (each for each in result.workloads if each.workload == workload)
    (report,) = (each for each in result.pods if each.pod == found.explained)
    return found, report


def free_on(report: PodReport) -> dict[str, str]:
    return {each.node: blocker.detail for each in report.nodes for blocker in each.blockers}


def test_the_first_that_finds_no_node_is_explained_as_the_cluster_was_then() -> None:
    result = explained([node("a", cpu="3"), node("b", cpu="2")], [], replicas("web", 8))
    workload, report = of(result, "ReplicaSet/default/web")
    assert (workload.pods, workload.alone, workload.together) == (8, 8, 5)
    assert (workload.number, workload.explained) == (6, "default/web-6")
    assert workload.identical
    assert workload.nodes == {"a": 3, "b": 2}
    assert report.state == "as it was tried, after 5 pods found a node"
    assert free_on(report) == {
        "a": "cpu: asks 1, free 0 of 3, short 1",
        "b": "cpu: asks 1, free 0 of 2, short 1",
    }
    assert [each.pod for each in report.alike] == ["default/web-7", "default/web-8"]
    assert isinstance(result.outcome, Outcome)
    assert (result.outcome.verdict, result.exit_code) == (
        "Does not fit: 5 of 8 pods placed; the snapshot holds no Pod",
        1,
    )


def test_what_fits_is_explained_by_its_first_pod_and_what_never_fits_by_its_first() -> None:
    change = [*replicas("web", 2), *replicas("huge", 2, cpu="64"), pod("alone", cpu="1")]
    result = explained([node("a", cpu="8")], [], change)
    assert [(each.workload, each.pods, each.alone, each.together, each.number) for each in result.workloads] == [
        ("ReplicaSet/default/web", 2, 2, 2, 1),
        ("ReplicaSet/default/huge", 2, 0, 0, 1),
        ("Pod/default/alone", 1, 1, 1, 1),
    ]
    _, web = of(result, "ReplicaSet/default/web")
    assert (web.placement.node, web.state) == ("a", "")
    assert [each.node for each in web.nodes if each.chosen] == ["a"]
    _, alone = of(result, "Pod/default/alone")
    assert alone.state == "as it was tried, after 2 pods found a node"


def test_a_workload_that_evicts_is_explained_by_the_pod_that_does_so_first() -> None:
    low = replicas("low", 2, priority=-1, on="a")
    result = explained([node("a", cpu="3"), node("b", cpu="1")], low, replicas("web", 3, priority=5))
    workload, report = of(result, "ReplicaSet/default/web")
    assert (workload.together, workload.evicting) == (3, 1)
    assert [victim.pod for victim in report.placement.victims] == ["default/low-1"]
    assert [(each.node, each.chosen) for each in report.evictions] == [("a", True)]
    assert report.placement.outcome == "placed"
    assert isinstance(result.outcome, Outcome)
    assert [each.pod for each in result.outcome.pending], "low-1 is recreated, and there is no room for it"


@pytest.mark.long
def test_of_more_workloads_than_are_recorded_the_rest_is_explained_as_things_are_at_the_ends() -> None:
    fitting = [pod(f"web-{at:03}", cpu="1") for at in range(MOST_RECORDED + 1)]
    result = explained(
        [node("a", cpu="200", pods=200)], [], [*fitting, pod("huge", cpu="900")], ExplainOptions(fixes=False)
    )
    assert result.pods[MOST_RECORDED - 1].state == f"as it was tried, after {MOST_RECORDED - 1} pods found a node"
    assert result.pods[MOST_RECORDED].state == BEFORE_ALL
    assert result.pods[-1].placement.outcome == "unschedulable"
    assert free_on(result.pods[-1]) == {"a": f"cpu: asks 900, free {200 - MOST_RECORDED - 1} of 200, short 765"}


# --- fixes


def test_a_fix_names_whom_it_evicts_and_what_becomes_of_these() -> None:
    nodes = [node("a", cpu="4"), node("b", cpu="2"), node("c", cpu="1", cordoned=True)]
    bound = [*replicas("low", 1, cpu="2", priority=1, on="a"), *replicas("mid", 1, cpu="2", priority=3, on="a")]
    _, report = of(explained(nodes, bound, replicas("web", 1, cpu="4")), "ReplicaSet/default/web")
    (raised,) = (each for each in report.fixes if "priority" in each.change)
    assert raised.change == "raise its priority from 0 to 4, which evicts pods"
    assert raised.node == "a"
    assert [(each.pod, bool(each.replacement), each.lands_on) for each in raised.victims] == [
        ("default/mid-1", True, "b"),
        ("default/low-1", True, ""),
    ]
    (low,) = (each.replacement for each in raised.victims if not each.lands_on)
    assert raised.pending == (low,)


@pytest.mark.parametrize(
    "own", [replicas("web", 3, priority=5), [*replicas("web", 1, cpu="2", priority=5), *replicas("old", 2, priority=7)]]
)
def test_no_fix_evicts_a_pod_of_the_same_change(own: list[Pod]) -> None:
    result = explained([node("a", cpu="2")], [], own)
    assert any(not each.placement.good for each in result.pods)
    assert not [fix for each in result.pods for fix in each.fixes if "priority" in fix.change]


def test_a_fix_has_room_beside_all_of_the_change() -> None:
    """What comes after the pod that fails takes the room that there was when it failed."""
    change = [*replicas("web", 1, cpu="4", priority=2), *replicas("late", 1, cpu="3")]
    _, report = of(explained([node("a", cpu="3500m")], [], change), "ReplicaSet/default/web")
    assert [fix.change for fix in report.fixes if fix.change.startswith("lower")] == [
        "lower its cpu request from 4 to 500m"
    ]


def test_two_priorities_that_evict_the_same_pods_are_one_fix() -> None:
    bound = [*replicas("low", 1, cpu="2", priority=1, on="a"), *replicas("high", 1, cpu="1", priority=7, on="b")]
    result = explained([node("a", cpu="2"), node("b", cpu="1")], bound, replicas("web", 1, cpu="2"))
    fixes = [fix.change for fix in result.pods[0].fixes if "priority" in fix.change]
    assert fixes == ["raise its priority from 0 to 2, which evicts pods"]


def test_fixes_that_cost_others_nothing_come_first_and_those_that_leave_them_pending_last() -> None:
    bound = [*replicas("low", 1, cpu="2", priority=1, on="a"), *replicas("mid", 1, cpu="2", priority=3, on="a")]
    nodes = [node("a", cpu="5"), node("b", cpu="2"), node("c", cpu="9", cordoned=True)]
    _, report = of(explained(nodes, bound, replicas("web", 1, cpu="4")), "ReplicaSet/default/web")
    assert [(fix.change.partition(" from ")[0], fix.harm) for fix in report.fixes] == [
        ("lower its cpu request", 0),
        ("uncordon node c", 0),
        ("free 3 cpu on node a", 0),
        ("raise its priority", 3),
    ]
