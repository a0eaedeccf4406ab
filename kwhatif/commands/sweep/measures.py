"""The measures of a run, the influence of settings on them, and the front and ranking of policies.

The influence of a setting is the range of its levels' means against the range of all points: none if all levels have
the same mean, 100% if best and worst level are as far apart as best and worst point. Interactions of settings are not
seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import GPU_RESOURCES
from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.sweep.result import Influence, Level, LevelMean, Measures, Objective, PriorityCount
from kwhatif.commands.sweep.space_document import Axis
from kwhatif.errors import UsageError
from kwhatif.simulation.cluster_use import nodes_in_use, skews_of, use_of
from kwhatif.simulation.placement.run import Run

MIN, MAX = "min", "max"


class Measure(msgspec.Struct, frozen=True):
    """A number of ``Measures`` under its name: whether it is good to have it small or large, and what it is."""

    name: str
    goal: str
    of: Callable[[Measures], float | None]
    words: str


def _use(resource: str, field: str) -> Callable[[Measures], float | None]:
    return lambda measures: next((getattr(use, field) for use in measures.resources if use.resource == resource), None)


MEASURES = (
    Measure("pending", MIN, lambda measures: measures.pending, "pods without a node"),
    Measure("evictions", MIN, lambda measures: measures.evictions, "pods evicted for others"),
    Measure("cost", MIN, lambda measures: measures.cost, "of the nodes in use, by the hour"),
    Measure("nodesInUse", MIN, lambda measures: measures.nodes_in_use, "nodes with pods that no daemon set made"),
    Measure("nodesAdded", MIN, lambda measures: measures.nodes_added, "nodes that autoscalers add"),
    Measure("nodesEmpty", MAX, lambda measures: measures.nodes_empty, "the other nodes"),
    Measure("moved", MIN, lambda measures: measures.moved, "pods on another node than by today's policy"),
    Measure("zoneSkew", MIN, lambda measures: measures.zone_skew, "most minus fewest pods of a zone, of all workloads"),
    Measure("gpuAllocation", MAX, lambda measures: measures.gpu_allocation, "percent of the GPUs that are asked for"),
    Measure("probeRoom", MAX, lambda measures: measures.probe_room, "probe pods that would fit afterwards"),
    *(
        Measure(resource + name, goal, _use(resource, field), words)
        for resource in ("cpu", "memory")
        for name, field, goal, words in (
            ("Mean", "mean", MAX, f"mean utilisation of {resource} in percent"),
            ("Deviation", "deviation", MIN, f"its deviation between nodes: {resource}"),
            ("LargestFree", "largest_free", MAX, f"the most {resource} that is free on one node"),
        )
    ),
)
"""The measures that a front can be made of and policies be ranked by."""

BY_NAME = {measure.name: measure for measure in MEASURES}


def scalars(runs: Sequence[Measures]) -> dict[str, float]:
    """Measure -> its mean over several clusters; those that some of them have not are left out."""
    means = {}
    for measure in MEASURES:
        values = [measure.of(measures) for measures in runs]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            means[measure.name] = round(sum(known) / len(known), 4)
    return means


def measure_run(run: Run, today: Mapping[str, str], prices: Mapping[str, float]) -> Measures:
    """The measures of a run. ``today`` has the nodes by today's policy, ``prices`` those of nodes.

    A node without a price, where others have one, costs nothing.
    """
    cluster, placements = run.end.cluster, run.placements
    added = () if run.scale_up is None else run.scale_up.nodes
    prices = {**prices, **{added_node.node: added_node.price or 0.0 for added_node in added}} if prices else {}
    pending = Counter(placement.priority for placement in placements if not placement.good)
    use = use_of(cluster)
    return Measures(
        pending=sum(pending.values()),
        pending_by_priority=tuple(
            PriorityCount(priority=priority, pods=pods) for priority, pods in sorted(pending.items(), reverse=True)
        ),
        evictions=len(run.victims),
        nodes_added=None if run.scale_up is None else len(added),
        nodes_in_use=use.used,
        nodes_empty=use.empty,
        resources=use.resources,
        zone_skew=sum(skews_of(cluster).values()),
        moved=sum(bool(placement.node) and today.get(placement.pod, "") != placement.node for placement in placements),
        gpu_allocation=_gpu_allocation(cluster),
        cost=round(sum(prices.get(name, 0.0) for name in nodes_in_use(cluster)), 6) if prices else None,
    )


def _gpu_allocation(cluster: Cluster) -> float | None:
    columns = [column for column, name in enumerate(cluster.shapes.resources.names) if name in GPU_RESOURCES]
    there = int(cluster.columns.allocatable[:, columns].sum())
    return round(100.0 * int(cluster.requested[:, columns].sum()) / there, 1) if there else None


DEFAULT_WEIGHTS = {"pending": 100.0, "evictions": 10.0, "cost": 1.0, "nodesInUse": 1.0}
"""The default objectives: above all few pending pods; then cost, or nodes in use where prices are unknown."""

Values = Mapping[str, float]
"""Measure -> value."""


def objectives_of(words: Sequence[str], *, priced: bool) -> tuple[Objective, ...]:
    """``pending=10 cost`` as objectives, or the default ones. Raises UsageError."""
    weights: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in BY_NAME:
            raise UsageError(
                f"--objective {word}: expected one of {', '.join(BY_NAME)}{suggest_spelling(name, BY_NAME)}"
            )
        try:
            weights[name] = float(text) if equals else 1.0
        except ValueError:
            weights[name] = -1.0
        if not 0 < weights[name] < float("inf"):
            raise UsageError(f"--objective {word}: expected a weight above 0, found {text or 'none'}")
    if not words:
        without = "nodesInUse" if priced else "cost"
        weights = {name: weight for name, weight in DEFAULT_WEIGHTS.items() if name != without}
    return tuple(Objective(measure=name, goal=BY_NAME[name].goal, weight=weight) for name, weight in weights.items())


def front_of(points: Mapping[int, Values], objectives: Sequence[Objective]) -> set[int]:
    """The points that no other beats: is at least as good as by every objective, and better by one. Of equals all."""
    losses = {number: _losses(values, objectives) for number, values in points.items()}
    front: list[tuple[float, ...]] = []
    # None is beaten by one that comes later in this order.
    for one in sorted(set(losses.values())):
        if not any(all(b <= a for a, b in zip(one, other, strict=True)) for other in front):
            front.append(one)
    unbeaten = set(front)
    return {number for number, loss in losses.items() if loss in unbeaten}


def ranks_of(points: Mapping[int, Values], objectives: Sequence[Objective]) -> dict[int, int]:
    """The place of each point, from 1: by the sum of its losses, each in shares of its range and by its weight.

    Equals share a place.
    """
    losses = {number: _losses(values, objectives) for number, values in points.items()}
    ranges = [_range([loss[place] for loss in losses.values()]) for place in range(len(objectives))]
    sums = {
        number: round(
            sum(
                objective.weight * (loss - low) / width
                for objective, loss, (low, width) in zip(objectives, lost_measures, ranges, strict=True)
            ),
            9,
        )
        for number, lost_measures in losses.items()
    }
    in_order = sorted(sums.values())
    return {number: in_order.index(total) + 1 for number, total in sums.items()}


def _losses(values: Values, objectives: Sequence[Objective]) -> tuple[float, ...]:
    """Each objective as a number to keep small."""
    return tuple(
        -values[objective.measure] if objective.goal == MAX else values[objective.measure] for objective in objectives
    )


def _range(values: Collection[float]) -> tuple[float, float]:
    """The least of values and how far they reach; 1 where all are the same."""
    low, high = min(values), max(values)
    return low, (high - low) or 1.0


MOST_LEVELS = 6
"""Numbers with more levels are shown in this many ranges."""


def influences_of(axes: Sequence[Axis], points: Sequence[tuple[Mapping[str, Level], Values]]) -> Iterator[Influence]:
    """Every setting for every measure that differs between points, the settings in their order."""
    for axis in axes:
        groups = _groups(axis, [settings[axis.setting] for settings, _ in points if axis.setting in settings])
        if len(groups) < 2:
            continue
        for measure in MEASURES:
            of_all = [values[measure.name] for _, values in points if measure.name in values]
            if not of_all or len(of_all) < len(points) or min(of_all) == max(of_all):
                continue
            means = [
                LevelMean(level=label, points=len(figures), mean=round(sum(figures) / len(figures), 4))
                for label, levels in groups.items()
                if (figures := [values[measure.name] for point, values in points if point.get(axis.setting) in levels])
            ]
            reach = max(level_mean.mean for level_mean in means) - min(level_mean.mean for level_mean in means)
            best = (max if measure.goal == MAX else min)(means, key=lambda level_mean: level_mean.mean)
            percent = round(100.0 * reach / (max(of_all) - min(of_all)), 1)
            yield Influence(
                setting=axis.setting, measure=measure.name, percent=percent, best=best.level, levels=tuple(means)
            )


def _groups(axis: Axis, tried: Sequence[Level]) -> dict[str, Sequence[Level]]:
    """The levels that were tried, by what they are called; many numbers in ranges that hold about as many of them."""
    levels = [level for level in axis.levels if level in tried]
    if not axis.ordered or len(levels) <= MOST_LEVELS:
        return {_word(level): [level] for level in levels}
    bounds = [round(place * len(levels) / MOST_LEVELS) for place in range(MOST_LEVELS + 1)]
    ranges = [levels[first:last] for first, last in pairwise(bounds)]
    return {f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0]): numbers for numbers in ranges}


def _word(level: Level) -> str:
    return {True: "on", False: "off"}[level] if isinstance(level, bool) else str(level)
