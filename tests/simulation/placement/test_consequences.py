"""Where the pods land that controllers make in the place of victims."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from kwhatif.scheduling import node_sampling as sampling
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.run_to_rest import settle_cluster
from tests.builders import Json, node, pod, profile_document
from tests.commands.answers import place
from tests.simulation.sessions import asking, session_of
from tests.storage_builders import claim, storage_class

REPLICA_SET = ("apps/v1", "ReplicaSet", "web")
STATEFUL_SET = ("apps/v1", "StatefulSet", "db")
ON_SSD = {"disk": "ssd"}
VIP = pod("vip", cpu="4", priority=9, node_selector=ON_SSD)

Landings = dict[str, tuple[str, str]]


def landings(running: list[Pod], *asked: Pod, objects: tuple[Resource, ...] = ()) -> Landings:
    """Victim -> (its replacement, the node that lands on), for pods on n1, which has to be cleared; n2 has 2 CPUs."""
    nodes = [node("n1", cpu="4", labels=ON_SSD), node("n2", cpu="2")]
    result = place(session_of(nodes, running, objects), asking(*asked))
    return {
        victim.pod.removeprefix("default/"): (victim.replacement.removeprefix("default/"), victim.lands_on)
        for placement in result.placements
        for victim in placement.victims
    }


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ([pod("web-x", on="n1", cpu="2", owner=REPLICA_SET)], {"web-x": ("web-r1", "n2")}),
        ([pod("db-0", on="n1", cpu="2", owner=STATEFUL_SET)], {"db-0": ("db-0", "n2")}),
        ([pod("web-x", on="n1", cpu="3", owner=REPLICA_SET)], {"web-x": ("web-r1", "")}),
        (
            [pod(f"web-{p}", on="n1", cpu="1500m", priority=p, owner=REPLICA_SET) for p in (1, 2)],
            {"web-2": ("web-r1", "n2"), "web-1": ("web-r2", "")},
        ),
        ([pod("alone", on="n1", cpu="2")], {"alone": ("", "")}),
        ([pod("job", on="n1", cpu="2", owner=("batch/v1", "CronJob", "j"))], {"job": ("", "")}),
        ([pod("web-x", on="n1", cpu="2", owner=REPLICA_SET, terminating=True)], {"web-x": ("", "")}),
        ([pod("db-0", on="n1", cpu="2", owner=STATEFUL_SET, terminating=True)], {"db-0": ("db-0", "n2")}),
        (
            [pod("web-x", on="n1", cpu="2", owner=REPLICA_SET, spec={"schedulerName": "volcano"})],
            {"web-x": ("web-r1", "")},
        ),
    ],
    ids=[
        "a replica set's pod gets another name",
        "a stateful set's pod keeps its name",
        "one that fits nowhere is pending",
        "replacements compete",
        "a pod without a controller does not come back",
        "an unknown kind of controller is not guessed at",
        "a pod that was on its way out has been replaced",
        "a stateful set waits for a pod that is on its way out",
        "another scheduler's business",
    ],
)
def test_a_victim_comes_back(running: list[Pod], expected: Landings) -> None:
    assert landings(running, VIP) == expected


def test_replacements_take_what_the_pods_asked_about_leave() -> None:
    running = [pod("web-x", on="n1", cpu="2", owner=REPLICA_SET)]
    assert landings(running, VIP, pod("last", cpu="1")) == {"web-x": ("web-r1", "")}


def test_replacements_are_tried_with_preemption_as_everybody_is() -> None:
    running = [pod("web-x", on="n1", cpu="2", priority=5, owner=REPLICA_SET), pod("tiny", on="n2", cpu="1")]
    assert landings(running, VIP) == {"web-x": ("web-r1", "n2")}


def test_a_replacement_gets_claims_of_its_own_for_its_ephemeral_volumes() -> None:
    template: Json = {"spec": {"storageClassName": "std", "resources": {"requests": {"storage": "1Gi"}}}}
    spec: Json = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]}
    running = [pod("web-x", on="n1", cpu="2", owner=REPLICA_SET, spec=spec)]
    objects = (storage_class(provisioner="disk.csi.example"), claim("web-x-scratch", owner="uid-default-web-x"))
    assert landings(running, VIP, objects=objects) == {"web-x": ("web-r1", "n2")}


def test_the_search_for_their_nodes_goes_on_where_it_had_got_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MIN_FEASIBLE_NODES_TO_FIND", 2)
    nodes = [node(f"n{i}", cpu="4", labels=ON_SSD if i == 1 else {}) for i in range(1, 7)]
    running = [pod("web-x", on="n1", cpu="2", owner=REPLICA_SET)]
    config = profile_document(percentage=1)
    # Of the nodes in turn, two that have room are enough: the last pod asked about takes the search past n2 and n3.
    result = place(session_of(nodes, running, config=config), asking(VIP, pod("last", cpu="1")))
    assert [(placed.node, [victim.lands_on for victim in placed.victims]) for placed in result.placements] == [
        ("n1", ["n4"]),
        ("n2", []),
    ]


def test_the_session_has_the_cluster_as_it_is_in_the_end() -> None:
    session = session_of(
        [node("n1", cpu="4", labels=ON_SSD), node("n2", cpu="2")],
        [pod("web-x", on="n1", cpu="2", owner=REPLICA_SET)],
    )
    place(session, asking(VIP))
    assert {(info.key, row) for info, row in session.cluster.pods()} == {("default/vip", 0), ("default/web-r1", 1)}


def test_without_victims_placements_stay_as_they_are() -> None:
    assert landings([], VIP) == {}


def test_a_stateful_set_gets_a_pod_back_that_was_on_its_way_out_and_made_room() -> None:
    running = [pod("db-0", on="n1", cpu="2", owner=STATEFUL_SET, terminating=True)]
    session = session_of([node("n1", cpu="4", labels=ON_SSD), node("n2", cpu="2")], running)
    tried, asked = PlacementRun(session), asking(VIP)
    tried.schedule_all(asked)
    run = settle_cluster(session, tried, list(asked))
    assert [(each.pod, each.node) for each in run.replacements] == [("default/db-0", "n2")]
    assert not run.victims, "it would have left in any case"
