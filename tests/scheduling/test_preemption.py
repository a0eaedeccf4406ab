"""Stories of pods that make room for others, one rule at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.status import Status
from kwhatif.plugins.default_preemption import DefaultPreemptionArgs
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.preemption import Preemption
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.victim_search import wanted_candidates
from tests.builders import (
    HOSTNAME,
    Json,
    budget,
    cluster_of,
    driver_for,
    node,
    pod,
    pods_like,
    profile_document,
    scheduler_for,
    select,
    spread,
)
from tests.framework.plugins import made_up

EARLY, LATE, LATEST = (f"2026-01-01T00:00:0{second}Z" for second in range(3))
WEB = {"app": "web"}
VIP: Json = {"cpu": "2", "priority": 1000}


def small_nodes(*names: str, **more: Any) -> list[Node]:
    """Nodes with two cores each."""
    return [node(name, cpu="2", **more) for name in names]


def runs(on: str, priority: int = 0, *, cpu: str = "1", name: str = "", **more: Any) -> Pod:
    return pod(name or f"{on}{priority}", on=on, priority=priority, cpu=cpu, **more)


def attempt_for(
    nodes: Iterable[Node],
    running: Iterable[Pod],
    objects: Iterable[Resource] = (),
    *,
    args: Json | None = None,
    **vip: Any,
) -> Attempt:
    """A very important pod that wants two cores, unless told otherwise."""
    cluster = cluster_of(nodes, running, objects)
    config = None if args is None else profile_document(args={"DefaultPreemption": args})
    return scheduler_for(cluster, config).attempt(cluster.shapes.info(pod("vip", **{**VIP, **vip})))


def victims_of(attempt: Attempt) -> list[str]:
    return [victim.pod.name or "" for victim in attempt.victims]


def preemption_text(attempt: Attempt) -> str:
    """What preemption has to say in a failure message."""
    assert not attempt.nominated
    return attempt.message.partition("preemption: ")[2]


# --- which node


@pytest.mark.parametrize(
    ("running", "objects", "chosen", "criterion"),
    [
        pytest.param([runs("a", 5), runs("b", 2000)], [], "a", "only candidate", id="there is but one"),
        pytest.param(
            [runs("a", 1, labels=WEB), runs("b", 9)],
            [budget("web", select(app="web"))],
            "b",
            "fewest budget violations",
            id="budgets come before priorities",
        ),
        pytest.param(
            [runs("a", 9), runs("b", 5, name="b1"), runs("b", 5, name="b2")],
            [],
            "b",
            "lowest highest priority",
            id="the most important victim should be unimportant",
        ),
        pytest.param(
            [runs("a", 5), runs("a", 4), runs("b", 5), runs("b", 3)],
            [],
            "b",
            "smallest sum of priorities",
            id="then all victims together",
        ),
        pytest.param(
            [runs("a", 5), runs("a", -100), runs("b", 5)],
            [],
            "b",
            "smallest sum of priorities",
            id="one victim more costs more than it has priority",
        ),
        pytest.param(
            [runs("a", 0), runs("a", -(2**31)), runs("b", 0)],
            [],
            "b",
            "fewest victims",
            id="unless it has none at all, then the fewest count",
        ),
        pytest.param(
            [runs("a", started=EARLY), runs("b", started=LATE)],
            [],
            "b",
            "latest start of the most important",
            id="the one that started last lost least",
        ),
        pytest.param(
            [
                *(runs("a", 1, name=f"a{i}", started=start) for i, start in enumerate((LATEST, EARLY))),
                *(runs("b", 1, name=f"b{i}", started=start) for i, start in enumerate((LATE, LATE))),
            ],
            [],
            "b",
            "latest start of the most important",
            id="the earliest start among equals counts",
        ),
        pytest.param(
            [
                runs("a", 5, started=LATE),
                runs("a", 1, started=EARLY),
                runs("b", 5, started=EARLY),
                runs("b", 1, started=LATEST),
            ],
            [],
            "a",
            "latest start of the most important",
            id="the start of lesser victims does not",
        ),
        pytest.param(
            [runs("a", started=EARLY), runs("b", started=EARLY)], [], "a", "first by name", id="a tie goes by name"
        ),
        pytest.param(
            [runs("a"), runs("b")],
            [],
            "b",
            "latest start of the most important",
            id="who has not started starts when looked at, and b is looked at later",
        ),
        pytest.param(
            [runs("a", started=LATEST), runs("b")],
            [],
            "b",
            "latest start of the most important",
            id="which is later than any start",
        ),
    ],
)
def test_the_node_is_chosen_by_one_criterion_after_the_other(
    running: list[Pod], objects: list[Resource], chosen: str, criterion: str
) -> None:
    attempt = attempt_for(small_nodes("b", "a"), running, objects)
    assert (attempt.nominated, attempt.criterion) == (chosen, criterion)
    assert set(victims_of(attempt)) == {p.name for p in running if p.spec.node_name == chosen}
    assert attempt.candidates == (1 if criterion == "only candidate" else 2)
    assert not attempt.is_placed
    assert attempt.diagnosis is not None
    ranked = Preemption().rank_candidates(attempt.pod, attempt.diagnosis)
    assert [(each.node, each.behind) for each in ranked] == [(chosen, ""), ("ab".strip(chosen), criterion)][
        : attempt.candidates
    ]


# --- which pods


@pytest.mark.parametrize(
    ("running", "objects", "victims"),
    [
        pytest.param(
            [runs("a", 3), runs("a", 2), runs("a", 1, cpu="2")],
            [],
            ["a1"],
            id="the most important pods stay if they can",
        ),
        pytest.param(
            [runs("a", 3, cpu="2"), runs("a", 2), runs("a", 1)],
            [],
            ["a2", "a1"],
            id="even where several lesser ones have to go",
        ),
        pytest.param(
            [runs("a", 3, cpu="3"), runs("a", 2), runs("a", 1)],
            [],
            ["a3"],
            id="one that cannot stay does not keep others from it",
        ),
        pytest.param(
            [runs("a", 3, cpu="2"), runs("a", 1, cpu="2", labels=WEB)],
            [budget("web", select(app="web"))],
            ["a3"],
            id="one whose budget would break stays before a more important one",
        ),
        pytest.param(
            [runs("a", 3, cpu="2"), runs("a", 1, cpu="2", labels=WEB)],
            [budget("web", select(app="web"), allowed=1)],
            ["a1"],
            id="unless the budget allows it",
        ),
        pytest.param(
            [runs("a", 1, name="old", cpu="2", started=EARLY), runs("a", 1, name="new", cpu="2", started=LATE)],
            [],
            ["new"],
            id="the older of two equals stays",
        ),
        pytest.param(
            [runs("a", 2000, cpu="2"), runs("a", 1000, cpu="1"), runs("a", 999, cpu="1", name="lesser")],
            [],
            [],
            id="pods of the same or a higher priority are never victims",
        ),
        pytest.param(
            [runs("a", 2000), runs("a", 1000), runs("a", 999, cpu="2", name="lesser")],
            [],
            ["lesser"],
            id="only lesser ones are",
        ),
    ],
)
def test_victims_on_a_node(running: list[Pod], objects: list[Resource], victims: list[str]) -> None:
    attempt = attempt_for([node("a", cpu="4")], running, objects)
    assert victims_of(attempt) == victims
    assert attempt.nominated == ("a" if victims else "")


def test_pods_that_hold_a_port_have_to_go() -> None:
    running = [runs("a", 1, ports=["80"], name="port"), runs("a", 1, cpu="100m", name="bystander")]
    attempt = attempt_for([node("a")], running, ports=["80"], cpu="100m")
    assert victims_of(attempt) == ["port"]


def test_pods_that_want_the_pod_far_have_to_go() -> None:
    far = [pods_like(select(app="web"), HOSTNAME)]
    running = [runs("a", 1, far=far, name="grumpy"), runs("a", 1, cpu="100m", name="bystander")]
    attempt = attempt_for([node("a")], running, labels=WEB, cpu="100m")
    assert victims_of(attempt) == ["grumpy"]


def test_pods_that_the_pod_wants_far_have_to_go() -> None:
    running = [runs("a", 1, labels=WEB, name=f"web{i}", cpu="100m") for i in range(2)]
    attempt = attempt_for([node("a", zone="z")], running, far=[pods_like(select(app="web"))], cpu="100m")
    assert sorted(victims_of(attempt)) == ["web0", "web1"]


def test_pods_that_crowd_a_domain_have_to_go() -> None:
    running = [runs("a", 1, labels=WEB, name=f"web{i}", cpu="100m", started=EARLY) for i in range(2)]
    crowded = [spread(select(app="web"), HOSTNAME)]
    attempt = attempt_for([node("a"), node("b", cpu="50m")], running, labels=WEB, constraints=crowded, cpu="100m")
    assert victims_of(attempt) == ["web0", "web1"]


def test_it_is_no_help_to_evict_pods_the_pod_wants_near() -> None:
    running = [runs("a", 1, labels=WEB, cpu="2", name="web")]
    attempt = attempt_for(small_nodes("a", zone="z"), running, near=[pods_like(select(app="web"))])
    assert preemption_text(attempt) == "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."


# --- pods on their way out, nominations


def test_victims_on_their_way_out_are_not_told_again() -> None:
    cluster = cluster_of([node("a", cpu="2")], [runs("a", 1, terminating=True), runs("a", 2)])
    driver = driver_for(cluster)
    attempt = driver.attempt(cluster.shapes.info(pod("vip", **VIP)))
    assert victims_of(attempt) == ["a2", "a1"]
    assert [victim.pod.name for victim in attempt.victims_to_evict] == ["a2"]
    driver.evict(attempt, to_the_end=False)
    assert [info.pod.name for info, _ in cluster.pods()] == ["a1"]
    assert not driver.attempt(attempt.pod).is_placed
    cluster.forget("uid-default-a1")
    assert driver.attempt(attempt.pod).is_placed


def test_all_victims_leave_where_one_does_not_want_to_wait() -> None:
    cluster = cluster_of([node("a", cpu="2")], [runs("a", 1, terminating=True), runs("a", 2)])
    driver = driver_for(cluster)
    attempt = driver.attempt(cluster.shapes.info(pod("vip", **VIP)))
    driver.evict(attempt)
    assert list(cluster.pods()) == []


def test_after_the_eviction_the_pod_has_its_place() -> None:
    cluster = cluster_of(small_nodes("a", "b"), [runs("a", 5), runs("b", 9)])
    driver = driver_for(cluster)
    vip = cluster.shapes.info(pod("vip", **VIP))
    attempt = driver.attempt(vip)
    driver.handle_failure(attempt)
    driver.evict(attempt)
    assert vip.nominated == "a"
    assert [info.uid for info in cluster.nominated["a"]] == [vip.uid]
    # Somebody lesser comes first and has to leave room.
    assert not driver.attempt(cluster.shapes.info(pod("hasty", cpu="2"))).is_placed
    again = driver.attempt(vip)
    assert again.row == cluster.columns.row("a")
    assert not cluster.nominated


def test_lesser_nominations_on_the_node_are_void() -> None:
    cluster = cluster_of([node("a", cpu="4")], [runs("a", 1, cpu="4")])
    driver = driver_for(cluster)
    lesser, equal = (cluster.shapes.info(pod(f"n{p}", cpu="1", priority=p)) for p in (5, 1000))
    for info in (lesser, equal):
        cluster.nominate(info, "a")
    vip = cluster.shapes.info(pod("vip", **VIP))
    driver.handle_failure(driver.attempt(vip))
    assert [info.uid for info in cluster.nominated["a"]] == [equal.uid, vip.uid]
    assert (lesser.nominated, equal.nominated) == ("", "a")


def test_victims_make_room_for_pods_nominated_before() -> None:
    running = [runs("a", 1, name=f"a{i}", started=EARLY) for i in range(4)]
    cluster = cluster_of([node("a", cpu="4")], running)
    cluster.nominate(cluster.shapes.info(pod("before", cpu="1", priority=2000)), "a")
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(pod("vip", **VIP)))
    assert len(attempt.victims) == 3
    cluster.remove_nomination("uid-default-before")
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(pod("vip", **VIP)))
    assert len(attempt.victims) == 2


# --- who may not preempt


def test_a_pod_may_be_too_polite() -> None:
    attempt = attempt_for(small_nodes("a"), [runs("a", 1)], spec={"preemptionPolicy": "Never"})
    assert preemption_text(attempt) == "not eligible due to preemptionPolicy=Never."


def leaving(reason: str | None = "PreemptionByScheduler", status: str = "True") -> Json:
    conditions = [{"type": "Ready", "status": "True"}]
    if reason is not None:
        conditions.append({"type": "DisruptionTarget", "status": status, "reason": reason})
    return {"conditions": conditions}


WAITS = "not eligible due to a terminating pod on the nominated node."


@pytest.mark.parametrize(
    ("leaver", "more", "waits"),
    [
        pytest.param({"status": leaving()}, {}, True, id="a victim is on its way out already"),
        pytest.param({"status": leaving(reason="EvictionByEvictionAPI")}, {}, False, id="it leaves for another reason"),
        pytest.param({"status": leaving(reason=None)}, {}, False, id="or for none that is told"),
        pytest.param({"status": leaving(status="False")}, {}, False, id="or not after all"),
        pytest.param({"status": leaving(), "terminating": False}, {}, False, id="or not yet"),
        pytest.param({"status": leaving(), "priority": 1000}, {}, False, id="it is no victim of this pod"),
        pytest.param({"status": leaving()}, {"nominated": None}, False, id="the pod is not nominated"),
        pytest.param({"status": leaving()}, {"nominated": "b"}, False, id="it is nominated elsewhere"),
        pytest.param({"status": leaving()}, {"nominated": "gone"}, False, id="on a node that is gone"),
        pytest.param(
            {"status": leaving()}, {"node_selector": {"disk": "ssd"}}, False, id="the node will not do any more"
        ),
    ],
)
def test_a_pod_waits_for_the_victims_it_was_promised(leaver: Json, more: Json, waits: bool) -> None:
    nodes = [node("a", cpu="2"), node("b", cpu="2", labels={"disk": "ssd"})]
    running = [
        pod("leaver", **{"on": "a", "cpu": "1", "priority": 1, "terminating": True, **leaver}),
        runs("b", 1, name="other"),
    ]
    attempt = attempt_for(nodes, running, **{"nominated": "a", **more})
    if waits:
        assert preemption_text(attempt) == WAITS
    else:
        assert attempt.nominated in ("a", "b")


# --- what is said when it does not help

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"


@pytest.mark.parametrize(
    ("nodes", "running", "text"),
    [
        pytest.param(
            small_nodes("a", "b"),
            [runs("a", 1000), runs("b", 2000)],
            f"0/2 nodes are available: 2 {NO_VICTIMS}.",
            id="nobody is less important",
        ),
        pytest.param(
            [node("a", cpu="1"), node("b", cordoned=True)],
            [runs("a", 1)],
            f"0/2 nodes are available: 2 {NOT_HELPFUL}.",
            id="no node would do even if it were empty",
        ),
        pytest.param(
            [*small_nodes("a", "b"), node("c", cpu="1")],
            [runs("a", 1000, name="stays"), runs("a", 1, name="goes"), runs("b", 1000, cpu="2")],
            f"0/3 nodes are available: 1 Insufficient cpu, 1 {NO_VICTIMS}, 1 {NOT_HELPFUL}.",
            id="each node for its own reason",
        ),
    ],
)
def test_messages(nodes: list[Node], running: list[Pod], text: str) -> None:
    assert preemption_text(attempt_for(nodes, running)) == text


def test_a_node_that_needs_no_victims_is_an_error_to_make_room_on() -> None:
    closed = made_up("Closed", pre_filter=lambda *_: Status.unschedulable("closed today"))
    config = profile_document(plugins={"multiPoint": {"enabled": [{"name": "Closed"}]}})
    for names, text in (
        ("a", 'expected at least one victim pod on node "a"'),
        ("ab", '[expected at least one victim pod on node "a", expected at least one victim pod on node "b"]'),
    ):
        cluster = cluster_of([node(name) for name in names], [runs(name, 1, cpu="100m") for name in names])
        attempt = scheduler_for(cluster, config, outside=[closed]).attempt(cluster.shapes.info(pod(priority=5)))
        assert not attempt.nominated
        assert attempt.message == f"0/{len(names)} nodes are available: closed today. preemption: {text}"


# --- how many candidates


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "expected"),
    [
        pytest.param(50, 10, 100, 50, id="never more than there are nodes"),
        pytest.param(500, 10, 100, 100, id="at least the absolute number"),
        pytest.param(5000, 10, 100, 500, id="or the share"),
        pytest.param(5000, 100, 1, 5000, id="up to all"),
        pytest.param(999, 1, 1, 9, id="shares are truncated"),
        pytest.param(10, 0, 1, 1, id="one is enough"),
    ],
)
def test_how_many_candidates_are_wanted(nodes: int, percentage: int, absolute: int, expected: int) -> None:
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute)
    assert wanted_candidates(nodes, args) == expected


ONE_IS_ENOUGH: Json = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}


def test_a_search_that_wants_one_candidate_takes_the_first() -> None:
    running = [runs("x", 9), runs("a", 5), runs("m", 1)]
    attempt = attempt_for(small_nodes("x", "a", "m"), running, args=ONE_IS_ENOUGH)
    assert (attempt.nominated, attempt.candidates) == ("x", 1)


def test_candidates_that_break_a_budget_do_not_end_the_search() -> None:
    running = [runs("x", 1, labels=WEB), runs("a", 1, labels=WEB), runs("m", 9), runs("c", 1)]
    objects = [budget("web", select(app="web"))]
    attempt = attempt_for(small_nodes("x", "a", "m", "c"), running, objects, args=ONE_IS_ENOUGH)
    # The clean one of the four that comes first, and the first of those that are not clean.
    assert (attempt.nominated, attempt.candidates) == ("m", 2)


@pytest.mark.parametrize(
    ("enough", "nominated", "candidates"),
    [
        pytest.param(1, "x", 1, id="one"),
        pytest.param(2, "x", 2, id="with and without violations together"),
        pytest.param(3, "m", 3, id="the third is better"),
    ],
)
def test_the_search_ends_with_as_many_candidates_as_are_wanted(enough: int, nominated: str, candidates: int) -> None:
    running = [runs("x", 9), runs("a", 1, labels=WEB), runs("m", 1), runs("c", 0)]
    args: Json = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": enough}
    attempt = attempt_for(small_nodes("x", "a", "m", "c"), running, [budget("web", select(app="web"))], args=args)
    assert (attempt.nominated, attempt.candidates) == (nominated, candidates)


def test_large_clusters_are_searched_in_parts() -> None:
    names = [f"n{i:03}" for i in range(150)]
    running = [runs(name, 9 if name < "n149" else 1, started=EARLY) for name in names]
    everywhere: Json = {"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 1}
    attempt = attempt_for(small_nodes(*names), running, args=everywhere)
    assert (attempt.nominated, attempt.candidates) == ("n149", 150)
    few: Json = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 70}
    attempt = attempt_for(small_nodes(*names), running, args=few)
    assert (attempt.nominated, attempt.candidates) == ("n000", 70)


def test_a_search_goes_on_until_a_candidate_breaks_no_budget() -> None:
    names = [f"n{i:03}" for i in range(150)]
    running = [runs(name, 1, labels=WEB if name < "n100" else None) for name in names]
    attempt = attempt_for(small_nodes(*names), running, [budget("web", select(app="web"))], args=ONE_IS_ENOUGH)
    assert (attempt.nominated, attempt.candidates) == ("n100", 2)


def test_a_pod_that_may_not_preempt_has_no_candidates_to_rank() -> None:
    cluster = cluster_of(small_nodes("a"), [runs("a", 1)])
    info = cluster.shapes.info(pod("vip", spec={"preemptionPolicy": "Never"}, **VIP))
    attempt = scheduler_for(cluster).attempt(info)
    assert attempt.diagnosis is not None
    assert Preemption().rank_candidates(info, attempt.diagnosis) == []


def test_all_candidates_can_be_ranked() -> None:
    cluster = cluster_of(small_nodes("x", "a", "m"), [runs("x", 9), runs("a", 5), runs("m", 7), runs("m", 6)])
    scheduler = scheduler_for(cluster)
    info = cluster.shapes.info(pod("vip", **VIP))
    attempt = scheduler.attempt(info)
    assert attempt.diagnosis is not None
    ranked = Preemption().rank_candidates(info, attempt.diagnosis)
    assert [(r.node, [v.pod.name for v in r.victims], r.violations) for r in ranked] == [
        ("a", ["a5"], 0),
        ("m", ["m7", "m6"], 0),
        ("x", ["x9"], 0),
    ]
    assert ranked[0].node == attempt.nominated


@pytest.mark.parametrize(("started", "first"), [(EARLY, "a"), (None, "x")])
def test_the_first_of_the_ranked_candidates_is_the_one_chosen_even_in_a_tie(started: str | None, first: str) -> None:
    cluster = cluster_of(small_nodes("x", "a", "m"), [runs(name, started=started) for name in "amx"])
    info = cluster.shapes.info(pod("vip", **VIP))
    attempt = scheduler_for(cluster).attempt(info)
    assert attempt.diagnosis is not None
    assert attempt.nominated == first
    assert Preemption().rank_candidates(info, attempt.diagnosis)[0].node == first


# --- the cluster is left alone


def snapshot_of(cluster: Cluster) -> Any:
    return (cluster.requested.tolist(), cluster.pod_count.tolist(), cluster.ports.any(), dict(cluster.nominated))


def test_a_search_changes_nothing() -> None:
    cluster = cluster_of(small_nodes("a", "b"), [runs("a", 5, ports=["80"]), runs("b", 9)])
    scheduler: Scheduler = scheduler_for(cluster)
    before = snapshot_of(cluster)
    assert scheduler.attempt(cluster.shapes.info(pod("vip", ports=["80"], **VIP))).nominated
    assert snapshot_of(cluster) == before


def test_who_is_not_in_the_way_of_a_port_stays_though_its_holder_has_to_go() -> None:
    running = [runs("a", 5, cpu="500m", ports=["80"], name="holder"), runs("a", 1, cpu="500m", name="other")]
    attempt = attempt_for(small_nodes("a"), running, cpu="1", ports=["80"])
    assert [victim.pod.name for victim in attempt.victims] == ["holder"]
