"""Which column a resource has in the matrices of requests and capacities."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kwhatif.cluster.types import Int64Array, IntpArray


class ResourceAxis:
    """Axis 1 of the matrices. It only ever grows, when a node or a pod comes that names a new resource."""

    def __init__(self) -> None:
        self._index = {"cpu": 0, "memory": 1, "ephemeral-storage": 2}

    def __len__(self) -> int:
        return len(self._index)

    @property
    def names(self) -> list[str]:
        """The resources in the order of their columns."""
        return list(self._index)

    def add(self, names: Iterable[str]) -> None:
        """See to it that these resources have columns."""
        for name in names:
            self._index.setdefault(name, len(self._index))

    def find(self, name: str) -> int | None:
        """The column of a resource, None for one that neither nodes nor pods have named."""
        return self._index.get(name)

    def column(self, name: str) -> int:
        """The column of a resource that a node or a pod has named. Raises KeyError for others."""
        return self._index[name]

    def columns(self, names: Iterable[str]) -> slice | IntpArray:
        """As ``column``, of many: a slice where they are the first ones in order, which indexes faster."""
        found = [self._index[name] for name in names]
        return slice(0, len(found)) if found == list(range(len(found))) else np.array(found, np.intp)

    def amounts(self, matrix: Int64Array, name: str) -> Int64Array:
        """int64[N]: one resource in an int64[N, R] matrix; zeros for one that neither nodes nor pods have named."""
        column = self._index.get(name)
        return np.zeros(len(matrix), np.int64) if column is None else matrix[:, column]
