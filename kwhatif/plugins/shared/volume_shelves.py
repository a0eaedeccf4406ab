"""Free volumes ready to be matched: which is the smallest that fits, on all nodes at once.

Claims that ask for the same but for the size share a shelf. On it volumes are ranked by size and grouped by the
nodes that reach them; of a group only the smallest free volumes can be anybody's choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from kwhatif.api.others import PersistentVolume
from kwhatif.api.quantity import Quantity
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.storage import Storage
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.plugins.shared.volume_reach import Affinity, affinity_of, reach


class Shelf:
    """K volumes in G groups, and which of them are free.

    numbers   intp[K + 1]  the volumes' numbers in ``Storage.listed``, the smallest volume first; the last is -1
    group     intp[K]      the group of each
    row       intp[E]      for each pair of a node and a group it reaches, by node: the node
    offer     intp[E]      ... and the group
    """

    def __init__(self, volumes: Sequence[PersistentVolume], cluster: Cluster) -> None:
        storage = cluster.storage
        ranked = sorted(volumes, key=lambda volume: (volume.storage, volume.name))
        self._nodes = len(cluster)
        self._sizes = [volume.storage for volume in ranked]
        self._rank = {volume.name: rank for rank, volume in enumerate(ranked)}
        self.numbers: IntpArray = np.array([storage.number[volume.name] for volume in ranked] + [-1], np.intp)
        groups: dict[Affinity | None, int] = {}
        codes = [groups.setdefault(affinity_of(volume), len(groups)) for volume in ranked]
        self.group: IntpArray = np.array(codes, np.intp)
        self._groups = len(groups)
        rows = [reach(cluster, affinity) for affinity in groups]
        row = np.concatenate([*rows, np.zeros(0, np.intp)])
        order = np.argsort(row, kind="stable")
        self.row: IntpArray = row[order]
        reached = np.array([len(some) for some in rows], np.intp)
        self.offer: IntpArray = np.repeat(np.arange(len(rows)), reached)[order]
        self._starts: IntpArray = np.flatnonzero(np.diff(self.row, prepend=-1))
        self._free: BoolArray = np.array([volume.name not in storage.reserved for volume in ranked], np.bool_)
        self._seen = len(storage.changes)

    def follow(self, storage: Storage) -> None:
        """Take note of volumes that were reserved or given back."""
        for name in storage.changes[self._seen :]:
            rank = self._rank.get(name)
            if rank is not None:
                self._free[rank] = name not in storage.reserved
        self._seen = len(storage.changes)

    def free(self, request: Quantity) -> list[int]:
        """The numbers of the free volumes that are large enough, the smallest first."""
        first = bisect_left(self._sizes, request)
        found: list[int] = self.numbers[first:-1][self._free[first:]].tolist()
        return found

    def best(self, request: Quantity, taken: Sequence[IntpArray]) -> IntpArray:
        """intp[N]: the number of the smallest volume that each node may get, -1 for none.

        ``taken`` are numbers of volumes, intp[N] each, that are not to be had on the node.
        """
        got = np.full(self._nodes, -1, np.intp)
        if not len(self.row):
            return got
        none = len(self._sizes)
        picked = np.full(len(self.row), none, np.intp)
        first = bisect_left(self._sizes, request)
        left: IntpArray = first + np.flatnonzero(self._free[first:])
        for _ in range(len(taken) + 1):
            heads = np.full(self._groups, none, np.intp)
            heads[self.group[left[::-1]]] = left[::-1]  # the last one written, the smallest, stays
            offered = heads[self.offer]
            open_ = picked == none
            for other in taken:
                open_ &= other[self.row] != self.numbers[offered]
            picked = np.where(open_, offered, picked)
            left = left[heads[self.group[left]] != left]
        got[self.row[self._starts]] = self.numbers[np.minimum.reduceat(picked, self._starts)]
        return got
