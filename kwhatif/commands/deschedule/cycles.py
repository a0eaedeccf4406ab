"""Descheduler and scheduler in turns: a cycle, the replacements, and the next cycle, until no pod is evicted.

A state of the cluster that recurs, with all pods of each owner on the same nodes, recurs forever: it is reported with
the pods that move.

Replacements by replica sets and jobs exist at once, while the evicted pods still take their room until they have
terminated. Then the replacements of stateful sets and daemon sets are placed, and pods that found no node are tried
once more.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Namespace, Pod, PodStatus
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim, PodDisruptionBudget
from kwhatif.cluster.shapes import start_time
from kwhatif.descheduling.descheduler import ClusterObjects, Cycle, Descheduler
from kwhatif.descheduling.framework.plugin import UsageData
from kwhatif.descheduling.framework.pod_evictor import Eviction
from kwhatif.descheduling.policy_reading import RunnablePolicy
from kwhatif.progress import report_progress
from kwhatif.scheduling.controllers import GRACE_PERIOD
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.placement.recreated_pods import RecreatedPods, is_made_at_once, owner_of
from kwhatif.simulation.session import Session, pending_pods


class Move(msgspec.Struct):
    """An evicted pod and what is made in its place; ``root`` is the name that the first of its line bore."""

    pod: Pod
    root: str
    taken: AttemptedPod | None = None


@dataclass
class Moves:
    """The pods of a cluster while some of them are evicted and recreated, by ``namespace/name``.

    ``pending`` are those that had no node before, and were tried again. Pods that were recreated and had to leave for
    others have their ``successors``.
    """

    session: Session
    budgets: EvictionBudgets
    scaler: Scaler | None = None
    pods: dict[str, Pod] = field(init=False)
    roots: dict[str, str] = field(init=False, default_factory=dict)
    pending: list[str] = field(init=False, default_factory=list)
    successors: dict[str, str] = field(init=False, default_factory=dict)
    run: PlacementRun = field(init=False)
    recreated: RecreatedPods = field(init=False)
    _pending_tried: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.run = PlacementRun(self.session, self.scaler)
        self.pods = {pod.key: pod for pod in self.session.snapshot.objects.list_all(Pod)}
        self.recreated = RecreatedPods(self.run)

    def follow(self, evicted: Sequence[Pod], now: str) -> list[Move]:
        """Evict pods together, and place all that can be placed afterwards. ``now`` is an RFC 3339 time."""
        moves = [Move(pod, self.roots.get(pod.key, pod.key)) for pod in evicted]
        lingering = [move.pod for move in moves if self._terminate(move.pod)]
        self._make_again(move for move in moves if is_made_at_once(move.pod))
        for pod in lingering:
            self.run.remove(pod.key)
        self._make_again(move for move in moves if not is_made_at_once(move.pod))
        if not self._pending_tried:
            # The snapshot's own pods without a node may use the room, too.
            self._pending_tried = True
            self.pending = [self.recreated.take(asked).item.pod.key for asked in pending_pods(self.session.snapshot)]
        self.recreated.retry(self._replace_victims)
        self.run.explain_futile()
        self._run_placed(now)
        return moves

    def _terminate(self, pod: Pod) -> bool:
        """A pod is deleted; whether it takes its room for a while yet."""
        self.pods.pop(pod.key, None)
        pod_and_row = self.session.running(pod)
        if pod_and_row is None:
            return False
        self.recreated.evict(pod_and_row[0])
        grace = pod.spec.termination_grace_period_seconds
        if (GRACE_PERIOD if grace is None else grace) <= 0:
            self.run.remove(pod.key)
            return False
        self.session.cluster.mark_terminating(pod_and_row[0].uid, preempted=False)
        return True

    def _make_again(self, moves: Iterable[Move]) -> None:
        for move in moves:
            move.taken = self._replace(move.pod, move.root)

    def _replace(self, pod: Pod, root: str) -> AttemptedPod | None:
        """The pod made in the place of another of the line that began with ``root``."""
        taken = self.recreated.make_replacement(pod)
        if taken is not None:
            self.roots[taken.item.pod.key] = root
            self.pods[taken.item.pod.key] = taken.item.pod
        return taken

    def _replace_victims(self) -> None:
        """Victims of replacements are replaced, too; priorities decrease, so this ends."""
        for victim in self.recreated.take_victims():
            self.pods.pop(victim.key, None)
            taken = self._replace(victim.pod, self.roots.get(victim.key, victim.key))
            if taken is not None and taken.item.pod.key != victim.key:
                self.successors[victim.key] = taken.item.pod.key

    def _run_placed(self, now: str) -> None:
        """Pods that found a node run and are ready there from now on."""
        for placed in self.recreated.take_placed():
            pod = placed.item.pod
            spec = replace(pod.spec, node_name=placed.placement.node or pod.spec.node_name)
            meta = replace(pod.metadata, creation_timestamp=pod.metadata.creation_timestamp or now)
            running = replace(pod, metadata=meta, spec=spec, status=PodStatus(phase="Running", start_time=now))
            self.pods[pod.key] = running
            self.budgets.ready(running)


MOST_CYCLES = 100


class FollowedCycle(msgspec.Struct, frozen=True):
    """A cycle, the moves of the pods it evicted, in the same order, and how many seconds after the first it was."""

    cycle: Cycle
    moves: list[Move]
    time: float

    @property
    def evictions(self) -> list[tuple[Eviction, Move]]:
        return list(zip(self.cycle.evictions, self.moves, strict=True))


class Recurrence(msgspec.Struct, frozen=True):
    """The state after some cycle came back ``period`` cycles later."""

    period: int


class Cycles(msgspec.Struct):
    """``interval`` is the time from one cycle to the next, in seconds. With ``reviews`` budgets are asked."""

    policy: RunnablePolicy
    moves: Moves
    now: datetime
    interval: float
    usage: UsageData = msgspec.field(default_factory=UsageData)
    reviews: bool = True
    followed: list[FollowedCycle] = []
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
        cycle = self.look(with_protected=True)
        while cycle.evictions and len(self.followed) < cycles:
            report_progress("Descheduling", "cycles", len(self.followed))
            time = len(self.followed) * self.interval
            for eviction in (*cycle.evictions, *cycle.failed) if self.reviews else ():
                self.moves.budgets.evict(eviction.pod)
            moves = self.moves.follow([eviction.pod for eviction in cycle.evictions], self._moment())
            self.followed.append(FollowedCycle(cycle, moves, time))
            self.usage = _moved_usage(self.usage, moves)
            state = self._state()
            cycle = self.look()
            before = seen.setdefault(state, len(self.followed))
            if before < len(self.followed) and cycle.evictions:
                self.recurrence = Recurrence(len(self.followed) - before)
                break
        return cycle

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
            pods[move.taken.item.pod.key] = containers
            _add(nodes.get(move.taken.placement.node), containers, 1)
    return UsageData(nodes, pods, usage.prometheus)


def _add(node: dict[str, int] | None, containers: object, sign: int) -> None:
    if node is None or not isinstance(containers, list):
        return
    for container in containers:
        amounts: Mapping[str, int] = container
        for name, amount in amounts.items():
            node[name] = max(node.get(name, 0) + sign * amount, 0)
