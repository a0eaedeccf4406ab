"""How the upgrade of a pool leaves a cluster: who waits, who lost a node to whom, and what makes it good or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.page import page_data
from kwhatif.commands.upgrade.question import Upgrade
from kwhatif.simulation.inputs import Inputs
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from tests.builders import node
from tests.commands.drain.test_drain import budget, web
from tests.commands.upgrade.test_upgrade import pool, replicas, snapshot_of, upgraded

SMALLER = {"new_sizes": ["cpu=1"]}
LESS_IMPORTANT = ("apps/v1", "ReplicaSet", "other-1")


@dataclass(frozen=True)
class Row:
    """``pending`` are pods and causes, ``victims`` pods and who took their place."""

    parts: Sequence[Sequence[Node | Pod | PodDisruptionBudget]]
    options: Mapping[str, Any] = field(default_factory=dict)
    strategy: str = "surge"
    phase: str = "done"
    pending: Sequence[tuple[str, str]] = ()
    victims: Sequence[tuple[str, str | None]] = ()
    good: bool = False
    verdict: str = ""


ROWS = {
    "a pool that is replaced in time": Row(
        [pool(1), replicas(1, 1)],
        {"within_seconds": 150.0},
        victims=[("default/web-1-0", None)],
        good=True,
        verdict="Safe to upgrade: 1 node replaced in 2:30 (surge); 2 nodes at most, 0.04 extra node hours",
    ),
    "one that is replaced too late": Row(
        [pool(1), replicas(1, 1)],
        {"within_seconds": 149.0},
        victims=[("default/web-1-0", None)],
        verdict="Not safe to upgrade: 1 node replaced in 2:30 (surge), longer than 2:29; 2 nodes at most, "
        "0.04 extra node hours",
    ),
    "one that hangs on a budget, with everybody on a node": Row(
        [pool(1), replicas(1, 1), [budget(0, healthy=1, desired=1)]],
        phase="hangs",
        verdict="Not safe to upgrade: 0 of 1 node replaced, hangs after 2:00 (surge), blocked by budget default/web; "
        "2 nodes at most, 1 extra for as long as it hangs",
    ),
    "one that is replaced by force": Row(
        [pool(1), replicas(1, 1), [budget(0, healthy=1, desired=1)]],
        strategy="gke-surge",
        victims=[("default/web-1-0", None)],
        verdict="Not safe to upgrade: 1 node replaced in 1:02:30 (gke-surge); 1 pod deleted by force; 2 nodes at most, "
        "1.04 extra node hours",
    ),
    "one whose new nodes are too small": Row(
        [pool(1), replicas(1, 1, cpu="3")],
        SMALLER,
        pending=[("default/web-1-r1", "evicted")],
        victims=[("default/web-1-0", None)],
        verdict="Not safe to upgrade: 1 node replaced in 2:30 (surge); 1 pod pending afterwards; 2 nodes at most, "
        "0.04 extra node hours",
    ),
    "one whose pods drive others out": Row(
        [
            [*pool(1), node("other", cpu="3")],
            [
                web("web-1-0", "old-0", cpu="3", priority=10),
                web("other-1-0", "other", cpu="3", owner=LESS_IMPORTANT, labels={"app": "other"}),
            ],
        ],
        SMALLER,
        pending=[("default/other-1-r1", "evicted")],
        victims=[("default/web-1-0", None), ("default/other-1-0", "default/web-1-r1")],
        verdict="Not safe to upgrade: 1 node replaced in 2:30 (surge); 1 preempted; 1 pod pending afterwards; "
        "2 nodes at most, 0.04 extra node hours",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_how_an_upgrade_leaves_the_cluster(name: str) -> None:
    row = ROWS[name]
    found = upgraded(snapshot_of(*row.parts), row.strategy, **row.options)
    assert found.phase == row.phase
    assert [(each.pod, each.cause) for each in found.outcome.pending] == list(row.pending)
    assert [(each.pod, each.taken_by) for each in found.outcome.victims] == list(row.victims)
    assert (found.good, found.exit_code) == (row.good, 0 if row.good else 1)
    assert found.verdict == row.verdict


def test_the_page_counts_only_nodes_that_are_there_afterwards() -> None:
    sample = Path(__file__).parents[3] / "samples" / "upgrade" / "hangs.yaml"
    result = ask(Upgrade(pool="pool=batch"), Scenario(Inputs(str(sample), with_map=True)))
    assert result.cluster_map is not None
    nodes = [each.node for each in result.cluster_map.nodes]
    absent = page_data(result)["map"]["nodes"]["absent"]
    old = {each.node for each in result.nodes}
    deleted = {each.node for each in result.nodes if each.deleted is not None}
    last = result.moments[-1]
    assert [nodes[place] for place in absent[-1]] == sorted(deleted)
    assert len(old - deleted) == last.old
    assert len(nodes) - len(absent[0]) + last.new - len(deleted) == len(nodes) - len(absent[-1])
