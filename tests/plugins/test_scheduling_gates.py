from __future__ import annotations

import pytest

from kwhatif.framework.status import Code, Status
from tests.builders import Json, cluster_of, node, plugin_of, pod, scheduler_for


@pytest.mark.parametrize(
    ("gates", "text"),
    [
        pytest.param(["quota"], "waiting for scheduling gates: [quota]", id="one gate"),
        pytest.param(["a", "b"], "waiting for scheduling gates: [a b]", id="all gates are named, in order"),
    ],
)
def test_a_gated_pod_does_not_enter_the_queue(gates: list[str], text: str) -> None:
    cluster = cluster_of([node("a")])
    waiting = cluster.shapes.info(pod(spec={"schedulingGates": [{"name": gate} for gate in gates]}))
    assert plugin_of("SchedulingGates").pre_enqueue(waiting) == Status(Code.UNRESOLVABLE, (text,))
    attempt = scheduler_for(cluster).attempt(waiting)
    assert attempt.gated == Status(Code.UNRESOLVABLE, (text,), "SchedulingGates")
    assert not attempt.is_placed
    assert attempt.evaluated == 0


def test_a_pod_without_gates_passes() -> None:
    cluster = cluster_of([node("a")])
    specs: list[Json] = [{}, {"schedulingGates": []}]
    for spec in specs:
        assert plugin_of("SchedulingGates").pre_enqueue(cluster.shapes.info(pod(spec=spec))) is None
