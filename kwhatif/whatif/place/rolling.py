"""An update walked through: which of its new pods find a node while the old ones are still there?"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.world import name_of
from kwhatif.progress import tracked
from kwhatif.results.place import RolloutPlan
from kwhatif.whatif.expand.as_result import planned
from kwhatif.whatif.expand.expand import Rollout
from kwhatif.whatif.place.placing import Run, Taken
from kwhatif.whatif.session import Asked


def roll_out(rollout: Rollout, run: Run, asked: list[Asked]) -> RolloutPlan:
    """Go through an update: new pods are placed with the old ones still there, which leave before the next step.

    Pods of the workload that found a node before, in this run, are ready. A pod that found none is tried again whenever
    pods have left, and when nodes have come for it. The pods are added to those ``asked`` about.
    """
    waiting: dict[str, Taken] = {}

    def ready(pod: Object) -> bool:
        taken = waiting.get(name_of(pod))
        if taken is not None and run.left > taken.left:
            run.again(taken)
        if taken is not None and not taken.placement.good:
            run.help()
        return _placed(pod, taken)

    plan = rollout.begin(ready, run.homes())
    for step in tracked(plan, f"Rolling out {rollout.name}", "steps"):
        for claim in rollout.claims(step):
            run.claim(claim)
        for pod in step.creates:
            item = rollout.asked(pod)
            asked.append(item)
            waiting[name_of(pod)] = run.take(item)
            _placed(pod, waiting[name_of(pod)])
        for name in step.removes:
            run.remove(f"{rollout.namespace}/{name}")
    return planned(rollout, plan)


def _placed(pod: Object, taken: Taken | None) -> bool:
    """Whether a pod of a rollout has a node; the plan learns which."""
    if taken is None or not taken.placement.good:
        return False
    pod["spec"]["nodeName"] = taken.placement.node or taken.asked.pod.spec.node_name
    return True
