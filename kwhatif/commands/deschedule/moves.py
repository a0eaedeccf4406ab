"""What follows evictions: controllers make the pods again, the scheduler places them, and autoscalers may add nodes.

Replacements by replica sets and jobs exist at once, while the evicted pods still take their room until they have
terminated. Then the replacements of stateful sets and daemon sets are placed, and pods that found no node are tried
once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kwhatif.api.core import Pod, PodStatus
from kwhatif.scheduling.controllers import GRACE_PERIOD
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.placing import AttemptedPod, PlacementRun
from kwhatif.simulation.placement.recreated_pods import RecreatedPods, is_made_at_once
from kwhatif.simulation.session import Session, pending_pods


@dataclass
class Move:
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
            self.pending = [self.recreated.take(asked).asked.pod.key for asked in pending_pods(self.session.snapshot)]
        self.recreated.retry(self._replace_victims)
        self.run.explain_futile()
        self._run_placed(now)
        return moves

    def _terminate(self, pod: Pod) -> bool:
        """A pod is deleted; whether it takes its room for a while yet."""
        self.pods.pop(pod.key, None)
        found = self.session.running(pod)
        if found is None:
            return False
        self.recreated.evict(found[0])
        grace = pod.spec.termination_grace_period_seconds
        if (GRACE_PERIOD if grace is None else grace) <= 0:
            self.run.remove(pod.key)
            return False
        self.session.cluster.mark_terminating(found[0].uid, preempted=False)
        return True

    def _make_again(self, moves: Iterable[Move]) -> None:
        for move in moves:
            move.taken = self._replace(move.pod, move.root)

    def _replace(self, pod: Pod, root: str) -> AttemptedPod | None:
        """The pod made in the place of another of the line that began with ``root``."""
        taken = self.recreated.make_again(pod)
        if taken is not None:
            self.roots[taken.asked.pod.key] = root
            self.pods[taken.asked.pod.key] = taken.asked.pod
        return taken

    def _replace_victims(self) -> None:
        """Victims of replacements are replaced, too; priorities decrease, so this ends."""
        for victim in self.recreated.take_victims():
            self.pods.pop(victim.key, None)
            taken = self._replace(victim.pod, self.roots.get(victim.key, victim.key))
            if taken is not None and taken.asked.pod.key != victim.key:
                self.successors[victim.key] = taken.asked.pod.key

    def _run_placed(self, now: str) -> None:
        """Pods that found a node run and are ready there from now on."""
        for placed in self.recreated.take_placed():
            pod = placed.asked.pod
            spec = replace(pod.spec, node_name=placed.placement.node or pod.spec.node_name)
            meta = replace(pod.metadata, creation_timestamp=pod.metadata.creation_timestamp or now)
            running = replace(pod, metadata=meta, spec=spec, status=PodStatus(phase="Running", start_time=now))
            self.pods[pod.key] = running
            self.budgets.ready(running)
