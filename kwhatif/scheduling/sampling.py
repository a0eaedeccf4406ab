"""How many nodes the scheduler looks at, and which: percentageOfNodesToScore with its rotating start.

Upstream: pkg/scheduler/schedule_one.go (numFeasibleNodesToFind, findNodesThatPassFilters), with one worker.
"""

from __future__ import annotations

import numpy as np

from kwhatif.cluster.types import BoolArray, IntpArray

ALWAYS = 100
"""So many feasible nodes are looked for in any case."""
LEAST_PERCENTAGE = 5


def nodes_to_find(nodes: int, percentage: int) -> int:
    """How many feasible nodes are enough; percentage 0 lets it fall as the cluster grows."""
    if nodes < ALWAYS:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, LEAST_PERCENTAGE)
    return max(nodes * percentage // 100, ALWAYS)


def sample(ok: BoolArray, start: int, enough: int) -> tuple[IntpArray, int]:
    """The first ``enough`` places of ``ok`` from ``start`` on, round the end, and how many places were looked at.

    The search stops at the first feasible node too many, so nodes rejected on the way to it were looked at, too.
    """
    size = len(ok)
    if enough >= size:
        found = np.flatnonzero(ok)
        turn = found.searchsorted(start)
        return np.concatenate([found[turn:], found[:turn]]), size
    ahead = min(start + 2 * enough, size)
    found = ok[start:ahead].nonzero()[0]
    if len(found) > enough:
        return found[:enough] + start, int(found[enough])
    found = np.flatnonzero(ok[start:])
    if len(found) > enough:
        return found[:enough] + start, int(found[enough])
    found = np.concatenate([found + start, np.flatnonzero(ok[:start])])
    if len(found) > enough:
        return found[:enough], int((found[enough] - start) % size)
    return found, size
