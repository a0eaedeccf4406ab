"""Descheduler and scheduler in turns: a cycle, the replacements, and the next cycle, until no pod is evicted.

A state of the cluster that recurs, with all pods of each owner on the same nodes, recurs forever: it is reported with
the pods that move.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from kwhatif.api.core import Namespace
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, PodDisruptionBudget
from kwhatif.cluster.shapes import start_time
from kwhatif.commands.deschedule.moves import Move, Moves
from kwhatif.descheduling.descheduler import ClusterObjects, Cycle, Descheduler
from kwhatif.descheduling.framework.plugin import UsageData
from kwhatif.descheduling.framework.pod_evictor import Eviction
from kwhatif.descheduling.policy_reading import RunnablePolicy
from kwhatif.progress import report_progress
from kwhatif.simulation.placement.recreated_pods import owner_of

MOST_CYCLES = 100


@dataclass(frozen=True)
class FollowedCycle:
    """A cycle, the moves of the pods it evicted, in the same order, and how many seconds after the first it was."""

    cycle: Cycle
    moves: list[Move]
    time: float

    @property
    def evictions(self) -> list[tuple[Eviction, Move]]:
        return list(zip(self.cycle.evictions, self.moves, strict=True))


@dataclass(frozen=True)
class Recurrence:
    """The state after some cycle came back ``period`` cycles later."""

    period: int


@dataclass
class Cycles:
    """``interval`` is the time from one cycle to the next, in seconds. With ``reviews`` budgets are asked."""

    policy: RunnablePolicy
    moves: Moves
    now: datetime
    interval: float
    usage: UsageData = field(default_factory=UsageData)
    reviews: bool = True
    followed: list[FollowedCycle] = field(default_factory=list)
    recurrence: Recurrence | None = None

    def look(self, *, with_protected: bool = False) -> Cycle:
        """The evictions of a cycle now. No pod leaves, and no budget is checked."""
        return Descheduler(self.policy, self.world()).cycle(with_protected=with_protected)

    def world(self) -> ClusterObjects:
        """The cluster as the descheduler finds it now."""
        snapshot = self.moves.session.snapshot
        objects = snapshot.objects
        budgets = copy.deepcopy(self.moves.budgets)
        return ClusterObjects(
            nodes=list(self.moves.session.cluster.columns.given),
            pods=self.moves.pods.values(),
            now=start_time(self._moment()),
            features=self.moves.session.setup.features,
            namespaces=list(objects.list_all(Namespace)),
            budgets=list(objects.list_all(PodDisruptionBudget)),
            claims=list(objects.list_all(PersistentVolumeClaim)),
            usage=self.usage,
            review=budgets.evict if self.reviews else None,
        )

    def run(self, cycles: int) -> Cycle:
        """Simulate a number of cycles, fewer if one evicts no pod or a state recurs, and what the next one would do."""
        seen: dict[frozenset[tuple[tuple[str, str, str], int]], int] = {self._state(): 0}
        found = self.look(with_protected=True)
        while found.evictions and len(self.followed) < cycles:
            report_progress("Descheduling", "cycles", len(self.followed))
            time = len(self.followed) * self.interval
            for each in (*found.evictions, *found.failed) if self.reviews else ():
                self.moves.budgets.evict(each.pod)
            moves = self.moves.follow([each.pod for each in found.evictions], self._moment())
            self.followed.append(FollowedCycle(found, moves, time))
            self.usage = _moved_usage(self.usage, moves)
            state = self._state()
            found = self.look()
            before = seen.setdefault(state, len(self.followed))
            if before < len(self.followed) and found.evictions:
                self.recurrence = Recurrence(len(self.followed) - before)
                break
        return found

    def _moment(self) -> str:
        now = self.now + timedelta(seconds=len(self.followed) * self.interval)
        return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _state(self) -> frozenset[tuple[tuple[str, str, str], int]]:
        """How many pods of each owner are on each node: who of them is where makes no difference."""
        counts = Counter(
            (pod.namespace, owner_of(pod) or self.moves.roots.get(pod.key, pod.key), pod.spec.node_name or "")
            for pod in self.moves.pods.values()
        )
        return frozenset(counts.items())


def _moved_usage(usage: UsageData, moves: list[Move]) -> UsageData:
    """What was measured of a pod goes with it to its new node, where it is known."""
    if usage.nodes is None or usage.pods is None:
        return usage
    nodes: dict[str, dict[str, int]] = {name: dict(amounts) for name, amounts in usage.nodes.items()}
    pods = dict(usage.pods)
    for move in moves:
        containers = pods.pop(move.pod.key, None)
        if containers is None:
            continue
        _add(nodes.get(move.pod.spec.node_name or ""), containers, -1)
        if move.taken is not None:
            pods[move.taken.asked.pod.key] = containers
            _add(nodes.get(move.taken.placement.node), containers, 1)
    return UsageData(nodes, pods, usage.prometheus)


def _add(node: dict[str, int] | None, containers: object, sign: int) -> None:
    if node is None or not isinstance(containers, list):
        return
    for container in containers:
        amounts: Mapping[str, int] = container
        for name, amount in amounts.items():
            node[name] = max(node.get(name, 0) + sign * amount, 0)
