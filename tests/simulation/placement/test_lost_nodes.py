"""A pod that had to leave its node for another has none of what is said about a node, whatever way the run goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kwhatif.api.core import Pod
from kwhatif.results.place import Placement, PlaceResult
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.recreated_pods import RecreatedPods
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.session import Session
from tests.builders import HOSTNAME, node, pod, pods_like, select
from tests.commands.answers import place, simulate, told
from tests.scheduler_plugin_builders import plain_node, plain_pod
from tests.scheduling.test_pod_groups import group, member
from tests.simulation.placement.test_groups_at_rest import session_with
from tests.simulation.placement.test_rollouts_at_rest import deployment, placed, running
from tests.simulation.sessions import asking, session_of

REPLICA_SET = ("apps/v1", "ReplicaSet", "web")
HOMELESS = ", and finds no other node"

VIP = pod("vip", cpu="2", priority=9, near=[pods_like(select(app="db"), by=HOSTNAME)])
DB = pod("db", cpu="1500m", priority=9, labels={"app": "db"})


def two_nodes() -> Session:
    """The filler prefers n1, where the vip wants to be beside the db."""
    return session_of([node("n1", cpu="4"), node("n2", cpu="4")], [pod("busy", on="n2", cpu="2", priority=9)])


def filler(*, owned: bool = False) -> Pod:
    return pod("filler", cpu="2", owner=REPLICA_SET if owned else None)


def of_filler(result: PlaceResult) -> Placement:
    return next(each for each in result.placements if each.pod == "default/filler")


def over_time(*, recreate: bool) -> Placement:
    return of_filler(simulate(two_nodes(), asking(VIP, DB, filler(owned=True)), recreate=recreate))


def beside_groups() -> Placement:
    """A member of a group brings back the pod that waits for it, which evicts the filler."""
    nodes = [node("n1", cpu="4"), node("n2", cpu="4")]
    session = session_with(nodes, [pod("busy", on="n2", cpu="1500m", priority=9)], [group("g", least=1)])
    first = member("g0", "g", cpu="1", labels={"app": "g"}, priority=9)
    vip = pod("vip", cpu="2", priority=9, near=[pods_like(select(app="g"), by=HOSTNAME)])
    return of_filler(told(place_pods(session, asking(vip, first, pod("filler", cpu="2500m")))))


def evicted_in_turn() -> Placement:
    """As an operation has it that makes evicted pods again one by one."""
    session = session_of([node("n1", cpu="4"), node("n2", cpu="4")])
    run = PlacementRun(session)
    for each in asking(filler(), pod("rest", cpu="4", priority=9), pod("vip", cpu="4", priority=9)):
        run.take(each)
    (victim,) = RecreatedPods(run).take_victims()
    assert victim.key == "default/filler"
    return run.placements[0]


@pytest.mark.parametrize(
    ("placement_in", "ending"),
    [
        (lambda: of_filler(place(two_nodes(), asking(VIP, DB, filler()))), HOMELESS),
        (lambda: of_filler(place(two_nodes(), asking(VIP, DB, filler(owned=True)))), ""),
        (lambda: over_time(recreate=True), ""),
        (lambda: over_time(recreate=False), HOMELESS),
        (beside_groups, HOMELESS),
        (evicted_in_turn, ""),
    ],
    ids=[
        "of a pod without a controller",
        "of one that is recreated elsewhere",
        "over simulated time",
        "over simulated time without controllers",
        "beside groups",
        "while evicted pods are recreated one by one",
    ],
)
def test_nothing_is_said_about_the_node_that_a_pod_had_to_leave(
    placement_in: Callable[[], Placement], ending: str
) -> None:
    check_left(placement_in(), f"lost n1 to default/vip{ending}")


def test_nor_of_one_that_has_to_leave_for_an_update(tmp_path: Path) -> None:
    busy = plain_pod("busy", "2", node="n2", memory="1Mi", priority=10)
    there = [plain_node("n1", "4"), plain_node("n2", "4"), busy, *running(deployment("web", 1, "1", important=True))]
    new = [plain_pod("filler", "2", memory="1Mi"), deployment("web", 4, "1", image="app:2", important=True)]
    result = placed(tmp_path, there, new)
    left = [each for each in result.placements if each.outcome == "preempted"]
    assert [each.pod for each in left] == ["default/filler"]
    check_left(left[0], left[0].message)


def check_left(found: Placement, message: str) -> None:
    assert (found.outcome, found.message) == ("preempted", message)
    assert found.evaluated > 1, "how it had found the node is still there"
    assert (found.node, found.score, found.ties, found.tied, found.choice) == ("", None, 0, (), "")
    assert (found.scores, found.devices) == ((), ())
