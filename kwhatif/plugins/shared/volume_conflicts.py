"""Why a node does not do for a pod's claims, in words: which claim, which volume, where that is and where the node is.

The reasons themselves, which are upstream's, name none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim
from kwhatif.api.selectors import RequiredNodeAffinity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.storage import class_of
from kwhatif.cluster.types import BoolArray
from kwhatif.plugins.shared.volume_matching import free_volumes
from kwhatif.plugins.shared.volume_reach import (
    affinity_of,
    affinity_on,
    enough_capacity,
    home_of_new,
    largest_volume,
    provisions,
    reachable,
    topologies_admit,
)
from kwhatif.results.amounts import some, spell_amount
from kwhatif.versions import Features


@dataclass(frozen=True, slots=True, eq=False)
class Conflicts:
    """The claims of a pod: ``bound`` ones, and those that need a volume to be made, with the nodes where they do.

    Each question is about the node of a row, which is known to conflict.
    """

    cluster: Cluster
    features: Features
    bound: Sequence[PersistentVolumeClaim]
    unmatched: Sequence[tuple[PersistentVolumeClaim, BoolArray]]

    def out_of_reach(self, row: int) -> str:
        """Bound volumes that cannot be reached from the node."""
        node = self.cluster.columns.nodes[row]
        found = []
        for claim in self.bound:
            volume = self.cluster.storage.volumes.get(claim.spec.volume_name or "")
            if volume is not None and not reachable(volume, self.cluster)[row]:
                terms = affinity_on(volume, self.cluster, row)
                why = RequiredNodeAffinity(terms=terms).unmet(node)
                found.append(f"claim {claim.name} is bound to volume {volume.name}, which {why}")
        return "; ".join(found)

    def no_such_volume(self, row: int) -> str:
        """Claims that are bound to what is not there."""
        lost = (claim for claim in self.bound if (claim.spec.volume_name or "") not in self.cluster.storage.volumes)
        return "; ".join(
            f"claim {claim.name} is bound to volume {claim.spec.volume_name}, which does not exist" for claim in lost
        )

    def no_volume(self, row: int) -> str:
        """Claims that get no volume on the node: those that are free are elsewhere, and none is made there."""
        found = []
        for claim, where in self.unmatched:
            selected = self.cluster.storage.selected_node(claim)
            if selected is not None and selected != self.cluster.columns.names[row]:
                found.append(f"claim {claim.name}: its volume is being made for node {selected}")
            elif where[row] and (none_made := self._why_none_is_made(claim, row)):
                found.append(f"claim {claim.name}: {self._why_none_is_free(claim, row)}, and {none_made}")
        return "; ".join(found)

    def no_space(self, row: int) -> str:
        """Claims for which the driver reports too little room."""
        found = []
        for claim, where in self.unmatched:
            storage_class = self.cluster.storage.classes[class_of(claim)]
            admitted = where[row] and topologies_admit(self.cluster, storage_class.name)[row]
            if admitted and not enough_capacity(claim, storage_class, self.cluster)[row]:
                most = int(largest_volume(self.cluster, storage_class.name)[row])
                room = "no room" if most < 0 else f"room for {spell_amount('memory', most)}"
                asks = f"claim {claim.name} asks for {claim.storage}"
                found.append(f"{asks}, driver {storage_class.provisioner} reports {room} there")
        return "; ".join(found)

    def _why_none_is_free(self, claim: PersistentVolumeClaim, row: int) -> str:
        free = free_volumes(claim, self.cluster, self.features)
        if not free:
            return "no volume that fits is free"
        return some([f"volume {volume.name} {self._why_not(volume, row)}" for volume in free])

    def _why_not(self, volume: PersistentVolume, row: int) -> str:
        unmet = RequiredNodeAffinity(terms=affinity_of(volume)).unmet(self.cluster.columns.nodes[row])
        return unmet or "goes to another claim of the pod"

    def _why_none_is_made(self, claim: PersistentVolumeClaim, row: int) -> str:
        """Nothing if one is."""
        name = class_of(claim)
        storage_class = self.cluster.storage.classes[name]
        if not provisions(storage_class):
            return f"class {name} makes none"
        if topologies_admit(self.cluster, name)[row]:
            return ""
        unmet = RequiredNodeAffinity(terms=home_of_new(storage_class)).unmet(self.cluster.columns.nodes[row])
        return f"class {name}, which would make one, {unmet}"
