"""Stories of pods that fail and come back: backoffs, and what brings a pod back or does not."""

from __future__ import annotations

import pytest

from tests.builders import ZONE, node, pod, pods_like, select
from tests.scheduling.stories import PEACEFUL, Flaky, Story, enabling, popping, told


def test_backoff_grows_with_every_error_up_to_ten_seconds() -> None:
    story = Story([node("n1")], config=enabling("Flaky"), outside=[Flaky]).arrive(pod("web", labels={"fails": "6"}))
    # A backoff that ends with a second is over for the flush after it.
    assert story.tell() == told("""
        0s web queued: created
        0s web unschedulable: running PreBind plugin "Flaky": the disk array is busy
        2s web active: its backoff is over
        2s web unschedulable: running PreBind plugin "Flaky": the disk array is busy
        5s web active: its backoff is over
        5s web unschedulable: running PreBind plugin "Flaky": the disk array is busy
        10s web active: its backoff is over
        10s web unschedulable: running PreBind plugin "Flaky": the disk array is busy
        19s web active: its backoff is over
        19s web unschedulable: running PreBind plugin "Flaky": the disk array is busy
        30s web active: its backoff is over
        30s web unschedulable: running PreBind plugin "Flaky": the disk array is busy
        41s web active: its backoff is over
        41s web bound on n1: the only node
    """)


def test_a_pod_that_was_bound_in_vain_leaves_its_room_to_others_while_it_backs_off() -> None:
    story = Story([node("n1", cpu="1")], config=enabling("Flaky", evict=False), outside=[Flaky])
    story.arrive(pod("web", cpu="1", priority=9, labels={"fails": "1"}), pod("job", cpu="1"))
    story.delete("job", at=60)
    assert story.tell() == told("""
        0s web queued: created
        0s job queued: created
        0s web unschedulable: running PreBind plugin "Flaky": the disk array is busy
        0s job bound on n1: the only node
        2s web active: its backoff is over
        2s web unschedulable: 0/1 nodes are available: 1 Insufficient cpu.
        60s job gone on n1
        60s web active: AssignedPodDelete default/job
        60s web bound on n1: the only node
    """)


def test_a_pod_that_meets_nothing_but_errors_is_left_alone_in_the_end() -> None:
    story = Story([node("n1")], config=enabling("Flaky"), outside=[Flaky]).arrive(pod("web", labels={"fails": "99"}))
    lines = story.tell().splitlines()
    assert lines[-1] == "74s web given up: it failed 10 times after it had a node, or by an error"
    assert sum("unschedulable" in line for line in lines) == 10


def test_without_nodes_there_is_one_try() -> None:
    assert Story([]).arrive(pod("web")).tell() == told("""
        0s web queued: created
        0s web unschedulable: no nodes available to schedule pods
    """)


def test_an_unschedulable_pod_is_tried_again_after_five_minutes_if_anything_has_changed() -> None:
    story = Story([node("n1", cpu="2")], config=PEACEFUL).arrive(pod("web", cpu="3")).arrive(pod("x"), at=7)
    assert story.tell() == told("""
        0s web queued: created
        0s web unschedulable: 0/1 nodes are available: 1 Insufficient cpu.
        7s x queued: created
        7s x bound on n1: the only node
        330s web active: it has waited for five minutes
        330s web unschedulable: 0/1 nodes are available: 1 Insufficient cpu.
    """)


def test_the_flush_after_five_minutes_does_not_wait_for_what_is_due_later() -> None:
    story = Story([node("n1", zone="a")], [pod("old", on="n1", cpu="3")], config=PEACEFUL)
    story.arrive(pod("web", near=[pods_like(select(app="db"))])).arrive(pod("x"), at=5).delete("old", at=600)
    text = "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."
    assert story.tell() == told(f"""
        0s web queued: created
        0s web unschedulable: {text}
        5s x queued: created
        5s x bound on n1: the only node
        330s web active: it has waited for five minutes
        330s web unschedulable: {text}
        600s old gone on n1
        660s web active: it has waited for five minutes
        660s web unschedulable: {text}
    """)


def test_a_pod_that_has_waited_for_long_when_something_changes_is_tried_at_the_next_flush() -> None:
    story = Story([node("n1", zone="a")], [pod("old", on="n1")], config=PEACEFUL).delete("old", at=610)
    story.arrive(pod("web", near=[pods_like(select(app="db"))]))
    assert story.tell() == told("""
        0s web queued: created
        0s web unschedulable: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules.
        610s old gone on n1
        630s web active: it has waited for five minutes
        630s web unschedulable: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules.
    """)


def test_a_pod_that_leaves_wakes_only_pods_that_its_going_may_help() -> None:
    story = Story([node("n1")], [pod("a", on="n1", ports=[80]), pod("b", on="n1", ports=[81])], config=PEACEFUL)
    story.arrive(pod("web", ports=[80])).delete("b", at=5).delete("a", at=10)
    assert story.tell() == told("""
        0s web queued: created
        0s web unschedulable: 0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.
        5s b gone on n1
        10s a gone on n1
        10s web active: AssignedPodDelete default/a
        10s web bound on n1: the only node
    """)
    assert story.events() == told("""
        0s web Warning FailedScheduling: 0/1 nodes are available: 1 node(s) didn't have free ports for the requested \
pod ports.
        10s web Normal Scheduled: Successfully assigned default/web to n1
    """)


def test_a_pod_with_affinity_is_woken_when_its_partner_is_bound_and_by_nobody_else() -> None:
    story = Story([node("n1", zone="a"), node("n2", zone="b")], config=PEACEFUL)
    story.arrive(pod("web", near=[pods_like(select(app="db"))]))
    story.arrive(pod("other", labels={"app": "x"}, node_selector={ZONE: "a"}), at=3)
    story.arrive(pod("db", labels={"app": "db"}, node_selector={ZONE: "b"}), at=5)
    assert story.tell() == told("""
        0s web queued: created
        0s web unschedulable: 0/2 nodes are available: 2 node(s) didn't match pod affinity rules.
        3s other queued: created
        3s other bound on n1: the only node
        5s db queued: created
        5s db bound on n2: the only node
        5s web active: AssignedPodAdd default/db
        5s web bound on n2: the only node
    """)


@pytest.mark.parametrize(
    ("at_once", "moment", "how"), [(True, "0.5s", None), (False, "2s", "active: its backoff is over")]
)
def test_a_woken_pod_sits_its_backoff_out_unless_there_is_nothing_else_to_do(
    at_once: bool, moment: str, how: str | None
) -> None:
    story = Story([node("n1", cpu="1")], [pod("old", on="n1", cpu="1")], config=PEACEFUL, features=popping(at_once))
    story.arrive(pod("low", cpu="500m", priority=1), pod("high", cpu="700m", priority=2)).delete("old", at=0.5)
    active = [] if how is None else [f"{moment} high {how}", f"{moment} low {how}"]
    assert story.tell().splitlines() == [
        "0s low queued: created",
        "0s high queued: created",
        "0s high unschedulable: 0/1 nodes are available: 1 Insufficient cpu.",
        "0s low unschedulable: 0/1 nodes are available: 1 Insufficient cpu.",
        "0.5s old gone on n1",
        "0.5s high backoff: AssignedPodDelete default/old",
        "0.5s low backoff: AssignedPodDelete default/old",
        *active,
        f"{moment} high bound on n1: the only node",
        f"{moment} low unschedulable: 0/1 nodes are available: 1 Insufficient cpu.",
    ]
