"""Candidates of preemption: the table of possible victims, budgets, the choice among candidate nodes, and a cache of
dry runs.

A preemptor changes one node. On the others the victims stay the same, as long as no filter reads the pods of other
nodes and no pod is nominated there. Upstream: pickOneNodeForPreemption in
pkg/scheduler/framework/preemption/preemption.go, pkg/scheduler/util/utils.go (MoreImportantPod), and
filterPodsWithPDBViolation in plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.labels import SelectorIndex
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo, PodShape
from kwhatif.cluster.types import AnyArray, BoolArray, Int64Array, IntpArray
from kwhatif.framework.status import CycleEvaluation

PRIORITY_SHIFT = 2**31
"""Added to a priority to make it positive."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidate nodes, c of them, in the order found.

    rows         intp[c] violations   int64[c], evictions that violate a budget top          int64[c], the highest
    priority among the victims priorities   int64[c], the sum of the victims' priorities, shifted to be positive count
    int64[c], number of victims start        int64[c], the earliest start among the victims of highest priority gone
    bool[c, P] and broken bool[c, P]: which of a node's pods are victims, and which violate a budget
    """

    rows: IntpArray
    violations: Int64Array
    top: Int64Array
    priorities: Int64Array
    count: Int64Array
    start: Int64Array
    gone: BoolArray
    broken: BoolArray

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: IntpArray | BoolArray) -> Candidates:
        return Candidates(*(getattr(self, name)[places] for name in self.__slots__))

    def concatenate(self, other: Candidates) -> Candidates:
        """These candidates and then the others."""
        if not len(self) or not len(other):
            return self if len(self) else other
        width = max(self.gone.shape[1], other.gone.shape[1])
        return Candidates(
            *(np.concatenate([_widen(getattr(c, name), width) for c in (self, other)]) for name in self.__slots__)
        )


def _widen(array: AnyArray, width: int) -> AnyArray:
    return array if array.ndim == 1 else np.pad(array, ((0, 0), (0, width - array.shape[1])))


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
    left = np.argsort(name_rank[candidates.rows])
    if len(left) == 1:
        return 0, "only candidate"
    for name, measure in CRITERIA:
        values = measure(candidates)[left]
        left = left[values == values.max()]
        if len(left) == 1:
            return int(left[0]), name
    if random is not None:
        return int(left[random.randrange(len(left))]), BY_CHANCE
    if candidates.start[left[0]] == NEVER_STARTED:
        # Upstream takes the present moment instead, which is later for the node it looks at later.
        return int(left[-1]), CRITERIA[-1][0]
    return int(left[0]), FIRST_BY_NAME


def _none() -> Candidates:
    rows, number, flags = np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros((0, 0), np.bool_)
    return Candidates(rows, number, number, number, number, number, flags, flags)


NONE = _none()


class DryRunCache:
    """Dry runs for pods like those of ``evaluation``, under the same budgets.

    ``_place`` intp[N] says where in ``_found`` a node is: NOWHERE if it is no candidate, UNKNOWN if it was not tried
    since it changed.
    """

    def __init__(self, evaluation: CycleEvaluation, cluster: Cluster) -> None:
        self.evaluation = evaluation
        self._cluster = cluster
        self._budgets = list(cluster.objects.list_all(PodDisruptionBudget))
        self._place: IntpArray = np.full(len(cluster), _UNKNOWN, np.intp)
        self._found = NONE
        self._seen = len(cluster.journal)

    def catch_up(self) -> None:
        """Drop the nodes that have changed, and all of them where budgets have changed."""
        self.forget(np.array(self._cluster.list_changed_rows(self._seen), np.intp))
        self._seen = len(self._cluster.journal)
        budgets = self._cluster.objects.list_all(PodDisruptionBudget)
        if self._budgets != budgets:
            self._budgets = list(budgets)
            self._place[:] = _UNKNOWN

    def forget(self, rows: IntpArray) -> None:
        self._place[rows] = _UNKNOWN

    def unknown(self, rows: IntpArray) -> BoolArray:
        """bool[n]: which of these nodes have to be tried."""
        unknown: BoolArray = self._place[rows] == _UNKNOWN
        return unknown

    def keep(self, rows: IntpArray, found: Candidates) -> None:
        """Store that these nodes were tried, and which of them are candidates."""
        self._place[rows] = _NOWHERE
        if len(self._found) + len(found) > 2 * len(self._place):
            kept = np.flatnonzero(self._place >= 0)
            self._found = self._found.take(self._place[kept])
            self._place[kept] = np.arange(len(kept))
        self._place[found.rows] = len(self._found) + np.arange(len(found))
        self._found = self._found.concatenate(found)

    def candidates_among(self, rows: IntpArray) -> Candidates:
        """The candidates among these nodes, all of which have been tried."""
        places = self._place[rows]
        return self._found.take(places[places >= 0])


_UNKNOWN, _NOWHERE = -2, -1


@dataclass(frozen=True, slots=True)
class Victims:
    """The victims on a node, and how many of these evictions violate a budget."""

    victims: tuple[PodInfo, ...]
    violations: int


def by_importance(pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Higher priority first, then the one that started earlier.

    Upstream takes the present moment for a pod that has not started, anew in every comparison, which makes the
    later of two such pods the more important one.
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
        self._pods: list[list[PodInfo] | None] = [None] * len(cluster)
        self._width = 8
        self._shapes = np.zeros((len(cluster), self._width), np.intp)
        self._starts = np.zeros((len(cluster), self._width), np.int64)
        self._count = np.zeros(len(cluster), np.intp)
        self._seen = len(cluster.journal)

    def pods(self, row: int) -> list[PodInfo]:
        """The pods of one node, the most important first."""
        found = self._pods[row]
        if found is None:
            found = self._pods[row] = by_importance(self.cluster.pods_on[row])
            if len(found) > self._width:
                self._widen(len(found))
            self._shapes[row, : len(found)] = [info.shape.index for info in found]
            self._starts[row, : len(found)] = [info.start for info in found]
            self._count[row] = len(found)
        return found

    def shapes_on(self, rows: IntpArray) -> tuple[IntpArray, BoolArray]:
        """intp[n, P] shape numbers and bool[n, P] which of the places are taken."""
        for row in self.cluster.list_changed_rows(self._seen):
            self._pods[row] = None
        self._seen = len(self.cluster.journal)
        pods = self._pods
        for row in rows.tolist():
            if pods[row] is None:
                self.pods(row)
        count = self._count[rows]
        width = int(count.max(initial=1))
        return self._shapes[rows, :width], np.arange(width) < count[:, None]

    def starts(self, rows: IntpArray, width: int) -> Int64Array:
        """int64[n, width] start times of the pods of the same rows, in the order of ``shapes_on``."""
        return self._starts[rows, :width]

    def _widen(self, least: int) -> None:
        more = max(2 * self._width, least) - self._width
        self._width += more
        self._shapes = np.pad(self._shapes, ((0, 0), (0, more)))
        self._starts = np.pad(self._starts, ((0, 0), (0, more)))


class Budgets:
    """The budgets of a cluster with their selectors compiled. Falsy when there are none."""

    def __init__(self, cluster: Cluster) -> None:
        self._budgets: list[PodDisruptionBudget] = []
        self._index: SelectorIndex[int] = SelectorIndex()
        for budget in cluster.objects.list_all(PodDisruptionBudget):
            try:
                selector = Selector.from_label_selector(budget.spec.selector)
            except SelectorError:
                continue
            if not selector.empty:
                self._index.add(selector, (budget.namespace,), len(self._budgets))
                self._budgets.append(budget)
        self._about: dict[int, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def indices_of(self, shape: PodShape) -> list[int]:
        """Which budgets select pods of this shape."""
        found = self._about.get(shape.index)
        if found is None:
            selecting = self._index.selecting(shape.namespace, shape.labels) if shape.labels else []
            found = self._about[shape.index] = sorted(selecting)
        return found

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
