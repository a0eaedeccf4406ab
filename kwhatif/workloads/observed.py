"""The object as it must be in a cluster whose snapshot holds its pods but not the object itself.

Snapshots keep what scheduling reads, and that is not Deployments or DaemonSets. Their pods tell enough to plan an
update: how many there are, and whether they fit the template at hand. What pods have beyond a template is taken to
come from the API server, so a field that a manifest no longer has goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.admission.answer import Object
from kwhatif.workloads.objects import section
from kwhatif.workloads.pod_status import is_over
from kwhatif.workloads.pods import template_of
from kwhatif.workloads.replica_sets import owned_through_replica_sets
from kwhatif.workloads.rollout_replicas import owned_by
from kwhatif.workloads.templates import HASH_LABEL, fits

__all__ = ["observed"]

_COUNTED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_ADDED_LABELS = (
    *(HASH_LABEL, "controller-revision-hash", "pod-template-generation"),
    *("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
)


def observed(new: Object, pods: Sequence[Object]) -> Object | None:
    """``new`` as it was before, as far as its pods tell; None if it has no pods, so that it may be new indeed."""
    if new.get("kind") == "Deployment":
        mine = [pod for group in owned_through_replica_sets(new, pods).values() for pod in group]
    else:
        mine = owned_by(new, pods)
    mine = [pod for pod in mine if not is_over(pod) and not section(pod, "metadata").get("deletionTimestamp")]
    if not mine:
        return None
    spec = dict(section(new, "spec"))
    if new.get("kind") in _COUNTED:
        spec["replicas"] = len(mine)
    template = section(spec, "template")
    if not any(fits(pod, template) for pod in mine):
        newest = max(mine, key=lambda pod: str(section(pod, "metadata").get("creationTimestamp") or ""))
        spec["template"] = template_of(newest)
        for label in _ADDED_LABELS:
            section(spec, "template", "metadata", "labels").pop(label, None)
    return {**new, "spec": spec}
