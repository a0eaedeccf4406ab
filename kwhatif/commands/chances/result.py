"""Results of ``chances``: probabilities with intervals."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

import msgspec

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.outcome import Concluded, NodeCount
from kwhatif.results.place import FailedCreate, Refusal

Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution: intervals hold the true probability in 95 of 100 studies."""


class Probability(ResultStruct, frozen=True, kw_only=True):
    """What happened in ``times`` of ``trials``: its share, and Wilson's 95% interval for its probability."""

    times: int
    trials: int
    share: float
    low: float
    high: float

    @classmethod
    def from_counts(cls, times: int, trials: int) -> Probability:
        """Without any trial nothing is known."""
        if not trials:
            return cls(times=0, trials=0, share=0.0, low=0.0, high=1.0)
        share, square = times / trials, Z * Z
        middle = (share + square / (2 * trials)) / (1 + square / trials)
        half = Z * sqrt(share * (1 - share) / trials + square / (4 * trials * trials)) / (1 + square / trials)
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        return cls(times=times, trials=trials, share=round(share, 6), low=round(low, 6), high=round(high, 6))

    @property
    def precision(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        """``12.0% (10.1-14.2%)``."""
        return f"{100 * self.share:.1f}% ({100 * self.low:.1f}-{100 * self.high:.1f}%)"


class PlaceChances(ResultStruct, frozen=True, kw_only=True):
    """A node or a zone: how likely it is that at least one of the pods goes there, and how many do on average."""

    name: str
    probability: Probability
    pods: float


class PendingChances(ResultStruct, frozen=True, kw_only=True):
    """The probability that exactly ``pods`` pods of a workload find no node."""

    pods: int
    probability: Probability


class WorkloadChances(ResultStruct, frozen=True, kw_only=True):
    """A workload and its number of new ``pods`` (in the trial with the most of them).

    ``pending``: at least one of them finds no node; ``pending_pods`` tells by how many. ``evicting``: others have to
    leave for one of them. ``skewed``: its fullest place exceeds its emptiest by more than was asked about.
    """

    workload: str
    pods: int
    pending: Probability
    pending_pods: tuple[PendingChances, ...] = ()
    evicting: Probability
    skewed: Probability
    zones: tuple[PlaceChances, ...] = ()
    nodes: tuple[PlaceChances, ...] = ()

    @property
    def precision(self) -> float:
        """Half the width of its widest interval."""
        probabilities = (
            self.pending,
            self.evicting,
            self.skewed,
            *(zone.probability for zone in (*self.zones, *self.nodes)),
        )
        return max(probability.precision for probability in probabilities)


class GroupChances(ResultStruct, frozen=True, kw_only=True):
    """A group of pods (``namespace/name``): how likely it is that it is scheduled, and in which domain it runs then."""

    group: str
    scheduled: Probability
    domains: tuple[PlaceChances, ...] = ()


class PodChances(ResultStruct, frozen=True, kw_only=True):
    """One pod, by its name: how likely it is that it finds no node, or goes to which."""

    pod: str
    workload: str
    pending: Probability
    nodes: tuple[PlaceChances, ...] = ()


class GrowthChances(ResultStruct, frozen=True, kw_only=True):
    """How likely it is that autoscalers add just these nodes, which cost so much a month."""

    added_nodes: tuple[NodeCount, ...]
    cost: float | None
    probability: Probability


class ChancesResult(Concluded, frozen=True, kw_only=True):
    """Workloads and pods with their chances, from a number of ``trials`` with one ``seed``.

    ``wanted`` trials were asked for; fewer were made if all intervals were narrow enough (``precision``) before.
    ``max_skew`` over ``topology_key`` is what counts as skewed above. ``chance`` says in sentences what was left to
    chance. ``growth`` is what autoscalers add, where they are asked. ``errors`` are those of trials that came to none.
    """

    rows: ClassVar[str] = "workloads"
    schema: ClassVar[str] = "chances-result"
    about: ClassVar[str] = "How likely each node is for pods, by kwhatif chances"
    view: ClassVar[str] = "chances.text:VIEW"

    kind: str = "Chances"
    trials: int
    wanted: int
    seed: int
    precision: float | None = None
    max_skew: int
    topology_key: str
    workloads: tuple[WorkloadChances, ...]
    pods: tuple[PodChances, ...] = ()
    groups: tuple[GroupChances, ...] | msgspec.UnsetType = msgspec.UNSET
    growth: tuple[GrowthChances, ...] | msgspec.UnsetType = msgspec.UNSET
    chance: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: Fidelity
