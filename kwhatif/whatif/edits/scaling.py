"""Workloads that get another size: the controllers' pods come and go, and nothing else about them changes.

An update that is under way goes on as far as the controllers get before any new pod runs; that of a stateful set
stands still. Upstream: as in ``workloads/rollout_*.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.answer import Change, Object, Refused
from kwhatif.admission.request import copied
from kwhatif.admission.server import ApiServer
from kwhatif.api.alike import did_you_mean
from kwhatif.api.core import ReplicationController
from kwhatif.api.decode import convert
from kwhatif.api.kinds import called_kind, is_kind
from kwhatif.api.meta import Resource
from kwhatif.api.mismatch import described
from kwhatif.api.others import PersistentVolumeClaim, ReplicaSet, StatefulSet
from kwhatif.bounds import make_room
from kwhatif.errors import InputError
from kwhatif.results.place import FailedCreate
from kwhatif.whatif.edits.draft import Draft
from kwhatif.whatif.expand.expand import asked_of, called
from kwhatif.whatif.expand.snapshot_world import world_of
from kwhatif.workloads.deployment import DESIRED, MAXIMUM
from kwhatif.workloads.objects import controller_of, integer, name_of, namespace_of, section
from kwhatif.workloads.pod_status import moment
from kwhatif.workloads.replica_sets import Sized
from kwhatif.workloads.rollout import plan
from kwhatif.workloads.rollout_deployment import DeploymentRollout
from kwhatif.workloads.rollout_state import Step

_KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
_TYPED: dict[str, type[Any]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "ReplicationController": ReplicationController,
}


def scale(draft: Draft, origin: str, replicas: int, kind: str, name: str, namespace: str | None) -> str:
    """Give a workload a size. Returns what was done, in words. Raises InputError if there is none of the name."""
    old = _find(draft, _kind(kind), name, namespace)
    if not section(old, "spec", "template"):
        raise InputError(f"{called(old)} has no pod template in the snapshot", place=".name")
    before = integer(section(old, "spec").get("replicas"), 1)
    text = f"scale {called(old)} from {before} to {replicas}"
    draft.moves_pods = True
    if before == replicas:
        return text
    make_room(max(replicas - before, 0), called(old))
    new = copied(old)
    new["spec"]["replicas"] = replicas
    draft.put_whole(new)
    _resize(draft, new, replicas)
    _Scaling(draft, origin, old, new).run()
    return text


def _kind(word: str) -> str:
    for kind in _KINDS:
        if is_kind(word, kind):
            return kind
    hint = did_you_mean(word, [*_KINDS, *(each for kind in _KINDS for each in called_kind(kind))])
    raise InputError(f"expected one of {', '.join(_KINDS)}, found {described(word)}{hint}", place=".kind")


def _find(draft: Draft, kind: str, name: str, namespace: str | None) -> Object:
    there = draft.whole(kind)
    found = [obj for obj in there if name_of(obj) == name and namespace in (None, namespace_of(obj))]
    if len(found) > 1:
        found = [obj for obj in found if namespace_of(obj) == "default"] or found
    if len(found) > 1:
        places = ", ".join(sorted(namespace_of(obj) for obj in found))
        raise InputError(f"{kind} {name} is in several namespaces ({places}): name one", place=".name")
    if not found and kind == "Deployment":
        found = _only_replica_set(draft, name, namespace)
    if found:
        _check_free(draft, found[0])
        return found[0]
    wanted = f"{namespace}/{name}" if namespace else name
    if not there:
        raise InputError(f"there is no {kind} {wanted}: the snapshot holds no {kind} at all", place=".name")
    known = [f"{namespace_of(obj)}/{name_of(obj)}" if namespace else name_of(obj) for obj in there]
    raise InputError(f"there is no {kind} {wanted}{did_you_mean(wanted, known)}", place=".name")


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
            raise InputError(f"{called(obj)} has the size that {called(other)} gives it: scale that", place=".name")


def _resize(draft: Draft, obj: Object, replicas: int) -> None:
    """The same size for the object that scheduling reads."""
    typed = _TYPED.get(obj["kind"])
    if typed is None:
        return
    key = namespace_of(obj), name_of(obj)

    def resized(other: Resource) -> Resource:
        if (other.namespace, other.name) != key:
            return other
        spec: Any = other.spec  # type: ignore[attr-defined]
        return replace(other, spec=replace(spec, replicas=replicas))

    draft.change(typed, resized)


class _Scaling:
    """The controllers at work on one workload."""

    def __init__(self, draft: Draft, origin: str, old: Object, new: Object) -> None:
        self._draft, self._origin, self._old, self._new = draft, origin, old, new
        namespace = namespace_of(new)
        self._server = ApiServer(world_of(draft.snapshot, {namespace}))
        draft.doubts.append(self._server.doubts)
        self._pods = [self._as_if_placed(pod) for pod in self._server.world.all("Pod", namespace)]
        self._sets = list(self._server.world.all("ReplicaSet", namespace))
        self._now = moment(draft.snapshot.taken_at)
        self._trails: dict[str, Sequence[Change]] = {}
        self._refused = ""

    def run(self) -> None:
        unfinished, missing = self._deployment() if self._new["kind"] == "Deployment" else self._others()
        if self._refused:
            message = f"Error creating: {self._refused}"
            failed = FailedCreate(owner=called(self._new), message=message, pods=missing, origin=self._origin)
            self._draft.failed.append(failed)
        elif unfinished:
            self._draft.note(f"{called(self._new)} does not get to its size: {unfinished}")

    def _as_if_placed(self, pod: Object) -> Object:
        """Pods that earlier edits led to hold up nobody, wherever they will go."""
        asked = f"{namespace_of(pod)}/{name_of(pod)}" in self._draft.asked
        return {**pod, "status": {"phase": "Running"}} if asked else pod

    def _deployment(self) -> tuple[str, int]:
        """As far as the controllers get before a new pod runs; replica sets get their sizes, too."""
        rollout = DeploymentRollout.of(self._old, self._new, self._pods, self._sets, self._admit, self._now)
        rollout.gone = self._gone
        while rollout.sync():
            pass
        self._take(rollout.take_step())
        for one in rollout.sets:
            self._resize_set(one)
        wanted = sum(one.replicas for one in rollout.sets)
        return "", wanted - sum(member.active for member in rollout.members)

    def _resize_set(self, one: Sized) -> None:
        for obj in self._draft.whole("ReplicaSet"):
            if (name_of(obj), namespace_of(obj)) != (one.name, namespace_of(one.owner)):
                continue
            changed = copied(obj)
            changed["spec"]["replicas"] = one.replicas
            notes = {DESIRED: one.desired, MAXIMUM: one.maximum}
            annotations = {key: str(value) for key, value in notes.items() if value is not None}
            changed["metadata"]["annotations"] = section(changed, "metadata", "annotations") | annotations
            self._draft.put_whole(changed)
            _resize(self._draft, changed, one.replicas)
            return

    def _others(self) -> tuple[str, int]:
        goal = self._new
        if goal["kind"] == "StatefulSet":
            # Its pods are to be more or fewer, and nothing else: of an update under way they are left alone.
            goal = {**goal, "spec": {**goal["spec"], "updateStrategy": {"type": "OnDelete"}}}
        steps = plan(
            self._old, goal, self._pods, ready=lambda pod: True, admit=self._admit, gone=self._gone, now=self._now
        )
        for step in steps:
            self._take(step)
        wanted = integer(section(self._new, "spec").get("replicas"), 1)
        return steps.unfinished, wanted - len(steps.kept) - len(steps.created)

    def _take(self, step: Step | None) -> None:
        if step is None:
            return
        self._draft.drop_pods({f"{namespace_of(self._new)}/{name}" for name in step.removes})
        for claim in step.claims:
            self._claim(claim)
        for pod in step.creates:
            trail = self._trails.get(name_of(pod), ())
            self._draft.ask(asked_of(pod, self._server.world, self._origin, called(self._new), trail))

    def _claim(self, claim: Object) -> None:
        world = self._server.world
        if world.get("PersistentVolumeClaim", namespace_of(claim), name_of(claim)) is not None:
            return
        answer = self._server.create(claim)
        if isinstance(answer, Refused):
            failed = FailedCreate(owner=called(self._new), message=answer.message, pods=0, origin=self._origin)
            self._draft.failed.append(failed)
            return
        self._draft.snapshot.objects.add(convert(answer.object, PersistentVolumeClaim))

    def _admit(self, body: Object) -> Object | None:
        answer = self._server.create(body)
        if isinstance(answer, Refused):
            self._refused = self._refused or answer.message
            return None
        self._trails[name_of(answer.object)] = answer.changes
        return answer.object

    def _gone(self, pod: Object) -> None:
        self._server.world.remove("Pod", namespace_of(pod), name_of(pod))
