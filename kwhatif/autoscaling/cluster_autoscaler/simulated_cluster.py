"""The cluster snapshot of the autoscaler's simulation: pods are placed, nodes are added and removed, and changes can be
undone; with the hints of where pods fitted last time.

Upstream: cluster-autoscaler/simulator/clustersnapshot (predicate/plugin_runner.go, store/delta.go) and
simulator/scheduling (hints.go, hinting_simulator.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import numpy as np

from kwhatif.autoscaling.cluster_autoscaler.node_template import NodeTemplate
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView, PodDelta
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import Code, Status

_NEAR = 48
_MOST_STALE = 64
"""With more changed rows than these the filters are evaluated on all rows again."""


class SearchPosition(msgspec.Struct):
    """Where the last successful search ended: the next one begins with the node after it, counted in the list."""

    last: int = 0


class Transaction(msgspec.Struct):
    """Changes that are undone unless they are kept."""

    kept: bool = False

    def keep(self) -> None:
        self.kept = True


class SimulatedCluster:
    """A cluster whose active nodes stand in a list, in the order in which they were added.

    A search takes the first node that passes all of the scheduler's filters: nodes are not scored. Nothing is reserved,
    so no volume is bound during the simulation.
    """

    def __init__(
        self, cluster: Cluster, framework: Framework, listed: Sequence[str], turn: SearchPosition | None = None
    ) -> None:
        self.cluster, self.framework = cluster, framework
        self.turn = turn or SearchPosition()
        self._real = len(cluster)
        rows = (cluster.columns.row(name) for name in listed)
        self._listed: list[int] = [row for row in rows if row is not None]
        self._seen = set(self._listed)
        self._order: IntpArray | None = None
        self._evaluations: dict[int, Evaluation] = {}
        self._open: tuple[BoolArray | None, IntpArray, IntpArray] | None = None
        self._placed: dict[int, list[PodInfo]] | None = None

    def row(self, name: str) -> int | None:
        """The row of an active node."""
        row = self.cluster.columns.row(name)
        return row if row is not None and self.cluster.active[row] else None

    def is_real(self, row: int) -> bool:
        """Whether the node is one of the cluster's own, and not a new one."""
        return row < self._real

    def name(self, row: int) -> str:
        return self.cluster.columns.names[row]

    @property
    def listed_rows(self) -> IntpArray:
        """intp[n]: the rows of the active nodes, in the order of the list."""
        if self._order is None:
            rows = np.array(self._listed, np.intp)
            self._order = rows[self.cluster.active[rows]]
        return self._order

    # --- questions

    def _evaluation(self, pod: PodInfo) -> Evaluation:
        alike = self.framework.shape_key(pod.shape)
        evaluation = self._evaluations.get(alike)
        if evaluation is None:
            self.framework.attach(self.cluster)
            evaluation = self._evaluations[alike] = Evaluation(self.framework, self.cluster, pod)
        evaluation.begin(pod)
        return evaluation

    def refusal(self, pod: PodInfo, row: int) -> Status | None:
        """Why a pod cannot run on a node: the first filter that rejects it, with its reasons. None if it can."""
        evaluation = self._evaluation(pod)
        if evaluation.refusal is not None:
            return evaluation.refusal
        if evaluation.narrowed is not None and row not in evaluation.narrowed:
            return Status(Code.UNRESOLVABLE, (), ", ".join(evaluation.narrowed_by))
        return evaluation.verdicts_on(pod, NodeView(self.cluster, np.array([row], np.intp))).status(0)

    def fits(self, pod: PodInfo, row: int) -> bool:
        """Whether a pod can run on a node."""
        evaluation = self._evaluation(pod)
        if evaluation.refusal is not None or (evaluation.narrowed is not None and row not in evaluation.narrowed):
            return False
        evaluation.refresh(pod)
        return bool(evaluation.passing_among(pod, np.array([row], np.intp))[0])

    def search(self, pod: PodInfo, acceptable: BoolArray | None = None) -> int | None:
        """The row of the first node in turn that passes all filters, optionally of ``acceptable`` ones only (bool[N],
        which must not be changed afterwards).
        """
        evaluation = self._evaluation(pod)
        if evaluation.refusal is not None:
            return None
        rows, places = self._search_rows(acceptable)
        if evaluation.narrowed is not None:
            among = np.isin(rows, evaluation.narrowed)
            rows, places = rows[among], places[among]
        if not len(rows):
            return None
        first = int(places.searchsorted((self.turn.last + 1) % len(self.listed_rows)))
        # Most searches end soon.
        for begin, end in ((first, first + _NEAR), (first + _NEAR, len(rows)), (0, first)):
            offset = self._first(pod, evaluation, rows[begin:end])
            if offset is not None:
                self.turn.last = int(places[begin + offset])
                return int(rows[begin + offset])
        return None

    def _search_rows(self, acceptable: BoolArray | None) -> tuple[IntpArray, IntpArray]:
        """The rows that a search goes through, and their places in the list; computed once for a mask and a list."""
        if self._open is None or self._open[0] is not acceptable:
            listed = self.listed_rows
            may = ~self.cluster.columns.unschedulable[listed]
            if acceptable is not None:
                may &= acceptable[listed]
            places = np.flatnonzero(may)
            self._open = acceptable, listed[places], places
        return self._open[1:]

    def _first(self, pod: PodInfo, evaluation: Evaluation, rows: IntpArray) -> int | None:
        """The place of the first of these rows that passes. Rows that changed since the filters last ran are evaluated
        again if they come before that.
        """
        if not len(rows):
            return None
        stale = evaluation.find_stale_rows()
        if evaluation.depends_on_other_pods or len(stale) > _MOST_STALE:
            evaluation.refresh(pod)
            stale = []
        passing = evaluation.passing_among(pod, rows)
        place = int(passing.argmax())
        if stale:
            looked_at = rows[: place + 1] if passing[place] else rows
            if not set(stale).isdisjoint(looked_at.tolist()):
                evaluation.refresh(pod)
                passing = evaluation.passing_among(pod, rows)
                place = int(passing.argmax())
        return place if passing[place] else None

    def search_order_of(self, rows: Sequence[int]) -> list[int]:
        """The places of these rows, which stand in the list in this order, as the next search goes round them."""
        listed = self.listed_rows
        start = (self.turn.last + 1) % len(listed)
        places = np.flatnonzero(np.isin(listed, rows))
        first = int(np.searchsorted(places, start))
        return [*range(first, len(rows)), *range(min(first, len(rows)))]

    def record_search(self, row: int) -> None:
        """A search that found this node is over."""
        self.turn.last = int(np.flatnonzero(self.listed_rows == row)[0])

    def room(self, pod: PodInfo, rows: IntpArray, most: int) -> Int64Array | None:
        """int64[n]: how many more such pods each of these nodes takes, up to ``most``.

        None for pods of which that depends on where others are, or on their volumes, ports or devices.
        """
        shape = pod.shape
        evaluation = self._evaluation(pod)
        if evaluation.refusal is not None or evaluation.narrowed is not None or evaluation.depends_on_other_pods:
            return None
        if shape.ports or shape.drift or shape.has_volumes or shape.spec.resource_claims:
            return None
        least, above = np.zeros(len(rows), np.int64), np.full(len(rows), most + 1, np.int64)
        number = np.full((len(rows), 1), shape.index, np.intp)
        while (above - least > 1).any():
            tried = (least + above) // 2
            change = PodDelta(self.cluster.shapes, number, np.maximum(tried - 1, 0)[:, np.newaxis])
            fits = evaluation.fits_after(pod, NodeView(self.cluster, rows, change)) | (tried == 0)
            least, above = np.where(fits, tried, least), np.where(fits, above, tried)
        return least

    # --- changes

    def place(self, pod: PodInfo, row: int) -> None:
        """Let a pod run on a node."""
        if self._placed is not None:
            self._placed.setdefault(row, []).append(pod)
        self.cluster.assume(pod, row)

    def place_alike(self, pods: Sequence[PodInfo], row: int) -> None:
        """Place pods for which ``room`` was computed on a node."""
        self.cluster.assume_all(pods, row)

    def join(self, row: int, pods: Sequence[PodInfo] = ()) -> None:
        """Activate a node that has a row already, with these pods."""
        self.cluster.activate_node(row)
        if row not in self._seen:
            self._seen.add(row)
            self._listed.append(row)
        self._order = self._open = None
        self.cluster.assume_all(pods, row)

    def depart(self, row: int) -> None:
        """Remove a node and its pods."""
        self.cluster.forget_all(self.cluster.pods_on[row], row)
        self.cluster.deactivate_node(row)
        self._order = self._open = None

    @contextmanager
    def undoable(self, row: int) -> Iterator[Transaction]:
        """Empty a node. Unless the transaction is kept, pods placed meanwhile are removed and the node gets its pods
        back.
        """
        cluster, attempt = self.cluster, Transaction()
        before = cluster.pods_on[row]
        cluster.forget_all(before, row)
        self._placed = {}
        try:
            yield attempt
        finally:
            placed, self._placed = self._placed, None
            if not attempt.kept:
                for there, pods in placed.items():
                    cluster.forget_all(pods, there)
                cluster.assume_all(before, row)

    def fork(self) -> SimulatedCluster:
        """A copy of the cluster to try changes in."""
        return self._copy_on(self.cluster.fork())

    def with_room_for(self, template: NodeTemplate, names: Sequence[str]) -> SimulatedCluster:
        """A copy with inactive rows for new nodes of these names."""
        fresh = [template.fresh(name)[0] for name in names]
        return self._copy_on(self.cluster.with_nodes(fresh))

    def _copy_on(self, cluster: Cluster) -> SimulatedCluster:
        listed = [self.name(row) for row in self.listed_rows.tolist()]
        twin = SimulatedCluster(cluster, self.framework, listed, self.turn)
        twin._real = self._real
        return twin


class Hints:
    """Pod -> node, of this loop and the one before."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._before: dict[str, str] = {}

    def place(self, simulated: SimulatedCluster, pod: PodInfo, acceptable: BoolArray | None) -> int | None:
        """Put a pod on the node that it is hinted to, if it fits there; its row."""
        name = self._now.get(pod.uid, self._before.get(pod.uid, ""))
        row = simulated.row(name)
        if row is None or (acceptable is not None and not acceptable[row]):
            return None
        if not simulated.fits(pod, row):
            return None
        simulated.place(pod, row)
        self._now[pod.uid] = name
        return row

    def search(self, simulated: SimulatedCluster, pod: PodInfo, acceptable: BoolArray | None) -> int | None:
        """Put a pod on the first node that it fits, and remember it. A new node has another name the next time."""
        row = simulated.search(pod, acceptable)
        if row is not None:
            simulated.place(pod, row)
            if simulated.is_real(row):
                self._now[pod.uid] = simulated.name(row)
        return row

    def drop_old(self) -> None:
        """Forget hints that were not renewed since the last call."""
        self._before, self._now = self._now, {}
