"""Where there are groups everybody is tried once: who might find a node later is named."""

from __future__ import annotations

import pytest

from kwhatif.api.kinds import Objects
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import HOSTNAME, node, pod, pods_like, select
from tests.commands.answers import place
from tests.scheduling.test_pod_groups import GANGS, group, member, rules
from tests.simulation.sessions import asking


@pytest.mark.parametrize(
    ("near", "named"),
    [
        pytest.param("gang", ["default/friend"], id="a pod that needs a member near, and was tried before the group"),
        pytest.param("nobody", [], id="a pod that would find no node now either"),
    ],
)
def test_a_pod_that_was_tried_too_early_is_named(near: str, named: list[str]) -> None:
    objects = Objects()
    for each in (node("a", cpu="4"), group("g", least=2)):
        objects.add(each)
    session = Session(Snapshot(objects=objects), Setup(load_configuration(None, source=""), rules(*GANGS)))
    friend = pod("friend", cpu="1", priority=9, near=[pods_like(select(app=near), by=HOSTNAME)])
    members = [member(f"m{number}", "g", cpu="1", labels={"app": "gang"}) for number in range(2)]
    result = place(session, asking(friend, *members))
    assert [each.outcome for each in result.groups or ()] == ["scheduled"]
    assert [each.pod for each in result.outcome.pending] == ["default/friend"]
    gaps = [gap for gap in result.fidelity.gaps if "one round" in gap.what]
    assert [pod for gap in gaps for pod in gap.pods] == named
