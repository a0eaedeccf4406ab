"""How the queue, preemption and the cycle changed from minor to minor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import ClusterEvent, EventOccurrence, Plugin
from kwhatif.framework.status import PreFilterResult, Status
from kwhatif.scheduling.attempt import rejectors_of
from kwhatif.scheduling.queue import is_helped_by_new_pod, without_hints
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.versions import features_of
from tests.builders import ZONE, cluster_of, node, plugin_of, pod, pods_like, profile_document, scheduler_for, select
from tests.scheduling.stories import PEACEFUL, Flaky, Story, enabling

WEB = {"app": "web"}


# --- backoff


@pytest.mark.parametrize(
    ("minor", "moments"),
    [
        pytest.param("1.32", [1, 3, 7], id="a backoff is over at its end"),
        pytest.param("1.33", [2, 5, 10], id="a backoff is over after its end"),
    ],
)
def test_when_a_backoff_is_over(minor: str, moments: list[int]) -> None:
    story = Story([node("n1")], config=enabling("Flaky"), outside=[Flaky], features=features_of(minor))
    story.arrive(pod("web", labels={"fails": "3"}))
    lines = [line for line in story.tell().splitlines() if "its backoff is over" in line]
    assert lines == [f"{moment}s web active: its backoff is over" for moment in moments]


@pytest.mark.parametrize(("minor", "second"), [("1.33", 5), ("1.34", 4)])
def test_what_makes_a_backoff_grow(minor: str, second: int) -> None:
    """An error follows a verdict: the second attempt, but the first error."""
    story = Story(
        [node("n1", cpu="1")],
        [pod("job", on="n1", cpu="1")],
        config=enabling("Flaky", evict=False),
        outside=[Flaky],
        features=features_of(minor, {"SchedulerPopFromBackoffQ": False}),
    )
    story.arrive(pod("web", cpu="1", labels={"fails": "1"})).delete("job", at=2)
    lines = story.tell().splitlines()
    assert lines[-2] == f"{second}s web active: its backoff is over"


# --- what brings a pod back


@pytest.mark.parametrize(
    ("minor", "hints", "expected"),
    [
        pytest.param("1.31", {}, True, id="whatever pod leaves, where hints are off"),
        pytest.param("1.32", {}, False, id="not a pod that was not in the way"),
        pytest.param("1.32", {"SchedulerQueueingHints": False}, True, id="or when they are turned off"),
    ],
)
def test_without_hints_any_pod_that_leaves_brings_others_back(
    minor: str, hints: dict[str, bool], expected: bool
) -> None:
    story = Story(
        [node("n1", cpu="4")],
        [pod("holder", on="n1", ports=["80"]), pod("other", on="n1", cpu="1")],
        config=PEACEFUL,
        features=features_of(minor, hints),
    )
    story.arrive(pod("web", ports=["80"])).delete("other", at=5)
    assert ("5s web active: AssignedPodDelete default/other" in story.tell().splitlines()) == expected


def test_without_hints_whatever_a_plugin_asks_for_lets_a_pod_in() -> None:
    waiting = cluster_of([]).shapes.info(pod())
    happening = EventOccurrence(ClusterEvent.POD_DELETED, cluster_of([]), cluster_of([]).shapes.info(pod("another")))
    asked_for = plugin_of("NodePorts").queueing_hints
    assert not asked_for[ClusterEvent.POD_DELETED](waiting, happening)
    assert without_hints(asked_for)[ClusterEvent.POD_DELETED](waiting, happening)
    assert without_hints(asked_for).keys() == asked_for.keys()
    assert not without_hints(plugin_of("SchedulingGates").queueing_hints)


@pytest.mark.parametrize(
    ("minor", "kind", "rejector", "expected"),
    [
        pytest.param("1.30", {}, "PodTopologySpread", False, id="spread pods heard nothing"),
        pytest.param("1.31", {}, "PodTopologySpread", True, id="spread pods hear of their namespace"),
        pytest.param("1.36", {}, "NodeResourcesFit", False, id="others do not"),
        pytest.param("1.30", {"near": [pods_like(select(**WEB))]}, "NodeResourcesFit", True, id="friends do"),
        pytest.param("1.36", {"near": [pods_like(select(app="db"))]}, "InterPodAffinity", False, id="of others not"),
    ],
)
def test_who_hears_of_a_new_pod(minor: str, kind: dict[str, Any], rejector: str, expected: bool) -> None:
    cluster = cluster_of([node("a")], features=features_of(minor))
    waiting, new = cluster.shapes.info(pod("waiting", **kind)), cluster.shapes.info(pod("new", labels=WEB))
    happening = EventOccurrence(ClusterEvent.POD_ADDED, cluster, new)
    assert is_helped_by_new_pod(waiting, frozenset({rejector}), happening) == expected


@pytest.mark.parametrize(("minor", "expected"), [("1.35", False), ("1.36", True)])
def test_a_pod_that_leaves_takes_its_anti_affinity_with_it(minor: str, expected: bool) -> None:
    cluster = cluster_of([node("a")], features=features_of(minor))
    shy = cluster.shapes.info(pod("shy", far=[pods_like(select(**WEB), ZONE)]))
    waiting = cluster.shapes.info(pod("web", labels=WEB))
    hint = plugin_of("InterPodAffinity", features=features_of(minor)).queueing_hints[ClusterEvent.POD_DELETED]
    assert hint(waiting, EventOccurrence(ClusterEvent.POD_DELETED, cluster, shy)) == expected


@pytest.mark.parametrize(("minor", "expected"), [("1.35", False), ("1.36", True)])
def test_a_nomination_that_is_lost_concerns_neighbours(minor: str, expected: bool) -> None:
    cluster = cluster_of([node("a")], features=features_of(minor))
    other = cluster.shapes.info(pod("other", labels=WEB))
    waiting = cluster.shapes.info(pod("shy", far=[pods_like(select(**WEB), ZONE)]))
    hint = plugin_of("InterPodAffinity", features=features_of(minor)).queueing_hints[ClusterEvent.POD_DELETED]
    assert hint(waiting, EventOccurrence(ClusterEvent.POD_DELETED, cluster, other, unbound=True)) == expected
    assert hint(waiting, EventOccurrence(ClusterEvent.POD_DELETED, cluster, other))


@pytest.mark.parametrize(("minor", "restrictions", "zone"), [("1.30", True, False), ("1.31", False, True)])
def test_who_hears_of_claims(minor: str, restrictions: bool, zone: bool) -> None:
    features = features_of(minor)
    hears = {
        name: ClusterEvent.CLAIM_CHANGED in plugin_of(name, features=features).queueing_hints
        for name in ("VolumeBinding", "VolumeRestrictions", "VolumeZone")
    }
    assert hears == {"VolumeBinding": True, "VolumeRestrictions": restrictions, "VolumeZone": zone}


# --- the cycle


class Says(Plugin[None, None]):
    """PreFilter refuses the pod for now."""

    name = "Says"

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Status:
        return Status.unschedulable("not now")


class SaysMore(Plugin[None, None]):
    name = "SaysMore"

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Status:
        return Status.unschedulable("nor later")


class OnlyA(Plugin[None, None]):
    name = "OnlyA"

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        return PreFilterResult(frozenset({"a"}), None)


class NotA(Plugin[None, None]):
    name = "NotA"

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> PreFilterResult:
        return PreFilterResult(frozenset({"b"}), None)


def under(minor: str, *plugins: type[Plugin[Any, Any]], nodes: int = 2) -> tuple[Scheduler, PodInfo]:
    """A scheduler with these plugins besides the default ones, and a pod for it."""
    cluster = cluster_of([node(name) for name in "abcdefgh"[:nodes]], features=features_of(minor))
    config = enabling(*(plugin.name for plugin in plugins))
    return scheduler_for(cluster, config, outside=plugins), cluster.shapes.info(pod("vip", priority=9))


@pytest.mark.parametrize(("minor", "said"), [("1.29", "not now"), ("1.30", "nor later")])
def test_whose_refusal_stands(minor: str, said: str) -> None:
    scheduler, waiting = under(minor, Says, SaysMore)
    refused = scheduler.attempt(waiting).refused
    assert refused is not None
    assert refused.reasons == (said,)


@pytest.mark.parametrize(
    ("minor", "message"),
    [
        (
            "1.29",
            "0/2 nodes are available: node(s) didn't satisfy plugin(s) [OnlyA NotA] simultaneously. preemption: 0/2 "
            "nodes are available: 2 No preemption victims found for incoming pod.",
        ),
        (
            "1.30",
            "0/2 nodes are available: node(s) didn't satisfy plugin(s) [OnlyA NotA] simultaneously. preemption: 0/2 "
            "nodes are available: 2 Preemption is not helpful for scheduling.",
        ),
        (
            "1.31",
            "0/2 nodes are available: node(s) didn't satisfy plugin(s) [NotA OnlyA] simultaneously. preemption: 0/2 "
            "nodes are available: 2 Preemption is not helpful for scheduling.",
        ),
    ],
)
def test_plugins_that_leave_no_node(minor: str, message: str) -> None:
    scheduler, waiting = under(minor, OnlyA, NotA)
    assert scheduler.attempt(waiting).message == message


@pytest.mark.parametrize(("minor", "rejectors"), [("1.30", set()), ("1.31", {"OnlyA", "NotA"})])
def test_plugins_that_narrowed_the_choice_are_rejectors(minor: str, rejectors: set[str]) -> None:
    scheduler, waiting = under(minor, OnlyA, NotA)
    assert set(rejectors_of(scheduler.attempt(waiting))) - {""} == rejectors


@pytest.mark.parametrize(("minor", "evaluated"), [("1.29", 3), ("1.30", 1)])
def test_a_profile_without_scores_stops_at_the_first_node(minor: str, evaluated: int) -> None:
    cluster = cluster_of([node(name) for name in "abc"], features=features_of(minor))
    plugins = {"score": {"disabled": [{"name": "*"}]}}
    scheduler = scheduler_for(cluster, profile_document(plugins=plugins))
    assert scheduler.attempt(cluster.shapes.info(pod())).evaluated == evaluated


# --- preemption


@pytest.mark.parametrize(("minor", "told_to_go"), [("1.34", {"old", "leaving"}), ("1.35", {"old"})])
def test_victims_on_their_way_out_were_told_again(minor: str, told_to_go: set[str]) -> None:
    running = [
        pod("old", on="a", cpu="2", priority=1),
        pod("leaving", on="a", cpu="2", priority=1, terminating=True),
    ]
    cluster = cluster_of([node("a", cpu="4")], running, features=features_of(minor))
    attempt = scheduler_for(cluster).attempt(cluster.shapes.info(pod("vip", cpu="4", priority=9)))
    assert {victim.pod.metadata.name for victim in attempt.victims} == {"old", "leaving"}
    assert {victim.pod.metadata.name for victim in attempt.victims_to_evict} == told_to_go


@pytest.mark.parametrize(
    ("gates", "waits"),
    [({}, False), ({"PodDisruptionConditions": False}, True)],
)
def test_a_preemptor_waited_for_any_pod_that_was_leaving(gates: dict[str, bool], waits: bool) -> None:
    leaving = pod("leaving", on="a", cpu="2", priority=1, terminating=True)
    cluster = cluster_of([node("a", cpu="2")], [leaving], features=features_of("1.30", gates))
    waiting = cluster.shapes.info(pod("vip", cpu="2", priority=9, nominated="a"))
    attempt = scheduler_for(cluster).attempt(waiting)
    assert ("not eligible due to a terminating pod on the nominated node" in attempt.message) == waits


@pytest.mark.parametrize("minor", ["1.34", "1.35"])
def test_a_story_in_which_a_victim_is_leaving_already(minor: str) -> None:
    """It is told once more, and goes when it would have gone anyway."""
    story = Story(
        [node("a", cpu="2")],
        [pod("leaving", on="a", cpu="2", priority=1, terminating=True)],
        features=features_of(minor),
    )
    story.delete("leaving", at=30).arrive(pod("vip", cpu="2", priority=9))
    lines = story.tell().splitlines()
    assert ("0s leaving preempted on a: by default/vip" in lines) == (minor == "1.34")
    assert lines[-1].startswith("30s vip bound on a")


def test_numbers_of_nodes_do_not_depend_on_the_minor() -> None:
    found = set()
    for minor in ("1.29", "1.36"):
        scheduler, waiting = under(minor, nodes=8)
        found.add(tuple(np.asarray(scheduler.attempt(waiting).sampled).tolist()))
    assert len(found) == 1
