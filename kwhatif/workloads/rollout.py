"""The plan of an update: what the controllers do, step by step, once a changed object is stored.

    plan = plan_rollout(old, new, pods, nodes, ready=lambda pod: name_of(pod) in placed)
    for step in plan:                       # the controllers have come to rest
        place(step.creates)                 # with the pods of step.removes still there
        forget(step.removes)
    plan.remaining_work                     # "" or what is still to be done: the update is stuck

Between two steps terminating pods disappear, and ``ready`` is called for each pod of the plan that is not ready yet.
Minimum ready times are assumed to have passed. When nothing more happens there are no more steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from kwhatif.admission.response import Object
from kwhatif.workloads.daemon_set_rollout import DaemonSetRollout
from kwhatif.workloads.deployment_rollout import DeploymentRollout
from kwhatif.workloads.job import JobRollout
from kwhatif.workloads.objects import group_of
from kwhatif.workloads.replica_set import ReplicasRollout
from kwhatif.workloads.rollout_state import Admit, ClaimNeeded, PodDeleted, Ready, Rollout, Step
from kwhatif.workloads.stateful_set import StatefulSetRollout


class Plan(Iterator[Step]):
    """The steps of an update, computed as they are consumed, and its state so far."""

    def __init__(
        self,
        rollout: Rollout | None,
        ready: Ready,
        on_delete: PodDeleted = lambda pod: None,
        create_claim: ClaimNeeded = lambda claim: True,
    ) -> None:
        self._rollout = rollout
        if rollout is not None:
            rollout.gone, rollout.create_claim = on_delete, create_claim
        self._ready = ready
        self._resting = False
        self._before = [member.name for member in rollout.members] if rollout else []
        self.available_before = self.least_available = self._available()
        self.steps: list[Step] = []

    def __next__(self) -> Step:
        if self._rollout is None:
            raise StopIteration
        # A controller that was refused a pod tries again: others may have left room in a quota.
        settled = self._rollout.settle(self._ready) or bool(self._rollout.refused) if self._resting else True
        self._resting = True
        while settled:
            while self._rollout.sync():
                pass
            self.least_available = min(self.least_available, self._available())
            step = self._rollout.take_step()
            if step is not None:
                self.steps.append(step)
                return step
            settled = self._rollout.settle(self._ready)
        raise StopIteration

    def _available(self) -> int:
        """The pods that are ready and do not terminate. They become fewer by what a controller deletes alone."""
        return self._rollout.members.available.total() if self._rollout else 0

    def rest(self) -> None:
        """Nothing is to be done before a pod of the plan becomes ready or is gone."""
        self._resting = True

    def expect(self, names: Collection[str]) -> None:
        """These pods of the cluster may find a node meanwhile: ``ready`` is asked about them, too."""
        if self._rollout is not None:
            self._rollout.members.expect(names)

    @property
    def remaining_work(self) -> str:
        """What is still to be done, in words; empty when the update is complete."""
        return self._rollout.remaining_work() if self._rollout else ""

    @property
    def waiting(self) -> tuple[str, ...]:
        """The pods of the plan that are not ready."""
        return tuple(member.name for member in self._rollout.members.unready()) if self._rollout else ()

    @property
    def refused_pods(self) -> tuple[str, ...]:
        """The pods that the API server refused."""
        return tuple(sorted(self._rollout.refused)) if self._rollout else ()

    @property
    def replica_sets(self) -> tuple[Object, ...]:
        """The replica sets of a deployment as they are by now."""
        return self._rollout.replica_sets if isinstance(self._rollout, DeploymentRollout) else ()

    @property
    def stateful_set(self) -> Object | None:
        """The stateful set with the revisions that its status has by now; None for other workloads."""
        return self._rollout.with_revisions() if isinstance(self._rollout, StatefulSetRollout) else None

    @property
    def ties(self) -> Sequence[tuple[Object, Object]]:
        """Pairs of pods that the rules for deletion do not tell apart, of which the first went first, by chance."""
        return [(one.pod, other.pod) for one, other in self._rollout.ties] if self._rollout else []

    @property
    def created_pods(self) -> tuple[Object, ...]:
        return tuple(pod for step in self.steps for pod in step.creates)

    @property
    def removed_pods(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps for name in step.removes)

    @property
    def kept_pods(self) -> tuple[str, ...]:
        """The pods that were there before and were not removed."""
        removed = set(self.removed_pods)
        return tuple(name for name in self._before if name not in removed)


def plan_rollout(
    old: Object,
    new: Object,
    pods: Sequence[Object],
    nodes: Sequence[Object] = (),
    ready: Ready = lambda pod: True,
    *,
    admit: Admit = lambda pod: pod,
    gone: PodDeleted = lambda pod: None,
    create_claim: ClaimNeeded = lambda claim: True,
    replica_sets: Sequence[Object] = (),
    now: datetime | None = None,
    max_unavailable_stateful_set: bool = False,
) -> Plan:
    """Plan the update of ``old``, as it is stored, to ``new``, as it would be.

    An API server that ``admit`` asks must hear from ``gone`` which pods have disappeared: a stateful set's pods come
    back under their names, and quota is freed. ``create_claim`` creates a claim that a pod needs, unless it is there.

    ``pods`` may hold any pods; those of the object are found by their owners. ``nodes`` matter to daemon sets.
    ``replica_sets`` are those of the cluster, if known: without them, sizes are inferred from the pods. ``now`` is
    when the cluster was looked at, for ages. The last flag is the feature gate MaxUnavailableStatefulSet.
    Cron jobs, pods and custom resources leave their pods alone: no steps.
    """
    rollout: Rollout | None = None
    match group_of(new), new.get("kind"):
        case "apps", "Deployment":
            rollout = DeploymentRollout.from_objects(old, new, pods, replica_sets, admit, now)
        case ("apps", "ReplicaSet") | ("", "ReplicationController"):
            rollout = ReplicasRollout.from_objects(old, new, pods, admit, now)
        case "apps", "StatefulSet":
            rollout = StatefulSetRollout.from_objects(old, new, pods, admit, gate=max_unavailable_stateful_set)
        case "apps", "DaemonSet":
            rollout = DaemonSetRollout.from_objects(old, new, pods, nodes, admit)
        case "batch", "Job":
            rollout = JobRollout.from_objects(old, new, pods, admit)
    return Plan(rollout, ready, gone, create_claim)
