"""Nodes fail: the cluster and the scheduler process without them, one failure after the other.

A failed node keeps its row and is taken out of what the scheduler looks at; afterwards all that has happened is undone.
So a failure costs what it changes, and what plugins know of the cluster stays known. Where somebody has a say of whom
that is not known to be right, every failure gets a cluster of its own, which gives the same answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup


class Failing:
    """A cluster whose nodes may fail. It is changed meanwhile, and is as it was in the end.

    ``apart``: every failure gets a cluster of its own.
    """

    def __init__(self, cluster: Cluster, setup: Setup, *, apart: bool | None = None) -> None:
        self.cluster, self._setup = cluster, setup
        self._driver = Driver(cluster, setup, imagined=True)
        self._driver.set_up_all()
        self._apart = not self._driver.undoable if apart is None else apart

    def rows(self, nodes: Collection[str]) -> list[int]:
        """The rows of these nodes, in their order, as far as there are such nodes."""
        return sorted(row for name in nodes if (row := self.cluster.columns.row(name)) is not None)

    def lost(self, nodes: Collection[str]) -> list[PodInfo]:
        """The pods that run on these nodes."""
        return [info for row in self.rows(nodes) for info in self.cluster.pods_on[row]]

    @contextmanager
    def without(self, nodes: Collection[str]) -> Iterator[Driver]:
        """The scheduler process when these nodes and their pods are gone; its next search begins with the first one."""
        if self._apart:
            yield Driver(self.cluster.without(nodes), self._setup, imagined=True)
            return
        before = self.cluster.checkpoint()
        try:
            self._take_away(self.rows(nodes))
            self._driver.shared.next_start = 0
            yield self._driver
        finally:
            self.cluster.go_back(before)

    def _take_away(self, rows: Sequence[int]) -> None:
        cluster = self.cluster
        for row in rows:
            cluster.nominated.pop(cluster.columns.names[row], None)
            cluster.forget_all(cluster.pods_on[row], row)
            cluster.depart(row)
