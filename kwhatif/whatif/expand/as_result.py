"""What came of manifests, as a result that can be printed."""

from __future__ import annotations

from kwhatif.admission.pipeline import NOT_MODELLED
from kwhatif.admission.world import name_of
from kwhatif.results.expand import ChangeRecord, ExpandedPod, ExpandResult
from kwhatif.results.place import RolloutPlan, RolloutStep
from kwhatif.whatif.expand.expand import Expanded, Rollout
from kwhatif.whatif.session import Asked
from kwhatif.workloads.rollout import Plan


def summarized(expanded: Expanded) -> ExpandResult:
    """The pods, claims and refusals as a result; updates as if every new pod found its node."""
    plans = []
    for rollout in expanded.rollouts:
        plan_ = rollout.begin(lambda pod: True, {})
        for step in plan_:
            rollout.claims(step)
            expanded.pods += map(rollout.asked, step.creates)
        plans.append(planned(rollout, plan_))
    return ExpandResult(
        pods=tuple(_record(expanded, item) for item in expanded.pods),
        claims=tuple(expanded.claims),
        refusals=tuple(expanded.refusals),
        failed=tuple(expanded.failed),
        rollouts=tuple(plans),
        unknown=dict(sorted(expanded.unknown.items())),
        not_modelled=NOT_MODELLED,
    )


def _record(expanded: Expanded, item: Asked) -> ExpandedPod:
    changes = expanded.trails[item.pod.key]
    return ExpandedPod(
        pod=item.pod.key,
        owner=item.owner,
        origin=item.origin,
        changes=tuple(ChangeRecord(step=change.step, path=change.path, text=change.text) for change in changes),
        object=expanded.whole[item.pod.key],
    )


def planned(rollout: Rollout, plan_: Plan) -> RolloutPlan:
    """What came of a rollout, in names and numbers."""
    return RolloutPlan(
        object=rollout.name,
        origin=rollout.origin,
        creates=len(plan_.created),
        keeps=len(plan_.kept),
        removes=len(plan_.removed),
        unfinished=plan_.unfinished,
        steps=tuple(
            RolloutStep(
                live_old=step.live.old,
                live_new=step.live.new,
                terminating_old=step.terminating.old,
                terminating_new=step.terminating.new,
                creates=tuple(map(name_of, step.creates)),
                removes=step.removes,
            )
            for step in plan_.steps
        ),
    )
