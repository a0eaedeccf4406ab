"""Laws of outcomes beside autoscalers of both kinds: whoever asks buys the same nodes, and then nobody moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwhatif
from kwhatif.results.outcome import Outcome

SAMPLES = Path(__file__).parents[2] / "samples"
GROUPS = SAMPLES / "autoscaled" / "groups.yaml"
CATALOGUE = SAMPLES / "karpenter" / "catalogue.yaml"
KINDS = [pytest.param("autoscaled", GROUPS, id="node groups"), pytest.param("karpenter", CATALOGUE, id="NodePools")]
WANTED = st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["500m", "3", "7", "64"])), min_size=1, max_size=2)


def deployments(wanted: list[tuple[int, str]]) -> list[dict[str, Any]]:
    found = []
    for number, (replicas, cpu) in enumerate(wanted):
        labels = {"app": f"new-{number}"}
        container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        metadata = {"name": f"new-{number}", "namespace": "default"}
        found.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    return found


def left(outcome: Outcome) -> tuple[object, ...]:
    """What an outcome leaves: by workload, since pods get other names over time."""
    pending = sorted(each.workload or each.pod for each in outcome.pending)
    return outcome.good, pending, sorted((each.group, each.nodes) for each in outcome.added_nodes), outcome.cost


@pytest.mark.long
@pytest.mark.parametrize(("cluster", "machines"), KINDS)
@settings(max_examples=3, deadline=None)
@given(WANTED)
def test_whoever_asks_buys_the_same(cluster: str, machines: Path, wanted: list[tuple[int, str]]) -> None:
    snapshot, change = str(SAMPLES / cluster / "cluster.yaml"), deployments(wanted)
    at_once = kwhatif.place(change, snapshot=snapshot, autoscale=[machines], with_pending=True)
    over_time = kwhatif.place(change, snapshot=snapshot, autoscale=[machines], with_pending=True, timeline=True)
    assert left(at_once.outcome) == left(over_time.outcome)
    bought = (
        kwhatif.autoscale(change, snapshot=snapshot, groups=machines)
        if machines == GROUPS
        else kwhatif.karpenter(change, snapshot=snapshot, catalogue=machines)
    )
    assert left(bought.outcome) == left(at_once.outcome)


@pytest.mark.parametrize(("cluster", "machines"), KINDS)
@settings(max_examples=3, deadline=None)
@given(WANTED)
def test_on_the_nodes_that_came_nobody_moves(
    tmp_path_factory: pytest.TempPathFactory, cluster: str, machines: Path, wanted: list[tuple[int, str]]
) -> None:
    snapshot, after = str(SAMPLES / cluster / "cluster.yaml"), tmp_path_factory.mktemp("after") / "after.json"
    first = kwhatif.place(
        deployments(wanted), snapshot=snapshot, autoscale=[machines], with_pending=True, write_snapshot=after
    )
    if not first.outcome.pending:
        return
    again = kwhatif.place(snapshot=after, with_pending=True)
    assert again.outcome.evicted == 0
    assert {each.pod for each in again.outcome.pending} == {each.pod for each in first.outcome.pending}
