"""Extenders that have a say in evictions, that bind, and whose rejections are retried."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.cluster.cluster import Cluster
from kwhatif.scheduling.describe import evictions
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.simulator import Simulator
from tests.builders import Json, budget, cluster_of, node, pod
from tests.scheduling.extended import Extended, extender
from tests.scheduling.extender_server import HANGS_UP, Raw, Server, keeps, serving
from tests.scheduling.test_extenders import ONLY_FIT

PREEMPT: Json = {"preemptVerb": "preempt"}
BIND: Json = {"bindVerb": "bind"}


def full(count: int = 2) -> Cluster:
    """Nodes a and b, both full: a of two pods of priority 1, b of two of priority 2."""
    pods = [
        pod(f"{name}{i}", on=name, cpu="2", priority=priority, started=f"2026-01-01T00:00:0{i}Z")
        for name, priority in (("a", 1), ("b", 2))
        for i in range(count)
    ]
    return cluster_of([node("a"), node("b")], pods, [budget("b", {"matchLabels": {"app": "b"}})])


def asked_to_preempt(server: Server, *, cpu: str = "3", whole: bool = False, **more: Any) -> tuple[Extended, Any]:
    run = Extended(full(), extender(server, nodeCacheCapable=not whole, **(PREEMPT | more)), **ONLY_FIT)
    return run, run.attempt(pod("vip", cpu=cpu, priority=10))


def meta(**by_node: list[str]) -> Json:
    return {
        "NodeNameToMetaVictims": {
            name: {"Pods": [{"UID": f"uid-default-{uid}"} for uid in uids], "NumPDBViolations": 0}
            for name, uids in by_node.items()
        }
    }


def victims(attempt: Any) -> list[str]:
    return [victim.pod.name for victim in attempt.victims]


# --- what is sent


def test_a_cache_capable_extender_gets_uids() -> None:
    with serving({"preempt": lambda body: {"NodeNameToMetaVictims": body["NodeNameToMetaVictims"]}}) as server:
        _, attempt = asked_to_preempt(server)
    ((_, body),) = server.requests
    assert list(body) == ["Pod", "NodeNameToVictims", "NodeNameToMetaVictims"]
    assert body["NodeNameToVictims"] is None
    assert body["NodeNameToMetaVictims"] == meta(a=["a0", "a1"], b=["b0", "b1"])["NodeNameToMetaVictims"]
    assert (attempt.nominated, victims(attempt), attempt.candidates) == ("a", ["a0", "a1"], 2)
    assert attempt.criterion == "lowest highest priority"


def test_others_get_whole_pods_and_answer_with_uids() -> None:
    with serving({"preempt": meta(b=["b0", "b1"])}) as server:
        _, attempt = asked_to_preempt(server, whole=True)
    ((_, body),) = server.requests
    assert body["NodeNameToMetaVictims"] is None
    (first, _) = body["NodeNameToVictims"]["a"]["Pods"]
    assert first["metadata"]["uid"] == "uid-default-a0"
    assert (first["spec"]["nodeName"], first["spec"]["priority"]) == ("a", 1)
    assert (attempt.nominated, attempt.criterion) == ("b", "only candidate")


# --- what becomes of the answer


@pytest.mark.parametrize(
    ("answer", "nominated", "left"),
    [
        pytest.param(meta(b=["b0", "b1"]), "b", ["b0", "b1"], id="a candidate less"),
        pytest.param(meta(a=["a1"], b=["b0", "b1"]), "a", ["a1"], id="a victim less"),
        pytest.param(meta(a=["a1", "a0"]), "a", ["a1", "a0"], id="victims in another order"),
        pytest.param({"nodeNameToMetaVictims": meta(b=["b0"])["NodeNameToMetaVictims"]}, "b", ["b0"], id="in any case"),
        pytest.param(
            {
                "NodeNameToMetaVictims": {
                    "a": {"Pods": [{"UID": "uid-default-a0"}], "NumPDBViolations": 1},
                    "b": {"Pods": [{"UID": "uid-default-b0"}]},
                }
            },
            "b",
            ["b0"],
            id="it counts broken budgets itself",
        ),
    ],
)
def test_the_extender_decides_what_is_left_to_choose_from(answer: Json, nominated: str, left: list[str]) -> None:
    with serving({"preempt": answer}) as server:
        _, attempt = asked_to_preempt(server)
    assert (attempt.nominated, victims(attempt)) == (nominated, left)


UNKNOWN_POD = (
    "extender: {url} claims to preempt pod (UID: &{{uid-default-b0}}) on node: a, but the pod is not found on that node"
)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param({}, "no candidate node for preemption", id="nothing left"),
        pytest.param(meta(a=[]), 'expected at least one victim pod on node "a"', id="a node without victims"),
        pytest.param(meta(a=["b0"]), UNKNOWN_POD, id="a pod of another node"),
        pytest.param(meta(ghost=["b0"]), 'nodeinfo not found for node name "ghost"', id="no such node"),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": None}},
            "extender: {url} has null for the victims on node: a",
            id="null, which is the end of kube-scheduler",
        ),
        pytest.param(Raw(code=500), "failed preempt with extender at URL {url}/preempt, code 500", id="an error"),
        pytest.param(HANGS_UP, "extender {url}/preempt: it closed the connection without an answer", id="no answer"),
    ],
)
def test_nobody_is_evicted(answer: Any, problem: str) -> None:
    with serving({"preempt": answer}) as server:
        _, attempt = asked_to_preempt(server)
        expected = problem.format(url=server.url)
    assert (attempt.nominated, attempt.victims) == ("", ())
    assert attempt.message == f"0/2 nodes are available: 2 Insufficient cpu. preemption: {expected}"


@pytest.mark.parametrize(
    ("answer", "candidates"),
    [
        pytest.param(Raw(code=500), 2, id="an error leaves the candidates as they were"),
        pytest.param(meta(a=["a0", "a1"], b=[]), 1, id="a node without victims is passed over"),
    ],
)
def test_an_ignorable_one_does_no_harm(answer: Any, candidates: int) -> None:
    with serving({"preempt": answer}) as server:
        _, attempt = asked_to_preempt(server, ignorable=True)
    assert (attempt.nominated, victims(attempt), attempt.candidates) == ("a", ["a0", "a1"], candidates)


def test_explained_evictions_are_those_the_extender_leaves() -> None:
    with serving({"preempt": meta(b=["b0", "b1"])}) as server:
        run, attempt = asked_to_preempt(server)
        assert attempt.diagnosis is not None
        found = evictions(attempt.pod, attempt.diagnosis, chosen="b", most=10, extenders=run.extenders)
    assert [(e.node, [v.pod for v in e.victims]) for e in found] == [("b", ["default/b0", "default/b1"])]


# --- bind


def test_a_binding_is_taken_for_granted() -> None:
    with serving({"bind": {"Error": "never"}}) as server:
        run = Extended(cluster_of([node("a")]), extender(server, **BIND))
        assert run.attempt(pod()).is_placed
    assert server.requests == []
    assert run.one.assumed == ["default/pod"]


def test_unless_it_is_asked_for() -> None:
    with serving({"bind": {}}) as server:
        run = Extended(cluster_of([node("a")]), extender(server, **BIND), bind=True)
        assert run.attempt(pod()).is_placed
    assert server.requests == [
        ("bind", {"PodName": "pod", "PodNamespace": "default", "PodUID": "uid-default-pod", "Node": "a"})
    ]
    assert run.one.assumed == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param({"Error": "taken"}, "taken", id="a refusal"),
        pytest.param(Raw(code=404), "failed bind with extender at URL {url}/bind, code 404", id="an error"),
        pytest.param(Raw(b""), "extender {url}/bind: its answer is empty", id="no answer"),
    ],
)
@pytest.mark.parametrize("ignorable", [False, True])
def test_a_binding_that_fails(answer: Any, problem: str, ignorable: bool) -> None:
    """Without the extender, an ignorable one, the default binder does it."""
    with serving({"bind": answer}) as server:
        cluster = cluster_of([node("a")])
        run = Extended(cluster, extender(server, ignorable=ignorable, **BIND), bind=True)
        attempt = run.attempt(pod())
        expected = problem.format(url=server.url)
    assert attempt.is_placed is ignorable
    assert attempt.lost is not ignorable
    assert attempt.message == ("" if ignorable else expected)
    assert len(cluster.pods_on[0]) == ignorable
    assert [failure.text for failure in run.one.failures] == [expected]


@pytest.mark.parametrize("apart", [False, True], ids=["the whole process imagines", "something is tried apart"])
def test_pods_that_are_only_imagined_are_never_bound(apart: bool) -> None:
    with serving({"bind": {}}) as server:
        run = Extended(cluster_of([node("a")]), extender(server, **BIND), bind=True)
        driver = Driver(run.cluster, run.setup).sandbox() if apart else Driver(run.cluster, run.setup, imagined=True)
        assert driver.attempt(run.cluster.shapes.info(pod())).is_placed
    assert server.requests == []


# --- over time


def test_whatever_happens_brings_a_pod_back_that_an_extender_rejected() -> None:
    """The first pod is let in only once the second one runs."""
    turns: list[str] = []

    def answer(body: Json) -> Json:
        name = body["Pod"]["metadata"]["name"]
        turns.append(name)
        return {"NodeNames": [] if name == "first" and "second" not in turns else ["a"]}

    with serving({"filter": answer}) as server:
        run = Extended(cluster_of([node("a")]), extender(server, filterVerb="filter"))
        simulator = Simulator(Driver(run.cluster, run.setup))
        for name, priority in (("first", 10), ("second", 0)):
            simulator.arrive(run.cluster.shapes.info(pod(name, priority=priority)))
        simulator.run()
    assert turns == ["first", "second", "first"]
    assert all(attempt.is_placed for attempt in simulator.outcome.values())


def test_an_extender_that_is_gone_does_not_keep_a_run_going_for_ever() -> None:
    with serving({"filter": HANGS_UP}) as server:
        run = Extended(cluster_of([node("a")]), extender(server, filterVerb="filter"))
        simulator = Simulator(Driver(run.cluster, run.setup))
        simulator.arrive(run.cluster.shapes.info(pod()))
        simulator.run()
    assert len(server.requests) == 10
    assert simulator.diary.entries[-1].what == "given up"


def test_answers_are_not_remembered_from_pod_to_pod() -> None:
    answers = iter(["a", "b", "a"])
    with serving({"filter": lambda body: keeps(next(answers))(body)}) as server:
        run = Extended(cluster_of([node("a"), node("b")]), extender(server, filterVerb="filter"))
        assert [run.node(run.attempt(pod(f"p{i}", cpu="100m"))) for i in range(3)] == ["a", "b", "a"]
