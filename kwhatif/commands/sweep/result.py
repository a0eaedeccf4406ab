"""Results of ``sweep``."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.diff import Use
from kwhatif.results.outcome import Concluded
from kwhatif.results.place import FailedCreate, Refusal

Level = int | float | str | bool
"""What a setting is at one point: a number, the name of a strategy, whether a plugin is on, or what an argument is."""


class PriorityCount(ResultStruct, frozen=True, kw_only=True):
    """So many pods of a priority."""

    priority: int
    pods: int


class Measures(ResultStruct, frozen=True, kw_only=True):
    """What a policy comes to on one cluster.

    pending         pods that found no node; by priority, the highest first
    evictions       pods that had to go for others
    nodes_in_use    nodes with a pod that no daemon set made; the others are empty
    nodes_added     nodes that autoscalers add; None without autoscalers
    resources       utilisation in percent of each node's, its mean and deviation, and the largest free amount of a node
    probe_room      how many probe pods would fit afterwards, if there is a probe
    zone_skew       of each workload the pods in its fullest zone minus those in its emptiest, in all
    moved           pods on another node than today's policy gives them
    gpu_allocation  of all GPUs, percent that are asked for; None without GPUs
    cost            of the nodes in use, by the hour; None without prices
    """

    pending: int
    pending_by_priority: tuple[PriorityCount, ...] = ()
    evictions: int
    nodes_in_use: int
    nodes_added: int | None = None
    nodes_empty: int
    resources: tuple[Use, ...] = ()
    probe_room: int | None = None
    zone_skew: int
    moved: int
    gpu_allocation: float | None = None
    cost: float | None = None


class PolicyPoint(ResultStruct, frozen=True, kw_only=True):
    """A policy: what it differs from today's in, and its measures, the means over all snapshots.

    ``number`` 0 is today's. ``on_front``: no other is at least as good by every objective and better by one. ``rank``
    is its place by the objectives with their weights, from 1. ``on`` has what it comes to on each snapshot; where that
    failed, there is an ``error`` instead.
    """

    number: int
    policy: str
    settings: dict[str, Level]
    measures: dict[str, float]
    on_front: bool = False
    rank: int = 0
    on: tuple[Measures, ...] = ()
    error: str = ""


def order(point: PolicyPoint) -> tuple[float, ...]:
    """The best first; of those that are equally good the one by which fewest pods move, and the most even over zones.

    After that the one that differs in least from today's.
    """
    measures = point.measures
    return (
        point.rank,
        measures.get("moved", 0.0),
        measures.get("zoneSkew", 0.0),
        point.policy.count(";"),
        point.number,
    )


class LevelMean(ResultStruct, frozen=True, kw_only=True):
    """The mean of a measure over all points where a setting is at this level, or in this range of them."""

    level: str
    points: int
    mean: float


class Influence(ResultStruct, frozen=True, kw_only=True):
    """How much a setting matters for a measure: the range of the means over its levels, in percent of the measure's own
    range over all points. ``best`` is the level with the best mean.
    """

    setting: str
    measure: str
    percent: float
    best: str
    levels: tuple[LevelMean, ...]


class Objective(ResultStruct, frozen=True, kw_only=True):
    """A measure the front is made by; ``goal`` is ``min`` or ``max``, ``weight`` what it counts for the rank."""

    measure: str
    goal: str
    weight: float


class SweepResult(Concluded, frozen=True, kw_only=True):
    """Policies compared, of which the ``outcome`` names the best. ``points`` begin with today's. ``sample`` says how
    they were chosen; ``searched`` is the number added around the front. ``repeated`` were the same as others and not
    asked again. ``pods`` were placed in all, of which ``replayed`` were taken off their nodes before. ``fidelity`` is
    of today's policy, one for each snapshot.
    """

    rows: ClassVar[str] = "points"
    schema: ClassVar[str] = "sweep-result"
    about: ClassVar[str] = "The policies that kwhatif sweep compared"
    view: ClassVar[str] = "sweep.text:VIEW"

    kind: str = "SweepResult"
    sample: str
    seed: int | None = None
    searched: int = 0
    repeated: int = 0
    snapshots: tuple[str, ...]
    pods: int
    replayed: int
    objectives: tuple[Objective, ...]
    best: int
    points: tuple[PolicyPoint, ...]
    influences: tuple[Influence, ...]
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    fidelity: tuple[Fidelity, ...]

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        return self.fidelity

    @property
    def front(self) -> tuple[PolicyPoint, ...]:
        """The points on the front, the best first."""
        return tuple(sorted((point for point in self.points if point.on_front), key=order))

    @property
    def today(self) -> PolicyPoint:
        return self.points[0]
