"""How the replica sets of a deployment share a change of its size in the middle of an update.

Upstream: pkg/controller/deployment/sync.go (scale), util/deployment_util.go (GetReplicaSetProportion).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Share(Protocol):
    replicas: int
    maximum: int | None


def proportional(active: Sequence[Share], replicas: int, surge: int, pods: int) -> list[int]:
    """The new sizes of the replica sets, given oldest first. The largest takes what rounding leaves.

    A replica set that does not know how many pods the deployment could have before is measured by its ``pods``.
    """
    allowed = replicas + surge if replicas > 0 else 0
    change = allowed - sum(one.replicas for one in active)
    sizes = [one.replicas for one in active]
    if change == 0:
        return sizes
    # Of equals the newest grows first, and the oldest shrinks first.
    order = sorted(range(len(active)), key=lambda i: (-active[i].replicas, -i if change > 0 else i))
    given = 0
    for i in order:
        left = change - given
        fraction = _fraction(active[i], replicas, surge, pods) if left else 0
        part = min(fraction, left) if change > 0 else max(fraction, left)
        sizes[i] += part
        given += part
    sizes[order[0]] = max(0, sizes[order[0]] + change - given)
    return sizes


def _fraction(one: Share, replicas: int, surge: int, pods: int) -> int:
    """By how much a replica set would change if it kept its share exactly, rounded half away from zero."""
    if replicas == 0:
        return -one.replicas
    before = one.maximum or pods
    if before == 0:
        return 0
    size = one.replicas * (replicas + surge) / before
    return int(size + 0.5) - one.replicas
