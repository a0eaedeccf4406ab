"""Extenders in the cycle, with a real one on loopback: what they are asked, and what becomes of their answers."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.status import Code
from kwhatif.scheduling import node_sampling as sampling
from kwhatif.scheduling.attempt import rejectors_of
from kwhatif.versions import features_of
from tests.builders import GPU, Json, cluster_of, node, node_term, pod
from tests.scheduling.extended import Extended, extender
from tests.scheduling.extender_server import SLOW, Raw, keeps, names, scores, serving

FILTER: Json = {"filterVerb": "filter"}
BOTH: Json = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1}
ONLY_FIT: Json = {
    "plugins": {
        "multiPoint": {"disabled": [{"name": "*"}]},
        "queueSort": {"enabled": [{"name": "PrioritySort"}]},
        "bind": {"enabled": [{"name": "DefaultBinder"}]},
        "filter": {"enabled": [{"name": "NodeResourcesFit"}]},
        "preFilter": {"enabled": [{"name": "NodeResourcesFit"}]},
        "postFilter": {"enabled": [{"name": "DefaultPreemption"}]},
    }
}
SCORING_FIT: Json = {
    "plugins": ONLY_FIT["plugins"] | {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 1}]}}
}


def abc(*pods: Any, minor: str = "1.36", **more: Any) -> Cluster:
    return cluster_of([node(name, **more) for name in "abc"], pods, features=features_of(minor))


def without_preemption(message: str) -> str:
    return message.partition(". ")[0].partition(" no new claims")[0]


# --- what is sent


def test_a_cache_capable_extender_gets_names() -> None:
    with serving({"filter": keeps("a", "b", "c"), "prioritize": scores(b=1)}) as server:
        run = Extended(abc(), extender(server, **BOTH))
        asked = pod("web", labels={"app": "web"}, cpu="1", priority=7)
        assert run.node(run.attempt(asked)) == "b"
    ((_, first), (_, second)) = server.requests
    assert first == second
    assert list(first) == ["Pod", "Nodes", "NodeNames"]
    assert (first["Nodes"], first["NodeNames"]) == (None, ["a", "b", "c"])
    sent = first["Pod"]
    assert sent["metadata"] == {
        "name": "web", "namespace": "default", "uid": "uid-default-web", "labels": {"app": "web"}
    }  # fmt: skip
    assert sent["spec"]["priority"] == 7
    assert sent["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert not {"kind", "apiVersion"} & set(sent)
    assert server.headers["Content-Type"] == "application/json"


def test_others_get_whole_nodes() -> None:
    with serving({"filter": keeps("b")}) as server:
        cluster = abc(zone="z", taints=["x:PreferNoSchedule"])
        run = Extended(cluster, extender(server, nodeCacheCapable=False, **FILTER))
        assert run.node(run.attempt(pod())) == "b"
    ((_, body),) = server.requests
    assert body["NodeNames"] is None
    assert list(body["Nodes"]) == ["metadata", "items"]
    assert names(body) == ["a", "b", "c"]
    (first, *_) = body["Nodes"]["items"]
    assert first["status"]["allocatable"] == {"cpu": "4", "memory": "8Gi", "pods": "110"}
    assert first["spec"]["taints"] == [{"key": "x", "effect": "PreferNoSchedule"}]


@pytest.mark.parametrize(
    ("asked", "interested"),
    [
        pytest.param({}, False, id="a pod that asks for nothing"),
        pytest.param({"cpu": "1"}, False, id="for something else"),
        pytest.param({"requests": {GPU: "1"}}, True, id="for what it manages"),
        pytest.param({"limits": {GPU: "1"}}, True, id="as a limit"),
        pytest.param({"init": {GPU: "1"}}, True, id="in an init container"),
        pytest.param({"overhead": {GPU: "1"}}, False, id="overhead is none of its business"),
    ],
)
def test_an_extender_that_manages_resources_is_asked_about_pods_that_want_them(asked: Json, interested: bool) -> None:
    spec: Json = {"containers": [{"name": "main", "resources": {}}]}
    for kind in ("requests", "limits"):
        if kind in asked:
            spec["containers"][0]["resources"][kind] = asked[kind]
    if "init" in asked:
        spec["initContainers"] = [{"name": "init", "resources": {"requests": asked["init"]}}]
    if "overhead" in asked:
        spec["overhead"] = asked["overhead"]
    with serving({"filter": keeps(), "prioritize": []}) as server:
        managed = [{"name": GPU, "ignoredByScheduler": True}]
        run = Extended(abc(), extender(server, managedResources=managed, **BOTH))
        attempt = run.attempt(pod(spec=spec))
    assert bool(server.requests) is interested
    assert attempt.is_placed is not interested


# --- filter


def test_each_extender_is_asked_about_what_the_last_one_left() -> None:
    with serving({"one": keeps("a", "b"), "two": keeps("b", "c")}) as server:
        run = Extended(abc(), extender(server, filterVerb="one"), extender(server, filterVerb="two"))
        assert run.node(run.attempt(pod())) == "b"
    assert [(verb, names(body)) for verb, body in server.requests] == [("one", ["a", "b", "c"]), ("two", ["a", "b"])]


def test_ignorable_ones_come_last_and_nobody_is_asked_about_nothing() -> None:
    with serving({"one": keeps("a"), "two": keeps(), "three": keeps()}) as server:
        run = Extended(
            abc(),
            extender(server, filterVerb="one", ignorable=True),
            extender(server, filterVerb="two"),
            extender(server, filterVerb="three"),
        )
        assert not run.attempt(pod()).is_placed
    assert [verb for verb, _ in server.requests] == ["two"]


@pytest.mark.parametrize("whole", [False, True])
def test_reasons_are_counted_and_tell_preemption_where_to_look(whole: bool) -> None:
    answer = keeps(failed={"a": "no licence", "b": "no licence"}, hopeless={"b": "never", "c": "never"})
    with serving({"filter": answer}) as server:
        run = Extended(abc(), extender(server, nodeCacheCapable=not whole, **FILTER), **ONLY_FIT)
        attempt = run.attempt(pod())
    assert attempt.message == (
        "0/3 nodes are available: 1 no licence, 2 never. preemption: 0/3 nodes are available: "
        "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )
    assert attempt.diagnosis is not None
    assert attempt.diagnosis.preemptable().tolist() == [0]
    assert rejectors_of(attempt) == {"Extender"}


def test_evicting_does_not_help_against_an_extender() -> None:
    """As upstream has it, an error: the pod would fit there, so nobody need go."""
    with serving({"filter": keeps(failed={"a": "no licence"})}) as server:
        cluster = abc(pod("low", on="a", cpu="1"))
        run = Extended(cluster, extender(server, **FILTER), **ONLY_FIT)
        attempt = run.attempt(pod(priority=10))
    assert attempt.message == (
        '0/3 nodes are available: 1 no licence. preemption: expected at least one victim pod on node "a"'
    )


def test_nodes_left_out_without_a_word_have_no_reason() -> None:
    with serving({"filter": keeps()}) as server:
        run = Extended(abc(), extender(server, **FILTER), **ONLY_FIT)
        attempt = run.attempt(pod())
    assert (
        without_preemption(attempt.message)
        == "0/3 nodes are available: preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    assert attempt.extender_cycle is not None
    assert attempt.extender_cycle.silent == dict.fromkeys(range(3), server.url)


def test_reasons_for_nodes_that_are_not_there_count_as_well() -> None:
    with serving({"filter": keeps(failed={"ghost": "haunted", "a": "full"})}) as server:
        run = Extended(abc(), extender(server, **FILTER), **ONLY_FIT)
        attempt = run.attempt(pod())
    assert without_preemption(attempt.message) == "0/3 nodes are available: 1 full, 1 haunted"


def test_nodes_that_prefilter_left_out_and_nodes_without_a_reason_count_alike() -> None:
    terms = [node_term(fields=["metadata.name In a"]), node_term(fields=["metadata.name In b"])]
    with serving({"filter": keeps(failed={"a": "full"})}) as server:
        run = Extended(abc(), extender(server, **FILTER))
        attempt = run.attempt(pod(nodes=terms))
    assert names(server.requests[0][1]) == ["a", "b"]
    assert attempt.message.startswith(
        "0/3 nodes are available: 1 full, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]"
    )


@pytest.mark.long
def test_two_opinions_of_one_node() -> None:
    """The later one counts; up to 1.31 both did."""

    def message(minor: str) -> str:
        one = {"NodeNames": ["a"], "FailedNodes": {"a": "odd", "b": "full", "c": "full"}}
        two = {"NodeNames": [], "FailedAndUnresolvableNodes": {"a": "never"}}
        with serving({"one": one, "two": two}) as server:
            cluster = abc(minor=minor)
            run = Extended(cluster, extender(server, filterVerb="one"), extender(server, filterVerb="two"), **ONLY_FIT)
            return without_preemption(run.attempt(pod()).message)

    assert message("1.32") == "0/3 nodes are available: 1 never, 2 full"
    assert message("1.31") == "0/3 nodes are available: 1 never, 1 odd, 2 full"


def test_an_extender_may_bring_a_node_back_or_name_one_twice() -> None:
    """Nobody checks whole nodes against those that were sent."""

    def answer(body: Json) -> Json:
        (sent,) = body["Nodes"]["items"]
        other = sent | {"metadata": {"name": "b"}}
        return {"Nodes": {"items": [other, other]}}

    with serving({"filter": answer, "prioritize": scores(b=4)}) as server:
        cluster = cluster_of([node("a"), node("b", cordoned=True)])
        run = Extended(cluster, extender(server, nodeCacheCapable=False, **BOTH))
        attempt = run.attempt(pod())
    assert run.node(attempt) == "b"
    assert attempt.sampled.tolist() == [1, 1]
    assert run.scores(attempt, server.url) == {"b": 40}


# --- sampling


def many(count: int = 150) -> Cluster:
    return cluster_of([node(f"n{i:03}", cpu="1" if i % 3 == 0 else "4") for i in range(count)])


def test_extenders_see_the_sample_only() -> None:
    """Of 150 nodes every third is too small; 100 feasible ones are enough, in turn from where the last cycle ended."""
    with serving({"filter": lambda body: {"NodeNames": names(body)[:2]}}) as server:
        run = Extended(many(), extender(server, **FILTER), percentage=1)
        first = run.attempt(pod(cpu="2"))
        second = run.attempt(pod("next", cpu="100m"))
    asked = [names(body) for _, body in server.requests]
    assert (len(asked[0]), asked[0][:3]) == (100, ["n001", "n002", "n004"])
    assert (first.evaluated, len(first.sampled)) == (150 - 100 + 2, 2)
    assert asked[1][0] == "n000"
    assert second.evaluated == 2


def test_nodes_that_nobody_looked_at_are_in_no_message() -> None:
    def answer(body: Json) -> Json:
        return {"NodeNames": [], "FailedNodes": dict.fromkeys(names(body), "closed")}

    with serving({"filter": answer}) as server:
        run = Extended(many(), extender(server, **FILTER), percentage=1, **ONLY_FIT)
        attempt = run.attempt(pod())
        again = run.attempt(pod())
    assert attempt.message.startswith("0/150 nodes are available: 100 closed. preemption: ")
    assert names(server.requests[1][1])[0] == "n100"
    assert again.diagnosis is not None
    assert len(again.diagnosis.preemptable()) == 100


@pytest.mark.parametrize(
    ("minor", "verbs", "found"),
    [
        pytest.param("1.36", FILTER, 3, id="one that filters wants them all"),
        pytest.param("1.36", {"prioritizeVerb": "prioritize", "weight": 1}, 3, id="so does one that prioritizes"),
        pytest.param("1.36", {"bindVerb": "bind"}, 1, id="one that binds does not"),
        pytest.param("1.29", {"bindVerb": "bind"}, 3, id="up to 1.29 one was never enough"),
    ],
)
def test_without_scores_one_node_is_enough_unless_an_extender_cares(minor: str, verbs: Json, found: int) -> None:
    with serving({"filter": keeps("a", "b", "c"), "prioritize": []}) as server:
        run = Extended(abc(minor=minor), extender(server, **verbs), **ONLY_FIT)
        assert len(run.attempt(pod()).sampled) == found


# --- prioritize


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(scores(a=1, b=2, c=3), {"a": 30, "b": 60, "c": 90}, id="ten times the weight for a point"),
        pytest.param(scores(b=2), {"a": 0, "b": 60, "c": 0}, id="who is not named gets nothing"),
        pytest.param(scores(b=2, ghost=9), {"a": 0, "b": 60, "c": 0}, id="nor does who is not asked about"),
        pytest.param(scores(a=-5, b=1000), {"a": -150, "b": 30000, "c": 0}, id="no limits are kept"),
        pytest.param([*scores(a=1), *scores(a=2)], {"a": 90, "b": 0, "c": 0}, id="several scores add up"),
        pytest.param(scores(a=2**62), {"a": -(2**63), "b": 0, "c": 0}, id="numbers wrap"),
        pytest.param(
            [*scores(a=2**62), *scores(a=2**62), *scores(a=1)], {"a": 30, "b": 0, "c": 0}, id="and so do their sums"
        ),
    ],
)
def test_scores(said: list[Json], expected: dict[str, int]) -> None:
    with serving({"prioritize": said}) as server:
        run = Extended(abc(), extender(server, prioritizeVerb="prioritize", weight=3), **ONLY_FIT)
        attempt = run.attempt(pod())
    assert run.scores(attempt, server.url) == expected
    assert run.node(attempt) == max(sorted(expected), key=expected.__getitem__)
    assert attempt.score == max(expected.values())


def test_scores_are_added_to_those_of_plugins_and_of_other_extenders() -> None:
    with serving({"one": scores(a=2), "two": scores(b=1)}) as server:
        run = Extended(
            abc(),
            extender(server, prioritizeVerb="one", weight=1),
            extender(server, prioritizeVerb="two", weight=3),
            **SCORING_FIT,
        )
        attempt = run.attempt(pod(cpu="1"))
    assert run.node(attempt) == "b"
    assert attempt.score == run.scores(attempt, "NodeResourcesFit")["b"] + 30


def test_a_single_feasible_node_is_not_scored() -> None:
    with serving({"filter": keeps("b"), "prioritize": scores(b=1)}) as server:
        run = Extended(abc(), extender(server, **BOTH))
        attempt = run.attempt(pod())
    assert (run.node(attempt), attempt.score) == ("b", None)
    assert [verb for verb, _ in server.requests] == ["filter"]


@pytest.mark.parametrize("answer", [Raw(code=500), [*scores(a=1), {"Host": "a", "Score": 0.5}], Raw(b"<html>")])
def test_an_error_gives_no_scores_and_nothing_else(answer: Any) -> None:
    with serving({"prioritize": answer}) as server:
        run = Extended(abc(), extender(server, prioritizeVerb="prioritize", weight=1))
        assert run.node(run.attempt(pod())) == "a"
    assert [(f.point, f.outcome) for f in run.one.failures] == [("prioritize", "it gave no scores")]


def test_whole_nodes_that_come_back_are_scored_as_if_they_were_empty() -> None:
    """Since 1.33: then plugins look at the new NodeInfos that the extender's nodes became."""

    def leads(minor: str, *, whole: bool) -> dict[str, int]:
        with serving({"filter": keeps("a", "b")}) as server:
            cluster = abc(pod("busy", on="a", cpu="3"), minor=minor)
            run = Extended(cluster, extender(server, nodeCacheCapable=not whole, **FILTER), **SCORING_FIT)
            attempt = run.attempt(pod(cpu="1", memory="1Gi"))
            assert run.one.emptied is (whole and minor == "1.36")
        return run.scores(attempt, "NodeResourcesFit")

    assert leads("1.36", whole=True) == {"a": 81, "b": 81}
    busy = {"a": 42, "b": 81}
    assert leads("1.36", whole=False) == leads("1.32", whole=True) == busy


def test_they_are_scored_by_what_was_sent() -> None:
    """An extender that sends back less than it got changes scores: here node b has lost its size and its taint."""

    def trimmed(body: Json) -> Json:
        first, second, _ = body["Nodes"]["items"]
        return {"Nodes": {"items": [first, {"metadata": second["metadata"]}]}}

    with serving({"filter": trimmed}) as server:
        cluster = abc(taints=["x:PreferNoSchedule"], images={"registry.example/app:1": 900_000_000})
        run = Extended(cluster, extender(server, nodeCacheCapable=False, **FILTER))
        attempt = run.attempt(
            pod(cpu="1", memory="1Gi", spec={"containers": [{"name": "m", "image": "registry.example/app:1"}]})
        )
    assert run.scores(attempt, "TaintToleration") == {"a": 0, "b": 300}
    assert run.scores(attempt, "NodeResourcesFit")["b"] == 0
    assert run.scores(attempt, "ImageLocality") == {"a": 0, "b": 0}


# --- errors


def test_an_error_of_filter_ends_the_attempt() -> None:
    with serving({"filter": {"Error": "out of order"}}) as server:
        run = Extended(abc(), extender(server, **FILTER))
        attempt = run.attempt(pod())
    assert (attempt.row, attempt.message) == (None, "out of order")
    assert attempt.refused is not None
    assert (attempt.refused.code, attempt.diagnosis) == (Code.ERROR, None)
    assert rejectors_of(attempt) == frozenset()


def test_an_ignorable_one_is_skipped() -> None:
    with serving({"broken": Raw(code=503), "filter": keeps("c")}) as server:
        broken = extender(server, filterVerb="broken", ignorable=True)
        run = Extended(abc(), broken, extender(server, filterVerb="filter", ignorable=True))
        assert run.node(run.attempt(pod())) == "c"
    (failure,) = run.extenders.all[0].failures
    assert (failure.point, failure.pod, failure.outcome) == ("filter", "default/pod", "it was skipped")
    assert failure.text == f"failed broken with extender at URL {server.url}/broken, code 503"


def test_an_extender_that_never_answers_in_time_is_left_alone_after_a_while() -> None:
    with serving({"filter": SLOW}) as server:
        run = Extended(abc(), extender(server, httpTimeout="20ms", **FILTER))
        attempts = [run.attempt(pod(f"p{i}")) for i in range(6)]
    # On a busy machine a call may end before the server has read it.
    assert len(server.requests) <= 3
    assert (run.one.calls["filter"], run.one.spared) == (3, 3)
    assert len({attempt.message for attempt in attempts}) == 1
    assert sum(failure.timed_out for failure in run.one.failures) == 3


# --- the nominated node


def nominated(cluster: Cluster) -> Any:
    return pod("p", cpu="1", priority=5, nominated="b")


def test_the_nominated_node_is_asked_about_first() -> None:
    with serving({"filter": keeps("b", "c")}) as server:
        cluster = abc()
        run = Extended(cluster, extender(server, **FILTER))
        attempt = run.attempt(nominated(cluster))
    assert [names(body) for _, body in server.requests] == [["b"]]
    assert (run.node(attempt), attempt.evaluated, attempt.score) == ("b", 1, None)


@pytest.mark.parametrize(
    ("answer", "evaluated"),
    [
        pytest.param(keeps("a", failed={"b": "closed"}), 2, id="refused with a reason"),
        pytest.param(keeps("a"), 1, id="refused without"),
    ],
)
def test_a_nominated_node_that_is_refused_is_asked_about_again_with_the_others(answer: Any, evaluated: int) -> None:
    with serving({"filter": answer}) as server:
        cluster = abc()
        run = Extended(cluster, extender(server, **FILTER))
        attempt = run.attempt(nominated(cluster))
    assert [names(body) for _, body in server.requests] == [["b"], ["a", "b", "c"]]
    assert (run.node(attempt), attempt.evaluated) == ("a", evaluated)


def test_an_error_about_the_nominated_node_is_no_error_yet() -> None:
    answers = iter([Raw(code=500), keeps("c")])

    def answer(body: Json) -> Any:
        found = next(answers)
        return found(body) if callable(found) else found

    with serving({"filter": answer}) as server:
        cluster = abc()
        run = Extended(cluster, extender(server, **FILTER))
        assert run.node(run.attempt(nominated(cluster))) == "c"


def test_nodes_are_counted_from_where_the_search_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MIN_FEASIBLE_NODES_TO_FIND", 2)
    cluster = cluster_of([node("a"), node("b"), node("c", cordoned=True), node("d"), node("e")])
    with serving({"filter": keeps(*"abcde")}) as server:
        run = Extended(cluster, extender(server, **FILTER))
        first, second = (run.attempt(pod(name)) for name in ("first", "second"))
    # Node c was rejected on the way to d, the one too many. The second search begins there and has nothing to reject.
    assert (first.sampled.tolist(), first.evaluated) == ([0, 1], 3)
    assert (second.sampled.tolist(), second.evaluated) == ([3, 4], 2)
