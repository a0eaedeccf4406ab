"""VolumeBinding: bound claims hold a pod to their volumes' nodes; others choose a volume together with the node.

Upstream: plugins/volumebinding (volume_binding.go, binder.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names, class_of_claim
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.cluster.view import NodeView
from kwhatif.framework.arithmetic import broken_linear, go_round
from kwhatif.framework.events import Event, always
from kwhatif.framework.interface import MAX_SCORE, Handle, Plugin
from kwhatif.framework.status import SKIP, Rejection, Skip, Status
from kwhatif.plugins.volume_matching import (
    NO_PROVISIONER,
    admits,
    candidates,
    enough_capacity,
    is_own_claim,
    kept_for,
    storage_request,
    topologies_admit,
)

BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@dataclass(slots=True, eq=False)
class Claims:
    """A pod's claims: bound ones, and those whose volume is chosen together with the node."""

    cluster: Cluster
    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    delayed: list[PersistentVolumeClaim] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What delayed claims get on each of N nodes.

    volumes     the volumes that were looked at, and per claim intp[N]: which of them the node gets, -1 for none
    provision   per claim bool[N]: a volume is to be made
    matched     bool[N]; roomy bool[N]: not short of space
    """

    volumes: list[PersistentVolume]
    static: list[tuple[PersistentVolumeClaim, IntpArray]]
    provision: list[tuple[PersistentVolumeClaim, BoolArray]]
    matched: BoolArray
    roomy: BoolArray


class VolumeBinding(Plugin[Claims, Claims]):
    name = "VolumeBinding"
    reads = (
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
    )
    also = ("preBind",)
    requeue_on = MappingProxyType({Event.VOLUME_CHANGED: always, Event.CLAIM_CHANGED: is_own_claim})

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._assumed: dict[str, tuple[Cluster, list[str], list[tuple[str, str]]]] = {}
        self._latest: tuple[str, Claims] | None = None

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Claims | Skip | Status:
        self._latest = None
        if not pod.shape.spec.volumes:
            return SKIP
        state = Claims(cluster)
        found = []
        for name, volume in claim_names(pod.pod):
            claim = cluster.storage.claims.get((pod.shape.namespace, name))
            refusal = _refusal(pod, name, claim, ephemeral=volume.ephemeral is not None)
            if refusal or claim is None:
                return Status.unresolvable(refusal)
            found.append(claim)
        if not found:
            return SKIP
        for claim in found:
            if cluster.storage.fully_bound(claim):
                state.bound.append(claim)
                continue
            class_name = class_of_claim(claim)
            storage_class = cluster.storage.classes.get(class_name) if class_name else None
            if storage_class is not None and storage_class.volume_binding_mode is None:
                return Status.error(f'VolumeBindingMode not set for StorageClass "{class_name}"')
            delayed = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
            if not delayed or claim.spec.volume_name:
                return Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")
            state.delayed.append(claim)
        self._latest = (pod.uid, state)
        return state

    def filter(self, pod: PodInfo, nodes: NodeView, state: Claims) -> Iterator[Rejection]:
        everywhere = np.ones(len(nodes.cluster), np.bool_)
        near, known = _bound(state)
        choice = self._choose(state) if state.delayed else None
        matched = everywhere if choice is None else choice.matched
        roomy = everywhere if choice is None else choice.roomy
        for ok, reason, detail in (
            (near, NODE_CONFLICT, "a bound claim's volume cannot be reached from the node"),
            (matched, BIND_CONFLICT, "no volume that fits is free, and none can be made, for a claim"),
            (roomy, NOT_ENOUGH_SPACE, "the driver reports too little capacity for a claim"),
            (known, NO_SUCH_VOLUME, "a claim is bound to a volume that does not exist"),
        ):
            if not ok.all():
                yield Rejection(nodes.of(~ok), reason, unresolvable=True, detail=_Said(detail))

    def _choose(self, state: Claims) -> Choice:
        """Volumes for delayed claims on all nodes at once (upstream: FindPodVolumes)."""
        cluster = state.cluster
        size, storage, columns = len(cluster), cluster.storage, cluster.columns
        here = np.ones(size, np.bool_)
        to_match: list[PersistentVolumeClaim] = []
        to_provision: list[tuple[PersistentVolumeClaim, BoolArray]] = []
        for claim in state.delayed:
            selected = storage.selected_node(claim)
            if selected is None:
                to_match.append(claim)
                continue
            row = columns.row(selected)
            here &= np.arange(size) == (-1 if row is None else row)
            to_provision.append((claim, np.ones(size, np.bool_)))
        volumes: list[PersistentVolume] = []
        static: list[tuple[PersistentVolumeClaim, IntpArray]] = []
        for claim in sorted(to_match, key=storage_request):
            got = self._match(claim, cluster, volumes, [earlier for _, earlier in static])
            static.append((claim, got))
            if (got < 0).any():
                to_provision.append((claim, got < 0))
        matched, roomy = self._provisions(to_provision, cluster)
        return Choice(volumes, static, to_provision, matched & here, roomy | ~here)

    def _match(
        self,
        claim: PersistentVolumeClaim,
        cluster: Cluster,
        volumes: list[PersistentVolume],
        taken: list[IntpArray],
    ) -> IntpArray:
        """intp[N]: which of ``volumes`` (which grows) the claim gets on each node, -1 for none.

        A volume that is kept for the claim is the only choice, except where an earlier claim of the pod took it.
        """
        storage, columns = cluster.storage, cluster.columns
        got = np.full(len(cluster), -1, np.intp)
        open_ = np.ones(len(cluster), np.bool_)
        kept = kept_for(claim, storage, self.handle.features)
        if kept is not None:
            index = _place(kept, volumes)
            free = _untaken(index, taken, len(cluster))
            got[free & admits(kept, columns)] = index
            open_ &= ~free
        for volume in candidates(claim, storage, self.handle.features):
            if volume is kept or not open_.any():
                continue
            index = _place(volume, volumes)
            free = open_ & (got < 0) & admits(volume, columns) & _untaken(index, taken, len(cluster))
            got[free] = index
        return got

    def _provisions(
        self, wanted: list[tuple[PersistentVolumeClaim, BoolArray]], cluster: Cluster
    ) -> tuple[BoolArray, BoolArray]:
        """bool[N] that every volume to be made may be made there, and bool[N] that there is room for it.

        The first claim that fails on a node gives its reason (upstream: checkVolumeProvisions).
        """
        size, storage = len(cluster), cluster.storage
        matched, roomy = np.ones(size, np.bool_), np.ones(size, np.bool_)
        for claim, where in wanted:
            undecided = where & matched & roomy
            storage_class = storage.classes.get(class_of_claim(claim))
            provisioner = storage_class.provisioner if storage_class else None
            if storage_class is None or not provisioner or provisioner == NO_PROVISIONER:
                matched &= ~undecided
                continue
            reachable = topologies_admit(storage_class, cluster.columns)
            matched &= ~(undecided & ~reachable)
            space = enough_capacity(claim, storage_class, storage, cluster.columns)
            roomy &= ~(undecided & reachable & ~space)
        return matched, roomy

    def pre_score(self, pod: PodInfo, nodes: NodeView) -> Claims | Skip:
        if not self.handle.features.storage_capacity_scoring or self._latest is None:
            return SKIP
        return self._latest[1]

    def score(self, pod: PodInfo, nodes: NodeView, state: Claims) -> Int64Array:
        """How full the volumes would be, by the profile's shape; each storage class counts alike."""
        choice = self._choose(state)
        scale = MAX_SCORE // 10
        shape = tuple((point.utilization, point.score * scale) for point in self.handle.args.shape or ())
        by_class: dict[str, tuple[Int64Array, Int64Array]] = {}
        size = len(nodes.cluster)
        for claim, got in choice.static:
            sizes = np.array([_capacity(volume) for volume in choice.volumes] + [0], np.int64)
            asked, have = by_class.setdefault(
                class_of_claim(claim), (np.zeros(size, np.int64), np.zeros(size, np.int64))
            )
            asked += np.where(got >= 0, storage_request(claim).value(), 0)
            have += sizes[got]
        total, classes = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for asked, have in by_class.values():
            percent = np.where(asked > have, 100, asked * 100 // np.maximum(have, 1))
            total += np.where(have > 0, broken_linear(shape, percent), 0)
            classes += have > 0
        scores: Int64Array = nodes.of(np.where(classes == 0, 0, go_round(total / np.maximum(classes, 1))))
        return scores

    def reserve(self, pod: PodInfo, node: str) -> Status | None:
        if self._latest is None or self._latest[0] != pod.uid or not self._latest[1].delayed:
            return None
        state = self._latest[1]
        storage, row = state.cluster.storage, state.cluster.columns.row(node)
        assert row is not None
        choice = self._choose(state)
        volumes, claims = [], []
        for claim, got in choice.static:
            if got[row] >= 0:
                volume = choice.volumes[got[row]]
                if storage.reserved.get(volume.name) != (claim.namespace, claim.name):
                    storage.reserve(volume.name, (claim.namespace, claim.name))
                    volumes.append(volume.name)
        for claim, where in choice.provision:
            key = (claim.namespace, claim.name)
            if where[row] and storage.selected_node(claim) is None:
                storage.select(key, node)
                claims.append(key)
        self._assumed[pod.uid] = (state.cluster, volumes, claims)
        return None

    def unreserve(self, pod: PodInfo, node: str) -> None:
        assumed = self._assumed.pop(pod.uid, None)
        if assumed is not None:
            cluster, volumes, claims = assumed
            cluster.storage.release(volumes, claims)


def _place(volume: PersistentVolume, volumes: list[PersistentVolume]) -> int:
    """The place of a volume in the list, where it is put if it is new."""
    for place, known in enumerate(volumes):
        if known is volume:
            return place
    volumes.append(volume)
    return len(volumes) - 1


def _untaken(index: int, taken: list[IntpArray], size: int) -> BoolArray:
    """bool[N]: nodes on which no earlier claim of the pod gets that volume."""
    free = np.ones(size, np.bool_)
    for earlier in taken:
        free &= earlier != index
    return free


@dataclass(frozen=True, slots=True)
class _Said:
    text: str

    def __call__(self, place: int) -> str:
        return self.text


def _refusal(pod: PodInfo, name: str, claim: PersistentVolumeClaim | None, *, ephemeral: bool) -> str:
    """Why a claim keeps the pod from being scheduled at all (upstream: podHasPVCs)."""
    if claim is None:
        if ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name or ""
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    owners = claim.metadata.owner_references or ()
    if ephemeral and not any(o.controller and o.uid == pod.pod.metadata.uid for o in owners):
        where = f"{pod.shape.namespace}/{name}"
        return f"PVC {where} was not created for pod {pod.key} (pod is not owner)"
    return ""


def _bound(state: Claims) -> tuple[BoolArray, BoolArray]:
    """bool[N] that all bound volumes can be reached, and bool[N] that they exist; the first failure decides."""
    cluster = state.cluster
    near, known = np.ones(len(cluster), np.bool_), np.ones(len(cluster), np.bool_)
    for claim in state.bound:
        volume = cluster.storage.volumes.get(claim.spec.volume_name or "")
        if volume is None:
            known &= ~near
            break
        near &= admits(volume, cluster.columns)
    return near, known


def _capacity(volume: PersistentVolume) -> int:
    quantity = (volume.spec.capacity or {}).get("storage")
    return quantity.value() if quantity is not None else 0
