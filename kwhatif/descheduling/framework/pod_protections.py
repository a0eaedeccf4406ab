"""DefaultEvictor's protections of pods, each with the reason of its refusal.

Upstream: pkg/framework/plugins/defaultevictor/defaultevictor.go, constraints.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, PodDisruptionBudget
from kwhatif.golang.formatting import go_quote
from kwhatif.scheduling.selected_budgets import SelectedBudgets

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
LOCAL_STORAGE, DAEMON_SET, CRITICAL, BARE = (
    *("PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"),
)
CLAIMS, WITHOUT_BUDGET, RESOURCE_CLAIMS = "PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"
DEFAULT_PROTECTIONS = (LOCAL_STORAGE, CRITICAL, BARE, DAEMON_SET)
EXTRA_PROTECTIONS = (CLAIMS, WITHOUT_BUDGET, RESOURCE_CLAIMS)

Protection = Callable[[Pod], str]
"""Why a pod must stay; nothing if it need not."""


class ProtectedObjects(msgspec.Struct, frozen=True):
    """What protections look up: claims by ``namespace/name``, and budgets."""

    claims: Mapping[str, PersistentVolumeClaim] = {}
    budgets: Sequence[PodDisruptionBudget] = ()


def protections(
    enabled: Sequence[str], threshold: int, storage_classes: Sequence[str], objects: ProtectedObjects
) -> Iterator[Protection]:
    """The protections in force, in upstream's order. Of claims only ``storage_classes`` count, if there are any."""
    if CRITICAL in enabled:
        yield _system_critical
        yield lambda pod: _of_priority(pod, threshold)
    yield _bare if BARE in enabled else _bare_and_not_failed
    if LOCAL_STORAGE in enabled:
        yield _local_storage
    if DAEMON_SET in enabled:
        yield _daemon_set
    if CLAIMS in enabled:
        yield (lambda pod: _storage_class(pod, storage_classes, objects.claims)) if storage_classes else _claim
    if WITHOUT_BUDGET in enabled:
        budgets = SelectedBudgets(objects.budgets, lambda budget: budget.name)
        yield lambda pod: _without_budget(pod, budgets)
    if RESOURCE_CLAIMS in enabled:
        yield _resource_claims


def _system_critical(pod: Pod) -> str:
    critical = pod.spec.priority is not None and pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY
    return "pod has system critical priority and is protected against eviction" if critical else ""


def _of_priority(pod: Pod, threshold: int) -> str:
    above = pod.spec.priority is not None and pod.spec.priority >= threshold
    return "pod has higher priority than specified priority class threshold" if above else ""


def _bare(pod: Pod) -> str:
    return "" if pod.metadata.owner_references else "pod does not have any ownerRefs"


def _bare_and_not_failed(pod: Pod) -> str:
    if pod.metadata.owner_references or pod.status.phase == "Failed":
        return ""
    return "pod does not have any ownerRefs and is not in failed phase"


def _local_storage(pod: Pod) -> str:
    local = any(volume.host_path is not None or volume.empty_dir is not None for volume in pod.spec.volumes or ())
    return "pod has local storage and is protected against eviction" if local else ""


def _daemon_set(pod: Pod) -> str:
    daemon = any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references or ())
    return "daemonset pods are protected against eviction" if daemon else ""


def _claim(pod: Pod) -> str:
    claims = any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes or ())
    return "pod with PVC is protected against eviction" if claims else ""


def _storage_class(pod: Pod, protected: Sequence[str], claims: Mapping[str, PersistentVolumeClaim]) -> str:
    """A claim that is missing or has no class protects, too."""
    classes: dict[str, None] = {}
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        claim = claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            return (
                f"failed to get persistent volume claim {go_quote(pod.namespace)}/{go_quote(name)}: "
                f"persistentvolumeclaim {go_quote(name)} not found"
            )
        if not claim.spec.storage_class_name:
            return f"failed to resolve storage class for pod {go_quote(pod.namespace)}/{go_quote(name)}"
        classes[claim.spec.storage_class_name] = None
    name_of_class = next((name for name in classes if name in protected), None)
    return "" if name_of_class is None else f"pod using protected storage class {go_quote(name_of_class)}"


def _resource_claims(pod: Pod) -> str:
    if not pod.spec.resource_claims:
        return ""
    return "pod has ResourceClaims and descheduler is configured to protect ResourceClaims pods"


def _without_budget(pod: Pod, budgets: SelectedBudgets[str]) -> str:
    if budgets.of(pod.namespace, pod.metadata.labels or {}):
        return ""
    return "pod does not have a PodDisruptionBudget and is protected against eviction"
