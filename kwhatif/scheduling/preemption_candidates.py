"""Candidates of preemption: the table of possible victims, budgets, the choice among candidate nodes, and a cache of
dry runs.

A preemptor changes one node. On the others the victims stay the same, as long as no filter reads the pods of other
nodes and no pod is nominated there. Upstream: pickOneNodeForPreemption in
pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/util/utils.go (MoreImportantPod), and
filterPodsWithPDBViolation in plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random

import msgspec
import numpy as np

from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo, PodShape
from kwhatif.cluster.types import AnyArray, BoolArray, Int64Array, IntpArray
from kwhatif.framework.status import CycleEvaluation, Status, Verdicts
from kwhatif.scheduling.selected_budgets import SelectedBudgets

PRIORITY_SHIFT = 2**31
"""Added to a priority to make it positive."""


class Candidates(msgspec.Struct, frozen=True):
    """Candidate nodes, c of them, in the order found.

    rows       intp[c]
    measures   int64[c, 5], what they are compared by, a column each: the properties below
    gone       bool[c, P] and broken bool[c, P]: which of a node's pods have to go, and which break a budget
    """

    rows: IntpArray
    measures: Int64Array
    gone: BoolArray
    broken: BoolArray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def violations(self) -> Int64Array:
        """int64[c]: evictions that a budget does not allow."""
        return self.measures[:, 0]

    @property
    def top(self) -> Int64Array:
        """int64[c]: the highest priority among the victims."""
        return self.measures[:, 1]

    @property
    def priorities(self) -> Int64Array:
        """int64[c]: the sum of the victims' priorities, shifted to be positive."""
        return self.measures[:, 2]

    @property
    def count(self) -> Int64Array:
        """int64[c]: the number of victims."""
        return self.measures[:, 3]

    @property
    def start(self) -> Int64Array:
        """int64[c]: the earliest start among the victims of highest priority."""
        return self.measures[:, 4]


CRITERIA: tuple[tuple[str, Callable[[Candidates], Int64Array]], ...] = (
    ("fewest budget violations", lambda c: -c.violations),
    ("lowest highest priority", lambda c: -c.top),
    ("smallest sum of priorities", lambda c: -c.priorities),
    ("fewest victims", lambda c: -c.count),
    ("latest start of the most important", lambda c: c.start),
)
"""How a node is chosen, in this order; more is better (upstream: pickOneNodeForPreemption)."""

FIRST_BY_NAME = "first by name"
BY_CHANCE = "by chance"


def choose(candidates: Candidates, name_rank: IntpArray, random: Random | None = None) -> tuple[int, str]:
    """The place of the best candidate and the criterion that decided; among equals any by ``random``, or the first by
    name. Upstream goes by the order of a Go map there, in every version.
    """
    if len(candidates) == 1:
        return 0, "only candidate"
    left: IntpArray = np.arange(len(candidates))
    for name, measure in CRITERIA:
        values = measure(candidates)[left]
        left = left[values == values.max()]
        if len(left) == 1:
            return int(left[0]), name
    left = left[name_rank[candidates.rows[left]].argsort()]
    if random is not None:
        return int(left[random.randrange(len(left))]), BY_CHANCE
    if candidates.start[left[0]] == NEVER_STARTED:
        # Upstream takes the present moment instead, which is later for the node it looks at later.
        return int(left[-1]), CRITERIA[-1][0]
    return int(left[0]), FIRST_BY_NAME


class DryRunCache:
    """Dry runs for pods like those of ``evaluation``, under the same budgets.

    ``_state`` int8[N] says of each node whether it would do; of those that would, ``_measures`` int64[N, 5],
    ``_gone`` bool[N, P] and ``_broken`` bool[N, P] are those of ``Candidates``. ``victims_by_look`` has by all that
    matters of a node which of its pods have to go, bool[P], or None where the pod does not fit without them either.
    ``refused`` is why none would do, and the verdicts it was about.
    """

    def __init__(self, evaluation: CycleEvaluation, cluster: Cluster) -> None:
        self.evaluation = evaluation
        self._cluster = cluster
        self._budgets = list(cluster.objects.list_all(PodDisruptionBudget))
        self._state = np.full(len(cluster), _UNKNOWN, np.int8)
        self._measures = np.zeros((len(cluster), 5), np.int64)
        self._gone = self._broken = np.zeros((len(cluster), 0), np.bool_)
        self.victims_by_look: dict[bytes, BoolArray | None] = {}
        self.refused: tuple[Verdicts, Status] | None = None
        self._seen = len(cluster.journal)

    def catch_up(self) -> None:
        """Forget the nodes that have changed, and all of them where budgets are others."""
        if len(self.victims_by_look) > _MOST_LOOKS:
            self.victims_by_look.clear()
        self.forget(self._cluster.list_changed_rows(self._seen))
        self._seen = len(self._cluster.journal)
        budgets = self._cluster.objects.list_all(PodDisruptionBudget)
        if self._budgets != budgets:
            self._budgets = list(budgets)
            self._state[:] = _UNKNOWN

    def forget(self, rows: Sequence[int]) -> None:
        self._state[rows] = _UNKNOWN

    def drop_hopeless(self, rows: IntpArray) -> IntpArray:
        """The nodes without those that were tried and would not do."""
        left: IntpArray = rows[self._state[rows] != _NOWHERE]
        return left

    def find_unknown(self, rows: IntpArray) -> IntpArray:
        """Those of the nodes that have to be tried."""
        unknown: IntpArray = rows[self._state[rows] == _UNKNOWN]
        return unknown

    def keep(self, rows: IntpArray, candidates: Candidates | None) -> None:
        """These nodes were tried, and those that were found would do."""
        self._state[rows] = _NOWHERE
        if candidates is None:
            return
        width = candidates.gone.shape[1]
        if width > self._gone.shape[1]:
            self._gone, self._broken = _widen(self._gone, width), _widen(self._broken, width)
        self._state[candidates.rows], self._measures[candidates.rows] = _WOULD_DO, candidates.measures
        for kept, new in ((self._gone, candidates.gone), (self._broken, candidates.broken)):
            kept[candidates.rows, :width] = new
            kept[candidates.rows, width:] = False

    def find_candidates(self, rows: IntpArray) -> IntpArray:
        """Those of the nodes, all of which have been tried, that would do."""
        candidates: IntpArray = rows[self._state[rows] == _WOULD_DO]
        return candidates

    def breaks_no_budget(self, rows: IntpArray) -> BoolArray:
        """bool[c]: which of nodes that would do would do without an eviction that a budget does not allow."""
        clean: BoolArray = self._measures[rows, 0] == 0
        return clean

    def candidates_on(self, rows: IntpArray) -> Candidates:
        """Nodes that would do as candidates, in this order."""
        return Candidates(rows, self._measures[rows], self._gone[rows], self._broken[rows])


_UNKNOWN, _NOWHERE, _WOULD_DO = -1, 0, 1
_MOST_LOOKS = 8192


def _widen(matrix: AnyArray, width: int) -> AnyArray:
    """The matrix [n, m] with columns of zeros added: [n, width]."""
    wider = np.zeros((len(matrix), width), matrix.dtype)
    wider[:, : matrix.shape[1]] = matrix
    return wider


class Victims(msgspec.Struct, frozen=True):
    """The victims on a node, and how many of these evictions violate a budget."""

    victims: tuple[PodInfo, ...]
    violations: int


def by_importance(pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Higher priority first, then the one that started earlier.

    Upstream takes the present moment for a pod that has not started, again in every comparison, which makes the later
    of two such pods the more important one.
    """
    order = sorted(
        range(len(pods)),
        key=lambda i: (-pods[i].priority, pods[i].start, -i if pods[i].start == NEVER_STARTED else i),
    )
    return [pods[i] for i in order]


class VictimTable:
    """All pods of a cluster, a row a node, the most important first; follows the cluster's journal."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        # Rows that are dealt anew take another table.
        self.columns = cluster.columns
        self._pods: dict[int, list[PodInfo]] = {}
        self._budgets: Budgets | None = None
        self._shapes: IntpArray = np.zeros((len(cluster), 8), np.intp)
        self._starts: Int64Array = np.zeros((len(cluster), 8), np.int64)
        self._count: IntpArray = np.full(len(cluster), -1, np.intp)
        self._lowest: Int64Array = np.zeros(len(cluster), np.int64)
        self._seen = len(cluster.journal)

    @property
    def budgets(self) -> Budgets:
        """The budgets as they are now."""
        if self._budgets is None or self._budgets.objects != self.cluster.objects.list_all(PodDisruptionBudget):
            self._budgets = Budgets(self.cluster)
        return self._budgets

    def pods(self, row: int) -> list[PodInfo]:
        """The pods of one node, the most important first."""
        pods = self._pods.get(row)
        if pods is None:
            pods = self._pods[row] = by_importance(self.cluster.pods_on[row])
        return pods

    def shapes_on(self, rows: IntpArray) -> tuple[IntpArray, BoolArray]:
        """intp[n, P] shape numbers and bool[n, P] which of the places are taken."""
        self._catch_up(rows)
        count = self._count[rows]
        width = int(count.max(initial=1))
        return self._shapes[rows, :width], np.arange(width) < count[:, None]

    def lowest_priorities(self, rows: IntpArray) -> Int64Array:
        """int64[n] the lowest priority among the pods of these nodes; that of an empty node is above all."""
        self._catch_up(rows)
        return self._lowest[rows]

    def _catch_up(self, rows: IntpArray) -> None:
        """Know who is on these nodes."""
        changed = self.cluster.list_changed_rows(self._seen)
        self._seen = len(self.cluster.journal)
        self._count[changed] = -1
        for row in changed:
            self._pods.pop(row, None)
        unknown = rows[self._count[rows] < 0]
        if len(unknown):
            self._fill(unknown)

    def starts(self, rows: IntpArray, width: int) -> Int64Array:
        """int64[n, width] start times of the pods of the same rows, in the order of ``shapes_on``."""
        return self._starts[rows, :width]

    def _fill(self, rows: IntpArray) -> None:
        """Find out who is on these nodes, in the order of ``by_importance``."""
        pods_on = self.cluster.pods_on
        lists = [pods_on[row] for row in rows.tolist()]
        count = self._count[rows] = np.array([len(pods) for pods in lists], np.intp)
        shapes = np.array([info.shape.index for pods in lists for info in pods], np.intp)
        starts = np.array([info.start for pods in lists for info in pods], np.int64)
        self._lowest[rows] = np.iinfo(np.int64).max
        if not len(shapes):
            return
        if count.max() > self._shapes.shape[1]:
            width = max(2 * self._shapes.shape[1], int(count.max()))
            self._shapes, self._starts = _widen(self._shapes, width), _widen(self._starts, width)
        place = np.repeat(np.arange(len(rows)), count)
        turn = np.arange(len(shapes)) - (count.cumsum() - count)[place]
        among_equals = np.where(starts == NEVER_STARTED, -turn, turn)
        priorities = self.cluster.shapes.priorities[shapes]
        np.minimum.at(self._lowest, rows[place], priorities)
        order = np.lexsort((among_equals, starts, -priorities, place))
        self._shapes[rows[place], turn], self._starts[rows[place], turn] = shapes[order], starts[order]


_NONE, _SEVERAL, _UNREAD = -1, -2, -3


class Budgets:
    """The budgets of a cluster as preemption applies them, which ignores empty selectors and pods without labels.

    Falsy when there are none.
    """

    def __init__(self, cluster: Cluster) -> None:
        numbers, self.objects = itertools.count(), list(cluster.objects.list_all(PodDisruptionBudget))
        self._selected = SelectedBudgets(self.objects, lambda budget: (next(numbers), budget), ignores_empty=True)
        self._budgets = [budget for _, budget in self._selected.values]
        self._about: dict[int, list[int]] = {}
        self._shapes = cluster.shapes.shapes
        self._only: IntpArray = np.zeros(0, np.intp)
        self._allowed = np.array([budget.status.disruptions_allowed or 0 for budget in self._budgets], np.int64)

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def indices_of(self, shape: PodShape) -> list[int]:
        """Which budgets select pods of this shape."""
        numbers = self._about.get(shape.index)
        if numbers is None:
            selecting = self._selected.of(shape.namespace, shape.labels) if shape.labels else []
            numbers = self._about[shape.index] = [number for number, _ in selecting]
        return numbers

    def find_broken(
        self, shapes: IntpArray, victims: BoolArray, pods_of: Callable[[int], Sequence[PodInfo]]
    ) -> BoolArray:
        """bool[n, P]: the evictions that exceed what a budget allows, of ``victims`` bool[n, P] evicted in this order
        on each of n nodes; ``shapes`` intp[n, P] are theirs, and ``pods_of`` a place the pods there.
        """
        broken = np.zeros(victims.shape, np.bool_)
        only = self._only_budgets(shapes[victims], shapes)
        places, columns = np.nonzero(victims & (only >= 0))
        if len(places):
            # The pods of a node that one budget selects, in their order: it allows so many of them.
            group = places * len(self._budgets) + only[places, columns]
            order = np.argsort(group, kind="stable")
            begins = np.flatnonzero(np.diff(group[order], prepend=-1))
            turn = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
            broken[places[order], columns[order]] = turn >= self._allowed[only[places, columns]][order]
        for place in np.flatnonzero((victims & (only == _SEVERAL)).any(axis=1)).tolist():
            pods, mine = pods_of(place), np.flatnonzero(victims[place])
            broken[place, mine] = self.broken_by([pods[column] for column in mine.tolist()])
        return broken

    def _only_budgets(self, rows: IntpArray, shapes: IntpArray) -> IntpArray:
        """intp of the form of ``shapes``: the only budget that selects pods of a shape, for those ``asked`` about."""
        size = len(self._shapes)
        if len(self._only) < size:
            self._only = np.append(self._only, np.full(size - len(self._only), _UNREAD, np.intp))
        new = rows[self._only[rows] == _UNREAD]
        for index in np.unique(new).tolist() if len(new) else ():
            mine = self.indices_of(self._shapes[index])
            plain = len(mine) == 1 and not self._budgets[mine[0]].status.disrupted_pods
            self._only[index] = mine[0] if plain else _SEVERAL if mine else _NONE
        return self._only[shapes]

    def budgets_of(self, pod: PodInfo) -> list[PodDisruptionBudget]:
        """The budgets that an eviction of the pod counts against."""
        return [
            self._budgets[k]
            for k in self.indices_of(pod.shape)
            if pod.pod.name not in (self._budgets[k].status.disrupted_pods or {})
        ]

    def broken_by(self, pods: Sequence[PodInfo]) -> list[bool]:
        """For pods evicted in this order: whether each eviction exceeds what some budget allows."""
        allowed: dict[int, int] = {}
        broken = []
        for pod in pods:
            breaks = False
            for k in self.indices_of(pod.shape):
                status = self._budgets[k].status
                if pod.pod.name in (status.disrupted_pods or {}):
                    continue
                allowed[k] = allowed.get(k, status.disruptions_allowed or 0) - 1
                breaks |= allowed[k] < 0
            broken.append(breaks)
        return broken
