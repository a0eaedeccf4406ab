"""Drainability: whether a pod may be moved from its node, by rules tried in upstream's order until one decides.

The rule for finished pods is left out, since those are on no node here. Upstream: cluster-autoscaler/simulator/drain.go
and simulator/drainability (status.go, context.go, rules, a directory a rule), utils/drain/drain.go;
core/scaledown/pdb/basic.go for the disruption budgets that simulated removals use up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import count

import msgspec

from kwhatif.api.core import Volume
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.golang.parsing import SECOND
from kwhatif.scheduling.selected_budgets import SelectedBudgets


class RemainingBudgets:
    """How many more pods each budget lets go.

    Other than the eviction API, cluster-autoscaler lets a pod of several budgets go if all of them allow it, counts
    unready pods like ready ones, and gives nothing back: its removals are planned, and no pod becomes ready meanwhile.
    """

    def __init__(self, budgets: Sequence[PodDisruptionBudget]) -> None:
        numbers = count()
        self._selected = SelectedBudgets(
            budgets, lambda budget: (next(numbers), budget.status.disruptions_allowed or 0)
        )
        self._left = [allowed for _, allowed in self._selected.values]
        self._about: dict[int, list[int]] = {}

    def budgets_of(self, shape: PodShape) -> list[int]:
        """The numbers of the budgets that select pods of this shape."""
        numbers = self._about.get(shape.index)
        if numbers is None:
            selected = self._selected.of(shape.namespace, shape.labels)
            numbers = self._about[shape.index] = [number for number, _ in selected]
        return numbers

    def allows(self, shape: PodShape) -> bool:
        """Whether all budgets of such a pod let one go."""
        return all(self._left[number] >= 1 for number in self.budgets_of(shape))

    def allows_all(self, pods: Sequence[PodInfo]) -> bool:
        """Whether they let all these pods go at the same time."""
        taken: Counter[int] = Counter(number for pod in pods for number in self.budgets_of(pod.shape))
        return all(much <= self._left[number] for number, much in taken.items())

    def take(self, pods: Sequence[PodInfo]) -> None:
        """Count these pods as evicted."""
        for pod in pods:
            for number in self.budgets_of(pod.shape):
                self._left[number] -= 1


class DrainOutcome(Enum):
    """MOVE: the pod is rescheduled. SKIP: it goes with its node. WAIT: the node stays until it is done."""

    MOVE = "move"
    SKIP = "skip"
    WAIT = "wait"


Verdict = DrainOutcome | str | None
"""An outcome, the reason why the pod keeps its node, or None: the rule has nothing to say."""


class DrainContext(msgspec.Struct, frozen=True):
    """The input of rules; ``controllers`` as ``AutoscalingContext`` has them, None where they are not checked.

    ``of_shape`` caches the verdict of all rules but that of budgets for pods that differ in nothing the rules read.
    """

    flags: Flags
    now: int
    budgets: RemainingBudgets
    controllers: Mapping[tuple[str, str, str], int | None] | None
    of_shape: dict[int, Verdict] = {}


_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_SPARED = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_EXTRA = 30
_GRACE = 30
_COUNTED = ("ReplicationController", "ReplicaSet")
_SOUGHT = {"DaemonSet": "apps", "StatefulSet": "apps", "Job": None, "ReplicationController": None, "ReplicaSet": None}
"""Kind -> the API group of the controllers that upstream looks up."""
_REPLICATING = ("ReplicationController", "Job", "ReplicaSet", "StatefulSet")


def mirror(pod: PodInfo, context: DrainContext) -> Verdict:
    """Mirror pods are skipped, since a kubelet runs their static pods by itself."""
    return DrainOutcome.SKIP if pod.pod.is_mirror else None


def long_terminating(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods that should have terminated some time ago are skipped."""
    return DrainOutcome.SKIP if is_long_terminating(pod, context.now) else None


def is_long_terminating(pod: PodInfo, now: int) -> bool:
    """Whether the pod's deletion timestamp is more than half a minute ago."""
    deleted = pod.pod.metadata.deletion_timestamp
    if not deleted:
        return False
    grace = pod.pod.spec.termination_grace_period_seconds
    return moment(deleted) + ((_GRACE if grace is None else grace) + _EXTRA) * SECOND < now


def replica_count(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods whose controller does not exist, or has fewer replicas than required, block the drain."""
    controller = pod.shape.controller
    if controller is None or context.controllers is None or not context.flags.skip_nodes_with_custom_controller_pods:
        return None
    kind, group = controller.kind or "", (controller.api_version or "").rpartition("/")[0]
    daemon = is_of_daemon_set(pod.pod)
    if kind not in _SOUGHT or _SOUGHT[kind] not in (None, group):
        return None
    if daemon != (kind == "DaemonSet") and kind != "ReplicationController":
        return None
    key = (kind, pod.shape.namespace, controller.name or "")
    if key not in context.controllers:
        return "ControllerNotFound"
    replicas = context.controllers[key]
    few = kind in _COUNTED and replicas is not None and replicas < context.flags.min_replica_count
    return "MinReplicasReached" if few else None


def daemon_pods(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods of DaemonSets are skipped: they leave with their node."""
    return DrainOutcome.SKIP if is_of_daemon_set(pod.pod) else None


def safe_to_evict(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods with this annotation may be moved, whatever later rules say."""
    return DrainOutcome.MOVE if _annotation_of(pod) == "true" else None


def on_completion(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods with this annotation are waited for until they complete."""
    return DrainOutcome.WAIT if _annotation_of(pod) == "on-completion" else None


def not_safe_to_evict(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods with this annotation block the drain."""
    return "NotSafeToEvictAnnotation" if _annotation_of(pod) == "false" else None


def _annotation_of(pod: PodInfo) -> str | None:
    return (pod.pod.metadata.annotations or {}).get(_SAFE)


def replicated(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods without a controller block the drain."""
    controller = pod.shape.controller
    if controller is None:
        return "NotReplicated"
    custom = context.flags.skip_nodes_with_custom_controller_pods and controller.kind not in _REPLICATING
    return "NotReplicated" if custom else None


def system_pods(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods of kube-system without a disruption budget block the drain in their first hour."""
    flags = context.flags
    system = pod.shape.namespace == "kube-system" and not context.budgets.budgets_of(pod.shape)
    if not system or not flags.skip_nodes_with_system_pods:
        return None
    created = pod.pod.metadata.creation_timestamp
    if created and context.now > moment(created) + flags.blocking_system_pod_distruption_timeout:
        return DrainOutcome.MOVE
    return "UnmovableKubeSystemPod"


def local_storage(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods with local storage block the drain."""
    if not context.flags.skip_nodes_with_local_storage:
        return None
    spared = (pod.pod.metadata.annotations or {}).get(_SPARED, "").split(",")
    local = (volume.name for volume in pod.pod.spec.volumes or () if _is_local(volume))
    return "LocalStorageRequested" if any(name not in spared for name in local) else None


def _is_local(volume: Volume) -> bool:
    scratch = volume.empty_dir
    return volume.host_path is not None or (scratch is not None and scratch.medium != "Memory")


def disruption_budget(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods whose PodDisruptionBudget allows no more disruptions block the drain; this rule comes last."""
    return None if context.budgets.allows(pod.shape) else "NotEnoughPdb"


RULES = (
    mirror,
    long_terminating,
    replica_count,
    daemon_pods,
    safe_to_evict,
    on_completion,
    replicated,
    system_pods,
    not_safe_to_evict,
    local_storage,
)
"""All but that of disruption budgets, which comes last."""


class PodsToMove(msgspec.Struct):
    """``pods`` have to find another node, the node waits for those ``finishing``; ``blocking`` is the first pod that
    blocks the drain, and why.
    """

    pods: list[PodInfo] = []
    finishing: list[PodInfo] = []
    blocking: tuple[PodInfo, str] | None = None


def pods_to_move(pods: Iterable[PodInfo], context: DrainContext) -> PodsToMove:
    """Apply all rules to the pods of a node, until one pod blocks."""
    to_move = PodsToMove()
    for pod in pods:
        said = outcome(pod, context)
        if isinstance(said, str):
            to_move.blocking = (pod, said)
            break
        if said is DrainOutcome.MOVE:
            to_move.pods.append(pod)
        elif said is DrainOutcome.WAIT:
            to_move.finishing.append(pod)
    return to_move


def outcome(pod: PodInfo, context: DrainContext) -> DrainOutcome | str:
    """The outcome for one pod, or why it blocks."""
    return _verdict_of(pod, context) or disruption_budget(pod, context) or DrainOutcome.MOVE


def _verdict_of(pod: PodInfo, context: DrainContext) -> Verdict:
    """The verdict of the first rule that has one."""
    meta = pod.pod.metadata
    # Pods of kube-system are judged by their age.
    alike = not meta.annotations and not meta.deletion_timestamp and pod.shape.namespace != "kube-system"
    if alike and pod.shape.index in context.of_shape:
        return context.of_shape[pod.shape.index]
    said = next((verdict for rule in RULES if (verdict := rule(pod, context)) is not None), None)
    if alike:
        context.of_shape[pod.shape.index] = said
    return said
