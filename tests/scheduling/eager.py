"""The scheduling cycle the slow way: nothing is kept from one pod to the next but who is where.

For every pod the cluster is built anew from its objects, every plugin is asked about every node, and nodes are looked
at one after the other. What lets the real scheduler do less than that, and what it remembers, must not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.interface import Plugin
from tests.builders import Json, cluster_of, scheduler_for
from tests.scheduling.plain_heap import emptied


@dataclass(frozen=True)
class Cycle:
    """What one attempt came to; nodes by name."""

    node: str | None
    score: int | None
    best: list[str]
    sampled: list[str]
    evaluated: int
    message: str
    nominated: str = ""
    victims: list[str] = field(default_factory=list)


@dataclass
class _Somebody:
    pod: Pod
    bound: bool


class EagerScheduler:
    """Schedules pods under a configuration's first profile; ``always`` is the least number of nodes looked for."""

    def __init__(
        self,
        nodes: Sequence[Node],
        running: Iterable[Pod],
        objects: Sequence[Resource],
        config: Json | None,
        *,
        outside: Sequence[type[Plugin[Any, Any]]] = (),
        always: int,
        percentage: int,
    ) -> None:
        self._nodes, self._objects, self._config = nodes, objects, config
        self._outside = outside
        self._always, self._percentage = always, percentage
        self._homes: dict[str, list[_Somebody]] = {node.name: [] for node in nodes}
        for pod in running:
            assert pod.spec.node_name
            self._homes[pod.spec.node_name].append(_Somebody(pod, bound=True))
        self._nominated: dict[str, str] = {}
        self._waiting: dict[str, Pod] = {}
        self._start = 0

    def attempt(self, pod: Pod) -> Cycle:
        """One cycle; a pod that finds a node is on it from then on, and victims leave for one that does not."""
        uid = pod.metadata.uid or ""
        cluster = self._cluster()
        names = cluster.columns.names
        scheduler = scheduler_for(cluster, self._config, outside=self._outside)
        info = cluster.shapes.info(pod)
        info.nominated = self._nominated.get(uid, "")
        evaluation = Evaluation(scheduler.framework, cluster, info)
        evaluation.begin(info)
        rows: list[int] = []
        evaluated = 0
        if evaluation.refusal is None:
            rows, evaluated, alone = self._search(cluster, evaluation, info)
            if not alone:
                self._start = (self._start + evaluated) % len(names)
        sampled = [names[row] for row in rows]
        if not rows:
            failed = scheduler.decide(info)
            victims = [victim.uid for victim in failed.victims]
            if failed.nominated:
                self._make_room(pod, failed.nominated, victims)
            return Cycle(None, None, [], [], evaluated, failed.message, failed.nominated, sorted(victims))
        score, best, totals = None, sampled, dict.fromkeys(sampled, 0)
        if len(rows) > 1:
            totals = dict(zip(sampled, self._totals(evaluation, info, rows), strict=True))
            score = max(totals.values())
            best = [name for name in sampled if totals[name] == score]
        node = min(best)
        if len(best) > 1 and evaluation.narrowed is None:
            node = sampled[emptied([totals[name] for name in sampled])[0]]
        self._homes[node].append(_Somebody(pod, bound=False))
        self._nominated.pop(uid, None)
        return Cycle(node, score, sorted(best), sampled, evaluated, "")

    def leave(self, uid: str) -> None:
        """A pod leaves its node; the last of those there takes its place."""
        for pods in self._homes.values():
            for place, somebody in enumerate(pods):
                if somebody.pod.metadata.uid == uid:
                    last = pods.pop()
                    if last is not somebody:
                        pods[place] = last
                    return

    def _cluster(self) -> Cluster:
        cluster = cluster_of(self._nodes, (), self._objects)
        for node, pods in self._homes.items():
            for somebody in pods:
                cluster.add(cluster.shapes.info(somebody.pod, bound=somebody.bound), node)
        for uid, node in self._nominated.items():
            cluster.nominate(cluster.shapes.info(self._waiting[uid]), node)
        return cluster

    def _search(self, cluster: Cluster, evaluation: Evaluation, info: PodInfo) -> tuple[list[int], int, bool]:
        """Feasible rows in the order found, how many were looked at, and whether only the promised node was."""
        passing = evaluation.passing(info).tolist()
        promised = cluster.columns.row(info.nominated) if info.nominated else None
        if promised is not None and passing[promised]:
            return [promised], 1, True
        rows = list(range(len(cluster))) if evaluation.narrowed is None else evaluation.narrowed.tolist()
        found: list[int] = []
        enough, looked = self._enough(len(rows)), 0
        for step in range(len(rows)):
            row = rows[(self._start + step) % len(rows)]
            if passing[row] and len(found) == enough:
                break
            looked += 1
            if passing[row]:
                found.append(row)
        seen = {rows[(self._start + step) % len(rows)] for step in range(looked)}
        return found, looked + (promised is not None and promised not in seen), False

    def _enough(self, nodes: int) -> int:
        if nodes < self._always:
            return nodes
        share = self._percentage or max(5, 50 - nodes // 125)
        return max(self._always, nodes * share // 100)

    @staticmethod
    def _totals(evaluation: Evaluation, info: PodInfo, rows: list[int]) -> list[int]:
        """Weighted sums of what every plugin says on its own."""
        scores = evaluation.scores(info, np.array(rows, np.intp))
        return [sum(int(one.weighted_score[place]) for one in scores) for place in range(len(rows))]

    def _make_room(self, pod: Pod, node: str, victims: list[str]) -> None:
        for uid in victims:
            self.leave(uid)
        uid, priority = pod.metadata.uid or "", pod.spec.priority or 0
        for other, where in list(self._nominated.items()):
            if where == node and (self._waiting[other].spec.priority or 0) < priority:
                del self._nominated[other]
        self._nominated.pop(uid, None)
        self._nominated[uid], self._waiting[uid] = node, pod
