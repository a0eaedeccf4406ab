"""What becomes of a place that was kept for a pod."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from kwhatif.api.kinds import Objects
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import FEATURES, Json, node, pod
from tests.commands.answers import place
from tests.scheduling.stories import Hold, enabling
from tests.simulation.sessions import asking, session_of

NEVER: Json = {"preemptionPolicy": "Never"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            pod("first", cpu="4", priority=5, nominated="a"), "a", id="others may have it once nothing would help"
        ),
        pytest.param(
            pod("first", cpu="4", priority=5, nominated="a", spec=NEVER), "", id="unless nobody looked for help"
        ),
        pytest.param(pod("first", cpu="2", priority=5, nominated="a"), "", id="it is taken"),
    ],
)
def test_a_place_kept_for_a_pod(first: Pod, second: str) -> None:
    asked = asking(first, pod("second", cpu="2"))
    result = place(session_of([node("a", cpu="2")], [item.pod for item in asked]), asked)
    assert {p.pod: p.node for p in result.placements}["default/second"] == second


def test_a_pod_that_waits_for_its_permit_is_turned_away_for_one_that_comes_later_and_is_more_important() -> None:
    there = Objects()
    there.add(node("a", cpu="4"))
    configuration = load_configuration(enabling("Hold"), source="", features=FEATURES)
    run = PlacementRun(Session(Snapshot(objects=there), Setup(configuration, FEATURES, {"Hold": Hold})))
    for asked in asking(pod("low", cpu="3", labels={"hold": "5"}), pod("vip", cpu="3", priority=9)):
        info = run.take_up(asked)
        assert info is not None
        run.schedule(asked, info)
    run.wait()
    low, vip = run.placements
    assert (low.outcome, low.message) == ("unschedulable", "waiting on permit for pod: preempted")
    assert (vip.node, [victim.pod for victim in vip.victims]) == ("a", ["default/low"])
