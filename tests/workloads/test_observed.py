"""What pods tell of an object that the snapshot does not hold."""

from __future__ import annotations

from kwhatif.workloads.observed import observed
from kwhatif.workloads.rollout import plan
from tests.workloads.builders import changed, deployment, owned, web_pods, workload


def test_an_object_without_pods_is_new() -> None:
    assert observed(deployment(), []) is None
    assert observed(deployment(), web_pods(2, set_="x")[:0]) is None
    assert observed(workload("DaemonSet", name="ds"), web_pods(2)) is None


def test_pods_that_fit_the_template_tell_that_only_the_size_changes() -> None:
    new = deployment(replicas=3)
    pods = web_pods(2)
    pods[0]["spec"] |= {"tolerations": [{"key": "added"}], "priority": 0}
    old = observed(new, pods)
    assert old is not None
    assert old["spec"]["replicas"] == 2
    assert [(step.live.old, step.live.new) for step in plan(old, new, pods)] == [(3, 0)]


def test_pods_that_do_not_fit_the_template_tell_that_it_changes() -> None:
    new = changed(deployment(replicas=2, surge=1, unavailable=0))
    pods = web_pods(2)
    old = observed(new, pods)
    assert old is not None
    first = next(plan(old, new, pods))
    assert (first.live.old, first.live.new) == (2, 1)


def test_pods_on_their_way_out_do_not_count() -> None:
    pods = [owned("StatefulSet", "web", f"web-{i}", at="n") for i in range(3)]
    pods[2]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    pods[1]["status"]["phase"] = "Failed"
    old = observed(workload("StatefulSet", replicas=3), pods)
    assert old is not None
    assert old["spec"]["replicas"] == 1
