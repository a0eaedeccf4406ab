"""Fewer pods than a workload would have, down to the least it says: the most of them that get flavors.

Upstream: pkg/scheduler/flavorassigner/podset_reducer.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kwhatif.api.kueue import WorkloadPodSet

R = TypeVar("R")


def find_most(pod_sets: Sequence[WorkloadPodSet], fits: Callable[[list[int]], R | None]) -> R | None:
    """What ``fits`` makes of the largest counts for which it is not None.

    It is a binary search, as upstream has it: where fewer pods fit worse than more, it may miss the most.
    """
    spare = [
        pod_set.count - (pod_set.count if pod_set.min_count is None else pod_set.min_count) for pod_set in pod_sets
    ]
    total = sum(spare)
    if not total:
        return None
    low, high = 0, total + 1
    last: R | None = None
    last_index = 0
    while low < high:
        middle = (low + high) // 2
        counts = [pod_set.count - part * middle // total for pod_set, part in zip(pod_sets, spare, strict=True)]
        result = fits(counts)
        if result is None:
            low = middle + 1
        else:
            last, last_index, high = result, middle, middle
    return last if low == last_index else None
