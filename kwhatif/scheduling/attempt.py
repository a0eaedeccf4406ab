"""The outcome of one scheduling cycle, and the limit of retries for failures that would repeat forever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.evaluation import PluginScore
from kwhatif.framework.runner import States
from kwhatif.framework.status import EXTENDER, Diagnosis, Status
from kwhatif.results.outcome import PreemptionFailure
from kwhatif.results.place import QuotaShortage
from kwhatif.scheduling.host_selection import Choice
from kwhatif.scheduling.opportunistic_batch import Batching

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import ExtenderCycle


NOT_MADE_YET = "StatefulSet"
"""What gates a pod, in place of a plugin, that its controller has not made yet."""

NO_ROWS: IntpArray = np.zeros(0, np.intp)


class Attempt(msgspec.Struct, eq=False):
    """One scheduling cycle.

    row          the chosen node's row, or None
    score        its total; None where a single feasible node won unscored
    sampled      rows of the feasible nodes found, in that order; ``evaluated`` counts rejected ones, too
    totals       int64[n] of ``sampled``, if several nodes were compared
    choice       what decided between those that share the top score
    batching     what became of a hint at a node; None where the profile gets none
    scores       every plugin's scores over ``sampled``, if asked for
    message      the FailedScheduling event's text when no node was found
    gated        PreEnqueue's refusal: the pod did not enter the queue
    nominated    name of the node that ``victims`` leave for the pod; ``criterion`` made it the best of ``candidates``
    preemption   why no pod is to leave for it, if no node was found
    waiting      the pod is held by permit plugins
    lost         the pod had its node already when it was turned away: while it waited, or when it was bound
    extender_cycle  what extenders said, if they were called
    next_start   where the next search begins after a decision that was only asked about
    states       what plugins' PreFilter made, for those that have a say once the node is chosen
    chosen       the row that was chosen, though a plugin may have turned the pod away since
    permit       what Permit plugins answered, where that was a refusal or seconds to wait by plugin
    keeps_nomination  an earlier nomination is not void, though this cycle has nominated no node
    at_once      its victims are deleted within the cycle, and lesser nominations are void even if there are none
    """

    pod: PodInfo
    row: int | None = None
    score: int | None = None
    sampled: IntpArray = NO_ROWS
    evaluated: int = 0
    totals: Int64Array | None = None
    choice: Choice = Choice.ONLY
    batching: Batching | None = None
    message: str = ""
    gated: Status | None = None
    refused: Status | None = None
    diagnosis: Diagnosis | None = None
    nominated: str = ""
    victims: tuple[PodInfo, ...] = ()
    scores: list[PluginScore] = []
    criterion: str = ""
    candidates: int = 0
    preemption: PreemptionFailure = ""
    waiting: bool = False
    lost: bool = False
    extender_cycle: ExtenderCycle | None = None
    next_start: int | None = None
    states: States = {}
    chosen: int | None = None
    permit: Status | Mapping[str, float] | None = None
    keeps_nomination: bool = False
    at_once: bool = False

    def forget_nodes(self) -> None:
        """Drop the per-node data. A run keeps the last attempt of each pod, and each may have as many entries as there
        are nodes.
        """
        self.sampled, self.totals = NO_ROWS, None
        self.scores = []

    @property
    def best(self) -> IntpArray:
        """intp[]: rows that share the top score, the chosen one among them."""
        if self.totals is None:
            return self.sampled if len(self.sampled) == 1 else NO_ROWS
        rows: IntpArray = self.sampled[self.totals == self.totals.max()]
        return rows

    @property
    def victims_to_evict(self) -> tuple[PodInfo, ...]:
        """Victims that have to be deleted; the others are terminating already."""
        if self.diagnosis is not None and self.diagnosis.cluster.shapes.features.terminating_victims_are_told:
            return self.victims
        return tuple(victim for victim in self.victims if not victim.shape.terminating)

    @property
    def is_placed(self) -> bool:
        return self.row is not None

    @property
    def is_made(self) -> bool:
        """Whether the pod exists; one whose turn does not come never does."""
        return self.gated is None or self.gated.plugin != NOT_MADE_YET

    @property
    def is_hinted(self) -> bool:
        """Whether the pod got the node that batching hinted at, without a look at the others."""
        return self.batching is not None and self.batching.used


def quota_shortage_of(attempt: Attempt) -> QuotaShortage | None:
    """The quota that has no room for the pod, if that is why no node was looked at."""
    refusal = None if attempt.diagnosis is None else attempt.diagnosis.refusal
    return None if refusal is None else refusal.quota


def rejectors_of(attempt: Attempt) -> frozenset[str]:
    """The plugins that rejected a pod, on whatever node (upstream: Diagnosis.UnschedulablePlugins)."""
    diagnosis = attempt.diagnosis
    if diagnosis is None:
        refused = attempt.refused
        return frozenset({refused.plugin}) if refused is not None and refused.is_rejected else frozenset()
    narrowed = attempt.extender_cycle is not None and attempt.extender_cycle.narrowed
    return diagnosis.rejectors | {EXTENDER} if narrowed else diagnosis.rejectors


MAX_FAILURES = 10
"""A pod that got a node, or evicted pods for one, this many times and lost it every time is given up; so is one with
that many errors.
"""


class RetryLimit:
    """Counts, pod by pod, the failures that change the cluster, or that repeat by themselves.

    All others happen once for each change of the cluster, and so come to an end.
    """

    def __init__(self) -> None:
        self._losses: Counter[str] = Counter()

    def count_failure(self, attempt: Attempt) -> bool:
        """Count one failure; returns whether the limit is exceeded."""
        refused = attempt.refused
        had_node_or_error = refused is not None and (attempt.diagnosis is None or not refused.is_rejected)
        if not (had_node_or_error or attempt.victims_to_evict or attempt.gated is not None):
            return False
        self._losses[attempt.pod.uid] += 1
        return self._losses[attempt.pod.uid] >= MAX_FAILURES
