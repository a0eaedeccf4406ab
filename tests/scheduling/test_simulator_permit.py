"""Stories of pods that permit plugins hold, of gates, and of schedulers side by side."""

from __future__ import annotations

import pytest

from tests.builders import Json, node, pod
from tests.scheduling.stories import PEACEFUL, Closed, Flaky, Hasty, Hold, Restless, Story, enabling, told

HOLDING = enabling("Hold", evict=False)


def gated(name: str, *gates: str) -> Json:
    return {"name": name, "spec": {"schedulingGates": [{"name": gate} for gate in gates]}}


def test_a_pod_whose_permit_does_not_come_is_turned_away() -> None:
    story = Story([node("n1")], config=HOLDING, outside=[Hold]).arrive(pod("web", labels={"hold": "10"}))
    timeout = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Hold."
    assert story.tell() == told(f"""
        0s web queued: created
        0s web waiting on n1: for its permit from Hold
        10s web unschedulable: {timeout}
    """)
    assert story.events() == f"10s web Warning FailedScheduling: {timeout}"


def test_a_pod_is_bound_once_its_permit_comes() -> None:
    story = Story([node("n1")], config=HOLDING, outside=[Hold]).arrive(pod("web", labels={"hold": "600"}))
    story.arrive(pod("key", labels={"opens": "web"}), at=42)
    assert story.tell() == told("""
        0s web queued: created
        0s web waiting on n1: for its permit from Hold
        42s key queued: created
        42s key bound on n1: the only node
        42s web bound on n1: the only node
    """)
    assert story.events() == told("""
        42s key Normal Scheduled: Successfully assigned default/key to n1
        42s web Normal Scheduled: Successfully assigned default/web to n1
    """)


def test_one_pod_that_goes_on_lets_others_go() -> None:
    story = Story([node("n1")], config=HOLDING, outside=[Hold])
    story.arrive(pod("a", labels={"hold": "60"}), pod("b", labels={"hold": "60", "opens": "a"}))
    story.arrive(pod("c", labels={"opens": "b"}), at=1)
    assert story.tell() == told("""
        0s a queued: created
        0s b queued: created
        0s a waiting on n1: for its permit from Hold
        0s b waiting on n1: for its permit from Hold
        1s c queued: created
        1s c bound on n1: the only node
        1s b bound on n1: the only node
        1s a bound on n1: the only node
    """)


def test_a_denied_pod_makes_room_for_others() -> None:
    story = Story([node("n1", cpu="2")], config=HOLDING, outside=[Hold])
    story.arrive(pod("web", cpu="2", priority=9, labels={"hold": "600"}), pod("job", cpu="1"))
    story.arrive(pod("key", labels={"denies": "web"}), at=42)
    assert story.tell() == told("""
        0s web queued: created
        0s job queued: created
        0s web waiting on n1: for its permit from Hold
        0s job unschedulable: 0/1 nodes are available: 1 Insufficient cpu.
        42s key queued: created
        42s key bound on n1: the only node
        42s web unschedulable: 0/1 nodes are available: 1 not wanted.
        42s job active: AssignedPodDelete default/web
        42s job bound on n1: the only node
        360s web active: it has waited for five minutes
        360s web unschedulable: 0/1 nodes are available: 1 Insufficient cpu.
    """)


def test_the_least_patient_plugin_decides_until_it_consents() -> None:
    story = Story([node("n1")], config=enabling("Hold", "Hasty", evict=False), outside=[Hold, Hasty])
    story.arrive(pod("web", labels={"hold": "60"})).arrive(pod("key", labels={"nudges": "web"}), at=5)
    timeout = "0/1 nodes are available: 1 rejected due to timeout after waiting"
    assert story.tell() == told(f"""
        0s web queued: created
        0s web waiting on n1: for its permit from Hasty, Hold
        5s key queued: created
        5s key bound on n1: the only node
        60s web unschedulable: {timeout} 1m0s at plugin Hold.
        390s web active: it has waited for five minutes
        390s web waiting on n1: for its permit from Hasty, Hold
        420s web unschedulable: {timeout} 30s at plugin Hasty.
    """)


def test_nobody_is_held_for_more_than_a_quarter_of_an_hour() -> None:
    story = Story([node("n1")], config=HOLDING, outside=[Hold]).arrive(pod("web", labels={"hold": "6000"}))
    assert story.tell() == told("""
        0s web queued: created
        0s web waiting on n1: for its permit from Hold
        900s web unschedulable: 0/1 nodes are available: 1 rejected due to timeout after waiting 15m0s at plugin Hold.
    """)


@pytest.mark.long
def test_a_backoff_ends_in_time_though_a_permit_is_due_much_later() -> None:
    story = Story([node("n1")], config=enabling("Hold", "Flaky", evict=False), outside=[Hold, Flaky])
    story.arrive(pod("web", labels={"hold": "600"}), pod("job", labels={"fails": "1", "opens": "web"}))
    assert story.tell() == told("""
        0s web queued: created
        0s job queued: created
        0s web waiting on n1: for its permit from Hold
        0s job unschedulable: running PreBind plugin "Flaky": the disk array is busy
        2s job active: its backoff is over
        2s job bound on n1: the only node
        2s web bound on n1: the only node
    """)


def test_what_happened_while_a_pod_was_held_brings_it_back_after_it_is_turned_away() -> None:
    story = Story([node("n1"), node("n2")], [pod("old", on="n2")], config=enabling("Restless"), outside=[Restless])
    story.arrive(pod("web", labels={"hold": "10"}, node_selector={"kubernetes.io/hostname": "n1"}))
    story.delete("old", at=4)
    timeout = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Restless."
    assert story.tell() == told(f"""
        0s web queued: created
        0s web waiting on n1: for its permit from Restless
        4s old gone on n2
        10s web unschedulable: {timeout}
        10s web waiting on n1: for its permit from Restless
        20s web unschedulable: {timeout}
    """)


def test_pods_that_keep_waking_each_other_are_left_alone_in_the_end() -> None:
    story = Story([node("n1", cpu="1")], config=enabling("Restless", evict=False), outside=[Restless])
    story.arrive(pod("a", cpu="1", labels={"hold": "0"}), pod("b", cpu="1", labels={"hold": "0"}))
    lines = story.tell().splitlines()
    assert [line for line in lines if "given up" in line] == [
        "0s a given up: it failed 10 times after it had a node, or by an error",
        "0s b given up: it failed 10 times after it had a node, or by an error",
    ]
    assert sum("waiting on n1" in line for line in lines) == 20


# --- gates


def test_a_pod_comes_in_when_the_plugin_behind_its_gate_lets_it() -> None:
    story = Story([node("n1")], [pod("old", on="n1")], config=enabling("Closed"), outside=[Closed])
    story.arrive(pod("web", labels={"closed": "1"})).delete("old", at=5)
    assert story.tell() == told("""
        0s web queued: created
        0s web gated: closed for now
        5s old gone on n1
        5s web active: AssignedPodDelete default/old
        5s web bound on n1: the only node
    """)


def test_nothing_but_its_gate_matters_to_a_gated_pod() -> None:
    story = Story([node("n1")], [pod("old", on="n1", cpu="4")], config=PEACEFUL).delete("old", at=400)
    story.arrive(pod(**gated("web", "example.com/quota", "example.com/budget")))
    assert story.tell() == told("""
        0s web queued: created
        0s web gated: waiting for scheduling gates: [example.com/quota example.com/budget]
        400s old gone on n1
    """)


# --- profiles


def test_profiles_share_a_cluster_and_each_settles_its_own_pods() -> None:
    config = enabling("Hold", evict=False)
    config["profiles"][0]["schedulerName"] = "default-scheduler"
    other = {"schedulerName": "other", "plugins": {"multiPoint": {"enabled": [{"name": "Hold"}]}}}
    config["profiles"].append(other)
    story = Story([node("n1")], config=config, outside=[Hold])
    story.arrive(
        pod("a", labels={"hold": "20"}),
        pod("b", labels={"hold": "10"}, spec={"schedulerName": "other"}),
        pod("c", labels={"opens": "b"}, spec={"schedulerName": "other"}),
    )
    timeout = "0/1 nodes are available: 1 rejected due to timeout after waiting 20s at plugin Hold."
    assert story.tell() == told(f"""
        0s a queued: created
        0s b queued: created
        0s c queued: created
        0s a waiting on n1: for its permit from Hold
        0s b waiting on n1: for its permit from Hold
        0s c bound on n1: the only node
        0s b bound on n1: the only node
        20s a unschedulable: {timeout}
        330s a active: it has waited for five minutes
        330s a waiting on n1: for its permit from Hold
        350s a unschedulable: {timeout}
    """)


def test_a_pod_of_a_scheduler_that_is_none_of_ours_is_skipped() -> None:
    story = Story([node("n1")]).arrive(pod("web", spec={"schedulerName": "volcano"}))
    assert story.tell() == "0s web unclaimed: schedulerName volcano is none of the configuration's profiles"
