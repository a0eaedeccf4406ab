"""Stories of pods that evict others, of the places kept for them, and of those that come in their victims' place."""

from __future__ import annotations

from kwhatif.api.core import Node
from tests.builders import Json, budget, node, pod, select
from tests.scheduling.stories import Hold, Story, enabling, told

REPLICA_SET = ("apps/v1", "ReplicaSet", "web")
STATEFUL_SET = ("apps/v1", "StatefulSet", "db")
FULL = "0/1 nodes are available: 1 Insufficient cpu."
NO_USE = "no new claims to deallocate, preemption: 0/1 nodes are available:"
NO_VICTIMS = "1 No preemption victims found for incoming pod."
ON_SSD = {"disk": "ssd"}
NO_SSD = "1 node(s) didn't match Pod's node affinity/selector"


def grace(seconds: int) -> Json:
    return {"terminationGracePeriodSeconds": seconds}


def ssd_and_another() -> list[Node]:
    return [node("n1", cpu="4", labels=ON_SSD), node("n2", cpu="2")]


def test_a_nomination_is_kept_while_the_victim_has_its_grace_period() -> None:
    story = Story([node("n1", cpu="2")], [pod("web", on="n1", cpu="2", spec=grace(20))])
    story.arrive(pod("vip", cpu="2", priority=100)).arrive(pod("thief", cpu="1", priority=1), at=10)
    assert story.tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: {FULL}
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        10s thief queued: created
        10s thief unschedulable: {FULL} {NO_USE} 1 Insufficient cpu.
        20s web gone on n1
        20s vip active: AssignedPodDelete default/web
        20s thief active: AssignedPodDelete default/web
        20s vip bound on n1: the only node
        20s thief unschedulable: {FULL} {NO_USE} {NO_VICTIMS}
    """)
    assert story.events() == told(f"""
        0s vip Warning FailedScheduling: {FULL}
        0s web Normal Preempted: Preempted by pod uid-default-vip on node n1
        10s thief Warning FailedScheduling: {FULL} {NO_USE} 1 Insufficient cpu.
        20s vip Normal Scheduled: Successfully assigned default/vip to n1
        20s thief Warning FailedScheduling: {FULL} {NO_USE} {NO_VICTIMS}
    """)


def test_a_victim_without_a_grace_period_is_gone_at_once() -> None:
    story = Story([node("n1", cpu="2")], [pod("web", on="n1", cpu="2", spec=grace(0))])
    assert story.arrive(pod("vip", cpu="2", priority=100)).tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: {FULL}
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        0s web gone on n1
        0s vip backoff: AssignedPodDelete default/web
        0s vip bound on n1: the only node
    """)


def test_a_place_kept_for_a_pod_may_be_taken_by_a_more_important_one_and_then_is_kept_no_more() -> None:
    story = Story([node("n1", cpu="2")], [pod("web", on="n1", cpu="2")])
    story.arrive(pod("vip", cpu="2", priority=100)).arrive(pod("king", cpu="1", priority=1000), at=10)
    story.arrive(pod("small", cpu="1"), at=40)
    # Its nomination is taken from it, which to all less important pods, itself among them, looks like a pod that left.
    assert story.tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: {FULL}
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        10s king queued: created
        10s king unschedulable: {FULL}
        10s king nominated on n1: 1 victim: only candidate
        30s web gone on n1
        30s vip active: AssignedPodDelete default/web
        30s king active: AssignedPodDelete default/web
        30s king bound on n1: the only node
        30s vip unschedulable: {FULL} {NO_USE} {NO_VICTIMS}
        30s vip backoff: AssignedPodDelete default/vip
        30s vip unschedulable: {FULL} {NO_USE} {NO_VICTIMS}
        40s small queued: created
        40s small bound on n1: the only node
        360s vip active: it has waited for five minutes
        360s vip unschedulable: {FULL} {NO_USE} 1 Insufficient cpu.
    """)


def test_a_more_important_pod_that_evicts_from_the_same_node_voids_the_nomination_there() -> None:
    story = Story([node("n1")], [pod("a", on="n1", cpu="2"), pod("b", on="n1", cpu="2", priority=10)])
    story.arrive(pod("vip", cpu="2", priority=100)).arrive(pod("king", cpu="4", priority=1000), at=10)
    terminating = "not eligible due to a terminating pod on the nominated node."
    assert story.tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: {FULL}
        0s vip nominated on n1: 1 victim: only candidate
        0s a preempted on n1: by default/vip
        10s king queued: created
        10s king unschedulable: {FULL}
        10s king nominated on n1: 2 victims: only candidate
        10s vip no longer nominated on n1: default/king is more important
        10s vip active: AssignedPodDelete default/vip
        10s b preempted on n1: by default/king
        10s vip unschedulable: {FULL} {NO_USE} 1 Insufficient cpu.
        30s a gone on n1
        30s king active: AssignedPodDelete default/a
        30s vip active: AssignedPodDelete default/a
        30s king unschedulable: {FULL} no new claims to deallocate, preemption: {terminating}
        30s vip unschedulable: {FULL} {NO_USE} 1 Insufficient cpu.
        40s b gone on n1
        40s king active: AssignedPodDelete default/b
        40s vip active: AssignedPodDelete default/b
        40s king bound on n1: the only node
        40s vip unschedulable: {FULL} {NO_USE} {NO_VICTIMS}
    """)


def test_a_pod_need_not_wait_for_its_victim_when_there_is_room_elsewhere() -> None:
    running = [pod("x", on="n1", cpu="2"), pod("y", on="n2", cpu="2", priority=50)]
    story = Story([node("n1", cpu="2"), node("n2", cpu="2")], running)
    story.arrive(pod("vip", cpu="2", priority=20)).delete("y", at=5)
    assert story.tell() == told("""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 2 Insufficient cpu.
        0s vip nominated on n1: 1 victim: only candidate
        0s x preempted on n1: by default/vip
        5s y gone on n2
        5s vip active: AssignedPodDelete default/y
        5s vip bound on n2: the only node
        30s x gone on n1
    """)


# --- victims and their replacements


def test_a_replacement_that_fits_nowhere_and_may_evict_nobody_stays_pending() -> None:
    story = Story([node("n1", cpu="2")], [pod("web", on="n1", cpu="2", owner=REPLICA_SET), pod("x", on="n1")])
    assert story.arrive(pod("vip", cpu="2", priority=100)).tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: {FULL}
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        0s web-r1 queued: replacement
        0s web-r1 unschedulable: {FULL} {NO_USE} {NO_VICTIMS}
        30s web gone on n1
        30s vip active: AssignedPodDelete default/web
        30s web-r1 active: AssignedPodDelete default/web
        30s vip bound on n1: the only node
        30s web-r1 unschedulable: {FULL} {NO_USE} {NO_VICTIMS}
    """)


def test_a_replacement_lands_on_another_node_before_its_predecessor_is_gone() -> None:
    story = Story(ssd_and_another(), [pod("web", on="n1", cpu="2", owner=REPLICA_SET)])
    assert story.arrive(pod("vip", cpu="4", priority=100, node_selector=ON_SSD)).tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 1 Insufficient cpu, {NO_SSD}.
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        0s web-r1 queued: replacement
        0s web-r1 bound on n2: the only node
        30s web gone on n1
        30s vip active: AssignedPodDelete default/web
        30s vip bound on n1: the only node
    """)
    assert story.events() == told(f"""
        0s vip Warning FailedScheduling: 0/2 nodes are available: 1 Insufficient cpu, {NO_SSD}.
        0s web Normal Preempted: Preempted by pod uid-default-vip on node n1
        0s web-r1 Normal Scheduled: Successfully assigned default/web-r1 to n2
        30s vip Normal Scheduled: Successfully assigned default/vip to n1
    """)


def test_a_stateful_set_waits_until_the_name_is_free() -> None:
    story = Story(ssd_and_another(), [pod("db-0", on="n1", cpu="2", owner=STATEFUL_SET)])
    assert story.arrive(pod("vip", cpu="4", priority=100, node_selector=ON_SSD)).tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 1 Insufficient cpu, {NO_SSD}.
        0s vip nominated on n1: 1 victim: only candidate
        0s db-0 preempted on n1: by default/vip
        30s db-0 gone on n1
        30s vip active: AssignedPodDelete default/db-0
        30s db-0 queued: replacement
        30s vip bound on n1: the only node
        30s db-0 bound on n2: the only node
    """)


def test_nothing_is_recreated_when_asked_not_to() -> None:
    running = [pod("web", on="n1", cpu="2", owner=REPLICA_SET), pod("db-0", on="n1", cpu="2", owner=STATEFUL_SET)]
    story = Story(ssd_and_another(), running, recreate=False)
    assert story.arrive(pod("vip", cpu="4", priority=100, node_selector=ON_SSD)).tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 1 Insufficient cpu, {NO_SSD}.
        0s vip nominated on n1: 2 victims: only candidate
        0s db-0 preempted on n1: by default/vip
        0s web preempted on n1: by default/vip
        30s db-0 gone on n1
        30s vip active: AssignedPodDelete default/db-0
        30s web gone on n1
        30s vip bound on n1: the only node
    """)


def test_a_replacement_may_evict_in_turn_and_one_that_has_no_owner_does_not_come_back() -> None:
    web = pod("web", on="n1", cpu="4", priority=50, owner=REPLICA_SET)
    running = [web, pod("tiny", on="n2", cpu="2", spec=grace(5))]
    story = Story([node("n1", cpu="4", labels=ON_SSD), node("n2", cpu="4")], running)
    assert story.arrive(pod("vip", cpu="4", priority=100, node_selector=ON_SSD)).tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 1 Insufficient cpu, {NO_SSD}.
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        0s web-r1 queued: replacement
        0s web-r1 unschedulable: 0/2 nodes are available: 2 Insufficient cpu.
        0s web-r1 nominated on n2: 1 victim: only candidate
        0s tiny preempted on n2: by default/web-r1
        5s tiny gone on n2
        5s vip active: AssignedPodDelete default/tiny
        5s web-r1 active: AssignedPodDelete default/tiny
        5s vip unschedulable: 0/2 nodes are available: 1 Insufficient cpu, {NO_SSD}. no new claims to deallocate, \
preemption: not eligible due to a terminating pod on the nominated node.
        5s web-r1 bound on n2: the only node
        30s web gone on n1
        30s vip active: AssignedPodDelete default/web
        30s vip bound on n1: the only node
    """)


def test_a_replacement_for_a_scheduler_that_is_none_of_ours_is_skipped() -> None:
    ours = {"schedulerName": "volcano"}
    story = Story(ssd_and_another(), [pod("web", on="n1", cpu="2", owner=REPLICA_SET, spec=ours | grace(0))])
    assert story.arrive(pod("vip", cpu="4", priority=100, node_selector=ON_SSD)).tell() == told(f"""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 1 Insufficient cpu, {NO_SSD}.
        0s vip nominated on n1: 1 victim: only candidate
        0s web preempted on n1: by default/vip
        0s web gone on n1
        0s vip backoff: AssignedPodDelete default/web
        0s web-r1 unclaimed: schedulerName volcano is none of the configuration's profiles
        0s vip bound on n1: the only node
    """)


def test_a_budget_decides_whose_pod_has_to_go() -> None:
    running = [
        pod("web", labels={"app": "web"}, on="n1", cpu="2", priority=0),
        pod("db", labels={"app": "db"}, on="n2", cpu="2", priority=10),
    ]
    story = Story([node("n1", cpu="2"), node("n2", cpu="2")], running, [budget("web", select(app="web"))])
    assert story.arrive(pod("vip", cpu="2", priority=100)).tell() == told("""
        0s vip queued: created
        0s vip unschedulable: 0/2 nodes are available: 2 Insufficient cpu.
        0s vip nominated on n2: 1 victim: fewest budget violations
        0s db preempted on n2: by default/vip
        30s db gone on n2
        30s vip active: AssignedPodDelete default/db
        30s vip bound on n2: the only node
    """)


def test_a_pod_that_waits_for_its_permit_is_turned_away_rather_than_deleted() -> None:
    story = Story([node("n1", cpu="2")], config=enabling("Hold"), outside=[Hold])
    story.arrive(pod("web", cpu="2", labels={"hold": "60"}, owner=REPLICA_SET))
    story.arrive(pod("vip", cpu="2", priority=100), at=10)
    assert story.tell() == told(f"""
        0s web queued: created
        0s web waiting on n1: for its permit from Hold
        10s vip queued: created
        10s vip unschedulable: {FULL}
        10s vip nominated on n1: 1 victim: only candidate
        10s web preempted on n1: by default/vip
        10s web unschedulable: waiting on permit for pod: preempted
        10s vip backoff: AssignedPodDelete default/web
        10s vip bound on n1: the only node
        12s web active: its backoff is over
        12s web unschedulable: {FULL} {NO_USE} {NO_VICTIMS}
    """)
    assert story.events() == told(f"""
        10s vip Warning FailedScheduling: {FULL}
        10s web Normal Preempted: Preempted by pod uid-default-vip on node n1 (in kube-scheduler memory).
        10s web Warning FailedScheduling: waiting on permit for pod: preempted
        10s vip Normal Scheduled: Successfully assigned default/vip to n1
        12s web Warning FailedScheduling: {FULL} {NO_USE} {NO_VICTIMS}
    """)
