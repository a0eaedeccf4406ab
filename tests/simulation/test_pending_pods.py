"""The order in which a snapshot's own pods wait for a node."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from kwhatif.api.meta import ObjectMeta
from kwhatif.simulation.session import pending_pods
from kwhatif.snapshot.format.model import Snapshot


def waiting(name: str, created: str, version: str | None) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="shop", creation_timestamp=created, resource_version=version))


@pytest.mark.parametrize(
    ("pods", "order"),
    [
        pytest.param(
            [waiting("old", "2026-01-01T00:00:00Z", "90"), waiting("young", "2026-01-02T00:00:00Z", "8")],
            ["young", "old"],
            id="who was tried longest ago comes first, whatever the age",
        ),
        pytest.param(
            [waiting("young", "2026-01-02T00:00:00Z", None), waiting("old", "2026-01-01T00:00:00Z", None)],
            ["old", "young"],
            id="without versions the oldest comes first",
        ),
        pytest.param(
            [waiting("young", "2026-01-02T00:00:00Z", "x"), waiting("old", "2026-01-01T00:00:00Z", "y")],
            ["old", "young"],
            id="versions that are no numbers say nothing",
        ),
    ],
)
def test_waiting_pods_come_in_the_order_of_the_queue(pods: list[Pod], order: list[str]) -> None:
    snapshot = Snapshot(source="test")
    for pod in pods:
        snapshot.objects.add(pod)
    assert [item.pod.name for item in pending_pods(snapshot)] == order
