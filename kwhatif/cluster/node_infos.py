"""Per-node state of the scheduler's cache, as columns over all nodes: requests, host ports, pods, active and searched
nodes.

Upstream: NodeInfo in pkg/scheduler/framework/types.go, and its lists in pkg/scheduler/backend/cache/snapshot.go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from kwhatif.api.core import Node
from kwhatif.cluster.columns import NodeColumns
from kwhatif.cluster.shape_table import COUNT, FIRST_REQUEST, ShapeTable, widen_columns
from kwhatif.cluster.shapes import HostPort, PodInfo, PodShape
from kwhatif.cluster.tally import Tallies, Tally, TallySpec
from kwhatif.cluster.types import AnyArray, BoolArray, Int64Array, IntpArray

TALLY_LIMIT = 2048


class NodeInfos:
    """Nodes as columns, and sums over the pods on each.

    requested   int64[N, R]   sum of requests (R resources of ``shapes.resources``)
    non_zero    int64[N, 2]   millicores and bytes with the scheduler's defaults for what containers leave out
    pod_count   int64[N]
    ports       bool[N, K]    host ports in use (K distinct ones of ``port_index``)
    pods_on     the pods of each node
    journal     rows that changed, oldest first
    active      bool[N]       nodes that have joined; the others have a row for when they do, and no pods
    membership_version   how often a node that has a row came or went
    placement   intp[n] the rows that a group of pods is tried on just now, or None
    memory      what plugins have worked out once for the cluster
    """

    def __init__(self, nodes: Sequence[Node], shapes: ShapeTable) -> None:
        self.shapes = shapes
        self._set_nodes(nodes)

    def _set_nodes(self, nodes: Sequence[Node]) -> None:
        self.columns = NodeColumns(nodes, self.shapes.resources)
        size = len(self.columns)
        self._sums = np.zeros((size, FIRST_REQUEST + len(self.shapes.resources)), np.int64)
        self.active = np.ones(size, np.bool_)
        self.port_index: dict[HostPort, int] = {}
        self.ports = np.zeros((size, 0), np.bool_)
        self.pods_on: list[list[PodInfo]] = [[] for _ in range(size)]
        self.journal: list[int] = []
        self._undone: list[tuple[int, int]] = []
        self._tallies = Tallies(self.shapes, size)
        self._searched: IntpArray | None = None
        self.placement: IntpArray | None = None
        self.membership_version = 0
        self.memory: dict[Hashable, object] = {}

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.pods_on)

    @property
    def sums(self) -> Int64Array:
        """int64[N, 3 + R]: in one row all that the pods of a node come to, as ``ShapeTable.sums`` has it of a pod."""
        width = FIRST_REQUEST + self.shapes.resources.size
        if self._sums.shape[1] < width:
            self._sums = widen_columns(self._sums, width)
        return self._sums

    @property
    def requested(self) -> Int64Array:
        return self.sums[:, FIRST_REQUEST:]

    @property
    def non_zero(self) -> Int64Array:
        return self._sums[:, :COUNT]

    @property
    def pod_count(self) -> Int64Array:
        return self._sums[:, COUNT]

    def totals(self, rows: Sequence[int]) -> dict[str, tuple[int, int]]:
        """Resource -> what these nodes have of it and what their pods request; ``pods`` come last."""
        at, columns = np.asarray(rows, np.intp), self.columns
        sums = (matrix[at].sum(axis=0).tolist() for matrix in (columns.allocatable, self.requested))
        pairs: Iterable[tuple[int, int]] = zip(*sums, strict=False)
        by_resource = dict(zip(self.shapes.resources.names, pairs, strict=False))
        return by_resource | {"pods": (int(columns.allowed_pods[at].sum()), int(self.pod_count[at].sum()))}

    def free(self, resource: str) -> list[int]:
        """What each node has left of a resource; an over-committed one has nothing."""
        amounts = self.shapes.resources.amounts
        left = amounts(self.columns.allocatable, resource) - amounts(self.requested, resource)
        return left.clip(min=0).tolist()  # type: ignore[no-any-return]

    # --- sums over pods

    def _count(self, shape: PodShape, row: int, sign: int) -> None:
        added, sums = self.shapes.added_by(shape), self._sums[row]
        if len(sums) < len(added):
            sums = self.sums[row]
        if sign > 0:
            sums += added
        else:
            sums -= added
        self._tallies.count(shape, row, sign)
        self.journal.append(row)

    def _count_all(self, infos: Sequence[PodInfo], row: int, sign: int) -> None:
        """``_count`` for several pods; those of one shape take hardly longer than one."""
        counts: dict[int, int] = {}
        for info in infos:
            counts[info.shape.index] = counts.get(info.shape.index, 0) + sign
            self._tallies.count(info.shape, row, sign)
        sums, added = self.sums[row], self.shapes.sums
        for index, count in counts.items():
            sums += count * added[index]
        self.journal.append(row)

    def _set_ports(self, shape: PodShape, row: int, *, used: bool) -> None:
        columns = self.port_columns(shape.ports)
        self.ports[row, columns] = used

    def port_columns(self, ports: Iterable[HostPort]) -> list[int]:
        """The columns of these host ports in ``ports``, made when they are new."""
        columns = [self.port_index.setdefault(port, len(self.port_index)) for port in ports]
        if len(self.port_index) > self.ports.shape[1]:
            wider = np.zeros((len(self), 2 * len(self.port_index)), np.bool_)
            wider[:, : self.ports.shape[1]] = self.ports
            self.ports = wider
        return columns

    # --- changes

    def touch(self, row: int) -> None:
        """Mark a row as changed, for a change that does not show in its pods."""
        self.journal.append(row)

    def list_changed_rows(self, since: int) -> list[int]:
        """Rows that changed since the journal was so long. What was done and undone in the meantime is left out."""
        if not self._undone:
            return self.journal[since:]
        rows: list[int] = []
        for begin, end in self._undone[bisect_left(self._undone, (since, 0)) :]:
            if begin > since:
                rows += self.journal[since:begin]
            since = end
        return [*rows, *self.journal[since:]]

    # --- counts

    def tally(self, spec: TallySpec) -> Tally:
        """The live tally of ``spec``, made when it is new."""
        return self._tallies.tally_for(spec)

    @property
    def too_many_tallies(self) -> bool:
        """Whether placing a pod has become expensive because of tallies that are hardly used any more."""
        return len(self._tallies) > TALLY_LIMIT

    def drop_tallies(self) -> None:
        """Drop all tallies and the values of ``cached_per_cluster``, which holders have to request again."""
        self.memory.clear()
        self._tallies.clear()

    # --- which nodes are there

    def activate_node(self, row: int) -> None:
        """Activate a node that has a row."""
        self._set_active(row, there=True)

    def deactivate_node(self, row: int) -> None:
        """Deactivate a node without pods; it keeps its row."""
        self._set_active(row, there=False)

    def _set_active(self, row: int, *, there: bool) -> None:
        if bool(self.active[row]) != there:
            self.active[row] = there
            self._searched, self.membership_version = None, self.membership_version + 1
            self.journal.append(row)

    @property
    def node_order(self) -> IntpArray:
        """intp[n]: the rows of the active nodes, in the order in which the scheduler lists them.

        While a group of pods is tried in a placement, only that placement's.
        """
        if self.placement is not None:
            return self.placement
        if self._searched is None:
            self._searched = self.columns.order_of(self.active)
        return self._searched

    @property
    def is_complete(self) -> bool:
        """Whether all nodes that have a row are there."""
        if self._searched is None:
            self._searched = self.columns.order_of(self.active)
        return len(self._searched) == len(self)

    def assume_placement(self, rows: IntpArray | None) -> None:
        """Search only these nodes, until it is undone by None; plugins that look at the whole cluster still see all
        others.

        Upstream: Snapshot.AssumePlacement in pkg/scheduler/backend/cache/snapshot.go.
        """
        self.placement = None
        if rows is not None and len(rows) < len(self.node_order):
            self.placement = rows

    def is_searched(self, row: int) -> bool:
        """Whether a node is active and in the placement."""
        return bool(self.active[row]) and (self.placement is None or row in self.placement)

    @property
    def left_out(self) -> BoolArray:
        """bool[N]: nodes that are not active, or not in the placement."""
        if self.placement is None:
            return ~self.active
        outside = np.ones(len(self), np.bool_)
        outside[self.placement] = False
        return outside


def extend_rows(array: AnyArray, more: int) -> AnyArray:
    """The array with ``count`` more rows of zeros."""
    return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])
