"""The search for NUMA cells that hold a container's requests.

Upstream: pkg/noderesourcetopology (filter.go, numaresources.go) of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kwhatif.api.core import ResourceList
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.plugins.shared.numa_cells import Cells
from kwhatif.plugins.shared.pod_qos import QosClass
from kwhatif.results.amounts import format_amount


def amounts_of(resources: ResourceList) -> dict[str, int]:
    """Thousandths by resource."""
    return {name: amount.milli_value() for name, amount in resources.items()}


def is_native(name: str) -> bool:
    """Whether a resource is Kubernetes' own (upstream: IsNativeResource of apis/core/v1/helper)."""
    return "/" not in name or "kubernetes.io/" in name


def is_affine(name: str) -> bool:
    """Whether the kubelet aligns it for Guaranteed pods alone."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def is_of_host(name: str) -> bool:
    """Whether the node as a whole may have it where no cell lists it."""
    return name in ("ephemeral-storage", "storage") or not is_native(name)


class CellSearch:
    """Cells of some nodes; ``free`` int64[n, Z, R] is what containers that were aligned have left of them."""

    def __init__(self, cells: Cells, free: Int64Array, rows: IntpArray, qos: QosClass) -> None:
        self.left = free
        self._cells, self._rows = cells, rows
        self._guaranteed = qos is QosClass.GUARANTEED
        self._number = cells.number[rows]
        self._listed = cells.listed[rows]

    def suiting(self, requests: Mapping[str, int], has: Mapping[str, BoolArray]) -> tuple[BoolArray, BoolArray]:
        """bool[n, Z] cells that have all of it, and bool[n] nodes that will do.

        ``has`` says of a resource which nodes have it at all. Where only what cells do not list is asked for, no cell
        is needed.
        """
        suits: BoolArray = self._number <= self._cells.highest
        fits: BoolArray = np.ones(len(self._rows), np.bool_)
        bound: BoolArray = np.zeros(len(self._rows), np.bool_)
        for name, amount in requests.items():
            if amount == 0:
                continue
            fits &= has[name]
            column = self._cells.names.get(name)
            if column is None:
                if not is_of_host(name):
                    fits[:] = False
                continue
            listed = self._listed[:, :, column]
            enough = listed if self._takes_any(name) else listed & (self.left[:, :, column] >= amount)
            matters: BoolArray = np.asarray(listed.any(axis=1)) | (not is_of_host(name))
            suits = np.where(matters[:, None], suits & enough, suits)
            bound |= matters
        fits &= ~bound | suits.any(axis=1)
        return suits & bound[:, None], fits

    def take(self, requests: Mapping[str, int], suits: BoolArray) -> None:
        """Let a container have what it asks for of the lowest cell that suits."""
        number = np.where(suits, self._number, self._cells.highest + 2)
        if not number.shape[1]:
            return
        chosen = number.min(axis=1)
        mine = (self._number == chosen[:, None]) & np.asarray(suits.any(axis=1))[:, None]
        for name, amount in requests.items():
            column = self._cells.names.get(name)
            if column is not None and amount and not self._takes_any(name):
                taken = mine & self._listed[:, :, column]
                self.left[:, :, column] -= np.where(taken, amount, 0)

    def _takes_any(self, name: str) -> bool:
        """Whether any cell that lists the resource will do, since the kubelet does not align it for such pods."""
        return not self._guaranteed and is_affine(name)


def lacking(
    cells: Cells,
    free: Int64Array,
    rows: IntpArray,
    qos: QosClass,
    requests: Mapping[str, int],
    has: Mapping[str, BoolArray],
) -> Callable[[int], str]:
    """Place -> which cell lacks what, of what is ``free`` there."""

    def tell(place: int) -> str:
        parts = [f"the node has no {name}" for name, amount in requests.items() if amount and not has[name][place]]
        for k, cell in enumerate(cells.lists[rows[place]]):
            short = []
            for name, amount in requests.items():
                column = cells.names.get(name)
                if not amount or (qos is not QosClass.GUARANTEED and is_affine(name)):
                    continue
                there = 0 if column is None else int(free[place, k, column])
                unlisted = column is None or not cells.listed[rows[place], k, column]
                if there < amount and not (unlisted and is_of_host(name)):
                    asks, available = (_format_thousandths(name, quantity) for quantity in (amount, there))
                    short.append(f"{name}: asks {asks}, available {available}")
            if short:
                parts.append(f"node-{cell.number} {', '.join(short)}")
        return "; ".join(parts) or "no cell has all of it"

    return tell


def _format_thousandths(resource: str, amount: int) -> str:
    if resource == "cpu" or amount % 1000:
        return format_amount("cpu", amount)
    return format_amount(resource, amount // 1000)
