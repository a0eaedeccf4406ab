"""Groups at rest: tried again as groups once others have left, and never bound below their quorum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.pod_groups import PodGroup
from kwhatif.policy.configuration_file import default_configuration
from kwhatif.results.place import PlaceResult
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import HOSTNAME, node, pod, pods_like, select
from tests.commands.answers import told
from tests.scheduling.test_pod_groups import GANGS, group, member, rules
from tests.simulation.sessions import asking


def session_with(nodes: Sequence[Node], running: Sequence[Pod], groups: Sequence[PodGroup], *more: str) -> Session:
    objects = Objects()
    for each in (*nodes, *running, *groups):
        objects.add(each)
    features = rules(*GANGS, *more)
    return Session(Snapshot(objects=objects), Setup(default_configuration(features), features))


def gang(count: int, name: str = "g", *, cpu: str = "1", owned: bool = False, on: str | None = None) -> list[Pod]:
    owner = ("batch/v1", "Job", name) if owned else None
    return [member(f"{name}{n}", name, cpu=cpu, labels={"app": name}, owner=owner, on=on) for n in range(count)]


def bulk(name: str, on: str, cpu: str, priority: int = 0, *, owned: bool = True) -> Pod:
    return pod(name, on=on, cpu=cpu, priority=priority, owner=("apps/v1", "ReplicaSet", name) if owned else None)


FRIEND = pod("friend", cpu="1", priority=9, near=[pods_like(select(app="g"), by=HOSTNAME)])
ALONE = pod("friend", cpu="1", priority=9, near=[pods_like(select(app="nobody"), by=HOSTNAME)])


@dataclass(frozen=True)
class Row:
    """``homes`` counts by node the pods that have one in the end."""

    nodes: Sequence[Node]
    asked: Sequence[Pod]
    running: Sequence[Pod] = ()
    groups: Sequence[PodGroup] = field(default_factory=lambda: [group("g", least=2)])
    homes: Mapping[str, int] = field(default_factory=dict)
    pending: Sequence[str] = ()
    victims: Sequence[tuple[str, str | None]] = ()
    gates: Sequence[str] = ()


ROWS = {
    "a pod that needs a member near and was tried before the group": Row(
        [node("a", cpu="4")], [FRIEND, *gang(2)], homes={"a": 3}
    ),
    "a pod that needs what never comes waits": Row(
        [node("a", cpu="4")], [ALONE, *gang(2)], homes={"a": 2}, pending=["default/friend"]
    ),
    "members that others drive out come back with the rest of their group": Row(
        [node("a", cpu="2"), node("b", cpu="2")],
        [pod("vip", cpu="2", priority=9, node_selector={HOSTNAME: "a"})],
        gang(2, owned=True, on="a"),
        homes={"a": 1, "b": 2},
        victims=[("default/g1", "default/vip"), ("default/g0", "default/vip")],
    ),
    "the quorum of a gang that others drive out counts its members as long as they leave": Row(
        [node("a", cpu="2"), node("b", cpu="1")],
        [pod("vip", cpu="2", priority=9, node_selector={HOSTNAME: "a"})],
        gang(2, owned=True, on="a"),
        homes={"a": 1, "b": 1},
        pending=["default/g-r2"],
        victims=[("default/g1", "default/vip"), ("default/g0", "default/vip")],
    ),
    "a gang that did not fit gets the room that a preemptor leaves over": Row(
        [node("a", cpu="4")],
        [*gang(2), pod("vip", cpu="1", priority=9, node_selector={HOSTNAME: "a"})],
        [bulk("bulky", "a", "4", owned=False)],
        homes={"a": 3},
        victims=[("default/bulky", "default/vip")],
    ),
    "victims of a gang find another node": Row(
        [node("a", cpu="2"), node("b", cpu="1")],
        [member(f"g{n}", "g", cpu="1", priority=5) for n in range(2)],
        [bulk("low", "a", "1")],
        homes={"a": 2, "b": 1},
        victims=[],
    ),
    "victims of a whole group are recreated and wait": Row(
        [node("a", cpu="2")],
        gang(2),
        [bulk("low", "a", "1", priority=-5)],
        groups=[group("g", least=2, priority=5)],
        homes={"a": 2},
        pending=["default/low-r1"],
        victims=[("default/low", "default/g0")],
        gates=["WorkloadAwarePreemption"],
    ),
}


def placed(row: Row) -> tuple[Run, PlaceResult]:
    run = place_pods(session_with(row.nodes, row.running, row.groups, *row.gates), asking(*row.asked))
    return run, told(run)


@pytest.mark.parametrize("name", ROWS)
def test_groups_at_rest(name: str) -> None:
    row = ROWS[name]
    run, found = placed(row)
    columns = run.end.cluster.columns
    assert Counter(columns.names[at] for _, at in run.end.cluster.pods()) == row.homes
    assert [each.pod for each in found.outcome.pending] == list(row.pending)
    assert [(each.pod, each.taken_by) for each in found.outcome.victims] == list(row.victims)
    assert found.good is not bool(row.pending)
    assert not [gap for gap in found.fidelity.gaps if "round" in gap.what]


def test_a_gang_that_never_fits_and_evicts_others_in_turns_is_told() -> None:
    asked = [
        *(member(f"g{n}", "g", priority=1, cpu="2") for n in range(2)),
        pod("web-0", cpu="500m", owner=("batch/v1", "Job", "web")),
    ]
    run, found = placed(Row([node("a", cpu="2")], asked, [], [group("g", least=2, priority=1)]))
    assert run.unsettled == ("default/g0", "default/g1")
    assert "default/g0, default/g1: evictions never end" in found.outcome.verdict


def test_a_replacement_lands_beside_a_gang_that_evicts_and_does_not_fit() -> None:
    asked = [
        *(member(f"g{n}", "g", priority=1, cpu="2") for n in range(3)),
        *(pod(f"web-{n}", cpu="500m", owner=("batch/v1", "Job", "web")) for n in range(2)),
    ]
    run, found = placed(Row([node("a", cpu="3"), node("b", cpu="2")], asked, [], [group("g", least=3, priority=1)]))
    assert not run.unsettled
    assert [(victim.pod, victim.taken_by) for victim in found.outcome.victims] == [("default/web-1", "default/g1")]
    assert Counter(info.key for info, _ in run.end.cluster.pods()).keys() == {"default/web-0", "default/web-r1"}


SIZES = st.sampled_from(["500m", "1", "2"])


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@example(gangs=[(2, 1, "500m", 0), (3, 3, "2", 1)], others=[], running=[], for_all=False)
@given(
    gangs=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), SIZES, st.integers(0, 2)), min_size=1, max_size=3),
    others=st.lists(st.tuples(SIZES, st.integers(0, 3)), max_size=3),
    running=st.lists(st.tuples(st.sampled_from("ab"), SIZES, st.integers(0, 2)), max_size=4),
    for_all=st.booleans(),
)
def test_never_fewer_than_min_count_run_unless_others_drove_members_out(
    gangs: list[tuple[int, int, str, int]],
    others: list[tuple[str, int]],
    running: list[tuple[str, str, int]],
    *,
    for_all: bool,
) -> None:
    groups = [group(f"g{n}", least=least, priority=level) for n, (_, least, _, level) in enumerate(gangs)]
    asked = [
        member(f"g{n}-{i}", f"g{n}", cpu=cpu, priority=level, owner=("batch/v1", "Job", f"g{n}"))
        for n, (count, _, cpu, level) in enumerate(gangs)
        for i in range(count)
    ]
    asked += [pod(f"p{n}", cpu=cpu, priority=level) for n, (cpu, level) in enumerate(others)]
    there = [bulk(f"r{n}", on, cpu, level) for n, (on, cpu, level) in enumerate(running)]
    nodes = [node("a", cpu="3"), node("b", cpu="2")]
    row = Row(nodes, asked, there, groups, gates=["WorkloadAwarePreemption"] if for_all else [])
    run, found = placed(row)
    session = run.end
    bound = Counter(info.key.partition("/")[2].partition("-")[0] for info, _ in session.cluster.pods())
    driven_out = {each.pod.partition("/")[2].partition("-")[0] for each in found.outcome.victims}
    for each, (_, least, _, _) in zip(groups, gangs, strict=True):
        assert bound[each.name] == 0 or bound[each.name] >= least or each.name in driven_out
    # Everybody is somewhere: on a node, waiting, or gone for good.
    waiting = {each.pod for each in found.outcome.pending}
    homes = {info.key for info, _ in session.cluster.pods()}
    assert not waiting & homes
    bare = {f"default/p{n}" for n in range(len(others))}
    assert len(homes | waiting) == len(there) + len(asked) - len(bare & {each.pod for each in found.outcome.victims})
    if run.unsettled:
        return
    # Whoever is asked again does not move.
    again = place_pods(session, asking(*(each for each in run.left if each.key in waiting)))
    assert not again.victims
    assert {each.pod for each in again.pending} == waiting
