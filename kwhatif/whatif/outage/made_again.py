"""The pods that controllers make in the place of those that a failure took, ready to be scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from kwhatif.api.core import Pod, PodSpec
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo, PodShape
from kwhatif.scheduling.arrivals import with_claims
from kwhatif.scheduling.replacements import AT_ONCE, ONCE_GONE, Replacements

BOUND_TO_NODES = ("DaemonSet", "Node")
"""Controllers whose pods run on one node and want no other."""


class MadeAgain:
    """Makes pods again. Pods of one shape are alike afterwards as they were before, so they are looked through once.

    ``evicting``: they may evict others, as their priority and preemptionPolicy say; else they never do. ``taken`` says
    which names (``namespace/name``) they must not get.
    """

    def __init__(self, *, evicting: bool, taken: Callable[[str], bool] = lambda key: False) -> None:
        self._evicting, self._taken = evicting, taken
        self._shapes: dict[int, PodShape] = {}
        self._specs: dict[int, PodSpec] = {}

    @staticmethod
    def comes(old: PodInfo) -> bool:
        """Whether a controller makes the pod again, elsewhere if need be."""
        owner = old.shape.controller
        if owner is None or owner.kind in BOUND_TO_NODES:
            return False
        return owner.kind in ONCE_GONE or (owner.kind in AT_ONCE and not old.shape.terminating)

    def of(self, lost: Iterable[PodInfo], cluster: Cluster) -> list[tuple[PodInfo, PodInfo]]:
        """Each of the pods that is made again elsewhere, with the one in its place; claims of theirs are there, too."""
        replacements = Replacements(taken=self._taken)
        found = []
        for old in lost:
            again = replacements.after(old.pod) if self.comes(old) else None
            if again is not None:
                found.append((old, self._info(old, again, cluster)))
        return found

    def _info(self, old: PodInfo, again: Pod, cluster: Cluster) -> PodInfo:
        index = old.shape.index
        shape = self._shapes.get(index)
        if shape is None:
            if not self._evicting:
                self._specs[index] = replace(again.spec, preemption_policy="Never")
                again = replace(again, spec=self._specs[index])
            info = cluster.shapes.info(with_claims(again, cluster))
            if not (again.spec.resource_claims or any(v.ephemeral for v in again.spec.volumes or ())):
                self._shapes[index] = info.shape
            return info
        if not self._evicting:
            again = replace(again, spec=self._specs[index])
        meta = again.metadata
        key = f"{meta.namespace or 'default'}/{meta.name}"
        return PodInfo(again, shape, key, meta.uid or key, NEVER_STARTED)
