"""A cache of the outcomes of equal groups in a domain, valid as long as none of its nodes changes.

A group with a topology constraint is tried in every domain, and usually all but one are as the group before left them.
Where nothing but the domain's own nodes decides, the outcome is that of the last equal group.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec
import numpy as np
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.shapes import PodInfo, PodShape
from kwhatif.framework.placement import Placement
from kwhatif.scheduling.node_sampling import MIN_FEASIBLE_NODES_TO_FIND
from kwhatif.scheduling.opportunistic_batch import BatchState
from kwhatif.scheduling.pod_group_results import PlacementAttempt
from kwhatif.scheduling.schedule_one import Scheduler

_MOST = 200_000
"""The most outcomes that are kept."""


class _Known(msgspec.Struct, frozen=True):
    """The outcome in a domain at a moment, and the hints that batching had then, with their age in cycles."""

    moment: int
    attempt: PlacementAttempt
    state: BatchState | None
    cycles_since: int


class RememberedDomains:
    """Outcomes by the members' shapes and by domain, of one scheduler on one cluster."""

    @classmethod
    def of(cls, scheduler: Scheduler) -> RememberedDomains:
        """The cache of a scheduler for its cluster."""
        key, memory = (cls, id(scheduler)), scheduler.cluster.memory
        domains = memory.get(key)
        if not isinstance(domains, cls):
            domains = memory[key] = cls(scheduler)
        return domains

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._cluster = scheduler, scheduler.cluster
        self._known: dict[Hashable, _Known] = {}
        self._last: _Known | None = None
        self._looks: dict[int, bytes] = {}
        self._encoder = msgspec.msgpack.Encoder(enc_hook=plain_quantity)
        self._start_over()

    def _start_over(self) -> None:
        self._known.clear()
        self._nodes = len(self._cluster), self._cluster.membership_version
        self._changed_at = np.zeros(len(self._cluster), np.int64)
        self._moment, self._mark = 0, len(self._cluster.journal)

    def begin(self, members: Sequence[PodInfo], min_count: int | None) -> Hashable | None:
        """The key of such a group; None where more than the nodes of a domain decides about it."""
        cluster = self._cluster
        if self._nodes != (len(cluster), cluster.membership_version) or len(self._known) > _MOST:
            self._start_over()
        self._moment += 1
        self._changed_at[cluster.list_changed_rows(self._mark)] = self._moment
        if cluster.nominated or not self._scheduler.is_predictable:
            return None
        alone: dict[int, bool] = {}
        for pod in members:
            index = pod.shape.index
            if index not in alone:
                alone[index] = self._scheduler.runs_no_cluster_scope(pod)
            if not alone[index]:
                return None
        self._last = None
        return min_count, tuple(self._look(pod.shape) for pod in members)

    def end(self) -> None:
        """The cycle is decided; members that were only tried have left no trace, but the last hints of batching."""
        self._mark = len(self._cluster.journal)
        batch, last = self._scheduler.batch, self._last
        if batch is not None and last is not None and last.state is not None:
            batch.state = structs.replace(last.state, cycle=self._scheduler.shared.cycle - last.cycles_since)

    def find(self, group: Hashable, placement: Placement) -> PlacementAttempt | None:
        """The outcome of the last equal group in a placement, if it still holds."""
        entry = self._known.get((group, placement.name))
        if entry is None or int(self._changed_at[placement.rows].max()) > entry.moment:
            return None
        # The search would have gone round the domain once for each member.
        self._scheduler.shared.next_start %= len(placement.rows)
        self._last = entry
        return entry.attempt

    def may_be_hinted(self, placement: Placement) -> bool:
        """Whether a pod before the group has left a hint by batching that holds in the first placement.

        In all others the node of the last member is missing, which ends the list of hints.
        """
        batch = self._scheduler.batch
        if batch is None or batch.state.kept is None:
            return False
        row = self._cluster.columns.row(batch.state.node)
        return row is not None and row in placement.rows

    def forget_hints(self) -> None:
        """Drop the hints, which the node of a placement's last member ends in the next: which one that was is unknown
        where outcomes were.
        """
        if self._scheduler.batch is not None:
            self._scheduler.batch.forget()

    def keep(self, group: Hashable, attempt: PlacementAttempt) -> None:
        """Store a group's outcome; in large domains not all nodes were visited."""
        batch, cycle = self._scheduler.batch, self._scheduler.shared.cycle
        state = None if batch is None else batch.state
        self._last = _Known(self._moment, attempt, state, 0 if state is None else cycle - state.cycle)
        if len(attempt.placement.rows) < MIN_FEASIBLE_NODES_TO_FIND:
            self._known[group, attempt.placement.name] = self._last

    def _look(self, shape: PodShape) -> bytes:
        look = self._looks.get(shape.index)
        if look is None:
            spec = replace(shape.spec, scheduling_group=None)
            look = self._looks[shape.index] = self._encoder.encode((shape.namespace, shape.terminating, spec))
        return look
