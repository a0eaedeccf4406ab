"""Creation of pods and other objects by a controller, through the API server, with a record of what was made and
refused.

Refusals become events, as controllers report them. Pods are made from templates as in
pkg/controller/controller_utils.go (GetPodFromTemplate). Names are stable and readable: ``web-5d4c7`` for a replica set,
``web-5d4c7-1`` for its first pod. Upstream hashes a dump of Go structs; here the JSON is hashed, so names differ from
those of a real cluster but never between runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import ApiResponse, Object, RequestRefusal, StoredObject
from kwhatif.api.objects import part_of, section
from kwhatif.bounds import make_room
from kwhatif.progress import track
from kwhatif.results.expand import ChangeRecord
from kwhatif.versions import Features
from kwhatif.workloads.objects import (
    canonicalize,
    claim_template,
    deep_copy_json,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from kwhatif.workloads.pod_claims import plain_device_claims

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 5
_LONGEST_NAME = 253


def template_hash(template: Object, collisions: int = 0) -> str:
    """Five letters and digits that identify a template; others after so many ``collisions`` with names in use."""
    text = canonicalize(template) + (str(collisions) if collisions else "")
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    text = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        text += _LETTERS[digit]
    return text


def truncate_name(name: str, suffix: str, longest: int = _LONGEST_NAME) -> str:
    """The name and its suffix, the name cut if together they would be too long."""
    return name[: longest - len(suffix)] + suffix


def pod_prefix(name: str) -> str:
    """What the names of a controller's pods begin with (upstream: controller_utils.go, getPodsPrefix)."""
    return f"{name}-" if len(name) < _LONGEST_NAME else name


def pod_from_template(template: Object, owner: Object, prefix: str = "") -> Object:
    """A pod that ``owner`` controls and that shares nothing with the template; it has no name of its own yet."""
    metadata: Object = {"generateName": prefix or pod_prefix(name_of(owner)), "namespace": namespace_of(owner)}
    for key in ("labels", "annotations", "finalizers"):
        if given := section(template, "metadata").get(key):
            metadata[key] = deep_copy_json(given)
    metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": deep_copy_json(section(template, "spec"))}


def template_of(pod: Object) -> Object:
    """The template that a pod may have been made from: the pod without its node."""
    metadata = {key: deep_copy_json(section(pod, "metadata", key)) for key in ("labels", "annotations")}
    spec = deep_copy_json(section(pod, "spec"))
    spec.pop("nodeName", None)
    return {"metadata": metadata, "spec": spec}


def device_claims(pod: Object, world: ObjectStore) -> Iterator[Object]:
    """The claims that are made for a pod from device templates; the pod's status is completed as they are consumed."""
    namespace = namespace_of(pod)
    return plain_device_claims(
        pod,
        lambda name: world.get("ResourceClaimTemplate", namespace, name),
        lambda name: world.get("ResourceClaim", namespace, name) is not None,
    )


def ephemeral_claims(pod: Object) -> Iterator[Object]:
    """The claims of a pod's generic ephemeral volumes, named after pod and volume and owned by the pod.

    Upstream: pkg/controller/volume/ephemeral/controller.go.
    """
    for volume in section(pod, "spec").get("volumes") or ():
        template = section(volume, "ephemeral", "volumeClaimTemplate")
        if not template:
            continue
        claim = claim_template(f"{name_of(pod)}-{part_of(volume, 'name')}", namespace_of(pod), template)
        owner = {"apiVersion": "v1", "kind": "Pod", "metadata": section(pod, "metadata") | {"uid": uid_of(pod)}}
        part_of(claim, "metadata")["ownerReferences"] = [owner_reference(owner)]
        yield claim


class Server(Protocol):
    """The part of the API server that controllers talk to."""

    @property
    def world(self) -> ObjectStore: ...

    @property
    def features(self) -> Features: ...

    def create(self, obj: Object) -> ApiResponse: ...


def create_unless_there(server: Server, claim: Object) -> StoredObject | RequestRefusal | None:
    """Create a claim; None if it is there (upstream: stateful_pod_control.go, createPersistentVolumeClaims).

    One that is being deleted goes first: what kept it was the pod that has left.
    """
    kind, namespace, name = part_of(claim, "kind"), namespace_of(claim), name_of(claim)
    there = server.world.get(kind, namespace, name)
    if there is not None:
        if not section(there, "metadata").get("deletionTimestamp"):
            return None
        server.world.remove(kind, namespace, name)
    return server.create(claim)


@dataclass(frozen=True, slots=True)
class CreationFailure:
    """The event of a failure: its text as upstream's, and how many pods are missing for it.

    ``retry`` is how the controller goes on from there, if it does.
    """

    owner: str
    message: str
    pods: int
    retry: Callable[[ObjectCreator], None] | None = field(default=None, compare=False)


class CreatedObjects(msgspec.Struct, frozen=True):
    """What was created for one object. ``changes`` has one trail for each of the pods, in their order.

    ``objects`` are the controllers in between: the replica set of a deployment, the job of a cron job.
    """

    pods: tuple[Object, ...] = ()
    claims: tuple[Object, ...] = ()
    objects: tuple[Object, ...] = ()
    refusals: tuple[CreationFailure, ...] = ()
    changes: tuple[tuple[ChangeRecord, ...], ...] = ()

    @property
    def missing(self) -> int:
        """How many pods could not be created."""
        return sum(failed.pods for failed in self.refusals)


class ObjectCreator(msgspec.Struct):
    """Creates one object after the other and keeps the record."""

    server: Server
    pods: list[Object] = []
    claims: list[Object] = []
    objects: list[Object] = []
    refusals: list[CreationFailure] = []
    changes: list[tuple[ChangeRecord, ...]] = []

    def build_result(self) -> CreatedObjects:
        return CreatedObjects(
            tuple(self.pods), tuple(self.claims), tuple(self.objects), tuple(self.refusals), tuple(self.changes)
        )

    def record_failure(
        self, owner: Object, message: str, pods: int, retry: Callable[[ObjectCreator], None] | None = None
    ) -> None:
        self.refusals.append(CreationFailure(f"{owner.get('kind')} {name_of(owner)}", message, pods, retry))

    def controller(self, body: Object, owner: Object, complaint: str, pods: int) -> Object | None:
        """A controller that another one makes; ``complaint`` opens the event if it is refused."""
        answer = self.server.create(body)
        if isinstance(answer, StoredObject):
            self.objects.append(answer.object)
            return answer.object
        self.record_failure(owner, f"{complaint}: {answer.message}", pods)
        return None

    def pods_of(self, owner: Object, number: int, body_of: Callable[[int], Object], first: int = 0) -> None:
        """So many pods that are alike but for their names, from the ``first`` on: once one is refused, so would be the
        rest.
        """
        make_room(number - first, f"{owner.get('kind')} {name_of(owner)}")
        for place in track(range(first, number), "Making", "pods"):
            refused = self.pod(body_of(place))
            if refused:
                message = f"Error creating: {refused.message}"
                self.record_failure(
                    owner,
                    message,
                    number - place,
                    lambda making, place=place: making.pods_of(owner, number, body_of, place),  # type: ignore[misc]
                )
                return

    def pod(self, body: Object) -> RequestRefusal | None:
        """One pod and the claims of its ephemeral volumes; None when all went well."""
        answer = self.server.create(body)
        if isinstance(answer, RequestRefusal):
            return answer
        self.record_pod(answer.object, answer.changes)
        return None

    def record_pod(self, pod: Object, changes: tuple[ChangeRecord, ...] = ()) -> None:
        """Record a created pod."""
        self.pods.append(pod)
        self.changes.append(changes)
        for claim in ephemeral_claims(pod):
            refused = self.claim(claim)
            if refused:
                volume = name_of(claim).removeprefix(f"{name_of(pod)}-")
                text = f"ephemeral volume {volume}: create PVC {name_of(claim)}: {refused.message}"
                self.record_failure(pod, text, 0)
        for body in device_claims(pod, self.server.world):
            answer = self.server.create(body)
            if isinstance(answer, RequestRefusal):
                self.record_failure(pod, f"create ResourceClaim {name_of(body)}: {answer.message}", 0)
            else:
                self.claims.append(answer.object)

    def claim(self, body: Object) -> RequestRefusal | None:
        """One claim, unless it is there already."""
        answer = create_unless_there(self.server, body)
        if isinstance(answer, StoredObject):
            self.claims.append(answer.object)
            return None
        return answer
