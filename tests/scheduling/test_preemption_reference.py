"""The vectorised search against the slow one, on clusters that hypothesis thinks up."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import PostFilterResult
from kwhatif.framework.status import Diagnosis
from kwhatif.plugins.default_preemption import DefaultPreemptionArgs
from kwhatif.scheduling.preemption import Preemption, ineligible
from kwhatif.scheduling.schedule_one import Scheduler
from tests.builders import scheduler_for
from tests.scheduling.reference import Outcome, preempt
from tests.strategies import GeneratedCluster, crowds

pytestmark = pytest.mark.long


def diagnosis_of(scheduler: Scheduler, pod: PodInfo) -> Diagnosis:
    """Every node's verdict on a pod; the example is dropped when PreFilter refuses it or a node fits."""
    evaluation = scheduler.evaluation(pod)
    evaluation.refresh(pod)
    evaluation.begin(pod)
    assume(evaluation.refusal is None)
    diagnosis = scheduler.diagnose(pod, evaluation)
    rows = range(len(scheduler.cluster)) if evaluation.narrowed is None else evaluation.narrowed
    assume(all(diagnosis.status(int(row)) is not None for row in rows))
    assume(not ineligible(pod, diagnosis))
    return diagnosis


def agree(result: PostFilterResult, expected: Outcome, nodes: int) -> None:
    if expected.best is None:
        assert result.status is not None
        assert result.status.message == f"0/{nodes} nodes are available: {expected.text}."
        return
    assert result.nominated == expected.best.node
    # Equally important victims may be named in either order.
    assert sorted(v.key for v in result.victims) == sorted(v.key for v in expected.best.victims)
    ranks = [(-victim.priority, victim.start) for victim in result.victims]
    assert ranks == sorted(ranks)
    assert result.candidates == len(expected.candidates)


@given(crowds(), st.sampled_from([None, 1, 2]))
def test_the_search_agrees_with_one_that_moves_pods_one_by_one(scenario: GeneratedCluster, enough: int | None) -> None:
    cluster = scenario.cluster()
    scheduler = scheduler_for(cluster)
    *nominees, pending = scenario.pending
    for nominee in nominees:
        cluster.nominate(cluster.shapes.info(nominee), scenario.nodes[0].name)
    pod = cluster.shapes.info(pending)
    diagnosis = diagnosis_of(scheduler, pod)
    args = DefaultPreemptionArgs(
        min_candidate_nodes_percentage=10 if enough is None else 0,
        min_candidate_nodes_absolute=100 if enough is None else enough,
    )
    expected = preempt(scheduler.framework, diagnosis, pod, enough)
    event(f"candidates: {len(expected.candidates)}")
    event(f"violations: {expected.best.violations if expected.best else None}")
    event(f"victims: {len(expected.best.victims) if expected.best else None}")
    agree(Preemption()(pod, diagnosis, args), expected, len(cluster))


@given(crowds(max_nodes=6), st.integers(1, 3), st.lists(st.booleans(), min_size=3, max_size=6))
def test_what_is_kept_between_preemptors_that_look_alike_changes_nothing(
    scenario: GeneratedCluster, enough: int, placed: list[bool]
) -> None:
    """Each is nominated, and some are placed once their victims have left, before the next one is looked at."""
    cluster = scenario.cluster()
    scheduler = scheduler_for(cluster)
    keeping = Preemption()
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=enough)
    for number, place in enumerate(placed):
        meta = msgspec.structs.replace(scenario.pending[-1].metadata, name=f"again-{number}", uid=f"again-{number}")
        pod = cluster.shapes.info(msgspec.structs.replace(scenario.pending[-1], metadata=meta))
        diagnosis = diagnosis_of(scheduler, pod)
        found = keeping(pod, diagnosis, args)
        assert found == Preemption()(pod, diagnosis, args)
        if found.status is not None:
            return
        for victim in found.victims:
            cluster.remove_pod(victim.uid)
        cluster.nominate(pod, found.nominated)
        row = cluster.columns.row(found.nominated)
        assert row is not None
        everywhere = scheduler.evaluate_all_nodes(pod)
        if place and everywhere is not None and everywhere.passing(pod)[row]:
            cluster.assume(pod, row)
            cluster.remove_nomination(pod.uid)
        event(f"preemptors: {number + 1}")
