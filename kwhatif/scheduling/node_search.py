"""The search for feasible nodes: where it begins, where it ends, and which nodes it has visited.

Upstream: findNodesThatFitPod and findNodesThatPassFilters in pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.status import Status
from kwhatif.scheduling.node_sampling import nodes_to_find, sample, sample_found
from kwhatif.scheduling.profile import Profile, SharedState

_MOST_STALE = 64
"""With more rows out of date they are not checked one by one."""


class NodeSearch:
    """Searches feasible nodes for pods of one profile. ``compares`` says whether the nodes are scored afterwards."""

    def __init__(self, cluster: Cluster, profile: Profile, shared: SharedState, *, compares: bool) -> None:
        self._cluster, self._profile, self._shared, self._compares = cluster, profile, shared, compares

    def find(self, pod: PodInfo, evaluation: Evaluation) -> tuple[IntpArray, int]:
        """Rows of feasible nodes in the order found, and how many nodes were visited."""
        if evaluation.narrowed is not None:
            evaluation.refresh(pod)
            rows = evaluation.narrowed
            enough = self.nodes_to_find(len(rows))
            search, start = self._shared.search, self._shared.next_start % max(len(rows), 1)
            places, visited = search(evaluation.passing(pod)[rows], start, enough)
            return rows[places], visited
        if not self.is_whole:
            evaluation.refresh(pod)
            rows = self._cluster.node_order
            enough = self.nodes_to_find(len(rows))
            places, visited = self._shared.search(evaluation.passing(pod)[rows], self._shared.next_start, enough)
            return rows[places], visited
        return self.find_among_all(pod, evaluation, self.nodes_to_find(len(self._cluster)))

    def find_among_all(self, pod: PodInfo, evaluation: Evaluation, enough: int) -> tuple[IntpArray, int]:
        """As ``find``, where PreFilter does not narrow the choice and all nodes are active."""
        start, size = self._shared.next_start, len(self._cluster)
        if self._shared.search is not sample:
            evaluation.refresh(pod)
            return self._shared.search(evaluation.passing(pod), start, enough)
        stale = evaluation.find_stale_rows()
        if stale and (enough >= size or len(stale) > _MOST_STALE):
            evaluation.refresh(pod)
        rows, visited = self._sample(pod, evaluation, start, enough)
        # Whether one of the nodes looked at has changed since its answers were worked out.
        if stale and any((row - start) % size <= visited for row in stale):
            evaluation.refresh(pod)
            rows, visited = self._sample(pod, evaluation, start, enough)
        return rows, visited

    def _sample(self, pod: PodInfo, evaluation: Evaluation, start: int, enough: int) -> tuple[IntpArray, int]:
        """As ``sample``, of all nodes. Filters of scope CLUSTER run on few nodes at first."""
        size = len(self._cluster)
        if self._cluster.nominated:
            return sample(evaluation.passing(pod), start, enough)
        if not evaluation.depends_on_other_pods:
            return sample_found(evaluation.passing_rows, size, start, enough)
        ahead = max(2 * enough, evaluation.reach + enough // 2)
        if ahead >= size:
            return sample(evaluation.passing(pod), start, enough)
        rows = self._rows_from(start, ahead)
        passing_rows = rows[evaluation.passing_among(pod, rows)]
        if len(passing_rows) <= enough:
            rows = self._rows_from(start + ahead, size - ahead)
            passing_rows = np.concatenate([passing_rows, rows[evaluation.passing_among(pod, rows)]])
        evaluation.reach = size if len(passing_rows) <= enough else (passing_rows.item(enough) - start) % size
        return passing_rows[:enough], evaluation.reach

    def _rows_from(self, start: int, count: int) -> IntpArray:
        """intp[count]: the rows from ``start`` on, round the end."""
        size, end = len(self._cluster), start + count
        if end <= size:
            return np.arange(start, end)
        if start >= size:
            return np.arange(start - size, end - size)
        return np.concatenate([np.arange(start, size), np.arange(end - size)])

    @property
    def is_whole(self) -> bool:
        """Whether all nodes with a row are active."""
        return len(self._cluster.node_order) == len(self._cluster)

    def error_of(self, pod: PodInfo, evaluation: Evaluation, visited: int) -> Status | None:
        """The error of the first visited node that has one, which ends the cycle there."""
        rows, verdicts = self.visited_rows(visited, evaluation), evaluation.verdicts(pod)
        places = np.flatnonzero(verdicts.failed[rows])
        if not len(places):
            return None
        self._shared.next_start = (self._shared.next_start + int(places[0])) % len(self._cluster.node_order)
        return verdicts.status(int(rows[places[0]]))

    def visited_rows(self, visited: int, evaluation: Evaluation) -> IntpArray:
        """The rows of the visited nodes."""
        if evaluation.narrowed is not None:
            rows = evaluation.narrowed
            turns: IntpArray = (self._shared.next_start + np.arange(visited)) % max(len(rows), 1)
            return rows[turns]
        rows = self._cluster.node_order
        return rows[(self._shared.next_start + np.arange(visited)) % len(rows)]

    def count_visited_besides(self, row: int, visited: int, evaluation: Evaluation) -> int:
        """1 if the nominated node, which did not pass, is not among the nodes visited afterwards."""
        if evaluation.narrowed is not None:
            return int(row not in evaluation.narrowed)
        searched = self._cluster.node_order
        place = int(np.flatnonzero(searched == row)[0])
        return int((place - self._shared.next_start) % len(searched) >= visited)

    @property
    def samples(self) -> bool:
        """Whether a search may end before it has visited all nodes."""
        nodes = len(self._cluster.node_order)
        return self.nodes_to_find(nodes) < nodes

    def nodes_to_find(self, nodes: int) -> int:
        one_is_enough = self._cluster.shapes.features.one_node_is_enough_without_scores and not self._compares
        return 1 if one_is_enough else nodes_to_find(nodes, self._profile.percentage)
