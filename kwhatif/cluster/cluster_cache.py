"""Work that is done once for a cluster and asked for again with every pod."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from kwhatif.cluster.cluster import Cluster

P = ParamSpec("P")
T = TypeVar("T")


def cached_per_cluster(work: Callable[Concatenate[Cluster, P], T]) -> Callable[Concatenate[Cluster, P], T]:
    """Work a function out once for each cluster and further arguments, which have to be hashable.

    What it returns may hold tallies, which stay live: all that is remembered goes when the cluster drops them.
    """

    @wraps(work)
    def ask(cluster: Cluster, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (work, *args, *kwargs.values())
        found = cluster.memory.get(key)
        if found is None:
            found = cluster.memory[key] = work(cluster, *args, **kwargs)
        return cast("T", found)

    return ask
