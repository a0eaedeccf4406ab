"""The cluster after a run, as a snapshot for further questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from kwhatif.admission.object_store import name_of, namespace_of
from kwhatif.api.core import Condition, Pod
from kwhatif.api.decode import convert
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, Objects
from kwhatif.api.workloads_and_storage import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    ReplicaSet,
    VolumePhase,
)
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.storage import SELECTED_NODE, Storage, claim_names
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.budget_status import recount_disruptions
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.placement.run import Run
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.volumes import claim_provisioned, settle_volumes

_ONLY_PLACED = "the snapshot before had no list of this kind"


def pending_pod_of(attempt: Attempt) -> Pod:
    """A pod as a failed attempt leaves it: with the reason, and with its nominated node, if any."""
    pod = attempt.pod.pod
    conditions = [condition for condition in pod.status.conditions or () if condition.type != "PodScheduled"]
    reason, message = "Unschedulable", attempt.message
    if attempt.gated is not None:
        reason, message = "SchedulingGated", attempt.gated.message
    if message:
        conditions.append(Condition(type="PodScheduled", status="False", reason=reason, message=message))
    kept = attempt.pod.nominated or None
    return replace(pod, status=replace(pod.status, nominated_node_name=kept, conditions=conditions or None))


def snapshot_after_run(
    snapshot: Snapshot, covered: Collection[str], expanded: ExpandedManifests, run: Run, placed: str = ""
) -> Snapshot:
    """The snapshot after a run; the argument is not changed.

    ``covered`` are the kinds that it covered before any manifests came. What was ``placed`` is recorded with the edits.
    """
    whole, later = set(snapshot.whole), snapshot.copy()
    _store_whole(later, expanded)
    before = snapshot.objects.list_all(Pod)
    later.objects.put(Pod, _pods(before, run))
    recount_disruptions(later.objects, before)
    store_volumes(later.objects, run.end.cluster, claims_are_known="PersistentVolumeClaim" in covered)
    _drop_claims_not_made(later.objects, expanded, run)
    later.objects.put_if_any(ResourceClaim, run.end.cluster.devices.claims.values())
    for kind in later.by_kind():
        if kind not in covered and kind not in whole:
            later.unreadable = {kind: _ONLY_PLACED, **later.unreadable}
    later.edits = [*later.edits, *([placed] if placed else [])]
    return later


def _drop_claims_not_made(objects: Objects, expanded: ExpandedManifests, run: Run) -> None:
    """Leave out the claims that came for pods whose turn has not come: a controller makes both at once."""
    new = {(namespace_of(claim), name_of(claim)) for claim in expanded.claims}
    there = {pod.key for pod in objects.list_all(Pod)} | set(run.removed)
    missing = [item.pod for item in run.pods_to_schedule if new and item.pod.key not in there]
    gone = {(pod.namespace, name) for pod in missing for name, _ in claim_names(pod)} & new
    if gone:
        kept = [claim for claim in objects.list_all(PersistentVolumeClaim) if (claim.namespace, claim.name) not in gone]
        objects.put(PersistentVolumeClaim, kept)


def _pods(before: Iterable[Pod], run: Run) -> list[Pod]:
    """Those that were there in their order, then those that are new."""
    cluster, before = run.end.cluster, list(before)
    stayed = {pod.identity: pod.spec.node_name for pod in before}
    running = {
        info.key: _running(info.pod, cluster.columns.names[row], stayed.get(info.uid)) for info, row in cluster.pods()
    }
    others = {pod.key: pod for pod in run.left}
    gone = {
        *run.removed,
        *(placement.pod for placement in (*run.placements, *run.replacements) if placement.outcome == "uncreated"),
        # Among them may be pods that waited before, found a node and lost it again.
        *(victim.pod for victim in run.victims),
    }
    pods: dict[str, Pod] = {}
    for pod in before:
        if pod.key in running or pod.key in others:
            pods[pod.key] = running.get(pod.key) or others[pod.key]
        elif pod.key not in gone and not _left(pod, cluster):
            pods[pod.key] = pod
    return list((pods | others | running).values())


def _running(pod: Pod, node: str, before: str | None) -> Pod:
    """A pod on its node; one that was not there ``before`` is assumed to be ready, as everywhere."""
    status = pod.status
    if before != node:
        status = replace(status, phase="Running", nominated_node_name=None, conditions=None)
    return replace(pod, spec=replace(pod.spec, node_name=node), status=status)


def _left(pod: Pod, cluster: Cluster) -> bool:
    """Whether a pod that is not on its node any more was there before."""
    finished = pod.is_finished
    return not finished and bool(pod.spec.node_name) and cluster.columns.row(pod.spec.node_name or "") is not None


def store_volumes(objects: Objects, cluster: Cluster, *, claims_are_known: bool = False) -> None:
    """Set both sides of bindings; a claim whose volume nobody can foresee gets its selected node. A volume without its
    claim is released, where all claims are known.
    """
    storage = cluster.storage
    claims, made = [], []
    for key, bound in storage.claims.items():
        claim = storage.stand_ins.get(key, bound)
        if claim is None:
            continue
        if key in storage.selected and (provisioned := claim_provisioned(*key, cluster)) is not None:
            claims.append(provisioned[0])
            made.append(provisioned[1])
        elif key in storage.selected:
            notes = {**(claim.metadata.annotations or {}), SELECTED_NODE: storage.selected[key]}
            claims.append(replace(claim, metadata=replace(claim.metadata, annotations=notes)))
        else:
            claims.append(claim)
    if claims or objects.list_all(PersistentVolumeClaim):
        objects.put(PersistentVolumeClaim, claims)
    by_name = {}
    for name, key in storage.reserved.items():
        namespace, claim_name = key
        uid = storage.claims[key].metadata.uid if key in storage.claims else None
        ref = ObjectReference(kind="PersistentVolumeClaim", namespace=namespace, name=claim_name, uid=uid)
        volume = storage.volumes[name]
        by_name[name] = replace(volume, spec=replace(volume.spec, claim_ref=ref))
    volumes = [by_name.get(volume.name, volume) for volume in objects.list_all(PersistentVolume)]
    if claims_are_known:
        volumes = [_release(volume) if _claim_is_gone(volume, storage) else volume for volume in volumes]
    objects.put_if_any(PersistentVolume, [*volumes, *made])
    settle_volumes(objects, (volume for volume in volumes if volume.name in by_name))


def _claim_is_gone(volume: PersistentVolume, storage: Storage) -> bool:
    ref = volume.spec.claim_ref
    was_bound = volume.status.phase == "Bound" or volume.name in storage.reserved
    return was_bound and ref is not None and (ref.namespace or "", ref.name or "") not in storage.claims


def _release(volume: PersistentVolume) -> PersistentVolume:
    """A volume whose claim was deleted: it goes to nobody else until somebody has cleaned it up."""
    ref = volume.spec.claim_ref
    assert ref is not None
    # The next claim of this name may get the same uid here, and would find the volume kept for it.
    of_the_deleted = replace(ref, uid=f"{ref.uid or ''}-deleted")
    return replace(volume, spec=replace(volume.spec, claim_ref=of_the_deleted), status=VolumePhase(phase="Released"))


def _store_whole(later: Snapshot, expanded: ExpandedManifests) -> None:
    """The objects that the API server has stored meanwhile, with the replica sets of updates."""
    world = expanded.world
    for plan in expanded.plans:
        if plan.stateful_set is not None:
            world.put(plan.stateful_set)
        for obj in plan.replica_sets:
            world.put(obj)
            later.objects.put(
                ReplicaSet, _add_replica_set(later.objects.list_all(ReplicaSet), convert(obj, ReplicaSet))
            )
    for kind in KEPT_WHOLE:
        stored = [obj for obj in world.all(kind) if not world.is_sketch(obj)]
        names = {(namespace_of(obj), name_of(obj)) for obj in stored}
        read = later.objects.list_kind(kind) if kind in KINDS and kind not in later.whole else ()
        if not stored or any((obj.namespace, obj.name) not in names for obj in read):
            # Those that a dump has without their templates stay as they are.
            continue
        rest = [obj for obj in later.whole.get(kind, ()) if (namespace_of(obj), name_of(obj)) not in names]
        later.whole[kind] = [*rest, *stored]


def _add_replica_set(there: Sequence[ReplicaSet], new: ReplicaSet) -> list[ReplicaSet]:
    return [*(one for one in there if (one.namespace, one.name) != (new.namespace, new.name)), new]
