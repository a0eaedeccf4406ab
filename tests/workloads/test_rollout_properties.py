"""What holds for every rollout, whatever its numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.workloads.deployment import resolve_fenceposts
from kwhatif.workloads.rollout import plan_rollout
from tests.workloads.builders import Json, changed, deployment, web_pods

limits = st.one_of(st.integers(0, 6), st.integers(0, 100).map(lambda percent: f"{percent}%"))
sizes = st.integers(1, 10)


@given(before=sizes, after=sizes, surge=limits, unavailable=limits)
def test_a_deployment_whose_pods_get_ready_arrives_and_stays_within_its_limits(
    before: int, after: int, surge: int | str, unavailable: int | str
) -> None:
    old = deployment(replicas=before, surge=surge, unavailable=unavailable)
    new = changed(old, replicas=after)
    more, fewer = resolve_fenceposts(new)
    ready = before
    steps = 0
    rollout = plan_rollout(old, new, web_pods(before))
    for step in rollout:
        steps += 1
        assert step.live.old + step.live.new <= max(before, after + more)
        ready -= len(step.removes)
        assert ready >= min(before, after - fewer)
        ready += len(step.creates)
    assert not rollout.remaining_work
    assert (step.live.old, step.live.new) == (0, after)
    assert steps <= 3 * (before + after)
    assert len(rollout.removed_pods) >= before


@given(size=sizes, surge=limits, unavailable=limits, good=st.integers(0, 12))
def test_a_deployment_whose_pods_stop_getting_ready_stops_within_its_limits(
    size: int, surge: int | str, unavailable: int | str, good: int
) -> None:
    old = deployment(replicas=size, surge=surge, unavailable=unavailable)
    _, fewer = resolve_fenceposts(old)
    up: set[str] = set()

    def ready(pod: Json) -> bool:
        if len(up) < good:
            up.add(pod["metadata"]["name"])
        return pod["metadata"]["name"] in up

    rollout = plan_rollout(old, changed(old), web_pods(size), ready=ready)
    for _ in rollout:
        pass
    assert len(rollout.kept_pods) + len(up - set(rollout.removed_pods)) >= size - fewer
    assert (not rollout.remaining_work) == (len(up) >= size)
