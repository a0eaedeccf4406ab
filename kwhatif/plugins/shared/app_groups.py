"""Lookup of AppGroups and network costs.

Upstream: pkg/networkaware/util/util.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kwhatif.api.meta import Resource
from kwhatif.cluster.cluster import Cluster

R = TypeVar("R", bound=Resource)
T = TypeVar("T")


def first_named(cluster: Cluster, kind: type[R], namespaces: Sequence[str], name: str) -> R | None:
    """The object of this name in the first of the namespaces that has one."""
    by_namespace = {r.namespace: r for r in cluster.objects.list_all(kind) if r.name == name}
    return next((by_namespace[namespace] for namespace in namespaces if namespace in by_namespace), None)


def search_halves(items: Sequence[T], key: Callable[[T], str], value: str) -> T | None:
    """The item that a binary search finds: in a list that is not sorted, it may miss existing ones."""
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        middle_key = key(items[middle])
        if middle_key == value:
            return items[middle]
        if middle_key < value:
            low = middle + 1
        else:
            high = middle - 1
    return None
