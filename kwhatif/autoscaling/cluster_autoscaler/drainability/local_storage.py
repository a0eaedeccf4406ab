"""Pods with local storage block the drain.

Upstream: cluster-autoscaler/simulator/drainability/rules/localstorage and utils/drain/drain.go.
"""

from __future__ import annotations

from kwhatif.api.core import Volume
from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Verdict
from kwhatif.cluster.shapes import PodInfo

_SPARED = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"


def local_storage(pod: PodInfo, context: DrainContext) -> Verdict:
    if not context.flags.skip_nodes_with_local_storage:
        return None
    spared = (pod.pod.metadata.annotations or {}).get(_SPARED, "").split(",")
    local = (volume.name for volume in pod.pod.spec.volumes or () if _is_local(volume))
    return "LocalStorageRequested" if any(name not in spared for name in local) else None


def _is_local(volume: Volume) -> bool:
    scratch = volume.empty_dir
    return volume.host_path is not None or (scratch is not None and scratch.medium != "Memory")
