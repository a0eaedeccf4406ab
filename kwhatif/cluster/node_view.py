"""Some rows of a cluster as plugins see them, possibly with a hypothetical change of the pods on them.

The same filter code evaluates the whole cluster, one row that changed, and thousands of independent "what if these pods
left this node?" cases at once: only the view differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import HostPort, PodInfo, PodShape
from kwhatif.cluster.tally import Tally
from kwhatif.cluster.types import AnyArray, BoolArray, Int64Array, IntpArray


class PodDelta:
    """A hypothetical change of pods, each row for itself.

    shapes     intp[n, P]     numbers of the shapes of the pods in question
    signs      int64[n, P]    +1 the pod is added, -1 it is removed, 0 unchanged
    ports      bool[n, K]     host ports in use after the change, or None when no filter reads them
    requested  int64[n, R]    what the change adds to the nodes' requests
    count      int64[n]       ... and to their number of pods
    """

    __slots__ = ("count", "ports", "requested", "shapes", "signs")

    def __init__(self, table: ShapeTable, shapes: IntpArray, signs: Int64Array, ports: BoolArray | None = None) -> None:
        self.shapes, self.signs, self.ports = shapes, signs, ports
        self.requested: Int64Array = np.einsum("np,npr->nr", signs, table.requests[shapes])
        self.count: Int64Array = signs.sum(axis=1)

    def move(self, table: ShapeTable, places: IntpArray, columns: IntpArray, sign: int) -> None:
        """Let one more pod come (+1) to, or go (-1) from, each of ``places``: the one in its ``columns``."""
        self.signs[places, columns] += sign
        self.requested[places] += sign * table.requests[self.shapes[places, columns]]
        self.count[places] += sign

    def come_back(self, table: ShapeTable, places: IntpArray, columns: IntpArray) -> PodDelta:
        """The changes of ``places`` intp[m] if pods come in addition: m * w changes, w of each place.

        The first of them is with the pod in the first of the place's ``columns`` intp[m, w], the next with the second
        pod as well, and so on.
        """
        size, width = columns.shape
        twin = self.part(np.repeat(places, width))
        twin.requested += table.requests[self.shapes[places[:, None], columns]].cumsum(axis=1).reshape(size * width, -1)
        come = np.zeros((size, width, self.signs.shape[1]), np.int64)
        np.put_along_axis(come, columns[:, :, None], 1, axis=2)
        twin.signs += come.cumsum(axis=1).reshape(size * width, -1)
        twin.count += np.tile(np.arange(1, width + 1), size)
        return twin

    def part(self, places: IntpArray | BoolArray) -> PodDelta:
        """The same change for some of the rows only."""
        twin = object.__new__(PodDelta)
        twin.shapes, twin.signs = self.shapes[places], self.signs[places]
        twin.ports = None if self.ports is None else self.ports[places]
        twin.requested, twin.count = self.requested[places], self.count[places]
        return twin


def nominated_pods(cluster: Cluster, pod: PodInfo) -> dict[int, Sequence[PodInfo]]:
    """Row -> pods nominated there that take precedence over this pod."""
    preceding = cluster.nominated.preceding(pod)
    return {row: infos for node, infos in preceding.items() if (row := cluster.columns.row(node)) is not None}


def change_of(cluster: Cluster, rows: IntpArray, pods: Sequence[Sequence[PodInfo]], sign: int) -> PodDelta:
    """The change of pods that come to (+1) or leave (-1) each of ``rows``."""
    width = max((len(some) for some in pods), default=0)
    shapes = np.zeros((len(rows), width), np.intp)
    signs = np.zeros((len(rows), width), np.int64)
    ports = None
    for place, some in enumerate(pods):
        for k, info in enumerate(some):
            shapes[place, k], signs[place, k] = info.shape.index, sign
            if info.shape.ports:
                columns = cluster.port_columns(info.shape.ports)
                if ports is None or ports.shape[1] < cluster.ports.shape[1]:
                    fresh = cluster.ports[rows].copy()
                    if ports is not None:
                        fresh[:, : ports.shape[1]] = ports
                    ports = fresh
                ports[place, columns] = sign > 0
    return PodDelta(cluster.shapes, shapes, signs, ports)


class NodeView:
    """Rows of a cluster; n is their number. Arrays may be the cluster's own: plugins must not write to them."""

    __slots__ = ("_allocatable", "_change", "_requested", "cluster", "columns", "rows", "size")

    def __init__(self, cluster: Cluster, rows: IntpArray | None = None, change: PodDelta | None = None) -> None:
        self.cluster = cluster
        self.columns = cluster.columns
        self.rows = rows
        self.size = len(cluster) if rows is None else len(rows)
        self._change = change
        self._allocatable: Int64Array | None = None
        self._requested: Int64Array | None = None

    def __len__(self) -> int:
        return self.size

    def take_rows(self, column: AnyArray) -> AnyArray:
        """The rows of an [N, ...] array that belong to this view."""
        return column if self.rows is None else column[self.rows]

    def row(self, place: int) -> int:
        """The cluster's row of the view's ``place``-th node."""
        return place if self.rows is None else int(self.rows[place])

    @property
    def is_unchanged(self) -> bool:
        """Whether the view has no hypothetical change."""
        return self._change is None

    @property
    def allocatable(self) -> Int64Array:
        """int64[n, R]."""
        if self._allocatable is None:
            self._allocatable = self.take_rows(self.columns.allocatable)
        return self._allocatable

    @property
    def requested(self) -> Int64Array:
        """int64[n, R]."""
        if self.rows is None and self._change is None:
            # Not kept: the cluster's own array is another one when there are more resources.
            return self.cluster.requested
        if self._requested is None:
            base = self.take_rows(self.cluster.requested)
            self._requested = base if self._change is None else base + self._change.requested
        return self._requested

    @property
    def non_zero(self) -> Int64Array:
        """int64[n, 2]: millicores and bytes, with the scheduler's defaults. Changes are for filters only."""
        return self.take_rows(self.cluster.non_zero)

    @property
    def pod_count(self) -> Int64Array:
        """int64[n]."""
        base = self.take_rows(self.cluster.pod_count)
        return base if self._change is None else base + self._change.count

    def ports_in_use(self) -> tuple[dict[HostPort, int], BoolArray]:
        """The columns of host ports, and bool[n, K]: which are in use."""
        if self._change is not None and self._change.ports is not None:
            return self.cluster.port_index, self._change.ports
        return self.cluster.port_index, self.take_rows(self.cluster.ports)

    def label(self, key: str) -> IntpArray:
        """intp[n]: codes of one label's values, -1 where it is missing."""
        return self.take_rows(self.columns.label(key).codes)

    def counts(self, tally: Tally) -> Int64Array:
        """int64[n]: pods counted on each node itself."""
        base = self.take_rows(tally.by_node)
        return base if self._change is None else base + self._tally_change(tally)

    def shift(self, tally: Tally) -> Int64Array | None:
        """int64[n]: by how much the imagined change alters the count of the node's own domain; None for not at all."""
        if self._change is None:
            return None
        return self._tally_change(tally) * self.take_rows(tally.eligible_nodes)

    def moved_pods(self) -> Callable[[int], list[PodShape]] | None:
        """Place -> the shapes of the pods there after the view's change; None when there is no change."""
        change = self._change
        if change is None:
            return None
        table = self.cluster.shapes.shapes

        def shapes_at(place: int) -> list[PodShape]:
            left = [info.shape for info in self.cluster.pods_on[self.row(place)]]
            for index, sign in zip(change.shapes[place], change.signs[place], strict=True):
                shape = table[index]
                if sign > 0:
                    left.append(shape)
                elif sign < 0:
                    left.remove(shape)
            return left

        return shapes_at

    def _tally_change(self, tally: Tally) -> Int64Array:
        assert self._change is not None
        moved: Int64Array = (tally.moved_weights[self._change.shapes] * self._change.signs).sum(axis=1)
        return moved
