"""Some rows of a cluster as plugins see them, possibly with a hypothetical change of the pods on them.

The same filter code evaluates the whole cluster, one row that changed, and thousands of independent "what if these pods
left this node?" cases at once: only the view differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
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

    def beside(self, other: PodDelta) -> PodDelta:
        """Both changes of the same rows; host ports are left as they are."""
        twin = object.__new__(PodDelta)
        twin.shapes = np.concatenate([self.shapes, other.shapes], axis=1)
        twin.signs = np.concatenate([self.signs, other.signs], axis=1)
        twin.ports = None
        twin.requested, twin.count = self.requested + other.requested, self.count + other.count
        return twin

    def part(self, places: IntpArray | BoolArray) -> PodDelta:
        """The same change for some of the rows only."""
        twin = object.__new__(PodDelta)
        twin.shapes, twin.signs = self.shapes[places], self.signs[places]
        twin.ports = None if self.ports is None else self.ports[places]
        twin.requested, twin.count = self.requested[places], self.count[places]
        return twin


class NominatedPods(msgspec.Struct, frozen=True, eq=False):
    """The pods nominated to some nodes, and the change of these if the pods come.

    rows      intp[n], ascending
    pods      those nominated to each row
    """

    rows: IntpArray
    pods: Sequence[Sequence[PodInfo]]
    change: PodDelta

    def places_of(self, rows: IntpArray) -> tuple[IntpArray, IntpArray]:
        """intp[m] each: the places in ``rows`` to which pods are nominated, and where those rows are here."""
        if not len(self.rows):
            return rows[:0], rows[:0]
        here = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        places = np.flatnonzero(self.rows[here] == rows)
        return places, here[places]


def nominated_pods(cluster: Cluster, pod: PodInfo) -> NominatedPods:
    """The pods nominated to nodes that take precedence over this pod."""
    state = cluster.columns, cluster.shapes.requests.shape[1]
    nominated = cluster.nominated.derive(pod, state, partial(_find_nominated, cluster))
    if nominated.change.ports is not None:
        # Those in use on the nodes change with their pods.
        nominated.change.ports = _ports_after(cluster, nominated.rows, nominated.pods, 1)
    return nominated


def _find_nominated(cluster: Cluster, by_node: Mapping[str, Sequence[PodInfo]]) -> NominatedPods:
    by_row = {row: infos for node, infos in by_node.items() if (row := cluster.columns.row(node)) is not None}
    rows = np.array(sorted(by_row), np.intp)
    pods = [by_row[row] for row in rows.tolist()]
    return NominatedPods(rows, pods, change_of(cluster, rows, pods, 1))


def change_of(cluster: Cluster, rows: IntpArray, pods: Sequence[Sequence[PodInfo]], sign: int) -> PodDelta:
    """The change of pods that come to (+1) or leave (-1) each of ``rows``."""
    counts = np.fromiter(map(len, pods), np.intp, len(pods))
    places = np.repeat(np.arange(len(rows)), counts)
    columns = np.arange(len(places)) - np.repeat(counts.cumsum() - counts, counts)
    shapes = np.zeros((len(rows), int(counts.max(initial=0))), np.intp)
    signs = np.zeros(shapes.shape, np.int64)
    shapes[places, columns] = [info.shape.index for some in pods for info in some]
    signs[places, columns] = sign
    return PodDelta(cluster.shapes, shapes, signs, _ports_after(cluster, rows, pods, sign))


def _ports_after(cluster: Cluster, rows: IntpArray, pods: Sequence[Sequence[PodInfo]], sign: int) -> BoolArray | None:
    """bool[n, K]: host ports in use on the rows after the change; None where it is about none."""
    wanted = [(place, info.shape.ports) for place, some in enumerate(pods) for info in some if info.shape.ports]
    if not wanted:
        return None
    # A new port is a new column, so these come first.
    columns = [(place, cluster.port_columns(ports)) for place, ports in wanted]
    after: BoolArray = cluster.ports[rows]
    for place, those in columns:
        after[place, those] = sign > 0
    return after


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
