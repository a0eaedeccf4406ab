"""A copy of a snapshot to which edits are applied, with the reaction of controllers to removed pods.

Removed pods are recreated, or count as failures of their job, which ends when it has failed too often. Upstream:
pkg/controller/podgc/gc_controller.go (pods of nodes that are gone), pkg/controller/tainteviction/taint_eviction.go
(taints of effect NoExecute).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum
from typing import TypeVar

from msgspec import structs
from msgspec.structs import replace

from kwhatif.admission.response import Doubts, Object
from kwhatif.api.core import Node, Pod, Taint
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.meta import OwnerReference, Resource
from kwhatif.api.objects import part_of, section
from kwhatif.api.selectors import tolerates
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, VolumeAttachment
from kwhatif.cluster.storage import claim_names
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.place import FailedCreate
from kwhatif.scheduling.controllers import Replacements
from kwhatif.simulation.expansion.unfinished_workloads import pods_made_anew
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.versions import features_of
from kwhatif.workloads.job_failures import Job, JobFailures, failures_left, job_of
from kwhatif.workloads.objects import integer, name_of, namespace_of

T = TypeVar("T", bound=Resource)


class Draft:
    """What is known of the cluster so far. Objects are replaced, never changed: the snapshot it began with stays.

    ``asked`` has the pods that edits led to and that wait for a node, by key; the snapshot holds them, too.
    ``manifests`` are what comes to the cluster later, by kind, namespace and name; workloads of them get ``replicas``.
    """

    def __init__(self, snapshot: Snapshot, manifests: Sequence[Manifest] = ()) -> None:
        self.snapshot = snapshot.copy()
        self.manifests = [manifest.key for manifest in manifests]
        self.replicas: dict[tuple[str, str, str], int] = {}
        self.asked: dict[str, PodToSchedule] = {}
        self.failed: list[FailedCreate] = []
        self.doubts: list[Doubts] = []
        self.ties: list[tuple[Object, Object]] = []
        self.notes: list[str] = []
        self.first_moments: list[str] = []
        self.moves_pods = False
        self._keys = set(self.snapshot.objects.keys_of("Pod"))
        self.replacements = Replacements(taken=self._keys.__contains__, renewed=pods_made_anew(snapshot))

    @property
    def nodes(self) -> list[Node]:
        return self.snapshot.objects.list_all(Node)

    @property
    def pods(self) -> list[Pod]:
        return self.snapshot.objects.list_all(Pod)

    def note(self, text: str) -> None:
        """Add a note about an edit's effect."""
        self.notes.append(text)

    def note_of(self, origin: str, text: str) -> None:
        """Note the effect of the edit of an ``origin``, if there is any."""
        if text:
            self.note(f"{origin}: {text}")

    def change(self, kind: type[T], change: Callable[[T], T | None]) -> None:
        """Replace each object of a kind by another; None removes it."""
        there = self.snapshot.objects.list_all(kind)
        there[:] = [changed for obj in there if (changed := change(obj)) is not None]

    def put_nodes(self, nodes: Iterable[Node]) -> None:
        """Replace the nodes of these names."""
        by_name = {node.name: node for node in nodes}
        self.change(Node, lambda node: by_name.get(node.name, node))

    def put_whole(self, obj: Object) -> None:
        """Replace an object that is kept as plain values."""
        name, namespace = name_of(obj), part_of(obj, "metadata").get("namespace")
        there = self.snapshot.whole[part_of(obj, "kind")]
        for i, other in enumerate(there):
            if (name_of(other), part_of(other, "metadata").get("namespace")) == (name, namespace):
                there[i] = obj

    def add_pods(self, pods: Iterable[Pod]) -> None:
        """Add pods."""
        for pod in pods:
            self.snapshot.objects.add(pod)
            self._keys.add(pod.key)

    def add_waiting_pod(self, pod_to_schedule: PodToSchedule) -> None:
        """Add a pod that waits for a node."""
        self.add_pods([pod_to_schedule.pod])
        self.asked[pod_to_schedule.pod.key] = structs.replace(pod_to_schedule, edited=True)

    def drop_pods(self, keys: Collection[str]) -> None:
        """Remove pods, and the claims that were made for them alone.

        Their volumes are detached, and devices that no other pod's claim uses are freed.
        """
        if not keys:
            return
        gone = set(keys)
        self._detach(gone)
        self.change(Pod, lambda pod: None if pod.key in gone else pod)
        for kind in (PersistentVolumeClaim, ResourceClaim):
            self.change(kind, lambda claim: None if _owning_pods(claim) & gone else claim)
        self.change(ResourceClaim, lambda claim: _given_back(claim, gone))
        for key in keys:
            self.asked.pop(key, None)
            self._keys.discard(key)

    def _detach(self, keys: Collection[str]) -> None:
        """Detach volumes that no other pod of the node uses.

        Upstream: pkg/controller/volume/attachdetach/attach_detach_controller.go.
        """
        if not self.snapshot.objects.list_all(VolumeAttachment):
            return
        going: set[tuple[str, str]] = set()
        staying: set[tuple[str, str]] = set()
        claims = self.snapshot.objects.list_all(PersistentVolumeClaim)
        volume_of = {(claim.namespace, claim.name): claim.spec.volume_name for claim in claims}
        for pod in self.pods:
            side = going if pod.key in keys else staying
            for name, _ in claim_names(pod) if pod.spec.node_name else ():
                side.add((pod.spec.node_name or "", volume_of.get((pod.namespace, name)) or ""))
        idle = going - staying

        def still(one: VolumeAttachment) -> VolumeAttachment | None:
            used = one.spec.node_name, one.spec.source.persistent_volume_name or ""
            return None if used in idle else one

        self.change(VolumeAttachment, still)

    def whole(self, kind: str) -> list[Object]:
        """The objects of a kind as plain values; none if the snapshot holds none."""
        return self.snapshot.whole.get(kind, [])


def _owning_pods(claim: Resource) -> set[str]:
    owners = claim.metadata.owner_references or ()
    return {f"{claim.namespace}/{owner.name}" for owner in owners if owner.kind == "Pod"}


def _given_back(claim: ResourceClaim, removed: Collection[str]) -> ResourceClaim:
    """The claim without the removed pods; it is deallocated if they were the last it was reserved for.

    Upstream: pkg/controller/resourceclaim/controller.go (syncClaim).
    """
    users = claim.status.reserved_for or []
    rest = [
        user
        for user in users
        if user.api_group or user.resource != "pods" or f"{claim.namespace}/{user.name}" not in removed
    ]
    if len(rest) == len(users):
        return claim
    status = replace(claim.status, reserved_for=rest or None)
    return replace(claim, status=status if rest else replace(status, allocation=None, devices=None))


def fail_jobs(draft: Draft, pods: Sequence[Pod]) -> set[Job]:
    """Count the loss of these pods as failures of their jobs. Returns the jobs that fail for it."""
    lost, jobs = Counter(map(job_of, pods)), list(draft.whole("Job"))
    for job in jobs:
        number, status = lost[namespace_of(job), name_of(job)], section(job, "status")
        if number and failures_left(job) is not None:
            draft.put_whole({**job, "status": {**status, "failed": integer(status.get("failed"), 0) + number}})
    return JobFailures(jobs).lose(pods)


_JOB_FAILS = "of jobs that fail for it, beyond their backoffLimit"


class RemovalCause(Enum):
    """Why pods go."""

    DELETED = "deleted"
    EVICTED = "evicted"
    NODE_GONE = "lost their node"


def remove_pods(draft: Draft, pods: Sequence[Pod], cause: RemovalCause, origin: str) -> str:
    """Remove pods and make their replacements. Returns what happened to them, in words.

    A daemon set makes a new pod only of one that was deleted: a removed or NoExecute-tainted node gets none. Static
    pods are removed with their node only.
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
        if _is_static(pod, owner) and cause is not RemovalCause.NODE_GONE:
            ends.setdefault("recreated there by the kubelet at once", []).append(pod.key)
            continue
        going[pod.key] = pod
        end = _JOB_FAILS if job_of(pod) in failing else _end(pod, owner, cause)
        if not end:
            replacement = draft.replacements.replacement_of(pod)
            assert replacement is not None
            assert owner is not None
            again.append((replacement, f"{owner.kind} {pod.namespace}/{owner.name}"))
        else:
            ends.setdefault(end, []).append(pod.key)
    others = [pod.key for pod in draft.pods if job_of(pod) in failing and pod.key not in going]
    draft.drop_pods({*going, *others})
    for replacement, made_by in again:
        draft.add_waiting_pod(PodToSchedule(replacement, origin, owner=made_by, ran_before=True))
    makers = "its controller" if len(again) == 1 else "their controllers"
    parts = [f"{len(again)} recreated by {makers} and to be placed"] if again else []
    parts += [f"{len(keys)} {end} ({format_some(keys)})" for end, keys in ends.items()]
    parts += [f"{len(others)} more of the same jobs are removed, too ({format_some(others)})"] if others else []
    return f"{format_count(len(pods), 'pod')} {cause.value}: {', '.join(parts)}"


def _end(pod: Pod, owner: OwnerReference | None, cause: RemovalCause) -> str:
    """Why no controller makes the pod again; empty if one does."""
    if pod.is_finished:
        return "finished before"
    if owner is None:
        return "lost, since no controller owns them"
    if owner.kind == "Node":
        return "static"
    if owner.kind == "DaemonSet" and cause is not RemovalCause.DELETED:
        return "of daemon sets, which do not run there"
    if owner.kind in ("ReplicaSet", "ReplicationController", "Job") and pod.metadata.deletion_timestamp:
        return "replaced before, since they were being deleted"
    if owner.kind not in ("ReplicaSet", "ReplicationController", "Job", "StatefulSet", "DaemonSet"):
        return f"of unknown controllers ({owner.kind}) and not recreated"
    return ""


def _is_static(pod: Pod, owner: OwnerReference | None) -> bool:
    """Whether it mirrors a pod that a kubelet runs of its own accord."""
    return pod.is_mirror or (owner is not None and owner.kind == "Node")


def tolerates_forever(pod: Pod, taint: Taint) -> bool:
    """Whether a pod tolerates a taint of effect NoExecute for good; one that does so for a time goes in the end."""
    operators = features_of().taint_toleration_comparison_operators
    for toleration in pod.spec.tolerations or ():
        if tolerates(toleration, taint, comparison_operators=operators):
            return toleration.toleration_seconds is None
    return False
