"""The one question that is asked of every autoscaler: which nodes come for these pods, and why for others none does?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource


@dataclass(frozen=True)
class UpcomingNode:
    """A node as it will be, of a node group or NodePool, with daemon pods and what else comes with it.

    ``types`` are those that a cloud may choose from, the cheapest first; ``price`` is by the hour.
    """

    group: str
    node: Node
    pods: Sequence[Pod] = ()
    others: Sequence[Resource] = ()
    types: Sequence[str] = ()
    price: float | None = None


@dataclass(frozen=True)
class AutoscalerPlan:
    """What an autoscaler does about pods without a node.

    ``why_not`` says, for those that get none, what keeps each group from helping; under "" what is about all groups.
    ``plans`` and ``pods`` are what another order of maps would have led to: other plans in words, and pods that are
    helped in some order only.
    """

    nodes: Sequence[UpcomingNode] = ()
    why_not: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    orders: int = 0
    plans: Iterable[str] = ()
    pods: Iterable[str] = ()


@dataclass(frozen=True)
class GroupSize:
    """A node group or NodePool that has grown, from ``size`` nodes ``to`` so many, and how far it may."""

    group: str
    size: int
    to: int
    most: int | None = None
    limits: str = ""
    full: bool = False
