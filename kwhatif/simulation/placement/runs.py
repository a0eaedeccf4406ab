"""Where would these pods go? One scheduling cycle a pod, victims leaving at once, and nodes coming if they may.

An update walked through: which of its new pods find a node while the old ones are still there?

Pods of manifests and edits are placed before another question is asked of the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from kwhatif.admission.object_store import name_of
from kwhatif.admission.response import Object
from kwhatif.progress import track
from kwhatif.results.base import Fidelity
from kwhatif.results.disruption import DrainResult, OutageResult
from kwhatif.results.group_outcome import GroupOutcome
from kwhatif.results.place import EventRecord, Placement, PlaceResult, RolloutPlan, ScaleUp, TimelineEntry
from kwhatif.simulation.autoscalers.scaler import Scaler, apply_scale_up
from kwhatif.simulation.expansion.expand import Rollout
from kwhatif.simulation.expansion.pods import build_rollout_plan
from kwhatif.simulation.fidelity.assess import RunRecord
from kwhatif.simulation.placement.afterwards import FinalState, pending_pod_of, snapshot_after_run, totals
from kwhatif.simulation.placement.consequences import add_landings
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.question import PendingResult, Scenario
from kwhatif.simulation.session import PodToSchedule, Session


def roll_out(rollout: Rollout, run: PlacementRun, asked: list[PodToSchedule]) -> RolloutPlan:
    """Go through an update: new pods are placed with the old ones still there, which leave before the next step.

    Pods of the workload that found a node before, in this run, are ready. A pod that found none is tried again whenever
    pods have left, and when nodes have come for it. The pods are added to those ``asked`` about.
    """
    waiting: dict[str, AttemptedPod] = {}

    def ready(pod: Object) -> bool:
        taken = waiting.get(name_of(pod))
        if taken is not None and run.left > taken.departed:
            run.retry(taken)
        if taken is not None and not taken.placement.good:
            run.help()
        return _record_node(pod, taken)

    plan = rollout.begin(ready, run.homes())
    for step in track(plan, f"Rolling out {rollout.name}", "steps"):
        for claim in rollout.claims(step):
            run.claim(claim)
        for pod in step.creates:
            item = rollout.pods_to_schedule(pod)
            asked.append(item)
            waiting[name_of(pod)] = run.take(item)
            _record_node(pod, waiting[name_of(pod)])
        for name in step.removes:
            run.remove(f"{rollout.namespace}/{name}")
    return build_rollout_plan(rollout, plan)


def _record_node(pod: Object, taken: AttemptedPod | None) -> bool:
    """Whether a pod of a rollout has a node; the plan learns which."""
    if taken is None or not taken.placement.good:
        return False
    pod["spec"]["nodeName"] = taken.placement.node or taken.asked.pod.spec.node_name
    return True


@dataclass(frozen=True, kw_only=True)
class PlacementOutcome:
    """A run that has ended: what it is to be judged by, how it leaves the cluster, and what there is to tell."""

    basis: RunRecord
    end: FinalState
    rollouts: tuple[RolloutPlan, ...] = ()
    replacements: tuple[Placement, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    events: tuple[EventRecord, ...] = ()
    scale_up: ScaleUp | None = None
    groups: tuple[GroupOutcome, ...] = ()

    @property
    def placements(self) -> Sequence[Placement]:
        return self.basis.placements

    def result(self, fidelity: Fidelity) -> PlaceResult:
        session = self.basis.session
        return PlaceResult(
            nodes=len(session.cluster),
            totals=totals([*self.placements, *self.replacements], self.end.session.cluster),
            placements=tuple(self.placements),
            fidelity=fidelity,
            warnings=session.setup.configuration.warnings,
            replacements=self.replacements,
            timeline=self.timeline,
            events=self.events,
            rollouts=self.rollouts,
            scale_up=self.scale_up,
            groups=self.groups or msgspec.UNSET,
        )


def place_pods(
    session: Session,
    asked: Sequence[PodToSchedule],
    *,
    rollouts: Sequence[Rollout] = (),
    others: Sequence[str] = (),
    scaler: Scaler | None = None,
) -> PlacementOutcome:
    """Schedule the pods in the scheduler's order: by priority, then as given; then roll out updates, one by one.

    ``others`` names objects of the input that no pods were made of, for the fidelity report. With autoscalers, nodes
    come for pods that find none.
    """
    run = PlacementRun(session, scaler)
    run.schedule_all(asked)
    asked = list(asked)
    plans = tuple(roll_out(rollout, run, asked) for rollout in rollouts)
    after = add_landings(session, run.placements, run.evicted, scaler)
    placements, scale_up = after.placements, None
    if scaler is not None:
        placements, scale_up = apply_scale_up(scaler, session, placements)
    gone = run.removed | {victim.key for victim in run.evicted}
    pods = {item.pod.key: item.pod for item in asked if item.pod.key not in gone}
    left = [pending_pod_of(run.taken[key]) if key in run.taken else pod for key, pod in pods.items()]
    return PlacementOutcome(
        basis=RunRecord(session, asked, placements, others, rollouts, by_group=bool(run.groups)),
        end=FinalState(after.session, [*left, *map(pending_pod_of, after.homeless)], run.removed),
        rollouts=plans,
        scale_up=scale_up,
        groups=tuple(run.groups),
    )


R = TypeVar("R", DrainResult, OutageResult)


def place_scenario(case: Scenario, scaler: Scaler | None = None) -> PlacementOutcome | None:
    """Place the pods of a case, if there are any: from then on its cluster is as it is afterwards."""
    if not case.pods_to_schedule and not case.expanded.rollouts:
        return None
    session, rollouts = case.new_session(), case.expanded.rollouts
    before = place_pods(session, case.pods_to_schedule, rollouts=rollouts, others=case.unknown_kinds, scaler=scaler)
    after = snapshot_after_run(session.snapshot, case.edited.covered, case.expanded, before.end)
    case.edited = replace(case.edited, snapshot=after)
    return before


def merge_placed(before: PlacementOutcome | None, answer: PendingResult[R]) -> PendingResult[R]:
    """The answer to a question that was asked after pods were placed, if there were any."""
    if before is None:
        return answer

    def result(first: Fidelity, then: Fidelity) -> R:
        told = dict.fromkeys((*first.gaps, *then.gaps))
        return msgspec.structs.replace(
            answer.result(msgspec.structs.replace(then, gaps=tuple(told))),
            before=tuple(before.placements),
            rollouts=before.rollouts,
        )

    return PendingResult([before.basis, *answer.runs], result)
