"""Scales workloads: their controllers add and remove pods, and nothing else about them changes.

A rolling update goes on as far as the controllers get before any new pod runs; that of a stateful set stands still.
Upstream: as in ``workloads/rollout_*.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from kwhatif.admission.request import deep_copy_json
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.server import ApiServer
from kwhatif.api.core import ReplicationController
from kwhatif.api.decode import convert, describe_value
from kwhatif.api.kinds import is_kind, parse_kind
from kwhatif.api.meta import Resource
from kwhatif.api.objects import part_of, section
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, ReplicaSet, StatefulSet
from kwhatif.bounds import make_room
from kwhatif.errors import InputError
from kwhatif.results.amounts import format_count
from kwhatif.results.expand import ChangeRecord
from kwhatif.results.place import FailedCreate
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.expansion.objects import display_name_of, pod_to_schedule_of
from kwhatif.simulation.expansion.snapshot_objects import build_object_store
from kwhatif.snapshot.load import Manifest
from kwhatif.workloads.deployment import DESIRED, MAXIMUM, SizedReplicaSet
from kwhatif.workloads.deployment_rollout import DeploymentRollout
from kwhatif.workloads.object_creation import create_unless_there
from kwhatif.workloads.objects import controller_of, integer, last_moment_of, moment, name_of, namespace_of
from kwhatif.workloads.pod_autoscalers import pod_autoscalers_of
from kwhatif.workloads.rollout import plan_rollout
from kwhatif.workloads.rollout_state import Step

_KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
_TYPED: dict[str, type[Any]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "ReplicationController": ReplicationController,
}


def scale(draft: Draft, origin: str, replicas: int, kind: str, name: str, namespace: str | None) -> str:
    """Set the replicas of a workload. Returns what was done, in words. Raises InputError if there is none of
    the name.
    """
    kind = _kind(kind)
    new_ones = [key for key in draft.manifests if key[0] == kind and key[2] == name and namespace in (None, key[1])]
    draft.replicas.update(dict.fromkeys(new_ones, replicas))
    if new_ones and not _find_stored(draft, kind, name, namespace):
        draft.moves_pods = True
        make_room(replicas, f"{kind} {name}")
        return f"scale {kind} {new_ones[0][1]}/{name} of the manifests to {replicas}"
    old = _find(draft, kind, name, namespace)
    if not section(old, "spec", "template"):
        raise InputError(f"{display_name_of(old)} has no pod template in the snapshot", place=".name")
    before = integer(section(old, "spec").get("replicas"), 1)
    text = f"scale {display_name_of(old)} from {before} to {replicas}"
    draft.moves_pods = True
    if before == replicas:
        return text
    make_room(max(replicas - before, 0), display_name_of(old))
    new = deep_copy_json(old)
    part_of(new, "spec")["replicas"] = replicas
    draft.put_whole(new)
    _resize(draft, new, replicas)
    scaling = _Scaling(draft, origin, old, new)
    scaling.run()
    if outside := scaling.describe_bounds(replicas):
        draft.first_moments.append(outside)
    return text


def _kind(word: str) -> str:
    for kind in _KINDS:
        if is_kind(word, kind):
            return kind
    hint = suggest_spelling(word, [*_KINDS, *(part for kind in _KINDS for part in parse_kind(kind))])
    raise InputError(f"expected one of {', '.join(_KINDS)}, found {describe_value(word)}{hint}", place=".kind")


def _find(draft: Draft, kind: str, name: str, namespace: str | None) -> Object:
    there, stored = draft.whole(kind), _find_stored(draft, kind, name, namespace)
    if len(stored) > 1:
        stored = [obj for obj in stored if namespace_of(obj) == "default"] or stored
    if len(stored) > 1:
        places = ", ".join(sorted(namespace_of(obj) for obj in stored))
        raise InputError(f"{kind} {name} is in several namespaces ({places}): name one", place=".name")
    if not stored and kind == "Deployment":
        stored = _only_replica_set(draft, name, namespace)
    if stored:
        _check_free(draft, stored[0])
        return stored[0]
    wanted = f"{namespace}/{name}" if namespace else name
    if not there:
        raise InputError(f"there is no {kind} {wanted}: the snapshot holds no {kind} at all", place=".name")
    known = [f"{namespace_of(obj)}/{name_of(obj)}" if namespace else name_of(obj) for obj in there]
    raise InputError(f"there is no {kind} {wanted}{suggest_spelling(wanted, known)}", place=".name")


def _find_stored(draft: Draft, kind: str, name: str, namespace: str | None) -> list[Object]:
    return [obj for obj in draft.whole(kind) if name_of(obj) == name and namespace in (None, namespace_of(obj))]


def resize_manifests(manifests: Sequence[Manifest], replicas: Mapping[tuple[str, str, str], int]) -> list[Manifest]:
    """The manifests, their workloads with these replicas, by kind, namespace and name."""
    return [_resize_manifest(manifest, replicas.get(manifest.key)) for manifest in manifests]


def _resize_manifest(manifest: Manifest, replicas: int | None) -> Manifest:
    spec = manifest.raw.get("spec")
    if replicas is None or not isinstance(spec, dict):
        return manifest
    return structs.replace(manifest, raw={**manifest.raw, "spec": {**spec, "replicas": replicas}})


def _only_replica_set(draft: Draft, name: str, namespace: str | None) -> list[Object]:
    """Of a deployment that the snapshot lacks: its one replica set that has pods."""
    mine = [
        obj
        for obj in draft.whole("ReplicaSet")
        if (controller_of(obj).get("kind"), controller_of(obj).get("name")) == ("Deployment", name)
        and namespace in (None, namespace_of(obj))
        and integer(section(obj, "spec").get("replicas"), 1)
    ]
    if len(mine) != 1:
        return []
    draft.note(f"the snapshot lacks Deployment {name}: its replica set {name_of(mine[0])} is scaled")
    return mine


def _check_free(draft: Draft, obj: Object) -> None:
    """Raises InputError if another controller would undo the change at once."""
    owner = controller_of(obj)
    for other in draft.whole(str(owner.get("kind"))):
        if (name_of(other), namespace_of(other)) == (owner.get("name"), namespace_of(obj)):
            raise InputError(
                f"{display_name_of(obj)} has the size that {display_name_of(other)} gives it: scale that", place=".name"
            )


def _resize(draft: Draft, obj: Object, replicas: int) -> None:
    """The same size for the object that scheduling reads."""
    typed = _TYPED.get(part_of(obj, "kind"))
    if typed is None:
        return
    key = namespace_of(obj), name_of(obj)

    def with_replicas(other: Resource) -> Resource:
        if (other.namespace, other.name) != key:
            return other
        spec: Any = other.spec  # type: ignore[attr-defined]
        return replace(other, spec=replace(spec, replicas=replicas))

    draft.change(typed, with_replicas)


class _Scaling:
    """The controllers at work on one workload."""

    def __init__(self, draft: Draft, origin: str, old: Object, new: Object) -> None:
        self._draft, self._origin, self._old, self._new = draft, origin, old, new
        namespace = namespace_of(new)
        self._server = ApiServer(build_object_store(draft.snapshot, {namespace}))
        draft.doubts.append(self._server.doubts)
        self._pods = [self._assume_placed(pod) for pod in self._server.world.all("Pod", namespace)]
        self._sets = list(self._server.world.all("ReplicaSet", namespace))
        self._now = moment(draft.snapshot.taken_at) or last_moment_of(self._pods)
        self._trails: dict[str, Sequence[ChangeRecord]] = {}
        self._refused = ""
        self._going: set[str] = set()
        self._going_claims: set[tuple[str, str]] = set()

    def describe_bounds(self, replicas: int) -> str:
        """That an autoscaler will not leave it at so many replicas; empty if it will."""
        pod_autoscalers = pod_autoscalers_of(self._new, self._server.world)
        if (
            len(pod_autoscalers) != 1
            or pod_autoscalers[0].is_off(replicas)
            or pod_autoscalers[0].replicas(replicas) == replicas
        ):
            return ""
        count = format_count(replicas, "replica")
        kept = pod_autoscalers[0].replicas(replicas)
        return f"{display_name_of(self._new)}: {count} until {pod_autoscalers[0]} sets {kept}"

    def run(self) -> None:
        unfinished, missing = self._deployment() if part_of(self._new, "kind") == "Deployment" else self._others()
        self._drop()
        if self._refused:
            message = f"Error creating: {self._refused}"
            failed = FailedCreate(owner=display_name_of(self._new), message=message, pods=missing, origin=self._origin)
            self._draft.failed.append(failed)
        elif unfinished:
            self._draft.note(f"{display_name_of(self._new)} does not get to its size: {unfinished}")

    def _assume_placed(self, pod: Object) -> Object:
        """Pods that earlier edits led to keep no pod waiting, wherever they will go."""
        text = f"{namespace_of(pod)}/{name_of(pod)}" in self._draft.asked
        return {**pod, "status": {"phase": "Running"}} if text else pod

    def _deployment(self) -> tuple[str, int]:
        """As far as the controllers get before a new pod runs; replica sets get their sizes, too."""
        rollout = DeploymentRollout.from_objects(self._old, self._new, self._pods, self._sets, self._admit, self._now)
        rollout.gone = self._delete
        while rollout.sync():
            pass
        self._take(rollout.take_step())
        self._draft.ties += [(one.pod, other.pod) for one, other in rollout.ties]
        for one in rollout.sets:
            self._resize_set(one)
        wanted = sum(one.replicas for one in rollout.sets)
        return "", wanted - rollout.members.active.total()

    def _resize_set(self, one: SizedReplicaSet) -> None:
        for obj in self._draft.whole("ReplicaSet"):
            if (name_of(obj), namespace_of(obj)) != (one.name, namespace_of(one.owner)):
                continue
            changed = deep_copy_json(obj)
            part_of(changed, "spec")["replicas"] = one.replicas
            notes = {DESIRED: one.desired, MAXIMUM: one.maximum}
            annotations = {key: str(value) for key, value in notes.items() if value is not None}
            part_of(changed, "metadata")["annotations"] = section(changed, "metadata", "annotations") | annotations
            self._draft.put_whole(changed)
            _resize(self._draft, changed, one.replicas)
            return

    def _others(self) -> tuple[str, int]:
        goal = self._new
        if part_of(goal, "kind") == "StatefulSet":
            # Its pods are to be more or fewer, and nothing else: of an update under way they are left alone.
            goal = {**goal, "spec": {**goal["spec"], "updateStrategy": {"type": "OnDelete"}}}
        steps = plan_rollout(
            self._old,
            goal,
            self._pods,
            ready=lambda pod: True,
            admit=self._admit,
            gone=self._delete,
            create_claim=self._create_claim,
            now=self._now,
        )
        for step in steps:
            self._take(step)
        self._draft.ties += steps.ties
        wanted = integer(section(self._new, "spec").get("replicas"), 1)
        return steps.remaining_work, wanted - len(steps.kept_pods) - len(steps.created_pods)

    def _take(self, step: Step | None) -> None:
        if step is None:
            return
        namespace = namespace_of(self._new)
        self._going |= {f"{namespace}/{name}" for name in step.removes}
        self._going_claims |= {(namespace, claim) for claim in step.deleted_claims}
        if step.claims or step.creates:
            self._drop()
        for claim in step.claims:
            self._create_claim(claim)
        for pod in step.creates:
            trail = self._trails.get(name_of(pod), ())
            self._draft.add_waiting_pod(
                pod_to_schedule_of(pod, self._server.world, self._origin, display_name_of(self._new), trail)
            )

    def _drop(self) -> None:
        """Remove pods and claims of all steps since the last time: that looks at all of the cluster."""
        self._draft.drop_pods(self._going)
        if gone := self._going_claims:
            objects = self._draft.snapshot.objects
            kept = [
                claim for claim in objects.list_all(PersistentVolumeClaim) if (claim.namespace, claim.name) not in gone
            ]
            objects.put(PersistentVolumeClaim, kept)
        self._going, self._going_claims = set(), set()

    def _create_claim(self, claim: Object) -> bool:
        key = namespace_of(claim), name_of(claim)
        is_there = self._server.world.get("PersistentVolumeClaim", *key) is not None
        answer = create_unless_there(self._server, claim)
        if answer is None:
            return True
        if is_there:
            # One that was being deleted.
            self._going_claims.add(key)
            self._drop()
        if isinstance(answer, RequestRefusal):
            failed = FailedCreate(owner=display_name_of(self._new), message=answer.message, pods=0, origin=self._origin)
            self._draft.failed.append(failed)
            return False
        self._draft.snapshot.objects.add(convert(answer.object, PersistentVolumeClaim))
        return True

    def _admit(self, body: Object) -> Object | None:
        answer = self._server.create(body)
        if isinstance(answer, RequestRefusal):
            self._refused = self._refused or answer.message
            return None
        self._trails[name_of(answer.object)] = answer.changes
        return answer.object

    def _delete(self, pod: Object) -> None:
        self._server.world.remove("Pod", namespace_of(pod), name_of(pod))
