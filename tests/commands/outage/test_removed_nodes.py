"""The loss of nodes, and the same nodes removed by an edit: one cause, one outcome."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import kwhatif
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import Json, node
from tests.cli.running import TESTS
from tests.simulation.edits.editing import of, snapshot_of, workload

GATE = str(TESTS.parent / "samples" / "gate" / "snapshot.json")


def crowded(seed: int) -> Snapshot:
    """Three zones of two nodes with little room: Deployments, and an ordered and a parallel StatefulSet."""
    chance = random.Random(seed)
    nodes = [node(f"n{i}", cpu="4", zone="abc"[i % 3]) for i in range(6)]
    free = dict.fromkeys((each.name for each in nodes), 40)
    whole: list[Json] = []
    pods = []
    for kind, name, tenths in (
        *(("Deployment", f"web-{i}", chance.choice((4, 6, 9))) for i in range(4)),
        ("StatefulSet", "db", 11),
        ("StatefulSet", "cache", 8),
    ):
        replicas, cpu = chance.randint(2, 5), f"{tenths}00m"
        more: dict[str, Any] = {"podManagementPolicy": "Parallel"} if name == "cache" else {}
        whole.append(workload(kind, name, replicas, cpu=cpu, **more))
        owner = "ReplicaSet" if kind == "Deployment" else kind
        if kind == "Deployment":
            whole.append(workload("ReplicaSet", name, replicas, owner=name, cpu=cpu))
        for number in range(replicas):
            home = max(free, key=lambda key: (free[key], key))
            free[home] -= tenths
            pods.append(of(owner, name, f"{name}-{number}", home, cpu=cpu))
    chance.shuffle(pods)
    return snapshot_of(nodes, pods, whole=whole)


@pytest.mark.parametrize("snapshot", [GATE, *map(crowded, range(6))], ids=["sample", *map(str, range(6))])
def test_the_loss_of_a_zone_leaves_the_same_workloads_waiting_as_its_nodes_removed(snapshot: str | Snapshot) -> None:
    lost = kwhatif.outage("zones", snapshot=snapshot)
    assert len(lost.failures) == 3
    for failure in lost.failures:
        gone = kwhatif.place(snapshot=snapshot, edits=[{"removeNodes": f"topology.kubernetes.io/zone={failure.name}"}])
        assert Counter(each.workload for each in failure.outcome.pending) == Counter(
            each.workload for each in gone.outcome.pending
        )
        assert failure.outcome.not_created == gone.outcome.not_created
        # What is counted of a failure is what its outcome has.
        missing = sum(each.pods for each in gone.outcome.not_created)
        assert failure.uncreated == missing == sum(hit.uncreated for hit in failure.hits)
        assert failure.pending + failure.homeless == len(gone.outcome.pending)
        assert Counter(each.workload for each in failure.outcome.victims if each.taken_by) == Counter(
            each.workload for each in gone.outcome.victims if each.taken_by
        )


def test_an_ordered_set_is_made_again_one_pod_after_the_other() -> None:
    edits = [{"removeNodes": name} for name in ("n3", "n4", "n5")]
    gone = kwhatif.place(snapshot=crowded(1), edits=edits)
    waiting = [each.workload for each in gone.outcome.pending]
    assert waiting
    assert waiting.count("StatefulSet/shop/db") <= 1


def test_a_pod_that_waits_for_its_turn_is_not_created_and_not_pending() -> None:
    homes = zip(("db-0", "db-1"), ("n1", "n1"), strict=True)
    pods = [of("StatefulSet", "db", name, home, cpu="2") for name, home in homes]
    nodes = [node("n1", cpu="4"), node("n2", cpu="1")]
    snapshot = snapshot_of(nodes, pods, whole=[workload("StatefulSet", "db", 2, cpu="2")])
    (failure,) = [each for each in kwhatif.outage("nodes", snapshot=snapshot).failures if each.name == "n1"]
    assert failure.outcome.verdict == "node n1: 1 pending, 1 pod not created"
    assert [(each.pod, each.outcome) for each in failure.lost_pods] == [
        ("shop/db-0", "pending"),
        ("shop/db-1", "uncreated"),
    ]
    assert [each.pod for each in failure.outcome.pending] == ["shop/db-0"]
