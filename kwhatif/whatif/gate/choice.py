"""Which nodes could ever take a pod: what would be feasible if no other pod ran there.

What depends on other pods (affinity to them, even spread) is left out. So is what the plugins from outside the tree
say only of a cluster with pods in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray
from kwhatif.scheduling.arrivals import with_claims
from kwhatif.scheduling.driver import Driver
from kwhatif.whatif.gate.context import Context
from kwhatif.whatif.gate.unit import Unit


class Choice:
    """An empty cluster with the same nodes, and a scheduler process to ask."""

    def __init__(self, context: Context) -> None:
        self._context = context
        given = context.cluster
        self._cluster = Cluster(given.columns.given, given.shapes, given.objects)
        self._driver = Driver(self._cluster, context.setup, imagined=True)
        self._known: dict[int, BoolArray] = {}

    def one_of_each(self, unit: Unit) -> Iterator[PodInfo]:
        """A pod of each shape among the new pods."""
        seen: set[int] = set()
        for tried in self._context.new_pods(unit):
            info = self._cluster.shapes.info(with_claims(tried.pod, self._cluster))
            if info.shape.index not in seen:
                seen.add(info.shape.index)
                yield info

    def nodes(self, pod: PodInfo) -> BoolArray:
        """bool[N]: the nodes that could take it, in the order of the context's own cluster."""
        found = self._known.get(pod.shape.index)
        if found is None:
            found = self._known[pod.shape.index] = self._ask(pod)
        return found

    def _ask(self, pod: PodInfo) -> BoolArray:
        nobody: BoolArray = np.zeros(len(self._cluster), np.bool_)
        scheduler = self._driver.scheduler(pod.pod.spec.scheduler_name)
        if scheduler is None or not len(self._cluster):
            return nobody
        evaluation = scheduler.evaluation(pod)
        evaluation.begin(pod)
        if evaluation.refusal is not None:
            return nobody
        able: BoolArray = np.ones(len(self._cluster), np.bool_)
        about_others = {plugin.name for plugin in scheduler.framework.all_plugins if plugin.about_other_pods}
        for blocker in evaluation.verdicts(pod).blockers:
            if blocker.plugin not in about_others:
                able &= ~blocker.where
        if evaluation.narrowed is not None:
            narrowed = nobody.copy()
            narrowed[evaluation.narrowed] = True
            able &= narrowed
        return able
