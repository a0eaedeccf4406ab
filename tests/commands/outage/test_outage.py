"""Outages: who comes back, who does not, who has to leave, and what is left of workloads meanwhile."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import OwnerReference, Resource
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.outage import cures
from kwhatif.commands.outage.effects import FailureEffects, OutageBase, simulate_failure
from kwhatif.commands.outage.failures import FailingCluster, NodeFailure
from kwhatif.commands.outage.question import Outage
from kwhatif.commands.outage.text import outage_blocks
from kwhatif.errors import KwhatifError
from kwhatif.render.tables import text_of
from kwhatif.results.disruption import Failure, OutageResult
from kwhatif.simulation.inputs import Inputs
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from kwhatif.simulation.study import StudyBase
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import HOSTNAME, Json, budget, node, node_term, pod, pods_like, select
from tests.commands.outage.test_failures import failing_scenarios
from tests.prepared_scenarios import prepare
from tests.simulation.sessions import session_of
from tests.storage_builders import claim, volume
from tests.strategies import GeneratedCluster, crowds

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def owned(kind: str, name: str, on: str, **more: Any) -> Pod:
    owner = ("batch/v1" if kind == "Job" else "apps/v1", kind, name.rpartition("-")[0])
    return pod(name, on=on, owner=owner, **{"cpu": "1", "status": READY, **more})


def web(number: int, on: str, **more: Any) -> Pod:
    return owned("ReplicaSet", f"web-{number}", on, labels={"app": "web"}, **more)


def db(number: int, on: str, **more: Any) -> Pod:
    return owned("StatefulSet", f"db-{number}", on, labels={"app": "db"}, **more)


def objects_of(nodes: Sequence[Node], pods: Sequence[Pod], objects: Sequence[Resource] = ()) -> Snapshot:
    found = Objects()
    for obj in (*nodes, *pods, *objects):
        found.add(obj)
    return Snapshot(objects=found)


def failed(
    nodes: Sequence[Node], pods: Sequence[Pod], *gone: str, objects: Sequence[Resource] = (), **options: Any
) -> Failure:
    """What happens without some nodes, all at once."""
    session = session_of(nodes, pods, objects)
    return FailureEffects(session, **options).failure_of(NodeFailure("some", "nodes", gone))


def outcomes(failure: Failure) -> dict[str, str]:
    return {each.pod.removeprefix("default/"): each.lands_on or each.outcome for each in failure.lost_pods}


def _mounting(name: str) -> Json:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


def healthy(allowed: int, *, desired: int, healthy: int) -> PodDisruptionBudget:
    found = budget("web", select(app="web"), allowed=allowed)
    return replace(found, status=replace(found.status, desired_healthy=desired, current_healthy=healthy))


TWO = [node("a", cpu="4"), node("b", cpu="4")]


@pytest.mark.parametrize(
    ("pods", "options", "expected"),
    [
        pytest.param([web(1, "a")], {}, {"web-1": "b"}, id="the pod of a replica set comes back elsewhere"),
        pytest.param([db(0, "a")], {}, {"db-0": "b"}, id="so does that of a stateful set whose node is deleted"),
        pytest.param(
            [db(0, "a"), web(1, "a")],
            {"unreachable": True},
            {"db-0": "waiting", "web-1": "b"},
            id="that of a stateful set is not recreated while its node may still run it",
        ),
        pytest.param([pod("bare", on="a")], {}, {"bare": "lost"}, id="a pod without a controller is lost for good"),
        pytest.param(
            [owned("DaemonSet", "agent-x", "a"), owned("Node", "proxy-a", "a")],
            {},
            {"agent-x": "bound", "proxy-a": "bound"},
            id="pods of daemon sets and static pods have no business elsewhere",
        ),
        pytest.param(
            [owned("Job", "sum-1", "a"), owned("Sprocket", "odd-1", "a")],
            {},
            {"sum-1": "b", "odd-1": "lost"},
            id="jobs go on, and nobody knows what makes the pods of a stranger again",
        ),
        pytest.param(
            [web(1, "a", cpu="3"), web(2, "b", cpu="3")],
            {},
            {"web-1": "pending"},
            id="a pod that fits nowhere else stays pending",
        ),
        pytest.param(
            [web(1, "a", terminating=True), web(2, "b")],
            {},
            {"web-1": "lost"},
            id="one on its way out has been replaced before",
        ),
    ],
)
def test_what_becomes_of_pods(pods: list[Pod], options: dict[str, Any], expected: dict[str, str]) -> None:
    assert outcomes(failed(TWO, pods, "a", **options)) == expected


def test_a_pending_pod_has_the_schedulers_reason() -> None:
    failure = failed(TWO, [web(1, "a", cpu="3"), web(2, "b", cpu="3")], "a")
    assert failure.lost_pods[0].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_pod_that_wants_to_be_beside_another_is_tried_again_once_that_is_back() -> None:
    near = owned("ReplicaSet", "near-1", "a", priority=9, near=[pods_like(select(app="web"), by=HOSTNAME)])
    assert outcomes(failed(TWO, [near, web(1, "a")], "a")) == {"near-1": "b", "web-1": "b"}


def test_an_important_pod_evicts_a_lesser_one_which_finds_no_other_node() -> None:
    failure = failed(TWO, [web(1, "a", cpu="3", priority=100), owned("ReplicaSet", "low-1", "b", cpu="3")], "a")
    (lost,) = failure.lost_pods
    assert (lost.outcome, lost.lands_on) == ("back", "b")
    assert [(v.pod, v.replacement, v.lands_on) for v in lost.victims] == [("default/low-1", "default/low-r1", "")]
    assert (failure.evicted, failure.homeless, failure.stuck) == (1, 1, 1)
    hits = {hit.workload: hit for hit in failure.hits}
    assert (hits["ReplicaSet default/low"].evicted, hits["ReplicaSet default/low"].homeless) == (1, 1)


def test_a_local_volume_holds_its_pod_back_and_one_of_another_zone_does_too() -> None:
    nodes = [node(name, zone=zone) for name, zone in (("a", "z0"), ("b", "z1"), ("c", "z1"))]
    local = volume("disk", on="a", kept_for="data-0")
    cloud = volume("cloud", terms=[node_term("topology.kubernetes.io/zone In z1")], kept_for="data-1")
    pods = [db(place, on, spec=_mounting(f"data-{place}")) for place, on in enumerate("ab")]
    objects = [local, cloud, claim("data-0", bound_to="disk"), claim("data-1", bound_to="cloud")]
    assert outcomes(failed(nodes, pods, "a", objects=objects)) == {"db-0": "pending"}
    assert outcomes(failed(nodes, pods, "b", objects=objects)) == {"db-1": "c"}
    failure = failed(nodes, pods, "b", "c", objects=objects)
    assert outcomes(failure) == {"db-1": "pending"}
    (lost,) = failure.lost_pods
    assert "didn't match PersistentVolume's node affinity" in lost.message
    assert lost.cause == "volume cloud is of nodes that are lost"


def test_a_volume_in_the_lost_zone_is_named_and_the_verdict_says_which_loss_is_not_survived() -> None:
    nodes = [node(name, zone=zone) for name, zone in (("a", "z0"), ("b", "z1"))]
    cloud = volume("cloud", terms=[node_term("topology.kubernetes.io/zone In z1")], kept_for="data-1")
    pods = [db(1, "b", spec=_mounting("data-1")), web(1, "b")]
    found = asked(nodes, pods, objects=[cloud, claim("data-1", bound_to="cloud")], wanted={"zones": ("z1",)})
    assert found.verdict.startswith("Does not survive the loss of zone z1: 1 of 2 pods finds no node")
    assert [each.cause for each in found.failures[0].lost_pods if each.outcome == "pending"] == [
        "volume cloud is in z1, which is lost"
    ]
    text = text_of(outage_blocks(found))
    assert "1 of 1 back" in text
    assert "BACK ELSEWHERE" in text
    assert "BACK ELSEWHERE" not in text_of(outage_blocks(found, everything=False))


@pytest.mark.parametrize(
    ("where", "down", "quorum"),
    [
        pytest.param("aaa", True, True, id="all replicas on the node: the workload is down"),
        pytest.param("aab", False, True, id="two of three: no more than half are left"),
        pytest.param("abb", False, False, id="one of three: the others are more than half"),
        pytest.param("ab", False, True, id="one of two: half is not enough"),
    ],
)
def test_what_is_left_of_a_stateful_set_meanwhile(where: str, down: bool, quorum: bool) -> None:
    (hit,) = failed(TWO, [db(k, on) for k, on in enumerate(where)], "a").hits
    assert (hit.replicas, hit.down, hit.quorum_lost) == (len(where), down, quorum)


def test_other_workloads_have_no_quorum_to_lose() -> None:
    (hit,) = failed(TWO, [web(1, "a"), web(2, "b")], "a").hits
    assert not hit.quorum_lost


def test_a_budget_is_asked_nothing_but_told_below_its_floor() -> None:
    pods = [web(1, "a"), web(2, "a"), web(3, "b")]
    (broken,) = failed(TWO, pods, "a", objects=[healthy(1, healthy=3, desired=2)]).budgets
    assert (broken.budget, broken.before, broken.after, broken.desired) == ("default/web", 3, 1, 2)
    assert not failed(TWO, pods, "b", objects=[healthy(1, healthy=3, desired=2)]).budgets


def test_headroom_is_that_of_the_nodes_that_are_left_and_take_pods() -> None:
    nodes = [*TWO, node("c", cpu="8", cordoned=True)]
    cpu = {each.resource: each for each in failed(nodes, [web(1, "a"), web(2, "b")], "a").headroom}["cpu"]
    assert (cpu.allocatable, cpu.requested) == (4000, 2000)


# --- which failures


def asked(
    nodes: Sequence[Node], pods: Sequence[Pod] = (), objects: Sequence[Resource] = (), **options: Any
) -> OutageResult:
    question = Outage(workers=1, **options.pop("wanted", {}), **options)
    return ask(question, Scenario(Inputs(objects_of(nodes, pods, objects))))


POOLED = [
    node(name, zone=zone, labels={"agentpool": pool, "rack": rack})
    for name, zone, pool, rack in (
        ("a", "z0", "p", "1"),
        ("b", "z1", "p", "1"),
        ("c", "z1", "q", "2"),
        ("d", "z1", "q", "2"),
    )
]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({"failures": ("zones",)}, ["zone z0", "zone z1"], id="each zone"),
        pytest.param({"failures": ("pools",)}, ["pool p", "pool q"], id="each pool"),
        pytest.param({"nodes": ("b",)}, ["node b"], id="a node by name"),
        pytest.param({"nodes": ("agentpool=q",)}, ["node c", "node d"], id="each node that a selector selects"),
        pytest.param({"zones": ("z1",), "pools": ("q",)}, ["pool q", "zone z1"], id="a zone and a pool by name"),
        pytest.param({"by": ("rack",)}, ["rack 1", "rack 2"], id="what a label names"),
        pytest.param({"nodes": ("a",), "failures": ("nodes",)}, [f"node {name}" for name in "abcd"], id="each once"),
        pytest.param(
            {"pairs": True},
            [f"pair {one} + {other}" for one, other in ("ab", "ac", "ad", "bc", "bd", "cd")],
            id="every two nodes",
        ),
    ],
)
def test_what_is_gone(wanted: dict[str, Any], expected: list[str]) -> None:
    assert sorted(each.title for each in asked(POOLED, wanted=wanted).failures) == expected


def test_of_many_pairs_a_sample_is_drawn_the_same_for_the_same_seed_and_it_is_said() -> None:
    draws = [asked(POOLED, wanted={"pairs": True, "most_pairs": 3, "seed": seed}) for seed in (1, 1, 2)]
    names = [sorted(each.name for each in draw.failures) for draw in draws]
    assert len(names[0]) == 3
    assert names[0] == names[1] != names[2]
    assert "of 6 pairs of nodes a sample of 3 is tried (--seed 1)" in draws[0].assumed
    assert [(scope.asked, scope.there_are) for scope in draws[0].scopes] == [(3, 6)]


def test_the_worst_comes_first_and_a_failure_that_is_not_survived_is_a_no() -> None:
    nodes = [node(name, cpu="2") for name in "abc"]
    pods = [web(1, "a", cpu="2"), web(2, "b", cpu="1"), pod("bare", on="c", cpu="1")]
    wanted = {"failures": ("nodes",)}
    result = asked(nodes, pods, wanted=wanted)
    assert [(each.name, each.stuck, each.lost) for each in result.failures] == [("a", 1, 0), ("c", 0, 1), ("b", 0, 0)]
    assert ([each.name for each in result.unsurvived_failures], result.exit_code) == (["a"], 1)
    others = {"failures": ("nodes", "zones"), "survive": ("zone",)}
    assert asked(nodes, pods, wanted=others).exit_code == 0, "of nodes it was only said"
    judged = asked(nodes, pods, wanted=wanted, survive=("node",))
    assert ([each.name for each in judged.unsurvived_failures], judged.exit_code) == (["a"], 1)
    assert [(scope.kind, scope.asked, scope.survived, scope.required) for scope in judged.scopes] == [
        ("node", 3, 2, True)
    ]


@pytest.mark.parametrize(
    ("require", "code"), [("back", 0), ("replicas", 1), ("quorum", 0), ("budgets", 1)], ids=lambda each: str(each)
)
def test_what_surviving_takes_is_up_to_the_user(require: Any, code: int) -> None:
    objects = objects_of(TWO, [web(1, "a")], [healthy(0, healthy=1, desired=1)])
    question = Outage(survive=("node",), require=(require,), workers=1)
    assert ask(question, Scenario(Inputs(objects))).exit_code == code


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wanted": {"nodes": ("nowhere",)}}, 'there is no node "nowhere"'),
        ({"wanted": {"zones": ("z7",)}}, 'there is no zone "z7"'),
        ({"wanted": {"by": ("rak",)}}, "--by rak: no node has a label rak; did you mean rack?"),
        ({"wanted": {"failures": ("racks",)}}, "--each racks: expected nodes, zones or pools"),
        ({"survive": ("region",)}, "--survive region: expected node, zone, pool, pair, or a label that --by names"),
        ({"wanted": {"nodes": ("a",)}, "survive": ("zone",)}, "no such failure is tried; --each zones does"),
        ({"require": ("luck",)}, "--require luck: expected back, replicas, quorum or budgets"),
    ],
)
def test_what_makes_no_sense_is_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KwhatifError, match=message.replace("?", r"\?").replace("(", r"\(")):
        asked(POOLED, **options)


def pod_of(each: Pod, kind: str) -> Pod:
    """The pod with a controller."""
    owner = OwnerReference(api_version="apps/v1", kind=kind, name=f"{kind.lower()}-set", uid=kind, controller=True)
    return replace(each, metadata=replace(each.metadata, owner_references=[owner]))


@pytest.mark.long
@settings(max_examples=8)
@given(failing_scenarios(crowds()))
def test_what_is_undone_after_each_failure_gives_what_clusters_of_their_own_give(
    found: tuple[GeneratedCluster, list[list[str]]],
) -> None:
    scenario, failures = found
    owners = ("ReplicaSet", "StatefulSet", "DaemonSet")
    pods = [
        pod_of(each, owners[place % 4]) if place % 4 < len(owners) else each
        for place, each in enumerate(scenario.running)
    ]
    one, other = (FailureEffects(session_of(scenario.nodes, pods, scenario.objects)) for _ in range(2))
    other.__dict__["_failing"] = FailingCluster(other.session.cluster, other.session.setup, isolated=True)
    for nodes in failures:
        gone = NodeFailure("some", "nodes", tuple(nodes))
        assert one.failure_of(gone) == other.failure_of(gone)


def test_what_travels_to_a_worker_gives_the_same_answers_there() -> None:
    pods = [web(number, "abcd"[number % 4], priority=number) for number in range(8)]
    case = Scenario(Inputs(objects_of(POOLED, pods)))
    prepared = prepare(Outage(nodes=("a",), workers=1), case)
    here = OutageBase(StudyBase.from_scenario(prepared), unreachable=False)
    there = pickle.loads(pickle.dumps(here))
    for gone in (
        NodeFailure("node", "a", ("a",)),
        NodeFailure("zone", "z1", ("b", "c", "d")),
        NodeFailure("node", "a", ("a",)),
    ):
        assert simulate_failure(here, gone) == simulate_failure(there, gone)


# --- how many nodes more would do


def outage_of(nodes: Sequence[Node], pods: Sequence[Pod], *objects: Resource, **options: Any) -> OutageResult:
    return ask(Outage(**{"nodes": ("a",), **options}), Scenario(Inputs(objects_of(nodes, pods, objects))))


def test_the_fewest_nodes_that_cure_a_failure_are_tried_and_named() -> None:
    pods = [web(number, "a", cpu="2") for number in range(5)]
    (cure,) = outage_of([node("a", cpu="10"), node("b", cpu="2"), node("c", cpu="4", cordoned=True)], pods).cures
    assert (cure.kind, cure.name, cure.nodes, cure.like) == ("node", "a", 4, "b")


def test_with_the_nodes_that_are_named_the_failure_is_survived() -> None:
    nodes, pods = [node("a", cpu="4"), node("b", cpu="3")], [web(number, "a", cpu="1") for number in range(4)]
    result = outage_of(nodes, pods)
    assert [(each.nodes, each.like) for each in result.cures] == [(1, "b")]
    assert outage_of([*nodes, node("b2", cpu="3")], pods).outcome.good
    assert "to survive:  node a: --add-nodes 1,like=b" in text_of(outage_blocks(result))


@pytest.mark.parametrize(
    ("pods", "nodes", "options", "reasons"),
    [
        pytest.param([web(1, "a")], TWO, {}, [], id="a failure that is survived"),
        pytest.param([web(1, "a")], TWO, {"require": ("replicas",)}, [], id="what no node cures"),
        pytest.param(
            [web(1, "a", cpu="3")],
            [node("a", cpu="4"), node("b", cpu="2")],
            {},
            ["no number of nodes like b up to 1 helps"],
            id="nodes that are too small",
        ),
        pytest.param(
            [web(1, "a", cpu="3")],
            [node("a", cpu="4"), node("b", cpu="4", cordoned=True)],
            {},
            ["no node is left that takes pods, to add others like it"],
            id="none is left",
        ),
    ],
)
def test_why_no_nodes_are_named(
    pods: Sequence[Pod], nodes: Sequence[Node], options: Json, reasons: Sequence[str]
) -> None:
    assert [each.reason for each in outage_of(nodes, pods, **options).cures] == reasons


def test_nothing_is_tried_where_it_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cures, "MOST_PODS", 1)
    pods = [web(1, "a", cpu="3"), web(2, "a", cpu="1")]
    (cure,) = outage_of([node("a", cpu="4"), node("b", cpu="3")], pods).cures
    assert cure.reason == "not tried in a cluster of more than 1 pods: ask with --add-nodes N,like=b"
