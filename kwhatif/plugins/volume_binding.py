"""VolumeBinding: nodes have to reach the volumes of bound claims; other claims get a volume together with the node.

Upstream: plugins/volumebinding (volume_binding.go, binder.go).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names, storage_class_of
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.declaration import Args, DefaultPlugin
from kwhatif.framework.interface import ClusterEvent, Dependency, Plugin, always
from kwhatif.framework.signature import Signature, sign_volumes
from kwhatif.framework.status import SKIP, Rejection, Skip, Status
from kwhatif.golang.config_struct import Int64
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.attachable_volumes import VOLUMES, has_claims, is_own_claim
from kwhatif.plugins.shared.node_resources import UtilizationShapePoint, shape_problems
from kwhatif.plugins.shared.volume_matching import Conflicts, match_volume, utilization_scores, why_unbound
from kwhatif.plugins.shared.volume_reach import (
    enough_capacity,
    provisions,
    reachable,
    topologies_admit,
)
from kwhatif.versions import Features

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NODE_CONFLICT_BEFORE = "node(s) had volume node affinity conflict"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Choice(msgspec.Struct, frozen=True, eq=False):
    """The volumes of delayed claims on each of N nodes.

    static       per claim intp[N]: the number of the volume on the node, -1 for none
    provision    per claim bool[N]: a volume is to be provisioned
    matched      bool[N]; roomy bool[N]: not short of space
    """

    static: list[tuple[PersistentVolumeClaim, IntpArray]]
    provision: list[tuple[PersistentVolumeClaim, BoolArray]]
    matched: BoolArray
    roomy: BoolArray


class Claims(msgspec.Struct, eq=False):
    """A pod's claims: bound ones, and those whose volume is chosen together with the node.

    ``choice`` holds for a version of the storage. ``reserved`` are the volumes that Reserve reserved, and the claims
    whose node it selected.
    """

    cluster: Cluster
    bound: list[PersistentVolumeClaim] = []
    delayed: list[PersistentVolumeClaim] = []
    choice: tuple[int, Choice] | None = None
    reserved: tuple[list[str], list[tuple[str, str]]] = msgspec.field(default_factory=lambda: ([], []))


class VolumeBindingArgs(Args):
    """``shape`` is the curve of the score by capacity."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class VolumeBinding(Plugin[Claims, Claims]):
    name = "VolumeBinding"
    args = VolumeBindingArgs
    default = DefaultPlugin(140)
    depends_on_labels = False
    needs_pre_filter = True
    dependencies = MappingProxyType(
        {
            **dict.fromkeys(("CSINode", "PersistentVolume", "PersistentVolumeClaim", "StorageClass"), VOLUMES),
            "CSIDriver": Dependency("drivers are taken not to publish their capacity", has_claims),
            "CSIStorageCapacity": Dependency(
                "storage is taken to have room where its driver publishes its capacity", has_claims
            ),
        }
    )
    offline_points = ("preBind",)
    events_to_register = MappingProxyType(
        {ClusterEvent.VOLUME_CHANGED: always, ClusterEvent.CLAIM_CHANGED: is_own_claim}
    )

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        points = super().points(features)
        return points if features.volume_binding_skips_score else set(points) - {"preScore"}

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        if args.shape or not _scores(features):
            return args
        scores = (0, 10) if features.capacity_shape_rises else (10, 0)
        points = zip((0, 100), scores, strict=True)
        return replace(args, shape=tuple(UtilizationShapePoint(utilization=u, score=score) for u, score in points))

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        if args.bind_timeout_seconds < 0:
            problem = "invalid BindTimeoutSeconds, should not be a negative value"
            yield path.child("bindTimeoutSeconds").invalid(args.bind_timeout_seconds, problem)
        if _scores(features):
            yield from shape_problems(path.child("shape"), args.shape or (), features)
        elif args.shape is not None:
            # Go prints the points by their internal names.
            points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
            gate = "VolumeCapacityPriority" if features.capacity_shape_rises else "StorageCapacityScoring"
            problem = f"unexpected field `shape`, remove it or turn on the feature gate {gate}"
            yield path.child("shape").invalid(points, problem)

    def applies_to(self, pod: PodInfo) -> bool:
        # Where it scores at all, it may score pods without volumes, too.
        features = self.handle.features
        return pod.shape.has_volumes or _scores(features) or not features.volume_binding_skips_score

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return sign_volumes(pod.shape)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Claims | Skip | Status:
        if not pod.shape.spec.volumes:
            return SKIP
        state = Claims(cluster)
        claims = []
        for name, volume in claim_names(pod.pod):
            claim = cluster.storage.claims.get((pod.shape.namespace, name))
            refusal = _refusal(pod, name, claim, ephemeral=volume.ephemeral is not None)
            if refusal or claim is None:
                return Status.unresolvable(refusal)
            claims.append(claim)
        if not claims:
            return SKIP
        immediate: list[PersistentVolumeClaim] = []
        for claim in claims:
            if cluster.storage.fully_bound(claim):
                state.bound.append(claim)
                continue
            class_name = storage_class_of(claim)
            storage_class = cluster.storage.classes.get(class_name) if class_name else None
            if storage_class is not None and storage_class.volume_binding_mode is None:
                return Status.error(f'VolumeBindingMode not set for StorageClass "{class_name}"')
            delayed = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
            if delayed and not claim.spec.volume_name:
                state.delayed.append(claim)
            else:
                immediate.append(claim)
        if immediate:
            why = "; ".join(why_unbound(claim, cluster, self.handle.features) for claim in immediate)
            return Status.unresolvable(UNBOUND).with_detail(why)
        return state

    def filter(self, pod: PodInfo, nodes: NodeView, state: Claims) -> Iterator[Rejection]:
        everywhere = np.ones(len(nodes.cluster), np.bool_)
        near, known = _check_bound_claims(state)
        choice = self._choice(state) if state.delayed else None
        matched = everywhere if choice is None else choice.matched
        roomy = everywhere if choice is None else choice.roomy
        renamed = self.handle.features.volume_affinity_conflict_is_called_mismatch
        conflict = NODE_CONFLICT if renamed else NODE_CONFLICT_BEFORE
        delayed = [] if choice is None else choice.provision
        said = Conflicts(state.cluster, self.handle.features, state.bound, delayed)
        for ok, reason, detail in (
            (near, conflict, said.out_of_reach),
            (matched, BIND_CONFLICT, said.no_volume),
            (roomy, NOT_ENOUGH_SPACE, said.no_space),
            (known, NO_SUCH_VOLUME, said.no_such_volume),
        ):
            if not ok.all():
                yield Rejection(nodes.take_rows(~ok), reason, unresolvable=True, detail=_ConflictDetail(detail, nodes))

    def _choice(self, state: Claims) -> Choice:
        """Volumes for delayed claims on all nodes at once, as long as nothing is reserved in between."""
        version = state.cluster.storage.version
        if state.choice is None or state.choice[0] != version:
            state.choice = version, self._choose(state)
        return state.choice[1]

    def _choose(self, state: Claims) -> Choice:
        """Upstream: FindPodVolumes."""
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
        static: list[tuple[PersistentVolumeClaim, IntpArray]] = []
        taken = np.empty((len(to_match), size), np.intp)
        for number, claim in enumerate(sorted(to_match, key=lambda claim: claim.storage)):
            taken[number] = got = match_volume(claim, cluster, taken[:number], self.handle.features)
            static.append((claim, got))
            if (got < 0).any():
                to_provision.append((claim, got < 0))
        matched, roomy = self._provisions(to_provision, cluster)
        return Choice(static, to_provision, matched & here, roomy | ~here)

    def _provisions(
        self, claims: list[tuple[PersistentVolumeClaim, BoolArray]], cluster: Cluster
    ) -> tuple[BoolArray, BoolArray]:
        """bool[N] that every volume to be made may be made there, and bool[N] that there is room for it.

        The first claim that fails on a node gives its reason (upstream: checkVolumeProvisions).
        """
        size, storage = len(cluster), cluster.storage
        matched, roomy = np.ones(size, np.bool_), np.ones(size, np.bool_)
        for claim, where in claims:
            undecided = where & matched & roomy
            storage_class = storage.classes.get(storage_class_of(claim))
            if storage_class is None or not provisions(storage_class):
                matched &= ~undecided
                continue
            admitted = topologies_admit(cluster, storage_class.name)
            matched &= ~(undecided & ~admitted)
            space = enough_capacity(claim, storage_class, cluster)
            roomy &= ~(undecided & admitted & ~space)
        return matched, roomy

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: Claims | None) -> Claims | Skip:
        features = self.handle.features
        state = state or Claims(nodes.cluster)
        if not features.volume_binding_skips_score or features.storage_capacity_scoring:
            return state
        if features.volume_capacity_priority and any((got >= 0).any() for _, got in self._choice(state).static):
            return state
        return SKIP

    def score(self, pod: PodInfo, nodes: NodeView, state: Claims) -> Int64Array:
        features = self.handle.features
        if not _scores(features):
            return np.zeros(nodes.size, np.int64)
        choice = self._choice(state)
        # The older gate's score looks at volumes that are there, not at those to be made.
        to_be_made = choice.provision if features.storage_capacity_scoring else []
        scores = utilization_scores(choice.static, to_be_made, state.cluster, self.handle.args.shape or ())
        scores_of_nodes: Int64Array = nodes.take_rows(scores)
        return scores_of_nodes

    def reserve(self, pod: PodInfo, node: str, state: Claims | None) -> Status | None:
        if state is None or not state.delayed:
            return None
        storage, row = state.cluster.storage, state.cluster.columns.row(node)
        assert row is not None
        choice = self._choice(state)
        volumes, claims = [], []
        for claim, got in choice.static:
            if got[row] >= 0:
                volume = storage.listed[got[row]]
                if storage.reserved.get(volume.name) != (claim.namespace, claim.name):
                    storage.reserve(volume.name, (claim.namespace, claim.name))
                    volumes.append(volume.name)
        for claim, where in choice.provision:
            key = (claim.namespace, claim.name)
            if where[row] and storage.selected_node(claim) is None:
                storage.select(key, node)
                claims.append(key)
        state.reserved = volumes, claims
        state.choice = None  # it is about all nodes, and the state is kept until the pod is bound
        return None

    def unreserve(self, pod: PodInfo, node: str, state: Claims | None) -> None:
        if state is not None:
            state.cluster.storage.release(*state.reserved)


def _scores(features: Features) -> bool:
    """Whether it scores by capacity, so that it takes a shape."""
    return features.storage_capacity_scoring or features.volume_capacity_priority


class _ConflictDetail(msgspec.Struct, frozen=True):
    text: Callable[[int], str]
    nodes: NodeView

    def __call__(self, place: int) -> str:
        return self.text(self.nodes.row(place))


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


def _check_bound_claims(state: Claims) -> tuple[BoolArray, BoolArray]:
    """bool[N] that all bound volumes can be reached, and bool[N] that they exist; the first failure decides."""
    cluster = state.cluster
    near, known = np.ones(len(cluster), np.bool_), np.ones(len(cluster), np.bool_)
    for claim in state.bound:
        volume = cluster.storage.volumes.get(claim.spec.volume_name or "")
        if volume is None:
            known &= ~near
            break
        near &= reachable(volume, cluster)
    return near, known
