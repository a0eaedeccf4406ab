"""Scores by the free amounts of NUMA cells, or by the number of cells a pod takes.

Upstream: pkg/noderesourcetopology (least_allocated.go, most_allocated.go, balanced_allocation.go, least_numa.go) of
scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from kwhatif.cluster.types import BoolArray, Float64Array, Int64Array
from kwhatif.framework.interface import MAX_SCORE
from kwhatif.plugins.shared.numa_cells import NO_COST, Cell

STRATEGIES = ("MostAllocated", "BalancedAllocation", "LeastAllocated")


def lowest_score(scores: Int64Array, present: BoolArray) -> Int64Array:
    """int64[n]: the lowest score of a cell that is not 0, of int64[n, Z] scores and bool[n, Z] cells there are."""
    worth = np.where(present & (scores != 0), scores, np.iinfo(np.int64).max)
    lowest: Int64Array = worth.min(axis=1, initial=np.iinfo(np.int64).max)
    return np.where(lowest == np.iinfo(np.int64).max, 0, lowest)


def score_cells(
    strategy: str, requests: Mapping[str, int], names: Mapping[str, int], free: Int64Array, weights: Mapping[str, int]
) -> Int64Array:
    """int64[n, Z]: the score of each cell, of int64[n, Z, R] amounts."""
    if not requests:
        return np.zeros(free.shape[:2], np.int64)
    columns = [free[:, :, names[name]] if name in names else np.zeros(free.shape[:2], np.int64) for name in requests]
    amounts = list(requests.values())
    if strategy == "BalancedAllocation":
        return _score_balanced(amounts, columns)
    total = np.zeros(free.shape[:2], np.int64)
    weight_sum = 0
    for name, amount, has in zip(requests, amounts, columns, strict=True):
        weight = weights.get(name, 1)
        weight = weight if weight >= 1 else 1
        total += weight * _score_allocated(amount, has, least=strategy == "LeastAllocated")
        weight_sum += weight
    return total // weight_sum


def _units(thousandths: Int64Array) -> Int64Array:
    """Whole units, rounded up."""
    return -(-thousandths // 1000)


def _score_allocated(amount: int, has: Int64Array, *, least: bool) -> Int64Array:
    """int64[n, Z]: the share that is left, or taken, in percent of whole units; 0 where there is not enough."""
    there, wanted = _units(has), -(-amount // 1000)
    share = ((there - wanted) if least else np.full_like(there, wanted)) * MAX_SCORE // np.maximum(there, 1)
    return np.where((has == 0) | (amount > has), 0, share)


def _score_balanced(amounts: Sequence[int], columns: Sequence[Int64Array]) -> Int64Array:
    """int64[n, Z]: 100 less the sample variance of the shares taken; 0 where one is above 1."""
    shares: list[Float64Array] = []
    beyond = np.zeros(columns[0].shape, np.bool_)
    for amount, has in zip(amounts, columns, strict=True):
        there = _units(has)
        share = np.where(there == 0, 1.0, float(-(-amount // 1000)) / np.maximum(there, 1))
        beyond |= share > 1
        shares.append(share)
    if len(shares) == 1:
        # The sample variance of one figure is none; Go makes the least integer of it.
        return np.where(beyond, 0, np.iinfo(np.int64).min)
    count = len(shares)
    table = np.stack(shares)
    apart = table - table.sum(axis=0) / count
    rest = apart.sum(axis=0)
    variance = ((apart**2).sum(axis=0) - rest * rest / count) / (count - 1)
    worth: Int64Array = ((1 - variance) * float(MAX_SCORE)).astype(np.int64)
    return np.where(beyond, 0, worth)


# --- LeastNUMANodes


def fewest_cells(
    cells: Sequence[Cell],
    free: Int64Array,
    names: Mapping[str, int],
    wanted: Sequence[Mapping[str, int]],
    most_cells: int,
) -> int:
    """The score of one node: the fewer cells its containers take, and the nearer they are, the better.

    ``free`` int64[Z, R] is what its cells have. Upstream takes from cells by their place what it found by their number,
    which shows where these differ.
    """
    have = [{name: int(free[k, names[name]]) for name in cell.available} for k, cell in enumerate(cells)]
    most, nearest = 0, True
    for requests in wanted:
        if not any(name in cell for cell in have for name in requests):
            continue
        fewest = _fewest(cells, have, requests)
        if fewest is None:
            return 0
        numbers, is_nearest = fewest
        nearest &= is_nearest
        most = max(most, len(numbers))
        if len(wanted) > 1:
            _take(have, requests, numbers)
    if not most:
        return MAX_SCORE
    step = MAX_SCORE // most_cells
    return MAX_SCORE - most * step + (step // 2 if nearest else 0)


def _fewest(
    cells: Sequence[Cell], have: Sequence[Mapping[str, int]], requests: Mapping[str, int]
) -> tuple[list[int], bool] | None:
    """Numbers of the smallest set of cells with all that is asked for, and whether none of its size is nearer."""
    for size in range(1, len(cells) + 1):
        distances = {
            combination: _distance(cells, combination) for combination in combinations(range(len(cells)), size)
        }
        least = min(np.float32(NO_COST), *distances.values())
        best: tuple[int, ...] | None = None
        for places, distance in distances.items():
            if not _will_do(have, places, requests):
                continue
            if distance == least:
                return sorted({cells[place].number for place in places}), True
            if best is None or distance < distances[best]:
                best = places
        if best is not None:
            return sorted({cells[place].number for place in best}), False
    return None


def _will_do(have: Sequence[Mapping[str, int]], places: Sequence[int], requests: Mapping[str, int]) -> bool:
    """Whether cells all list what is asked for, and have enough of it together."""
    if not all(name in have[place] for place in places for name in requests):
        return False
    return all(sum(have[place][name] for place in places) >= amount for name, amount in requests.items())


def _distance(cells: Sequence[Cell], places: Sequence[int]) -> np.float32:
    """The mean cost between the cells, each with itself as well."""
    total = sum(cells[one].costs.get(cells[other].number, NO_COST) for one in places for other in places)
    return np.float32(total) / np.float32(len(places) ** 2)


def _take(have: list[dict[str, int]], requests: Mapping[str, int], numbers: Sequence[int]) -> None:
    for name, amount in requests.items():
        missing = amount
        for number in numbers:
            if missing and number < len(have) and name in have[number]:
                taken = min(missing, have[number][name])
                have[number][name] -= taken
                missing -= taken
