"""Scheduler and autoscalers in turns: nodes are added for pods that found none, and join the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.autoscaling.upcoming_nodes import AutoscalerPlan, UpcomingNode
from kwhatif.results.amounts import format_some
from kwhatif.results.place import (
    HOURS_A_MONTH,
    AddedNode,
    Chance,
    GroupRefusal,
    GrownGroup,
    Placement,
    ScaleUp,
    Unhelped,
)
from kwhatif.simulation.inputs import PROVISION_SECONDS
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot

MOST_FRUITLESS_ROUNDS = 10
"""How often in a row nodes may come for pods none of which then finds a node. Upstream has no such end."""


class Autoscaler(Protocol):
    """The interface of cluster-autoscaler and Karpenter."""

    name: str

    def ask(
        self, session: Session, later: Snapshot, waiting: Sequence[Pod], now: datetime, is_taken: Callable[[str], bool]
    ) -> AutoscalerPlan:
        """The plan for pods without a node, once. Nodes that it adds exist at the next call."""

    def sizes(self, snapshot: Snapshot) -> Iterable[GrownGroup]:
        """The groups that have grown since the beginning."""

    def unknown(self, *, unhelped: bool) -> Iterable[str]:
        """What is unknown about its nodes and may decide which of them came, or whether pods stay ``unhelped``."""


class _PendingNode(msgspec.Struct, frozen=True):
    autoscaler: str
    node: UpcomingNode
    time: float


class Scaler(msgspec.Struct):
    """Autoscalers beside one scheduler process. Each adds nodes of its own for all pods that find none.

    ``later`` makes the snapshot of a session's cluster while some pods wait. New nodes come up after ``provision``
    seconds; ``time`` is how many have passed.
    """

    autoscalers: Sequence[Autoscaler]
    later: Callable[[Session, Sequence[Pod]], Snapshot]
    now: datetime
    provision: float = PROVISION_SECONDS
    time: float = 0.0
    _came: list[_PendingNode] = []
    _why_not: dict[str, list[GroupRefusal]] = {}
    _chance: Chance | None = None
    _helped_last: frozenset[str] = frozenset()
    _fruitless_rounds: int = 0

    def ask(self, session: Session, waiting: Sequence[Pod]) -> list[UpcomingNode]:
        """New nodes for pods without one, which do not exist yet. None after ``MOST_FRUITLESS_ROUNDS``."""
        keys = frozenset(pod.key for pod in waiting)
        self._fruitless_rounds = self._fruitless_rounds + 1 if self._helped_last and self._helped_last <= keys else 0
        self._helped_last = frozenset()
        if self._fruitless_rounds >= MOST_FRUITLESS_ROUNDS:
            reason = f"nodes came {MOST_FRUITLESS_ROUNDS} times in a row, and it fits none"
            refusals = [
                GroupRefusal(autoscaler=scaler_.name, group="", reasons=(reason,)) for scaler_ in self.autoscalers
            ]
            self._why_not.update({pod.key: refusals for pod in waiting})
            return []
        later, now = self.later(session, waiting), self.now + timedelta(seconds=self.time)
        taken = set(session.cluster.columns.names)
        for pod in waiting:
            self._why_not[pod.key] = []
        nodes: list[UpcomingNode] = []
        for autoscaler in self.autoscalers:
            answer = autoscaler.ask(session, later, waiting, now, taken.__contains__)
            taken.update(node.node.name for node in answer.nodes)
            nodes += answer.nodes
            self._came += [_PendingNode(autoscaler.name, node, self.time + self.provision) for node in answer.nodes]
            self._remember(autoscaler.name, answer)
        self._helped_last = keys if nodes else frozenset()
        return nodes

    def _remember(self, autoscaler: str, answer: AutoscalerPlan) -> None:
        for pod, why in answer.why_not.items():
            self._why_not[pod] += [
                GroupRefusal(autoscaler=autoscaler, group=group, reasons=tuple(reasons))
                for group, reasons in why.items()
            ]
        if answer.orders:
            self._chance = Chance(orders=answer.orders, plans=tuple(answer.plans), pods=tuple(answer.pods))

    def join(self, session: Session, nodes: Sequence[UpcomingNode]) -> None:
        """Add the nodes to the cluster."""
        session.join(
            [node.node for node in nodes],
            [pod for node in nodes for pod in node.pods],
            [other for node in nodes for other in node.others],
        )

    def provide_nodes(self, session: Session, waiting: Sequence[Pod]) -> bool:
        """Whether there are new nodes for pods without one; if so they are added, and their provisioning time has
        passed.
        """
        nodes = self.ask(session, waiting)
        self.provide(session, nodes)
        return bool(nodes)

    def provide(self, session: Session, nodes: Sequence[UpcomingNode]) -> None:
        """Let the provisioning time pass, if there are new nodes, and add them."""
        if nodes:
            self.time += self.provision
            self.join(session, nodes)

    def unbounded_groups(self, session: Session) -> list[str]:
        """The groups that have grown and have no maximum."""
        sizes = (size for autoscaler in self.autoscalers for size in autoscaler.sizes(session.snapshot))
        return [size.group for size in sizes if size.max is None and not size.limits]

    # --- in words

    def summarize(
        self, session: Session, homes: Mapping[str, str], unhelped: Iterable[str], *, used: bool = False
    ) -> ScaleUp:
        """The summary of what was added, given the final nodes (``homes``) of pods by ``namespace/name``, and those
        without. Only of ``used`` nodes, if so: those that one of these pods is on.
        """
        of_node: dict[str, list[str]] = {}
        for pod, node in homes.items():
            of_node.setdefault(node, []).append(pod)
        nodes = tuple(
            self._node(node, of_node.get(node.node.node.name, ()), session)
            for node in self._came
            if not used or node.node.node.name in of_node
        )
        costs = [added_node.cost for added_node in nodes]
        without = tuple(
            Unhelped(pod=pod, refusals=tuple(self._why_not[pod])) for pod in unhelped if self._why_not.get(pod)
        )
        unknown = (what for autoscaler in self.autoscalers for what in autoscaler.unknown(unhelped=bool(without)))
        return ScaleUp(
            autoscalers=tuple(autoscaler.name for autoscaler in self.autoscalers),
            nodes=nodes,
            groups=tuple(self._groups(session.snapshot, nodes)),
            cost=_total(costs),
            unhelped=without,
            chance=self._chance,
            unknown=tuple(dict.fromkeys(unknown)),
        )

    @staticmethod
    def _node(coming: _PendingNode, pods: Sequence[str], session: Session) -> AddedNode:
        from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set

        node, price = coming.node, coming.node.price
        row = session.cluster.columns.row(node.node.name)
        running = [] if row is None else [info.pod for info in session.cluster.pods_on[row]]
        kinds = {pod.controller.kind if pod.controller else "" for pod in running if not is_of_daemon_set(pod)}
        return AddedNode(
            node=node.node.name,
            autoscaler=coming.autoscaler,
            group=node.group,
            time=coming.time,
            pods=tuple(pods),
            types=tuple(node.types),
            price=None if price is None else round(price, 6),
            cost=None if price is None else round(price * HOURS_A_MONTH, 2),
            only_jobs=kinds == {"Job"},
        )

    def _groups(self, snapshot: Snapshot, nodes: Sequence[AddedNode]) -> Iterator[GrownGroup]:
        for autoscaler in self.autoscalers:
            for size in autoscaler.sizes(snapshot):
                of_group = autoscaler.name, size.group
                mine = [node for node in nodes if (node.autoscaler, node.group) == of_group]
                unused = sum((come.autoscaler, come.node.group) == of_group for come in self._came) - len(mine)
                if unused and not mine:
                    continue
                if unused:
                    size = replace(size, to=size.to - unused, limits="", full=False)
                yield replace(size, cost=_total([node.cost for node in mine]))


def _total(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 2) if known and len(known) == len(costs) else None


def apply_scale_up(
    scaler: Scaler, session: Session, placements: Sequence[Placement]
) -> tuple[tuple[Placement, ...], ScaleUp]:
    """The placements with their reasons, and the scale-up on the way."""
    victims = (victim for placement in placements for victim in placement.victims if victim.replacement)
    homes = {placement.pod: placement.node for placement in placements if placement.outcome in ("placed", "autoscaled")}
    homes |= {victim.replacement: victim.lands_on for victim in victims if victim.lands_on}
    scale_up = scaler.summarize(
        session, homes, [placement.pod for placement in placements if placement.outcome == "unschedulable"]
    )
    words = dict(_words(scale_up))
    explained = (
        replace(
            placement, message=words.get(placement.node, f"it finds room on {placement.node} once new nodes are there")
        )
        if placement.outcome == "autoscaled"
        else placement
        for placement in placements
    )
    return tuple(explained), scale_up


def _words(scale_up: ScaleUp) -> Iterator[tuple[str, str]]:
    """What comes, by the name of each new node."""
    sizes = Counter((added_node.autoscaler, added_node.group) for added_node in scale_up.nodes)
    numbers: Counter[tuple[str, str]] = Counter()
    claims = 0
    for node in scale_up.nodes:
        group = node.autoscaler, node.group
        numbers[group] += 1
        if node.types:
            claims += 1
            yield node.node, f"NodeClaim {claims} of NodePool {node.group} is created for it {_types(node)}"
        else:
            number = f"{numbers[group]} of {sizes[group]} new"
            yield node.node, f"a node of group {node.group} is added for it ({number})"


def _types(node: AddedNode) -> str:
    """``(c.4, m.4, r.4 and 12 more; c.4 is the cheapest)``."""
    cheapest = f"; {node.types[0]} is the cheapest" if len(node.types) > 1 else ""
    return f"({format_some(node.types)}{cheapest})"
