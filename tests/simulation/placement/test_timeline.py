"""What a batch of pods comes to over time, as a result."""

from __future__ import annotations

from kwhatif.results.place import PlaceResult
from tests.builders import Json, node, pod, pods_like, select
from tests.commands.answers import simulate
from tests.simulation.sessions import asking, session_of

REPLICA_SET = ("apps/v1", "ReplicaSet", "web")
STATEFUL_SET = ("apps/v1", "StatefulSet", "db")
ON_SSD = {"disk": "ssd"}


def outcomes(result: PlaceResult) -> dict[str, tuple[str, str]]:
    """Pod -> what became of it, and where it runs."""
    placements = (*result.placements, *result.replacements)
    return {placement.pod.removeprefix("default/"): (placement.outcome, placement.node) for placement in placements}


def moments(result: PlaceResult, what: str) -> dict[str, float]:
    return {entry.pod.removeprefix("default/"): entry.time for entry in result.timeline if entry.what == what}


def test_the_result_has_the_pods_their_victims_replacements_timeline_and_events() -> None:
    session = session_of(
        [node("n1", cpu="4", labels=ON_SSD), node("n2", cpu="1")],
        [pod("web", on="n1", cpu="2", owner=REPLICA_SET), pod("db-0", on="n1", cpu="1", owner=STATEFUL_SET)],
    )
    result = simulate(session, asking(pod("vip", cpu="4", priority=9, node_selector=ON_SSD), pod("small", cpu="100m")))
    assert outcomes(result) == {
        "vip": ("placed", "n1"),
        "small": ("placed", "n2"),
        "web-r1": ("unschedulable", ""),
        "db-0": ("unschedulable", ""),
    }
    vip = result.placements[0]
    assert [victim.pod for victim in vip.victims] == ["default/db-0", "default/web"]
    assert vip.criterion == "only candidate"
    assert [(p.pod, p.origin) for p in result.replacements] == [
        ("default/web-r1", "replacement"),
        ("default/db-0", "replacement"),
    ]
    assert result.exit_code == 1  # two that were evicted wait
    assert moments(result, "bound") == {"vip": 30.0, "small": 0.0}
    assert [(event.time, event.pod, event.reason) for event in result.events if event.type == "Normal"] == [
        (0.0, "default/db-0", "Preempted"),
        (0.0, "default/web", "Preempted"),
        (0.0, "default/small", "Scheduled"),
        (30.0, "default/vip", "Scheduled"),
    ]


def test_nothing_is_recreated_when_asked_not_to() -> None:
    session = session_of([node("n1", cpu="2")], [pod("web", on="n1", cpu="2", owner=REPLICA_SET)])
    result = simulate(session, asking(pod("vip", cpu="2", priority=9)), recreate=False)
    assert outcomes(result) == {"vip": ("placed", "n1")}


def test_pods_of_another_scheduler_are_unclaimed_replacements_too() -> None:
    volcano: Json = {"schedulerName": "volcano"}
    session = session_of([node("n1", cpu="2")], [pod("web", on="n1", cpu="2", owner=REPLICA_SET, spec=volcano)])
    result = simulate(session, asking(pod("vip", cpu="2", priority=9), pod("gang", spec=volcano)))
    assert outcomes(result) == {"gang": ("unclaimed", ""), "vip": ("placed", "n1"), "web-r1": ("unclaimed", "")}
    assert {p.message for p in (*result.placements, *result.replacements) if p.outcome == "unclaimed"} == {
        "schedulerName volcano is none of the configuration's profiles"
    }


def test_a_gated_pod_stays_gated_and_others_go_on() -> None:
    gates: Json = {"schedulingGates": [{"name": "example.com/quota"}]}
    result = simulate(session_of([node("n1")]), asking(pod("web", spec=gates), pod("job")))
    assert outcomes(result) == {"web": ("gated", ""), "job": ("placed", "n1")}
    assert result.placements[0].message == "waiting for scheduling gates: [example.com/quota]"


def test_pods_that_were_on_their_way_out_leave_after_their_grace_period() -> None:
    running = [pod("db-0", on="n1", cpu="2", terminating=True, owner=STATEFUL_SET)]
    result = simulate(session_of([node("n1", cpu="3")], running), asking(pod("web", cpu="2")))
    assert outcomes(result) == {"web": ("placed", "n1"), "db-0": ("unschedulable", "")}
    assert moments(result, "gone") == {"db-0": 30.0}
    assert moments(result, "bound") == {"web": 30.0}


def test_a_pod_asked_about_may_have_to_leave_for_another_one() -> None:
    result = simulate(
        session_of([node("n1", cpu="4")]),
        asking(
            pod("vip", cpu="2", priority=9, near=[pods_like(select(app="db"), by="kubernetes.io/hostname")]),
            pod("db", cpu="1500m", priority=9, labels={"app": "db"}),
            pod("filler", cpu="2"),
        ),
    )
    assert outcomes(result) == {"vip": ("placed", "n1"), "db": ("placed", "n1"), "filler": ("preempted", "")}
    assert result.placements[2].message == "lost n1 to default/vip, and finds no other node"
    assert result.exit_code == 1


def test_a_configuration_says_how_long_pods_back_off_and_who_is_scheduled() -> None:
    config: Json = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podInitialBackoffSeconds": 3,
        "podMaxBackoffSeconds": 7,
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {"schedulerName": "packer", "plugins": {"postFilter": {"disabled": [{"name": "*"}]}}},
        ],
    }
    session = session_of([node("n1", cpu="2")], [pod("web", on="n1", cpu="2", owner=REPLICA_SET)], config=config)
    asked = asking(pod("meek", cpu="2", priority=9, spec={"schedulerName": "packer"}), pod("vip", cpu="2", priority=5))
    result = simulate(session, asked)
    assert outcomes(result) == {"meek": ("placed", "n1"), "vip": ("unschedulable", ""), "web-r1": ("unschedulable", "")}


def test_a_cluster_without_nodes_places_nothing_and_ends() -> None:
    result = simulate(session_of([]), asking(pod("web")))
    assert outcomes(result) == {"web": ("unschedulable", "")}
    assert result.placements[0].message == "no nodes available to schedule pods"
