"""Scheduler and autoscalers in turns: whoever asks a scheduler hands over the pods that found no node, nodes join."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from kwhatif.api.core import Pod
from kwhatif.autoscaling.nodes_to_come import GroupSize, Help, NodeToCome
from kwhatif.results.added_nodes import (
    HOURS_A_MONTH,
    AddedNode,
    Chance,
    GroupRefusal,
    GrownGroup,
    ScaleUp,
    Unhelped,
)
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.session import Session
from kwhatif.whatif.stages.inputs import PROVISION


class Autoscaler(Protocol):
    """The small question that cluster-autoscaler and Karpenter answer."""

    name: str

    def ask(
        self, session: Session, later: Snapshot, waiting: Sequence[Pod], now: datetime, taken: Callable[[str], bool]
    ) -> Help:
        """What it does about pods without a node, once. Nodes that it adds are there when it is asked again."""

    def sizes(self, snapshot: Snapshot) -> Iterable[GroupSize]:
        """The groups that have grown since the beginning."""


@dataclass(frozen=True)
class _Coming:
    autoscaler: str
    node: NodeToCome
    time: float


@dataclass
class Scaler:
    """Autoscalers beside one scheduler process. Each adds nodes of its own for all pods that find none.

    ``later`` says how a session's cluster looks to the API server while some pods wait. New nodes come up after
    ``provision`` seconds; ``time`` is how many have passed.
    """

    autoscalers: Sequence[Autoscaler]
    later: Callable[[Session, Sequence[Pod]], Snapshot]
    now: datetime
    provision: float = PROVISION
    time: float = 0.0
    _came: list[_Coming] = field(default_factory=list)
    _why_not: dict[str, list[GroupRefusal]] = field(default_factory=dict)
    _chance: Chance | None = None

    def ask(self, session: Session, waiting: Sequence[Pod]) -> list[NodeToCome]:
        """The nodes that come for pods without one; they are not there yet."""
        later, now = self.later(session, waiting), self.now + timedelta(seconds=self.time)
        taken = set(session.cluster.columns.names)
        for pod in waiting:
            self._why_not[pod.key] = []
        found: list[NodeToCome] = []
        for autoscaler in self.autoscalers:
            answer = autoscaler.ask(session, later, waiting, now, taken.__contains__)
            taken.update(each.node.name for each in answer.nodes)
            found += answer.nodes
            self._came += [_Coming(autoscaler.name, each, self.time + self.provision) for each in answer.nodes]
            self._remember(autoscaler.name, answer)
        return found

    def _remember(self, autoscaler: str, answer: Help) -> None:
        for pod, why in answer.why_not.items():
            self._why_not[pod] += [
                GroupRefusal(autoscaler=autoscaler, group=group, reasons=tuple(reasons))
                for group, reasons in why.items()
            ]
        if answer.orders:
            self._chance = Chance(orders=answer.orders, plans=tuple(answer.plans), pods=tuple(answer.pods))

    def join(self, session: Session, nodes: Sequence[NodeToCome]) -> None:
        """The nodes are there from now on."""
        session.join(
            [each.node for each in nodes],
            [pod for each in nodes for pod in each.pods],
            [other for each in nodes for other in each.others],
        )

    def helps(self, session: Session, waiting: Sequence[Pod]) -> bool:
        """Whether nodes come for pods without one; if so they are there, and the time that takes is over."""
        nodes = self.ask(session, waiting)
        if nodes:
            self.time += self.provision
            self.join(session, nodes)
        return bool(nodes)

    def endless(self, session: Session) -> list[str]:
        """The groups that have grown and that nothing keeps from going on."""
        sizes = (each for autoscaler in self.autoscalers for each in autoscaler.sizes(session.snapshot))
        return [each.group for each in sizes if each.most is None and not each.limits]

    # --- in words

    def told(self, session: Session, homes: Mapping[str, str], unhelped: Iterable[str]) -> ScaleUp:
        """What was added, where pods (by ``namespace/name``) have their ``homes`` in the end and others are without."""
        of_node: dict[str, list[str]] = {}
        for pod, node in homes.items():
            of_node.setdefault(node, []).append(pod)
        nodes = tuple(self._node(each, of_node.get(each.node.node.name, ())) for each in self._came)
        costs = [each.cost for each in nodes]
        return ScaleUp(
            autoscalers=tuple(each.name for each in self.autoscalers),
            nodes=nodes,
            groups=tuple(self._groups(session.snapshot, nodes)),
            cost=_total(costs),
            unhelped=tuple(
                Unhelped(pod=pod, refusals=tuple(self._why_not[pod])) for pod in unhelped if self._why_not.get(pod)
            ),
            chance=self._chance,
        )

    @staticmethod
    def _node(coming: _Coming, pods: Sequence[str]) -> AddedNode:
        node, price = coming.node, coming.node.price
        return AddedNode(
            node=node.node.name,
            autoscaler=coming.autoscaler,
            group=node.group,
            time=coming.time,
            pods=tuple(pods),
            types=tuple(node.types),
            price=None if price is None else round(price, 6),
            cost=None if price is None else round(price * HOURS_A_MONTH, 2),
        )

    def _groups(self, snapshot: Snapshot, nodes: Sequence[AddedNode]) -> Iterator[GrownGroup]:
        for autoscaler in self.autoscalers:
            for each in autoscaler.sizes(snapshot):
                mine = (node for node in nodes if (node.autoscaler, node.group) == (autoscaler.name, each.group))
                yield GrownGroup(
                    autoscaler=autoscaler.name,
                    group=each.group,
                    size=each.size,
                    to=each.to,
                    max=each.most,
                    limits=each.limits,
                    full=each.full,
                    cost=_total([node.cost for node in mine]),
                )


def _total(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 2) if known and len(known) == len(costs) else None
