"""The run of a question: one scheduling cycle for each pod, updates step by step, and whatever follows until no pod
would move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec

from kwhatif.api.core import Pod
from kwhatif.results.base import Fidelity, Result
from kwhatif.results.disruption import DrainResult, OutageResult
from kwhatif.simulation.autoscalers.scaler import Scaler, apply_scale_up
from kwhatif.simulation.expansion.expanded_manifests import Rollout
from kwhatif.simulation.fidelity.assess import RunRecord
from kwhatif.simulation.placement.afterwards import FinalState, pending_pod_of, snapshot_after_run
from kwhatif.simulation.placement.group_outcomes import gang_outcomes
from kwhatif.simulation.placement.movers import would_move
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.rollout_progress import roll_out_all
from kwhatif.simulation.placement.run_outcome import Bookkeeper, RunOutcome, with_growth
from kwhatif.simulation.placement.run_result import Placed
from kwhatif.simulation.placement.run_to_rest import settle_cluster
from kwhatif.simulation.placement.starting_point import StartingPoint
from kwhatif.simulation.placement.timeline import simulate_timeline
from kwhatif.simulation.placement.verdict import words_of_placements
from kwhatif.simulation.question import PendingResult
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.simulation.session import PodToSchedule, Session


def place_pods(
    session: Session,
    asked: Sequence[PodToSchedule],
    *,
    rollouts: Sequence[Rollout] = (),
    others: Sequence[str] = (),
    scaler: Scaler | None = None,
    prepare: Callable[[], None] = lambda: None,
) -> Placed:
    """Schedule the pods in the scheduler's order, by priority, then as given, and go on until no pod would move. Where
    the first attempts evict no pod and no pod would move after them, they are the whole run. Otherwise the run is
    simulated from the beginning, after ``prepare``. Updates are rolled out one by one thereafter. Groups of pods are
    scheduled in rounds. ``others`` names objects of the input that no pods were made of, for the fidelity report. With
    autoscalers, nodes come for pods that find none.
    """
    prepare()
    if rollouts or session.setup.extenders is not None:
        # Extenders are not called twice for the same run.
        return _step_by_step(session, asked, rollouts, others, scaler)
    begin, run = StartingPoint(session, asked), PlacementRun(session)
    run.schedule_all(asked)
    if run.goes_in_rounds:
        if scaler is None:
            return _step_by_step(session, asked, (), others, None, run)
        begin.return_to()
        prepare()
        return _step_by_step(session, asked, (), others, scaler)
    if run.evicted or would_move(session, run) or (scaler is not None and run.without_node):
        begin.return_to()
        prepare()
        return simulate_timeline(session, asked, others=others, scaler=scaler, story=False)
    placements, scale_up = tuple(run.placements), None
    if scaler is not None:
        placements, scale_up = apply_scale_up(scaler, session, placements)
    pods = {item.pod.key: item.pod for item in asked}
    pending = () if all(each.good for each in placements) else Bookkeeper.of(session.snapshot).pending(placements, pods)
    return Placed(
        basis=RunRecord(session, asked, placements, others),
        end=FinalState(session, _left(run, asked)),
        scale_up=scale_up,
        run_outcome=RunOutcome(pending=pending, scale_up=scale_up),
        groups=gang_outcomes(session, asked, placements),
        told=tuple(words_of_placements(placements, (), scale_up)),
    )


def _left(run: PlacementRun, asked: Sequence[PodToSchedule]) -> list[Pod]:
    """The pods asked about, those without a node as their attempts have left them."""
    pods = {item.pod.key: item.pod for item in asked}
    return [pending_pod_of(run.taken[key]) if key in run.taken else pod for key, pod in pods.items()]


def _step_by_step(
    session: Session,
    asked: Sequence[PodToSchedule],
    rollouts: Sequence[Rollout],
    others: Sequence[str],
    scaler: Scaler | None,
    run: PlacementRun | None = None,
) -> Placed:
    """Pods first, then updates; what follows from all of that comes at the end. A ``run`` has been through the pods."""
    asked = list(asked)
    if run is None:
        run = PlacementRun(session, scaler)
        run.schedule_all(asked)
    updates = roll_out_all(rollouts, run, asked)
    after = settle_cluster(session, run, asked, scaler, rollouts=updates)
    placements, scale_up = after.placements, None
    if scaler is not None:
        placements, scale_up = apply_scale_up(scaler, after.session, placements)
    return Placed(
        basis=RunRecord(
            session,
            asked,
            placements,
            others,
            rollouts,
            by_group=bool(run.groups),
            autoscaled=scaler is not None,
        ),
        end=FinalState(after.session, after.left, run.removed),
        groups=(*run.groups, *gang_outcomes(after.session, asked, placements)),
        rollouts=tuple(each.plan for each in updates),
        scale_up=scale_up,
        replacements=after.replacements,
        run_outcome=with_growth(after.run_outcome, (), scale_up),
        told=tuple(words_of_placements([p for p in placements if p.pod not in run.removed], after.at_home, scale_up)),
        at_home=after.at_home,
    )


def place_scenario(scenario: PreparedScenario, scaler: Scaler | None = None) -> tuple[PreparedScenario, Placed | None]:
    """Place the pods of a scenario, if there are any, and leave its cluster in the final state."""
    if not scenario.pods_to_schedule and not scenario.expanded.rollouts:
        return scenario, None
    session, rollouts = scenario.new_session(), scenario.expanded.rollouts
    before = place_pods(
        session, scenario.pods_to_schedule, rollouts=rollouts, others=scenario.unknown_kinds, scaler=scaler
    )
    after = snapshot_after_run(session.snapshot, scenario.edited.covered, scenario.expanded, before.end)
    scenario = replace(scenario, expanded=replace(scenario.expanded, creations=before.end.session.creations))
    return scenario.with_snapshot(after), before


R = TypeVar("R", bound=Result)


def add_placement_before(before: Placed | None, answer: PendingResult[R]) -> PendingResult[R]:
    """The answer with the gaps of the earlier placements, if there were any."""
    if before is None:
        return answer
    make: Callable[[Fidelity], R] = answer.result

    def result(first: Fidelity, then: Fidelity) -> R:
        gaps = tuple(dict.fromkeys((*first.gaps, *then.gaps)))
        return make(msgspec.structs.replace(then, gaps=gaps))

    return replace(answer, runs=[before.basis, *answer.runs], result=result)


D = TypeVar("D", DrainResult, OutageResult)


def merge_placed(before: Placed | None, answer: PendingResult[D]) -> PendingResult[D]:
    """The same for results that also show the earlier placements."""
    if before is None:
        return answer

    def result(fidelity: Fidelity) -> D:
        found = answer.result(fidelity)
        return msgspec.structs.replace(found, before=tuple(before.placements), rollouts=before.rollouts)

    return add_placement_before(before, replace(answer, result=result))
