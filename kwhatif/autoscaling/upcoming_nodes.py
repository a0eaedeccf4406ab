"""What every autoscaler answers: which nodes would be added for pending pods, and why none for others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource


class UpcomingNode(msgspec.Struct, frozen=True):
    """A node that an autoscaler would add, of a node group or NodePool, with daemon pods and the objects that come with
    it.

    ``types`` are those that a cloud may choose from, the cheapest first; ``price`` is by the hour.
    """

    group: str
    node: Node
    pods: Sequence[Pod] = ()
    others: Sequence[Resource] = ()
    types: Sequence[str] = ()
    price: float | None = None


class AutoscalerPlan(msgspec.Struct, frozen=True):
    """An autoscaler's plan for pods without a node.

    ``why_not`` says, for those that get none, why each group does not help; under "" what concerns all groups.
    ``plans`` and ``pods`` are the results of another map order: other plans in words, and pods that are helped in some
    order only.
    """

    nodes: Sequence[UpcomingNode] = ()
    why_not: Mapping[str, Mapping[str, Sequence[str]]] = {}
    orders: int = 0
    plans: Iterable[str] = ()
    pods: Iterable[str] = ()
