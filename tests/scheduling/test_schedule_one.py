"""Stories of one scheduling cycle, and of what the next one finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kwhatif.api.kinds import Objects
from kwhatif.cluster.cluster import Cluster
from kwhatif.framework.interface import Scope
from kwhatif.framework.status import Code, PermitWait, Rejection, Status
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.host_selection import Choice
from kwhatif.scheduling.profile import SharedState
from kwhatif.scheduling.schedule_one import NO_NODES, Scheduler
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of
from tests.builders import (
    FEATURES,
    GIB,
    Json,
    cluster_of,
    node,
    node_term,
    nodes_in_zones,
    pod,
    pods_on,
    profile_document,
    scheduler_for,
)
from tests.framework.plugins import AnyPlugin, Diary, made_up


def try_to_place(scheduler: Scheduler, name: str = "pod", **kind: Any) -> Attempt:
    return scheduler.attempt(scheduler.cluster.shapes.info(pod(name, **kind)))


def names_of(scheduler: Scheduler, rows: np.ndarray) -> list[str]:
    return [scheduler.cluster.columns.names[row] for row in rows]


def node_of(scheduler: Scheduler, attempt: Attempt) -> str | None:
    return None if attempt.row is None else scheduler.cluster.columns.names[attempt.row]


# --- choosing


def test_the_best_node_is_chosen_and_the_pod_counts_there() -> None:
    scheduler = scheduler_for(cluster_of([node("a"), node("b")], pods_on({"a": 1}, cpu="2", memory="4Gi")))
    attempt = try_to_place(scheduler, cpu="1", memory="1Gi")
    assert node_of(scheduler, attempt) == "b"
    assert attempt.is_placed
    assert attempt.message == ""
    row = scheduler.cluster.columns.row("b")
    assert scheduler.cluster.requested[row].tolist() == [1000, GIB, 0]
    assert scheduler.cluster.find("uid-default-pod") is not None


@pytest.mark.parametrize(
    ("minor", "chosen", "choice"),
    [
        pytest.param("1.34", "c", Choice.DRAW, id="until 1.34 it is drawn, and the first by name stands for any"),
        pytest.param("1.35", "m", Choice.HEAP, id="since 1.35 the heap decides, here the first found"),
        pytest.param("1.36", "m", Choice.HEAP, id="so it does in 1.36"),
    ],
)
def test_the_version_decides_a_tie_and_the_others_are_told(minor: str, chosen: str, choice: Choice) -> None:
    cluster = cluster_of([node("m"), node("c"), node("x", cpu="1"), node("t")], features=features_of(minor))
    scheduler = scheduler_for(cluster)
    attempt = try_to_place(scheduler, cpu="500m")
    assert node_of(scheduler, attempt) == chosen
    assert attempt.choice is choice
    assert sorted(names_of(scheduler, attempt.best)) == ["c", "m", "t"]
    assert attempt.score is not None


def test_what_lies_below_the_left_child_of_the_heap_comes_before_its_right_child() -> None:
    small = [node(name, cpu="1") for name in "ab"]
    scheduler = scheduler_for(cluster_of([*small, node("c"), node("d")]))
    attempt = try_to_place(scheduler, cpu="500m")
    assert names_of(scheduler, attempt.best) == ["c", "d"]
    assert node_of(scheduler, attempt) == "d"


def test_where_nodes_are_found_in_any_order_it_is_chance_in_every_version() -> None:
    scheduler = scheduler_for(cluster_of([node("m"), node("c")]))
    names = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in ("m", "c")]
    attempt = try_to_place(scheduler, nodes=names)
    assert node_of(scheduler, attempt) == "c"
    assert attempt.choice is Choice.DRAW


def test_recorders_pin_ties_by_name() -> None:
    scheduler = scheduler_for(cluster_of([node("m"), node("c")]), ties_by_name=True)
    assert node_of(scheduler, try_to_place(scheduler)) == "c"


def test_a_seed_draws_until_1_34_and_always_alike() -> None:
    def choices(seed: int) -> list[str | None]:
        cluster = cluster_of([node(name, pods=1) for name in "mcxtga"], features=features_of("1.34"))
        scheduler = scheduler_for(cluster, seed=seed)
        return [node_of(scheduler, try_to_place(scheduler, f"p{i}")) for i in range(6)]

    assert choices(1) == choices(1)
    assert sorted(choices(1)) == sorted("mcxtga")  # type: ignore[type-var]
    assert len({tuple(choices(seed)) for seed in range(8)}) > 1


def test_a_seed_does_not_overrule_scores() -> None:
    for seed in range(5):
        cluster = cluster_of([node("a"), node("b")], pods_on({"a": 1}, cpu="2", memory="4Gi"))
        scheduler = scheduler_for(cluster, seed=seed)
        assert node_of(scheduler, try_to_place(scheduler, cpu="1")) == "b"


def test_a_single_feasible_node_is_not_scored() -> None:
    scheduler = scheduler_for(cluster_of([node("a", taints=["x:NoSchedule"]), node("b")]))
    attempt = try_to_place(scheduler)
    assert node_of(scheduler, attempt) == "b"
    assert attempt.score is None
    assert names_of(scheduler, attempt.best) == ["b"]
    assert attempt.evaluated == 2


def test_scores_are_kept_where_details_are_wanted() -> None:
    cluster = cluster_of([node("a"), node("b")])
    plain = scheduler_for(cluster)
    detailed = Scheduler(cluster, plain.profile, detailed=True)
    info = cluster.shapes.info(pod(cpu="1"))
    assert plain.decide(info).scores == []
    table = detailed.decide(info).scores
    assert {"NodeResourcesFit", "TaintToleration"} <= {scores.plugin for scores in table}


def test_deciding_does_nothing() -> None:
    scheduler = scheduler_for(cluster_of([node("a")]))
    info = scheduler.cluster.shapes.info(pod(cpu="1"))
    assert scheduler.decide(info).is_placed
    assert scheduler.cluster.find(info.uid) is None
    assert scheduler.attempt(info).is_placed
    assert scheduler.cluster.find(info.uid) is not None


def test_the_next_pod_sees_where_the_last_one_went() -> None:
    scheduler = scheduler_for(cluster_of([node("a", cpu="1"), node("b", cpu="1")]))
    placed = [node_of(scheduler, try_to_place(scheduler, f"p{i}", cpu="1")) for i in range(3)]
    assert placed == ["a", "b", None]


# --- failing


def test_no_nodes_at_all() -> None:
    attempt = try_to_place(scheduler_for(cluster_of([])))
    assert attempt.message == NO_NODES == "no nodes available to schedule pods"
    assert not attempt.is_placed
    assert attempt.diagnosis is None


def test_the_message_counts_reasons_and_says_what_preemption_came_to() -> None:
    nodes = [node("a", cpu="1"), node("b", cpu="1"), node("c", taints=["x=1:NoSchedule"]), node("d", cordoned=True)]
    attempt = try_to_place(scheduler_for(cluster_of(nodes)), cpu="2")
    assert attempt.message == (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "2 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are available: "
        "4 Preemption is not helpful for scheduling."
    )
    assert attempt.diagnosis is not None
    assert attempt.evaluated == 4


def test_pods_that_fail_alike_on_the_same_cluster_share_what_is_known_of_its_nodes() -> None:
    scheduler = scheduler_for(cluster_of([node("a"), node("b")]))
    one, two = (try_to_place(scheduler, name, cpu="64") for name in ("one", "two"))
    assert one.diagnosis is not None
    assert two.diagnosis is not None
    assert one.message == two.message
    assert one.diagnosis.verdicts is two.diagnosis.verdicts
    assert try_to_place(scheduler, "small", cpu="1").is_placed
    three = try_to_place(scheduler, "three", cpu="64")
    assert three.diagnosis is not None
    assert three.diagnosis.verdicts is not two.diagnosis.verdicts


def test_a_refusal_of_prefilter_is_the_message() -> None:
    both = node_term(fields=["metadata.name In a", "metadata.name In b"])
    attempt = try_to_place(scheduler_for(cluster_of([node("a"), node("b")])), nodes=[both])
    assert attempt.message.startswith("0/2 nodes are available: pod affinity terms conflict. ")
    assert attempt.refused == Status(Code.UNRESOLVABLE, ("pod affinity terms conflict",), "NodeAffinity")
    assert attempt.evaluated == 0


def test_a_pod_that_names_its_nodes_is_not_looked_for_elsewhere() -> None:
    scheduler = scheduler_for(cluster_of([node("a"), node("b", cpu="8"), node("c")]))
    named = [node_term(fields=["metadata.name In a"]), node_term(fields=["metadata.name In c"])]
    attempt = try_to_place(scheduler, nodes=named)
    assert sorted(names_of(scheduler, attempt.sampled)) == ["a", "c"]
    assert attempt.evaluated == 2


# --- how many nodes are looked at

TWO_HUNDRED = [node(f"n{i:03}") for i in range(200)]


@pytest.mark.parametrize(
    ("percentage", "expected"),
    [
        pytest.param(None, 100, id="by itself at least a hundred"),  # 50 - 200 / 125 = 49 percent are 98
        pytest.param(60, 120, id="a share, if it is larger"),
        pytest.param(1, 100, id="never fewer than a hundred"),
        pytest.param(100, 200, id="all"),
    ],
)
def test_the_percentage_of_nodes_to_score(percentage: int | None, expected: int) -> None:
    scheduler = scheduler_for(cluster_of(TWO_HUNDRED), profile_document(percentage=percentage))
    attempt = try_to_place(scheduler)
    assert len(attempt.sampled) == attempt.evaluated == expected


def test_the_search_starts_where_the_last_one_ended() -> None:
    scheduler = scheduler_for(cluster_of(TWO_HUNDRED))
    first, second, third = (try_to_place(scheduler, f"p{i}", cpu="1") for i in range(3))
    assert names_of(scheduler, first.sampled) == [f"n{i:03}" for i in range(100)]
    assert names_of(scheduler, second.sampled) == [f"n{i:03}" for i in range(100, 200)]
    assert names_of(scheduler, third.sampled) == [f"n{i:03}" for i in range(100)]
    assert [node_of(scheduler, attempt) for attempt in (first, second, third)] == ["n000", "n100", "n001"]


def test_nodes_that_are_rejected_move_the_start_as_well() -> None:
    nodes = [node(f"n{i:03}", cordoned=i < 30) for i in range(200)]
    scheduler = scheduler_for(cluster_of(nodes))
    attempt = try_to_place(scheduler)
    assert attempt.evaluated == 130
    assert scheduler.shared.next_start == 130
    assert names_of(scheduler, try_to_place(scheduler, "next").sampled)[0] == "n130"


def test_a_start_can_be_given() -> None:
    cluster = cluster_of(TWO_HUNDRED)
    scheduler = Scheduler(cluster, scheduler_for(cluster).profile, SharedState(150))
    found = names_of(scheduler, try_to_place(scheduler).sampled)
    assert (found[0], found[-1]) == ("n150", "n049")


def test_without_scorers_the_first_feasible_node_will_do() -> None:
    only_filters: Json = {"score": {"disabled": [{"name": "*"}]}}
    scheduler = scheduler_for(cluster_of([node("b"), node("a")]), profile_document(plugins=only_filters))
    first, second = try_to_place(scheduler, "one"), try_to_place(scheduler, "two")
    assert [node_of(scheduler, attempt) for attempt in (first, second)] == ["b", "a"]
    assert first.score is None


# --- nominated pods


def test_a_nominated_node_is_tried_first_and_not_scored() -> None:
    scheduler = scheduler_for(cluster_of([node("a", cpu="8"), node("b")]))
    cluster = scheduler.cluster
    info = cluster.shapes.info(pod(cpu="1", nominated="b"))
    cluster.nominate(info, "b")
    attempt = scheduler.attempt(info)
    assert node_of(scheduler, attempt) == "b"
    assert attempt.score is None
    assert attempt.evaluated == 1
    assert scheduler.shared.next_start == 0
    assert not cluster.nominated


def test_where_the_nominated_node_will_not_do_all_are_tried() -> None:
    scheduler = scheduler_for(cluster_of([node("a"), node("b", cpu="1"), node("c")]))
    info = scheduler.cluster.shapes.info(pod(cpu="2", nominated="b"))
    scheduler.cluster.nominate(info, "b")
    attempt = scheduler.attempt(info)
    assert node_of(scheduler, attempt) == "a"
    assert attempt.evaluated == 3


def test_a_nominated_node_that_is_gone_is_forgotten() -> None:
    scheduler = scheduler_for(cluster_of([node("a")]))
    assert node_of(scheduler, try_to_place(scheduler, nominated="gone")) == "a"


def test_others_leave_room_for_a_nominated_pod() -> None:
    scheduler = scheduler_for(cluster_of([node("a", cpu="2"), node("b", cpu="1")]))
    shapes = scheduler.cluster.shapes
    promised = shapes.info(pod("promised", cpu="2", priority=5))
    scheduler.cluster.nominate(promised, "a")
    assert node_of(scheduler, try_to_place(scheduler, "late", cpu="1")) == "b"
    assert node_of(scheduler, scheduler.attempt(promised)) == "a"


# --- reserving, permitting, binding


def with_plugin(scheduler_nodes: list[Any], *plugins: type[AnyPlugin]) -> Scheduler:
    enabled: Json = {"multiPoint": {"enabled": [{"name": plugin.name} for plugin in plugins]}}
    return scheduler_for(cluster_of(scheduler_nodes), profile_document(plugins=enabled), outside=plugins)


def test_a_refused_reservation_leaves_no_trace() -> None:
    diary = Diary()
    taken = made_up("Taken", reserve=diary("reserve", Status.unschedulable("taken")), unreserve=diary("unreserve"))
    scheduler = with_plugin([node("a"), node("b")], taken)
    attempt = try_to_place(scheduler)
    assert not attempt.is_placed
    assert attempt.refused == Status(Code.UNSCHEDULABLE, ("taken",), "Taken")
    assert attempt.message == "0/1 nodes are available: 1 taken."
    assert diary.entries == ["reserve", "unreserve"]
    assert scheduler.cluster.find("uid-default-pod") is None
    assert not scheduler.cluster.pod_count.any()


def test_a_denied_permit_gives_the_reservation_back() -> None:
    diary = Diary()
    plugin = made_up(
        "Denies",
        reserve=diary("reserve"),
        unreserve=diary("unreserve"),
        permit=diary("permit", Status.unschedulable("denied")),
    )
    scheduler = with_plugin([node("a")], plugin)
    attempt = try_to_place(scheduler)
    assert attempt.message == "0/1 nodes are available: 1 denied."
    assert diary.entries == ["reserve", "permit", "unreserve"]
    assert not scheduler.cluster.pod_count.any()


def test_a_failed_binding_gives_the_reservation_back() -> None:
    diary = Diary()
    plugin = made_up(
        "Fails",
        reserve=diary("reserve"),
        unreserve=diary("unreserve"),
        pre_bind=diary("bind", Status.error("no volume")),
    )
    scheduler = with_plugin([node("a")], plugin)
    attempt = try_to_place(scheduler)
    assert attempt.message == 'running PreBind plugin "Fails": no volume'
    assert diary.entries == ["reserve", "bind", "unreserve"]
    assert not scheduler.cluster.pod_count.any()


def held(seconds: float = 5) -> tuple[Scheduler, Attempt, Diary]:
    """A pod that a plugin holds."""
    diary = Diary()
    plugin = made_up(
        "Holds",
        permit=diary("permit", PermitWait(seconds)),
        unreserve=diary("unreserve"),
        pre_bind=diary("bind"),
    )
    scheduler = with_plugin([node("a")], plugin)
    return scheduler, try_to_place(scheduler), diary


def test_a_pod_that_is_held_keeps_its_place_and_goes_on_when_it_is_allowed() -> None:
    scheduler, attempt, diary = held()
    assert attempt.waiting
    assert scheduler.cluster.pod_count.tolist() == [1]
    assert scheduler.binding.settle() == []
    scheduler.profile.waiting[attempt.pod.uid].allow("Holds")
    assert scheduler.binding.settle() == [attempt]
    assert attempt.is_placed
    assert not attempt.waiting
    assert diary.entries == ["permit", "bind"]
    assert scheduler.profile.waiting == {}


def test_a_pod_that_is_held_too_long_is_turned_away() -> None:
    scheduler, attempt, diary = held(seconds=5)
    scheduler.shared.now = 4.9
    assert scheduler.binding.settle() == []
    scheduler.shared.now = 5.0
    assert scheduler.binding.settle() == [attempt]
    assert not attempt.is_placed
    assert attempt.refused is not None
    assert attempt.refused.reasons == ("rejected due to timeout after waiting 5s at plugin Holds",)
    assert diary.entries == ["permit", "unreserve"]
    assert scheduler.cluster.pod_count.tolist() == [0]


def test_a_pod_that_is_held_may_be_denied() -> None:
    scheduler, attempt, diary = held()
    scheduler.profile.waiting[attempt.pod.uid].reject("Holds", "changed my mind")
    assert scheduler.binding.settle() == [attempt]
    assert attempt.refused == Status(Code.UNSCHEDULABLE, ("changed my mind",), "Holds")
    assert diary.entries == ["permit", "unreserve"]


# --- requests that grow


def test_the_requests_of_a_pod_grow_with_every_cycle_that_adds_them_up() -> None:
    """Two sums while filtering, and one for each of two resources while scoring."""

    def grown(*names: str) -> int:
        scheduler = scheduler_for(cluster_of([node(name) for name in names]))
        info = scheduler.cluster.shapes.info(pod(pod_level={"memory": "1.5Gi"}, overhead={"memory": "1Mi"}))
        before = info.shape.requests["memory"]
        assert scheduler.attempt(info).is_placed
        return (info.shape.requests["memory"] - before) // 1024**2

    assert grown("a") == 2
    assert grown("a", "b") == 4


# --- plugins from outside


def test_a_plugin_from_outside_filters_and_scores_like_any_other() -> None:
    def no_b(info: Any, nodes: Any, state: object) -> Any:
        where = nodes.take_rows(np.array([name == "b" for name in nodes.columns.names]))
        yield Rejection(where, "node(s) were called b")

    def prefers_c(info: Any, nodes: Any, state: object) -> Any:
        return nodes.take_rows(np.array([100 * (name == "c") for name in nodes.columns.names], np.int64))

    picky = made_up("Picky", scope=Scope.NODE, filter=no_b, score=prefers_c)
    scheduler = with_plugin([node("a"), node("b"), node("c")], picky)
    assert node_of(scheduler, try_to_place(scheduler)) == "c"
    only_b = with_plugin([node("b")], picky)
    assert try_to_place(only_b).message.startswith("0/1 nodes are available: 1 node(s) were called b. ")


def test_zones_take_turns_in_the_search() -> None:
    scheduler = scheduler_for(cluster_of(nodes_in_zones("x", "x", "y")))
    assert names_of(scheduler, try_to_place(scheduler).sampled) == ["n0", "n2", "n1"]


# --- errors


def test_an_error_in_prefilter_is_no_verdict_and_nobody_is_asked_to_make_room() -> None:
    diary = Diary()
    plugin = made_up("Broken", pre_filter=lambda *_: Status.error("no idea"), post_filter=diary("make room"))
    attempt = try_to_place(with_plugin([node("a")], plugin))
    assert attempt.message == 'running PreFilter plugin "Broken": no idea'
    assert attempt.diagnosis is None
    assert diary.entries == []


@pytest.mark.parametrize("name", ["InterPodAffinity", "PodTopologySpread", "TaintToleration"])
def test_some_plugins_cannot_score_under_a_profile_that_leaves_their_prescore_out(name: str) -> None:
    plugins: Json = {"multiPoint": {"disabled": [{"name": name}]}, "score": {"enabled": [{"name": name}]}}
    nodes = [node("a"), node("b")]
    attempt = try_to_place(scheduler_for(cluster_of(nodes), profile_document(plugins=plugins)))
    assert attempt.message.startswith(f'running Score plugins: plugin "{name}" failed with: ')
    assert attempt.refused is not None
    assert attempt.refused.code is Code.ERROR
    assert try_to_place(scheduler_for(cluster_of(nodes[:1]), profile_document(plugins=plugins))).is_placed


# --- nominations from outside


def test_the_nominated_node_is_looked_at_even_where_prefilter_narrowed_the_choice_to_others() -> None:
    scheduler = scheduler_for(cluster_of([node("a"), node("b", cpu="1"), node("c")]))
    attempt = try_to_place(scheduler, cpu="2", nominated="a", nodes=[node_term(fields=["metadata.name In b"])])
    assert attempt.message.startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
    )


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        pytest.param({}, True, id="a pod in the queue"),
        pytest.param({"schedulingGates": [{"name": "later"}]}, False, id="a gated pod"),
        pytest.param({"schedulerName": "somebody-elses"}, False, id="another scheduler's pod"),
    ],
)
def test_room_is_kept_only_for_nominated_pods_that_this_scheduler_has_in_its_queue(spec: Json, kept: bool) -> None:
    objects = Objects()
    objects.add(node("a", cpu="2"))
    objects.add(pod("nominee", cpu="2", priority=5, nominated="a", spec=spec))
    setup = Setup(load_configuration(None, source=""), FEATURES)
    driver = Driver(Cluster.load(objects, FEATURES, setup.queues), setup)
    assert driver.attempt(driver.cluster.shapes.info(pod(cpu="1"))).is_placed is not kept


@pytest.mark.parametrize(
    "name",
    [
        "DynamicResources",
        "InterPodAffinity",
        "NodeDeclaredFeatures",
        "NodePorts",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
        "VolumeRestrictions",
    ],
)
def test_some_plugins_cannot_filter_under_a_profile_that_leaves_their_prefilter_out(name: str) -> None:
    plugins: Json = {"preFilter": {"disabled": [{"name": name}]}}
    scheduler = scheduler_for(cluster_of([node("a"), node("b")]), profile_document(plugins=plugins))
    for waiting in ("one", "two"):
        attempt = try_to_place(scheduler, waiting, ports=[80])
        assert attempt.message.startswith(f'running "{name}" filter plugin: ')
        assert not attempt.is_placed


@pytest.mark.parametrize("name", ["NodeAffinity", "NodeVolumeLimits", "VolumeZone"])
def test_other_plugins_do_without_their_prefilter(name: str) -> None:
    plugins: Json = {"preFilter": {"disabled": [{"name": name}]}}
    scheduler = scheduler_for(cluster_of([node("a"), node("b")]), profile_document(plugins=plugins))
    assert try_to_place(scheduler, node_selector={"kubernetes.io/hostname": "b"}).is_placed


def test_whatever_prescore_refuses_is_an_error() -> None:
    plugin = made_up(
        "Late", pre_score=lambda *_: Status.unschedulable("too late"), score=lambda *_: np.zeros(2, np.int64)
    )
    attempt = try_to_place(with_plugin([node("a"), node("b")], plugin))
    assert attempt.refused == Status(Code.ERROR, ('running PreScore plugin "Late": too late',), "Late")


def test_a_profile_that_moves_to_another_cluster_asks_again_whom_its_plugins_concern() -> None:
    first, second = cluster_of([node("a")]), cluster_of([node("a")])
    scheduler = scheduler_for(first)
    assert scheduler.attempt(first.shapes.info(pod("plain"))).is_placed
    gated = second.shapes.info(pod("gated", spec={"schedulingGates": [{"name": "later"}]}))
    assert Scheduler(second, scheduler.profile).attempt(gated).gated is not None
