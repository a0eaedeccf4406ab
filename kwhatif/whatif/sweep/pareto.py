"""Which policies are best: the front by all objectives, and an order by their weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kwhatif.api.alike import did_you_mean
from kwhatif.errors import UsageError
from kwhatif.results.sweep import Objective
from kwhatif.whatif.sweep.measuring import BY_NAME, MAX

DEFAULT_WEIGHTS = {"pending": 100.0, "evictions": 10.0, "cost": 1.0, "nodesInUse": 1.0}
"""What is best unless somebody says otherwise: above all pods have nodes. Nodes count where prices are not known."""

Values = Mapping[str, float]
"""Measure -> value."""


def objectives_of(words: Sequence[str], *, priced: bool) -> tuple[Objective, ...]:
    """``pending=10 cost`` as objectives, or the default ones. Raises UsageError."""
    weights: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in BY_NAME:
            raise UsageError(f"--objective {word}: expected one of {', '.join(BY_NAME)}{did_you_mean(name, BY_NAME)}")
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
    # Nobody is beaten by one that comes later in this order.
    for one in sorted(set(losses.values())):
        if not any(all(b <= a for a, b in zip(one, other, strict=True)) for other in front):
            front.append(one)
    unbeaten = set(front)
    return {number for number, each in losses.items() if each in unbeaten}


def ranks_of(points: Mapping[int, Values], objectives: Sequence[Objective]) -> dict[int, int]:
    """The place of each point, from 1: by the sum of its losses, each in shares of its range and by its weight.

    Equals share a place.
    """
    losses = {number: _losses(values, objectives) for number, values in points.items()}
    ranges = [_range([each[place] for each in losses.values()]) for place in range(len(objectives))]
    sums = {
        number: round(
            sum(
                objective.weight * (loss - low) / width
                for objective, loss, (low, width) in zip(objectives, each, ranges, strict=True)
            ),
            9,
        )
        for number, each in losses.items()
    }
    in_order = sorted(sums.values())
    return {number: in_order.index(each) + 1 for number, each in sums.items()}


def _losses(values: Values, objectives: Sequence[Objective]) -> tuple[float, ...]:
    """Each objective as a number to keep small."""
    return tuple(-values[each.measure] if each.goal == MAX else values[each.measure] for each in objectives)


def _range(values: Collection[float]) -> tuple[float, float]:
    """The least of values and how far they reach; 1 where all are the same."""
    low, high = min(values), max(values)
    return low, (high - low) or 1.0
