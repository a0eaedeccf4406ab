"""The drainability rules, in upstream's order: each may say what becomes of a pod whose node is drained.

The rule for finished pods is left out, since those are on no node here. Upstream: cluster-autoscaler/simulator/
drainability/rules, a directory a rule, and utils/drain/drain.go.
"""

from __future__ import annotations

from kwhatif.api.core import Volume
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Outcome, Verdict
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.parsing import SECOND

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
    return Outcome.SKIP if pod.pod.is_mirror else None


def long_terminating(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods that should have terminated some time ago are skipped."""
    return Outcome.SKIP if is_long_terminating(pod, context.now) else None


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
    return Outcome.SKIP if is_of_daemon_set(pod.pod) else None


def safe_to_evict(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods with this annotation may be moved, whatever later rules say."""
    return Outcome.MOVE if _annotation_of(pod) == "true" else None


def on_completion(pod: PodInfo, context: DrainContext) -> Verdict:
    """Pods with this annotation are waited for until they complete."""
    return Outcome.WAIT if _annotation_of(pod) == "on-completion" else None


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
        return Outcome.MOVE
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
