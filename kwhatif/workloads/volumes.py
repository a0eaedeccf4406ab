"""The persistent volume controller: claims of manifests are bound or provisioned, as far as that needs no node.

Where a class waits for the first consumer, the scheduler chooses and this controller does nothing, unless a volume
names the claim. Upstream: pkg/controller/volume/persistentvolume/{pv_controller,index}.go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import ObjectMeta, Resource
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import Selector
from kwhatif.api.workloads_and_storage import (
    CSIPersistentVolumeSource,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    StorageClass,
    TopologySelectorTerm,
    VolumeNodeAffinity,
    VolumePhase,
)
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.storage import BIND_COMPLETED, Storage, claim_names, storage_class_of

R = TypeVar("R", bound=Resource)

_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def settle_volumes(objects: Objects, new: Iterable[object]) -> list[str]:
    """Run the controller with ``new`` objects among ``objects``; returns what it did, in words.

    For claims that are not new nothing is provisioned: the controller has had its chance. They may bind to a new
    volume.
    """
    mine = {(type(obj), obj.namespace, obj.name) for obj in new if isinstance(obj, Resource)}
    if not any(kind in (PersistentVolume, PersistentVolumeClaim, StorageClass) for kind, _, _ in mine):
        return []
    objects.put_if_any(
        StorageClass, (_with_defaults(storage_class) for storage_class in objects.list_all(StorageClass))
    )
    new_ones = {
        volume.name for volume in objects.list_all(PersistentVolume) if (PersistentVolume, "", volume.name) in mine
    }
    volumes = {v.name: _available(v) if v.name in new_ones else v for v in objects.list_all(PersistentVolume)}
    run = _Controller(volumes, {storage_class.name: storage_class for storage_class in objects.list_all(StorageClass)})
    there, fresh = _Volumes(volumes.values()), _Volumes(volumes[name] for name in new_ones)
    claims = []
    for claim in objects.list_all(PersistentVolumeClaim):
        ours = (PersistentVolumeClaim, claim.namespace, claim.name) in mine
        settled = run.settle(claim, there if ours else fresh, provision=ours)
        if settled is not claim:
            for volumes_ in (there, fresh):
                volumes_.take(settled.spec.volume_name or "")
        claims.append(settled)
    objects.put_if_any(PersistentVolumeClaim, claims)
    objects.put_if_any(PersistentVolume, run.volumes.values())
    return run.notes


def complete_bindings(objects: Objects) -> None:
    """Mark the claims as bound that say so, where a dump lacks the annotation that the scheduler goes by: the
    controller adds it whenever it looks at a bound claim.
    """
    claims = objects.list_all(PersistentVolumeClaim)
    if not all(map(_is_marked, claims)):
        objects.put(PersistentVolumeClaim, (claim if _is_marked(claim) else _mark(claim) for claim in claims))


def _is_marked(claim: PersistentVolumeClaim) -> bool:
    bound = bool(claim.spec.volume_name) and claim.status.phase == "Bound"
    return not bound or BIND_COMPLETED in (claim.metadata.annotations or {})


def _mark(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    annotations = {**(claim.metadata.annotations or {}), BIND_COMPLETED: "yes"}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))


def provision_claim(storage: Storage, claim: PersistentVolumeClaim) -> None:
    """Create a claim while pods are scheduled, with a volume at once if that needs no node."""
    if storage.has_claim(claim):
        return
    run = _Controller(storage.volumes, storage.classes)
    among = {volume.name: volume for volume in storage.prebound_volumes_of(claim)}
    if not run.waits(claim):
        # The scheduler binds no volume of a class with immediate binding: the volume itself names its claim.
        among.update((volume.name, volume) for volume in storage.volumes_of_class(storage_class_of(claim)))
    storage.add_claim(run.settle(claim, _Volumes(among.values()), provision=True))


def complete_provisioning(pod: Pod, cluster: Cluster) -> None:
    """Bind the claims of a pod that has run on a node to the volumes that were made for it there.

    From now on they are reached from where their topology allows. A claim whose topology nobody knows stays as it is.
    Upstream: external-provisioner, pkg/controller/topology.go (GenerateAccessibilityRequirements).
    """
    storage = cluster.storage
    for name, _ in claim_names(pod) if storage.selected else ():
        bound = claim_provisioned(pod.namespace, name, cluster)
        if bound is not None:
            claim, volume = bound
            storage.complete(claim, volume)


def claim_provisioned(
    namespace: str, name: str, cluster: Cluster
) -> tuple[PersistentVolumeClaim, PersistentVolume] | None:
    """A claim for which a node is selected, bound to a volume of that node's topology, and the volume.

    None for other claims, and where neither a volume nor the CSINode tells the topology of the driver.
    """
    storage, key = cluster.storage, (namespace, name)
    claim, node = storage.claims.get(key), storage.selected.get(key, "")
    row = cluster.columns.row(node)
    storage_class = None if claim is None else storage.classes.get(storage_class_of(claim))
    if claim is None or row is None or storage_class is None or key in storage.stand_ins:
        return None
    keys = storage.topology_keys(storage_class.provisioner or "", node)
    if keys is None:
        return None
    labels = cluster.columns.nodes[row].metadata.labels or {}
    segment = [
        NodeSelectorRequirement(key=label, operator="In", values=[labels[label]])
        for label in sorted(keys)
        if label in labels
    ]
    made = _provision(claim, storage_class, [NodeSelectorTerm(match_expressions=segment)] if segment else [])
    run = _Controller({}, storage.classes)
    return run.bind(claim, made), run.volumes[made.name]


def _with_defaults(one: StorageClass) -> StorageClass:
    """A class as the API server stores it."""
    return one if one.volume_binding_mode else replace(one, volume_binding_mode="Immediate")


def _available(volume: PersistentVolume) -> PersistentVolume:
    return volume if volume.status.phase else replace(volume, status=VolumePhase(phase="Available"))


class _Volumes:
    """Some volumes, by what a claim looks for: those that name a claim, and the free ones of a class by their size.

    Upstream: the index of pv_controller (index.go), there by access modes.
    """

    def __init__(self, volumes: Iterable[PersistentVolume]) -> None:
        self._by_name = {volume.name: volume for volume in volumes}
        self._naming: defaultdict[tuple[str, str], list[PersistentVolume]] = defaultdict(list)
        self._free: defaultdict[Hashable, list[PersistentVolume]] = defaultdict(list)
        for volume in sorted(self._by_name.values(), key=_by_size):
            ref = volume.spec.claim_ref
            if ref is not None:
                self._naming[ref.namespace or "", ref.name or ""].append(volume)
            elif volume.status.phase == "Available" and volume.metadata.deletion_timestamp is None:
                for shelf in _shelves_of(volume):
                    self._free[shelf].append(volume)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def may_fit(
        self, claim: PersistentVolumeClaim, selector: Selector | None, *, waits: bool
    ) -> Iterator[PersistentVolume]:
        """The volumes that may be the claim's, the best first: those that name it, then the smallest.

        ``waits``: the scheduler chooses among those that name nobody.
        """
        if claim.spec.volume_name:
            its = self._by_name.get(claim.spec.volume_name)
            yield from () if its is None else (its,)
            return
        yield from self._naming.get((claim.namespace, claim.name), ())
        if waits:
            return
        sort = _sort_of(claim)
        shelves: list[Hashable] = [sort, *((sort, mode) for mode in claim.spec.access_modes or ())]
        requirements = () if selector is None else selector.requirements
        shelves += [
            (sort, requirement.key, *requirement.values)
            for requirement in requirements
            if requirement.operator == "In" and len(requirement.values) == 1
        ]
        free = min((self._free.get(shelf, []) for shelf in shelves), key=len)
        yield from islice(free, bisect_left(free, claim.storage, key=lambda volume: volume.storage), None)

    def take(self, name: str) -> None:
        """A volume is free no more."""
        volume = self._by_name.get(name)
        if volume is None or volume.spec.claim_ref is not None or volume.status.phase != "Available":
            return
        for shelf in _shelves_of(volume):
            free = self._free[shelf]
            place = bisect_left(free, _by_size(volume), key=_by_size)
            if place < len(free) and free[place] is volume:
                del free[place]


def _by_size(volume: PersistentVolume) -> tuple[Quantity, str]:
    return volume.storage, volume.name


def _sort_of(obj: PersistentVolume | PersistentVolumeClaim) -> tuple[str, str]:
    return storage_class_of(obj), obj.spec.volume_mode or "Filesystem"


def _shelves_of(volume: PersistentVolume) -> Iterator[Hashable]:
    """A volume's class and mode, and these with each of its access modes and labels."""
    sort = _sort_of(volume)
    yield sort
    yield from ((sort, mode) for mode in dict.fromkeys(volume.spec.access_modes or ()))
    yield from ((sort, key, value) for key, value in (volume.metadata.labels or {}).items())


class _Controller:
    def __init__(self, volumes: dict[str, PersistentVolume], classes: dict[str, StorageClass]) -> None:
        self.volumes, self._classes = volumes, classes
        self.notes: list[str] = []

    def waits(self, claim: PersistentVolumeClaim) -> bool:
        """Whether the scheduler chooses the claim's volume."""
        storage_class = self._classes.get(storage_class_of(claim))
        return storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"

    def settle(self, claim: PersistentVolumeClaim, among: _Volumes, *, provision: bool) -> PersistentVolumeClaim:
        """The claim after one pass: bound to an existing volume, to a provisioned one, or unchanged."""
        if BIND_COMPLETED in (claim.metadata.annotations or {}):
            its = self.volumes.get(claim.spec.volume_name or "")
            if its is not None and its.name in among and its.spec.claim_ref is None:
                return self.bind(claim, its)
            return claim
        storage_class, waits = self._classes.get(storage_class_of(claim)), self.waits(claim)
        selector = None if claim.spec.selector is None else Selector.from_label_selector(claim.spec.selector)
        known = (self.volumes[volume.name] for volume in among.may_fit(claim, selector, waits=waits))
        best = next((volume for volume in known if self._may_have(claim, volume, selector, waits)), None)
        if best is not None:
            self.notes.append(f"PersistentVolumeClaim {claim.namespace}/{claim.name} is bound to {best.name}")
            return self.bind(claim, best)
        if waits or not provision or claim.spec.volume_name or storage_class is None:
            return claim
        if (storage_class.provisioner or _NO_PROVISIONER) == _NO_PROVISIONER:
            return claim
        made = _provision(claim, storage_class, list(_terms(storage_class.allowed_topologies or ())))
        where = "where its class allows it" if made.spec.node_affinity else "in any zone"
        self.notes.append(
            f"PersistentVolumeClaim {claim.namespace}/{claim.name} gets a new volume at once, taken to be {where}: "
            f"StorageClass {storage_class.name} does not wait for the pod"
        )
        return self.bind(claim, made)

    def _may_have(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume, selector: Selector | None, waits: bool
    ) -> bool:
        spec, ref = volume.spec, volume.spec.claim_ref
        if ref is not None:
            own = (ref.namespace, ref.name) == (claim.namespace, claim.name)
            if not own or (ref.uid and ref.uid != claim.metadata.uid):
                return False
        if claim.spec.volume_name:
            return claim.spec.volume_name == volume.name
        if (spec.volume_mode or "Filesystem") != (claim.spec.volume_mode or "Filesystem"):
            return False
        if storage_class_of(volume) != storage_class_of(claim) or volume.storage < claim.storage:
            return False
        if volume.metadata.deletion_timestamp is not None:
            return False
        if ref is not None:
            return True
        return (
            not waits
            and volume.status.phase == "Available"
            and (selector is None or selector.matches(volume.metadata.labels or {}))
            and set(claim.spec.access_modes or ()) <= set(spec.access_modes or ())
        )

    def bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
        """Set both sides of the binding."""
        ref = ObjectReference(
            kind="PersistentVolumeClaim", namespace=claim.namespace, name=claim.name, uid=claim.metadata.uid
        )
        bound = VolumePhase(phase="Bound")
        self.volumes[volume.name] = replace(volume, spec=replace(volume.spec, claim_ref=ref), status=bound)
        annotations = {**(claim.metadata.annotations or {}), BIND_COMPLETED: "yes"}
        if not claim.spec.volume_name:
            annotations[_BY_CONTROLLER] = "yes"
        return replace(
            claim,
            metadata=replace(claim.metadata, annotations=annotations),
            spec=replace(claim.spec, volume_name=volume.name),
            status=bound,
        )


def _provision(
    claim: PersistentVolumeClaim, storage_class: StorageClass, terms: list[NodeSelectorTerm]
) -> PersistentVolume:
    """The volume that a provisioner makes, which nodes of these terms reach; without terms all do."""
    name = f"pvc-{claim.metadata.uid or f'{claim.namespace}-{claim.name}'}"
    driver = storage_class.provisioner or ""
    return PersistentVolume(
        api_version="v1",
        kind="PersistentVolume",
        metadata=ObjectMeta(name=name),
        spec=PersistentVolumeSpec(
            capacity={"storage": claim.storage},
            access_modes=claim.spec.access_modes,
            storage_class_name=storage_class_of(claim),
            volume_mode=claim.spec.volume_mode,
            node_affinity=VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms)) if terms else None,
            csi=None
            if driver.startswith("kubernetes.io/")
            else CSIPersistentVolumeSource(driver=driver, volume_handle=name),
            volume_attributes_class_name=claim.spec.volume_attributes_class_name,
        ),
    )


def _terms(topologies: Iterable[TopologySelectorTerm]) -> Iterator[NodeSelectorTerm]:
    for topology in topologies:
        terms = [
            NodeSelectorRequirement(
                key=topology_selector_requirement.key, operator="In", values=topology_selector_requirement.values
            )
            for topology_selector_requirement in topology.match_label_expressions or ()
        ]
        if terms:
            yield NodeSelectorTerm(match_expressions=terms)
