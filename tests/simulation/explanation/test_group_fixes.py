"""What would let a group run: each change that is offered was tried, and what it says is so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.pod_groups import PodGroup
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.results.explain import GroupFix, GroupReport
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.explanation.options import ExplainOptions
from kwhatif.simulation.explanation.workloads import explain_workloads
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features
from tests.builders import node, pod
from tests.scheduling.test_pod_groups import PREEMPTION, TOPOLOGY, group, member, rules
from tests.simulation.sessions import asking


def session_of(objects: Sequence[Node | Pod | PodGroup], *gates: str) -> Session:
    held = Objects()
    for each in objects:
        held.add(each)
    return Session(Snapshot(objects=held), setup_of(rules(*gates)))


def setup_of(features: Features) -> Setup:
    return Setup(load_configuration(None, source="", features=features), features)


def explain(objects: Sequence[Node | Pod | PodGroup], members: Sequence[Pod], *gates: str) -> GroupReport:
    found = explain_workloads(session_of(objects, *gates), asking(*members), ExplainOptions())
    (report,) = found.groups
    return report


def racks(**nodes: int) -> list[Node]:
    """So many nodes in each rack, with room for two members each."""
    return [
        node(f"{rack}-{number}", cpu="2", labels={"rack": rack})
        for rack, size in nodes.items()
        for number in range(size)
    ]


def workers(number: int, **given: Any) -> list[Pod]:
    return [member(f"g-{index}", "g", cpu="1", **given) for index in range(number)]


def told(report: GroupReport) -> list[tuple[str, str, int]]:
    return [(fix.change, fix.domain, fix.bound) for fix in report.fixes]


def test_what_the_whole_group_lacks_is_told_domain_by_domain() -> None:
    busy = pod("busy", on="b-0", cpu="1")
    report = explain([*racks(a=1, b=2), busy, group("g", least=4, key="rack")], workers(4), *TOPOLOGY)
    assert [(each.name, each.fit, each.lacks) for each in report.outcome.domains] == [
        ("a", 2, ("2 cpu short for 2 of 4 members",)),
        ("b", 3, ("1 cpu short for 1 of 4 members",)),
    ]


def test_nodes_that_are_closed_have_no_room() -> None:
    nodes = [*racks(a=1), node("a-9", cpu="2", labels={"rack": "a"}, cordoned=True)]
    report = explain([*nodes, group("g", least=4, key="rack")], workers(4), *TOPOLOGY)
    assert [each.lacks for each in report.outcome.domains] == [
        ("2 cpu short for 2 of 4 members", "1 of 2 nodes closed to them: node(s) were unschedulable")
    ]
    assert ("uncordon a-9 and a holds it", "a", 4) in told(report)


def test_a_smaller_quorum_is_offered_as_large_as_it_is_met() -> None:
    report = explain([*racks(a=1, b=2), group("g", least=6, key="rack")], workers(6), *TOPOLOGY)
    assert told(report)[0] == ("minCount 4 in place of 6 would run today", "b", 4)


def test_a_gang_that_is_not_complete_is_told_which_quorum_would_do() -> None:
    report = explain([*racks(a=1), group("g", least=6)], workers(3), *TOPOLOGY)
    assert report.outcome.outcome == "gated"
    assert told(report) == [("minCount 2 in place of 6 would run today", "", 2)]


@pytest.mark.parametrize(
    ("others", "change", "lands_on"),
    [
        pytest.param(
            racks(z=1),
            "drain or move default/low (priority -10) and b holds it",
            ["z-0"],
            id="who leaves and finds another node is moved",
        ),
        pytest.param(
            [],
            "drain default/low (priority -10), which finds no other node, and b holds it",
            [""],
            id="who leaves and finds none is drained",
        ),
    ],
)
def test_the_least_important_leave_a_domain(others: list[Node], change: str, lands_on: list[str]) -> None:
    running = [
        pod("low", on="b-0", cpu="1", priority=-10),
        pod("light", on="b-1", priority=-20),
        *(pod(f"full-{k}", on="a-0", cpu="1", priority=100) for k in range(2)),
    ]
    report = explain([*racks(a=1, b=2), *others, *running, group("g", least=4, key="rack")], workers(4), *TOPOLOGY)
    (fix,) = [fix for fix in report.fixes if fix.leaving]
    assert (fix.change, fix.domain, fix.bound) == (change, "b", 4)
    assert [each.lands_on for each in fix.leaving] == lands_on


def test_nobody_more_important_is_drained() -> None:
    report = explain(
        [*racks(b=2), pod("high", on="b-0", cpu="1", priority=100), group("g", least=4, key="rack")],
        workers(4),
        *TOPOLOGY,
    )
    assert not [fix for fix in report.fixes if fix.leaving]


def test_a_group_without_a_constraint_would_run_across_domains() -> None:
    report = explain([*racks(a=1, b=1), group("g", least=4, key="rack")], workers(4), *TOPOLOGY)
    assert ("without its topology constraint it runs", "", 4) in told(report)


def test_a_priority_that_lets_it_make_room_for_itself_is_offered() -> None:
    objects: list[Any] = [*racks(a=2), pod("low", on="a-0", cpu="1", priority=7), group("g", least=4)]
    assert ("raise its priority from 0 to 8, which evicts default/low", "", 4) in told(
        explain(objects, workers(4), *PREEMPTION)
    )


def test_a_group_that_runs_is_told_why_its_domain_was_chosen() -> None:
    report = explain(
        [*racks(a=2, b=2), pod("x", on="b-0", cpu="1"), group("g", least=2, key="rack")], workers(2), *TOPOLOGY
    )
    assert [(each.name, each.chosen, sorted(each.scores)) for each in report.outcome.domains] == [
        ("a", False, ["NodeResourcesFit", "PodGroupPodsCount"]),
        ("b", True, ["NodeResourcesFit", "PodGroupPodsCount"]),
    ]
    assert not report.fixes


@pytest.mark.long
@example(sizes={"a": 1}, least=3, running=[(0, "1", -1)], key="")
@given(
    sizes=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 2), min_size=1),
    least=st.integers(1, 7),
    running=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["1", "2"]), st.integers(-2, 2)), max_size=4),
    key=st.sampled_from(["", "rack"]),
)
def test_what_is_offered_works(sizes: dict[str, int], least: int, running: list[Any], key: str) -> None:
    """Who is said to leave is taken out of the snapshot, the quorum is made as small as said: the group runs."""
    nodes = racks(**sizes)
    pods = [
        pod(f"r{number}", on=nodes[at % len(nodes)].name, cpu=cpu, priority=priority)
        for number, (at, cpu, priority) in enumerate(running)
    ]
    found = explain([*nodes, *pods, group("g", least=least, key=key)], workers(least), *TOPOLOGY)
    for fix in found.fixes:
        gone = {victim.pod for victim in fix.leaving}
        needed = quorum_of(fix, least)
        if not gone and needed == least:
            continue
        stay = [each for each in pods if each.key not in gone]
        again = explain([*nodes, *stay, group("g", least=needed, key=key)], workers(least), *TOPOLOGY)
        if again.outcome.running >= needed:
            # It runs, and this is about a member beyond those that it needs, which was tried after them.
            continue
        assert again.outcome.good
        assert again.outcome.bound == fix.bound
        assert [each.name for each in again.outcome.domains if each.chosen] == [fix.domain]


def quorum_of(fix: GroupFix, least: int) -> int:
    words = fix.change.split()
    return int(words[1]) if words[0] == "minCount" else least


@pytest.mark.long
def test_fixes_leave_the_cluster_as_it_was() -> None:
    session = session_of([*racks(a=1), pod("low", on="a-0", cpu="1"), group("g", least=4, key="rack")], *TOPOLOGY)
    asked = asking(*workers(4))
    first = explain_workloads(session, asked, ExplainOptions())
    assert explain_workloads(session, asked, ExplainOptions()).groups == first.groups
    assert [structs.replace(item) for item in asked] == list(asked)
