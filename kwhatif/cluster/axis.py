"""Which column a resource has in the matrices of requests and capacities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from kwhatif.cluster.types import IntpArray

__all__ = ["ResourceAxis"]


@dataclass(slots=True)
class ResourceAxis:
    """Which column a resource has: axis 1 of the request and capacity matrices. It only ever grows."""

    names: list[str] = field(default_factory=lambda: ["cpu", "memory", "ephemeral-storage"])
    _index: dict[str, int] = field(default_factory=lambda: {"cpu": 0, "memory": 1, "ephemeral-storage": 2})

    def column(self, name: str) -> int:
        """The column of ``name``, which is added when it is new."""
        index = self._index.get(name)
        if index is None:
            index = self._index[name] = len(self.names)
            self.names.append(name)
        return index

    def columns(self, names: Iterable[str]) -> slice | IntpArray:
        """The columns of ``names``, as a slice where they are the first ones in order, which indexes faster."""
        found = [self.column(name) for name in names]
        return slice(0, len(found)) if found == list(range(len(found))) else np.array(found, np.intp)

    def find(self, name: str) -> int | None:
        return self._index.get(name)

    def __len__(self) -> int:
        return len(self.names)
