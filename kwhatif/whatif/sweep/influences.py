"""Which settings matter for which measure: the means over the levels of each, against the range of all points.

A setting whose levels all have the same mean does not matter by itself; one whose best and worst level are as far apart
as the best and the worst point decides alone. That two settings only matter together is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kwhatif.results.sweep import Influence, Level, LevelMean
from kwhatif.whatif.sweep.measuring import MAX, MEASURES
from kwhatif.whatif.sweep.pareto import Values
from kwhatif.whatif.sweep.space_document import Axis

MOST_LEVELS = 6
"""Numbers of more levels are told in so many ranges."""


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
                LevelMean(level=label, points=len(found), mean=round(sum(found) / len(found), 4))
                for label, levels in groups.items()
                if (found := [values[measure.name] for each, values in points if each.get(axis.setting) in levels])
            ]
            reach = max(each.mean for each in means) - min(each.mean for each in means)
            best = (max if measure.goal == MAX else min)(means, key=lambda each: each.mean)
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
    return {f"{each[0]} to {each[-1]}" if len(each) > 1 else str(each[0]): each for each in ranges}


def _word(level: Level) -> str:
    return {True: "on", False: "off"}[level] if isinstance(level, bool) else str(level)
