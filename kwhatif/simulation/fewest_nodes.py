"""The smallest number of nodes that would do, found by trying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo

T = TypeVar("T")


def try_fewest(least: int, most: int, attempt: Callable[[int], T | None], *, evicting: bool = False) -> T | None:
    """What the smallest number comes to for which an ``attempt`` comes to anything; None if ``most`` does not.

    Where so many do not help, fewer are taken not to help either. Fewer than ``least`` may do if pods evict others.
    """
    if (result := attempt(least)) is not None:
        while evicting and least > 1 and (better := attempt(least - 1)) is not None:
            least, result = least - 1, better
        return result
    if least >= most or (result := attempt(most)) is None:
        return None
    step = 1
    while most - least > 1:
        number = min(least + step, (least + most) // 2)
        if (better := attempt(number)) is None:
            least, step = number, 2 * step
        else:
            most, result, step = number, better, most
    return result


def least_nodes(cluster: Cluster, pods: Sequence[PodInfo], like: str) -> int:
    """How many nodes like one the pods take if nothing else leaves: for what no other node has left, if requests could
    be cut at will.
    """
    row = cluster.columns.row(like)
    assert row is not None
    requested = sum(cluster.shapes.requests[info.shape.index] for info in pods)
    free = (cluster.columns.allocatable - cluster.requested).clip(min=0).sum(axis=0)
    short = [
        (int(want), int(has)) for want, has in zip(requested - free, cluster.columns.allocatable[row], strict=True)
    ]
    open_slots = int((cluster.columns.allowed_pods - cluster.pod_count).clip(min=0).sum())
    short.append((len(pods) - open_slots, int(cluster.columns.allowed_pods[row])))
    return max([1, *(-(-want // has) for want, has in short if want > 0 and has > 0)])
