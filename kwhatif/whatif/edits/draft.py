"""A copy of a snapshot that edits are made on, and what comes of them besides: pods to place, failures, notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.admission.answer import Doubts, Object
from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.meta import Resource
from kwhatif.api.others import PersistentVolumeClaim, VolumeAttachment
from kwhatif.cluster.storage import claim_names
from kwhatif.results.place import FailedCreate
from kwhatif.scheduling.replacements import Replacements
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.session import Asked

T = TypeVar("T", bound=Resource)


class Draft:
    """What is known of the cluster so far. Objects are replaced, never changed: the snapshot it began with stays.

    ``asked`` has the pods that edits led to and that wait for a node, by key; the snapshot holds them, too.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot.copy()
        self.asked: dict[str, Asked] = {}
        self.failed: list[FailedCreate] = []
        self.doubts: list[Doubts] = []
        self.notes: list[str] = []
        self.moves_pods = False
        self._keys = {pod.key for pod in self.pods}
        self.replacements = Replacements(taken=self._keys.__contains__)

    @property
    def nodes(self) -> list[Node]:
        return self.snapshot.objects.of(Node)

    @property
    def pods(self) -> list[Pod]:
        return self.snapshot.objects.of(Pod)

    def note(self, text: str) -> None:
        """Something to know about what an edit did."""
        self.notes.append(text)

    def note_of(self, origin: str, text: str) -> None:
        """What the edit of an ``origin`` led to, if anything."""
        if text:
            self.note(f"{origin}: {text}")

    def change(self, kind: type[T], change: Callable[[T], T | None]) -> None:
        """Put another object in the place of each one of a kind; None takes it away."""
        there = self.snapshot.objects.of(kind)
        there[:] = [changed for obj in there if (changed := change(obj)) is not None]

    def put_nodes(self, nodes: Iterable[Node]) -> None:
        """Nodes in the place of those with the same names."""
        by_name = {node.name: node for node in nodes}
        self.change(Node, lambda node: by_name.get(node.name, node))

    def put_whole(self, obj: Object) -> None:
        """An object kept as plain values in the place of its namesake."""
        name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace")
        there = self.snapshot.whole[obj["kind"]]
        for i, other in enumerate(there):
            if (other["metadata"]["name"], other["metadata"].get("namespace")) == (name, namespace):
                there[i] = obj

    def add_pods(self, pods: Iterable[Pod]) -> None:
        """Pods that have come to be."""
        for pod in pods:
            self.snapshot.objects.add(pod)
            self._keys.add(pod.key)

    def ask(self, asked: Asked) -> None:
        """A pod that has come to be and waits for a node."""
        self.add_pods([asked.pod])
        self.asked[asked.pod.key] = dataclasses.replace(asked, edited=True)

    def drop_pods(self, keys: Collection[str]) -> None:
        """Pods are gone, and with them the claims that were made for them alone.

        Their volumes leave the nodes, and devices that nobody else has a claim to are free.
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
        """What no other pod of the node uses is detached from it.

        Upstream: pkg/controller/volume/attachdetach/attach_detach_controller.go.
        """
        if not self.snapshot.objects.of(VolumeAttachment):
            return
        going: set[tuple[str, str]] = set()
        staying: set[tuple[str, str]] = set()
        claims = self.snapshot.objects.of(PersistentVolumeClaim)
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


def _given_back(claim: ResourceClaim, gone: Collection[str]) -> ResourceClaim:
    """The claim without the pods that are gone; it gives its devices back if they were the last it was reserved for.

    Upstream: pkg/controller/resourceclaim/controller.go (syncClaim).
    """
    users = claim.status.reserved_for or []
    rest = [
        user
        for user in users
        if user.api_group or user.resource != "pods" or f"{claim.namespace}/{user.name}" not in gone
    ]
    if len(rest) == len(users):
        return claim
    status = replace(claim.status, reserved_for=rest or None)
    return replace(claim, status=status if rest else replace(status, allocation=None, devices=None))
