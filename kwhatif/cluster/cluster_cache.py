"""Values that are computed once for a cluster and reused for every pod."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from kwhatif.cluster.cluster import Cluster

P = ParamSpec("P")
T = TypeVar("T")


def cached_per_cluster(work: Callable[Concatenate[Cluster, P], T]) -> Callable[Concatenate[Cluster, P], T]:
    """Cache a function per cluster and further arguments, which have to be hashable.

    The cached value may hold tallies, which stay live: the cache is dropped when the cluster drops them.
    """

    @wraps(work)
    def ask(cluster: Cluster, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (work, *args, *kwargs.values())
        answer = cluster.memory.get(key)
        if answer is None:
            answer = cluster.memory[key] = work(cluster, *args, **kwargs)
        return cast("T", answer)

    return ask
