"""Whom controllers put in the place of a pod that leaves."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Pod
from kwhatif.api.selectors import RequiredNodeAffinity
from kwhatif.scheduling.controllers import Replacements, grace_of
from tests.builders import cluster_of, node, pod

KINDS = {"ReplicaSet": "apps/v1", "ReplicationController": "v1", "Job": "batch/v1"}
NAMED = {"StatefulSet": "apps/v1", "DaemonSet": "apps/v1"}


def of(kind: str, version: str, *, terminating: bool = False) -> Pod:
    return pod("web-0", on="a", owner=(version, kind, "web"), terminating=terminating)


@pytest.mark.parametrize(
    ("leaving", "name"),
    [
        *(pytest.param(of(kind, at), "web-r1", id=f"{kind}: another one at once") for kind, at in KINDS.items()),
        *(
            pytest.param(of(kind, at, terminating=True), None, id=f"{kind}: one that was going has been replaced")
            for kind, at in KINDS.items()
        ),
        *(pytest.param(of(kind, at), "web-0", id=f"{kind}: the same name again") for kind, at in NAMED.items()),
        *(
            pytest.param(of(kind, at, terminating=True), "web-0", id=f"{kind}: also of one that was going")
            for kind, at in NAMED.items()
        ),
        pytest.param(of("Node", "v1"), None, id="a static pod has none"),
        pytest.param(pod("bare", on="a"), None, id="nor has one that nobody controls"),
    ],
)
def test_the_pod_that_is_there_in_the_end(leaving: Pod, name: str | None) -> None:
    made = Replacements().replacement_of(leaving)
    assert (made.name if made else None) == name
    if made:
        assert (made.spec.node_name, made.metadata.deletion_timestamp, made.status.phase) == (None, None, "Pending")
        assert made.metadata.uid != leaving.metadata.uid


@pytest.mark.parametrize("kind", [*KINDS, *NAMED])
def test_a_victim_is_replaced_at_once_or_once_it_has_gone(kind: str) -> None:
    cluster = cluster_of([node("a")], [of(kind, (KINDS | NAMED)[kind])])
    victim, makes = cluster.pods_on[0][0], Replacements()
    at_once, once_gone = makes.replace_on_eviction(victim), makes.replace_after_deletion(victim)
    assert (at_once is not None, once_gone is not None) == (kind in KINDS, kind in NAMED)
    assert grace_of(victim) == 30


def test_names_count_on_and_pass_over_those_that_are_taken() -> None:
    makes = Replacements(taken={"default/web-r2"}.__contains__)
    web, other = of("ReplicaSet", "apps/v1"), pod("job-x", on="a", owner=("batch/v1", "Job", "web"))
    names = [made.name for each in (web, web, other) if (made := makes.replacement_of(each)) is not None]
    assert names == ["web-r1", "web-r3", "web-r1"]
    again = [makes.replacement_of(of("StatefulSet", "apps/v1")) for _ in range(2)]
    assert len({each.metadata.uid for each in again if each is not None}) == 2


def test_the_pod_of_a_daemon_set_is_made_again_for_its_own_node() -> None:
    agents = [pod(f"agent-{on}", on=on, owner=("apps/v1", "DaemonSet", "agent")) for on in "ab"]
    running = [info.pod for info, _ in cluster_of([node("a"), node("b")], agents).pods()]
    for leaving in (agents, running):
        made = [again for each in leaving if (again := Replacements().replacement_of(each)) is not None]
        rules = [RequiredNodeAffinity.from_pod_spec(each.spec) for each in made]
        assert [[name for name in "ab" if each.matches({}, name)] for each in rules] == [["a"], ["b"]]
