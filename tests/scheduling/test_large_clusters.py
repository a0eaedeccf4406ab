"""Large clusters, where a scheduler looks at some of the nodes and refreshes what it knows of some rows."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.scheduling import node_sampling as sampling
from kwhatif.scheduling.attempt import Attempt
from tests.builders import Json, cluster_of, driver_for, node, pod, profile_document, scheduler_for
from tests.framework.plugins import Quiet, with_quiet
from tests.scheduling.eager import Cycle, EagerScheduler
from tests.strategies import PARTS, GeneratedCluster, disruption_budgets, large_scenarios, profiles

# A pod with overhead asks for more every time its requests are added up, so it does not start over. A host port that
# two pods hold at once is free when one of them leaves.
WITHOUT_HISTORY = tuple(sorted(set(PARTS) - {"overhead", "ports"}))

WITHOUT_SHRINKING = (Phase.explicit, Phase.generate)
"""Runs with hundreds of nodes don't get much smaller, and trying takes minutes."""


@dataclass(frozen=True)
class Run:
    """What happens on a cluster, in order: pods that wait are tried, and others leave, by uid."""

    scenario: GeneratedCluster
    story: list[Pod | str]
    config: Json | None


@st.composite
def runs(draw: st.DrawFn, least: int, most: int, tries: int) -> Run:
    scenario = draw(large_scenarios(least, most, parts=WITHOUT_HISTORY, pending=tries))
    scenario.objects.extend(draw(st.lists(disruption_budgets(), max_size=2)))
    config = draw(profiles())
    if draw(st.booleans()):
        config = with_quiet(config)
    if draw(st.booleans()):
        config = deepcopy(config) or profile_document()
        few = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": draw(st.integers(1, 3))}
        config["profiles"][0]["pluginConfig"].append({"name": "DefaultPreemption", "args": few})
    random = Random(draw(st.integers(0, 2**32)))
    there = [one.metadata.uid or "" for one in scenario.running]
    story: list[Pod | str] = []
    for one in scenario.pending:
        story.append(one)
        there.append(one.metadata.uid or "")
        if random.random() < 0.3:
            story.append(there.pop(random.randrange(len(there))))
    return Run(scenario, story, config)


def told(cluster: Cluster, attempt: Attempt) -> Cycle:
    names = cluster.columns.names
    return Cycle(
        None if attempt.row is None else names[attempt.row],
        attempt.score,
        sorted(names[row] for row in attempt.best),
        [names[row] for row in attempt.sampled],
        attempt.evaluated,
        attempt.message,
        attempt.nominated,
        sorted(victim.uid for victim in attempt.victims),
    )


def compare(run: Run, *, always: int) -> None:
    """Every attempt of a run with one scheduler is what starting over would have come to."""
    scenario = run.scenario
    cluster = scenario.cluster()
    driver = driver_for(cluster, run.config, outside=[Quiet])
    percentage = (run.config or {}).get("percentageOfNodesToScore") or 0
    eager = EagerScheduler(
        scenario.nodes,
        scenario.running,
        scenario.objects,
        run.config,
        outside=[Quiet],
        always=always,
        percentage=percentage,
    )
    for step in run.story:
        if isinstance(step, str):
            if cluster.find(step) is not None:
                cluster.forget(step)
            eager.leave(step)
            continue
        info = cluster.shapes.info(step)
        for attempt in driver.schedule_with_preemption(info):
            assert told(cluster, attempt) == eager.attempt(step)


@pytest.mark.long
@settings(max_examples=settings().max_examples // 4, phases=WITHOUT_SHRINKING)
@given(runs(120, 400, tries=24))
def test_a_scheduler_that_remembers_decides_as_one_that_starts_over_for_every_pod(run: Run) -> None:
    compare(run, always=100)


@pytest.mark.long
@given(runs(4, 24, tries=24), st.integers(1, 5))
def test_so_it_does_where_few_nodes_are_enough(run: Run, always: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "MIN_FEASIBLE_NODES_TO_FIND", always)
        compare(run, always=always)


def test_a_node_that_has_filled_up_is_not_the_one_too_many_at_which_the_search_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sampling, "MIN_FEASIBLE_NODES_TO_FIND", 2)
    cluster = cluster_of([node(name, cpu="2") for name in "abcde"])
    scheduler = scheduler_for(cluster)
    first = scheduler.attempt(cluster.shapes.info(pod("first", cpu="1")))
    assert (first.sampled.tolist(), first.evaluated) == ([0, 1], 2)
    cluster.assume(cluster.shapes.info(pod("large", cpu="2")), 4)
    # Rows 2 and 3 are enough. Row 4 would have ended the search there, but now row 0 does.
    second = scheduler.attempt(cluster.shapes.info(pod("second", cpu="1")))
    assert (second.sampled.tolist(), second.evaluated) == ([2, 3], 3)
