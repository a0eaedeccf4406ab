"""Pods that lose their node or are deleted, and those that their controllers make in their place.

Upstream: pkg/controller/podgc/gc_controller.go (pods of nodes that are gone),
pkg/controller/tainteviction/taint_eviction.go (taints of effect NoExecute).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from kwhatif.api.core import Pod, Taint
from kwhatif.api.meta import OwnerReference
from kwhatif.api.selectors import tolerates
from kwhatif.cluster.cluster import FINISHED
from kwhatif.results.amounts import counted, some
from kwhatif.versions import features_of
from kwhatif.whatif.edits.draft import Draft
from kwhatif.whatif.edits.failed_jobs import fail_jobs, job_of
from kwhatif.whatif.session import Asked

_JOB_FAILS = "of jobs that fail for it, beyond their backoffLimit"


class Cause(Enum):
    """Why pods go."""

    DELETED = "deleted"
    EVICTED = "evicted"
    NODE_GONE = "lost their node"


def depart(draft: Draft, pods: Sequence[Pod], cause: Cause, origin: str) -> str:
    """Take pods away and make what their controllers would. Returns what became of them, in words.

    A daemon set makes a new pod only of one that was deleted: on a node that is gone, or whose taint drove the pod
    off, it wants none. Static pods go with their node alone; anything else their kubelet undoes.
    """
    if not pods:
        return ""
    draft.moves_pods = True
    failing = fail_jobs(draft, pods)
    going: dict[str, Pod] = {}
    again: list[tuple[Pod, str]] = []
    ends: dict[str, list[str]] = {}
    for pod in pods:
        owner = pod.controller
        if _is_static(pod, owner) and cause is not Cause.NODE_GONE:
            ends.setdefault("made anew there by the kubelet at once", []).append(pod.key)
            continue
        going[pod.key] = pod
        end = _JOB_FAILS if job_of(pod) in failing else _end(pod, owner, cause)
        if not end:
            replacement = draft.replacements.after(pod)
            assert replacement is not None
            assert owner is not None
            again.append((replacement, f"{owner.kind} {pod.namespace}/{owner.name}"))
        else:
            ends.setdefault(end, []).append(pod.key)
    others = [pod.key for pod in draft.pods if job_of(pod) in failing and pod.key not in going]
    draft.drop_pods({*going, *others})
    for replacement, made_by in again:
        draft.ask(Asked(replacement, origin, owner=made_by, again=True))
    makers = "its controller" if len(again) == 1 else "their controllers"
    parts = [f"{len(again)} made again by {makers} and to be placed"] if again else []
    parts += [f"{len(keys)} {end} ({some(keys)})" for end, keys in ends.items()]
    parts += [f"{len(others)} more of the same jobs go, too ({some(others)})"] if others else []
    return f"{counted(len(pods), 'pod')} {cause.value}: {', '.join(parts)}"


def _end(pod: Pod, owner: OwnerReference | None, cause: Cause) -> str:
    """Why nobody makes the pod again; empty if somebody does."""
    if (pod.status.phase or "") in FINISHED:
        return "finished before"
    if owner is None:
        return "gone for good, since no controller has made them"
    if owner.kind == "Node":
        return "static"
    if owner.kind == "DaemonSet" and cause is not Cause.DELETED:
        return "of daemon sets, which want none there"
    if owner.kind in ("ReplicaSet", "ReplicationController", "Job") and pod.metadata.deletion_timestamp:
        return "replaced before, since they were being deleted"
    if owner.kind not in ("ReplicaSet", "ReplicationController", "Job", "StatefulSet", "DaemonSet"):
        return f"of controllers that nobody here knows ({owner.kind}) and not made again"
    return ""


def _is_static(pod: Pod, owner: OwnerReference | None) -> bool:
    """Whether it mirrors a pod that a kubelet runs of its own accord."""
    return pod.is_mirror or (owner is not None and owner.kind == "Node")


def stays_despite(pod: Pod, taint: Taint) -> bool:
    """Whether a pod tolerates a taint of effect NoExecute for good; one that does so for a time goes in the end."""
    operators = features_of().taint_toleration_comparison_operators
    for toleration in pod.spec.tolerations or ():
        if tolerates(toleration, taint, comparison_operators=operators):
            return toleration.toleration_seconds is None
    return False
