"""What autoscalers add while pods are without a node: nodes, whose they are, what they cost, and whom nobody helps."""

from __future__ import annotations

from kwhatif.results.parts import Value

HOURS_A_MONTH = 730


class Chance(Value, frozen=True, kw_only=True):
    """What depends on the order in which nodes and pods are listed: so many other ``orders`` lead to other ``plans``,
    and some ``pods`` are helped in one order and not in another.
    """

    orders: int
    plans: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()


class AddedNode(Value, frozen=True, kw_only=True):
    """A node that comes, under a name made up for it: of a node group, or for a NodeClaim of a NodePool (``group``).

    It is there after ``time`` simulated seconds, and of the pods asked about these ``pods`` run there in the end. For a
    NodeClaim ``types`` are those left to choose from, the cheapest first: it is taken to be of the cheapest.
    ``price`` is that by the hour, ``cost`` the same a month, where it is known.
    """

    node: str
    autoscaler: str
    group: str
    time: float
    pods: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    price: float | None = None
    cost: float | None = None


class GrownGroup(Value, frozen=True, kw_only=True):
    """A node group or NodePool that grows: from ``size`` nodes ``to`` so many, of at most ``max``, where that is known.

    ``limits`` say how much of a NodePool's are in use then (``cpu 60 of 64``). ``full``: it has no room for another
    node. ``cost`` is what the new nodes cost a month.
    """

    autoscaler: str
    group: str
    size: int
    to: int
    max: int | None = None
    limits: str = ""
    full: bool = False
    cost: float | None = None


class GroupRefusal(Value, frozen=True, kw_only=True):
    """Why a group or NodePool has no node for a pod, in the autoscaler's words; without a ``group`` it is about all."""

    autoscaler: str
    group: str = ""
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        """``general: Insufficient cpu``."""
        return f"{self.group or self.autoscaler}: {', '.join(self.reasons)}"


class Unhelped(Value, frozen=True, kw_only=True):
    """A pod that finds no node and that no node comes for."""

    pod: str
    refusals: tuple[GroupRefusal, ...]


class ScaleUp(Value, frozen=True, kw_only=True):
    """What the ``autoscalers`` that were asked add, taking turns with the scheduler until nobody is helped any more.

    ``cost`` is what all of it costs a month, if every price is known. ``chance`` is about the first plan of
    cluster-autoscaler.
    """

    autoscalers: tuple[str, ...]
    nodes: tuple[AddedNode, ...] = ()
    groups: tuple[GrownGroup, ...] = ()
    cost: float | None = None
    unhelped: tuple[Unhelped, ...] = ()
    chance: Chance | None = None
