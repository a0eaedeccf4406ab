"""What cluster-autoscaler does about pods without a node: one loop of it, and the nodes that its plan leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random

from msgspec import structs

from kwhatif.api.core import Node, Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_world import World
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroups
from kwhatif.autoscaling.cluster_autoscaler.node_template import TEMPLATE_MARK, NodeTemplate
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import ScaleUp
from kwhatif.autoscaling.cluster_autoscaler.similar_groups import Resize
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import Loop, StaticAutoscaler
from kwhatif.autoscaling.nodes_to_come import GroupSize, Help, NodeToCome
from kwhatif.progress import tracked
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.autoscale.node_groups_document import KnownGroups
from kwhatif.whatif.autoscale.world_of import world_of
from kwhatif.whatif.session import Session


class ByGroups:
    """cluster-autoscaler with its node groups, which grow as it is asked. The first time, ``orders`` more loops list
    nodes and pods in other orders, to find out what is left to chance.
    """

    name = "cluster-autoscaler"

    def __init__(self, known: KnownGroups, orders: int = 0) -> None:
        self.known = known
        self._orders = orders
        self._sizes = {group.name: group.target for group in known.groups}

    def ask(
        self, session: Session, later: Snapshot, waiting: Sequence[Pod], now: datetime, taken: Callable[[str], bool]
    ) -> Help:
        """What comes of one loop; the nodes get names that are not ``taken``."""
        world = world_of(session, self.known, waiting, now, later)
        loop = StaticAutoscaler().loop(world)
        nodes = [node for resize in loop.scale_up.plan for node in _made(resize, loop, taken)]
        names: dict[str, list[str]] = {}
        for each in nodes:
            names.setdefault(each.group, []).append(each.node.name)
        grown = [
            replace(group, target=group.target + len(names[group.name]), nodes=(*group.nodes, *names[group.name]))
            if group.name in names
            else group
            for group in self.known.groups
        ]
        self.known = replace(self.known, groups=NodeGroups(grown))
        orders, self._orders = self._orders, 0
        plans, pods = chance(world, loop, orders)
        return Help(nodes, {pod.key: why for pod in waiting if (why := _why_not(pod.key, loop))}, orders, plans, pods)

    def sizes(self, snapshot: Snapshot) -> Iterator[GroupSize]:
        """The groups that have grown."""
        for group in self.known.groups:
            size = self._sizes[group.name]
            if group.target != size:
                yield GroupSize(group.name, size, group.target, group.most, full=group.target >= group.most)


def chance(world: World, loop: Loop, orders: int) -> tuple[list[str], list[str]]:
    """Other plans that other orders of nodes and pods lead to, and pods that are helped in some order only."""
    if not orders:
        return [], []
    loops = [
        loop,
        *(StaticAutoscaler(Random(seed)).loop(world) for seed in tracked(range(orders), "Trying", "other orders")),
    ]
    plans = {_plan(each.scale_up) for each in loops} - {_plan(loop.scale_up)}
    helped = [_helped(each) for each in loops]
    return sorted(plans), sorted(set().union(*helped) - helped[0].intersection(*helped[1:]))


def _plan(scale_up: ScaleUp) -> str:
    """``general 3->5, gpu 0->1``; ``nothing``."""
    plan = sorted(scale_up.plan, key=lambda each: each.group.name)
    return ", ".join(f"{each.group.name} {each.size}->{each.to}" for each in plan) or "nothing"


def _helped(loop: Loop) -> set[str]:
    """The pods that will run after this loop."""
    return {*loop.placed, *(pod.key for pod in loop.scale_up.triggered if loop.scale_up.plan)}


def _made(resize: Resize, loop: Loop, taken: Callable[[str], bool]) -> Iterator[NodeToCome]:
    """The nodes that a group gets."""
    group, number = resize.group, resize.size
    for _ in range(resize.size, resize.to):
        number += 1
        while taken(f"{group.name}-new-{number}"):
            number += 1
        yield _node(f"{group.name}-new-{number}", group.name, loop.templates[group.name], group.price)


def _node(name: str, group: str, template: NodeTemplate, price: float | None) -> NodeToCome:
    """A node made of a template, with the pods that it brings."""
    node, infos = template.fresh(name)
    labels = {key: value for key, value in (node.metadata.labels or {}).items() if key != TEMPLATE_MARK}
    node = structs.replace(node, metadata=structs.replace(node.metadata, labels=labels, uid=name))
    return NodeToCome(group, node, [_on(node, info.pod, number) for number, info in enumerate(infos)], price=price)


def _on(node: Node, pod: Pod, number: int) -> Pod:
    name = f"{pod.name}-{node.name}-{number}"
    meta = structs.replace(pod.metadata, name=name, uid=f"{node.name}/{pod.namespace}/{name}")
    return structs.replace(pod, metadata=meta, spec=structs.replace(pod.spec, node_name=node.name))


def _why_not(pod: str, loop: Loop) -> dict[str, Sequence[str]]:
    """What keeps each group from helping a pod; nothing if one does, or will in a later loop."""
    found = loop.scale_up
    if pod in loop.placed:
        return {"": [f"it is expected to fit on {loop.placed[pod]}"]}
    if pod in loop.ignored:
        return {"": ["expendable, of a daemon set, or too new" if loop.healthy else "cluster unhealthy"]}
    if pod not in found.remaining:
        return {}
    remaining = found.remaining[pod]
    why: dict[str, Sequence[str]] = {
        group: status.reasons or [status.plugin] for group, status in remaining.rejected.items()
    }
    return {**why, **remaining.skipped} or {"": [found.why_not(pod) or found.error or found.result]}
