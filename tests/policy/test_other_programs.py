"""Plugins that nobody provides: the message and the gap say whose they are, where that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from kwhatif.errors import PolicyError
from tests.scheduler_plugin_builders import plain_node, plain_pod, policy_with, write_cluster


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        ("YuniKornPlugin", "Apache YuniKorn's scheduler; it holds pods back by its queues"),
        ("LoadAwareScheduling", "Koordinator's scheduler; it decides by its reservations, quotas, devices and load"),
        ("Fluence", "flux-framework's Fluence; it has Flux choose the nodes of a group"),
        ("KNIDebug", "openshift-kni's scheduler for NUMA resources; it writes a log and decides nothing"),
        ("Nonesuch", ""),
    ],
)
def test_whose_plugin_it_is_and_what_it_does_to_an_answer(tmp_path: Path, plugin: str, told: str) -> None:
    cluster, policy = write_cluster(tmp_path, plain_node("n1")), policy_with(plugin)
    with pytest.raises(PolicyError) as caught:
        kwhatif.place(plain_pod("p"), snapshot=cluster, policy=policy)
    assert f"plugin {plugin} is enabled, but no plugin provides it" in str(caught.value)
    assert told in str(caught.value)
    result = kwhatif.place(plain_pod("p"), snapshot=cluster, policy=policy, skip_unknown_plugins=True)
    (gap,) = [gap for gap in result.fidelity.gaps if plugin in gap.what]
    assert gap.pods == ("default/p",)
    assert told in gap.effect
