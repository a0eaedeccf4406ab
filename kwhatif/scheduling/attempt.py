"""What one try to schedule a pod came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.diagnosis import Diagnosis
from kwhatif.framework.evaluation import PluginScore
from kwhatif.framework.runner import States
from kwhatif.framework.status import EXTENDER, Status

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.asking import Asking

NOBODY: IntpArray = np.zeros(0, np.intp)


@dataclass(slots=True)
class Attempt:
    """One scheduling cycle.

    row          the chosen node's row, or None
    score        its total; None where a single feasible node won unscored
    sampled      rows of the feasible nodes found, in that order; ``evaluated`` counts rejected ones, too
    best         rows that share the top score, the chosen one among them
    scores       every plugin's scores over ``sampled``, if asked for
    message      the FailedScheduling event's text when no node was found
    gated        PreEnqueue's refusal: the pod did not enter the queue
    nominated    name of the node that ``victims`` leave for the pod; ``criterion`` made it the best of ``candidates``
    waiting      the pod is held by permit plugins
    lost         the pod had its node already when it was turned away: while it waited, or when it was bound
    asking       what extenders said, if they were asked
    states       what plugins' PreFilter made, for those that have a say once the node is chosen
    """

    pod: PodInfo
    row: int | None = None
    score: int | None = None
    sampled: IntpArray = field(default_factory=lambda: NOBODY)
    evaluated: int = 0
    best: IntpArray = field(default_factory=lambda: NOBODY)
    message: str = ""
    gated: Status | None = None
    refused: Status | None = None
    diagnosis: Diagnosis | None = None
    nominated: str = ""
    victims: tuple[PodInfo, ...] = ()
    scores: list[PluginScore] = field(default_factory=list)
    criterion: str = ""
    candidates: int = 0
    waiting: bool = False
    lost: bool = False
    asking: Asking | None = None
    states: States = field(default_factory=dict)

    @property
    def evicted(self) -> tuple[PodInfo, ...]:
        """Victims that have to be told; the others are on their way out already."""
        if self.diagnosis is not None and self.diagnosis.cluster.shapes.features.terminating_victims_are_told:
            return self.victims
        return tuple(victim for victim in self.victims if not victim.shape.terminating)

    @property
    def placed(self) -> bool:
        return self.row is not None


def rejectors_of(attempt: Attempt) -> frozenset[str]:
    """The plugins that turned a pod down, on whatever node (upstream: Diagnosis.UnschedulablePlugins)."""
    diagnosis = attempt.diagnosis
    if diagnosis is None:
        refused = attempt.refused
        return frozenset({refused.plugin}) if refused is not None and refused.rejected else frozenset()
    counts = diagnosis.cluster.shapes.features.narrowing_plugins_are_rejectors
    narrowing = set(diagnosis.narrowed_by if counts else ())
    if diagnosis.refusal is not None:
        names = {diagnosis.refusal.plugin} if diagnosis.refusal.rejected else set()
        return frozenset(names | narrowing)
    assert diagnosis.verdicts is not None
    first = diagnosis.verdicts.first
    if diagnosis.considered is not None:
        first = first[diagnosis.considered]
    plugins = {diagnosis.verdicts.plugins[index] for index in np.unique(first).tolist() if index >= 0}
    if attempt.asking is not None and attempt.asking.narrowed:
        plugins.add(EXTENDER)
    return frozenset(plugins | narrowing)
