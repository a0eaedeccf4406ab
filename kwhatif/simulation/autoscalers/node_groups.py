"""cluster-autoscaler in the loop: its view of a session's cluster, one loop for pods without a node, and the nodes that
it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from random import Random

from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, Pod
from kwhatif.api.times import parse_time
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroups
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from kwhatif.autoscaling.cluster_autoscaler.node_template import TEMPLATE_MARK, NodeTemplate
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import ScaleUpInfo
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import LoopResult, StaticAutoscaler
from kwhatif.autoscaling.upcoming_nodes import AutoscalerPlan, UpcomingNode
from kwhatif.bounds import make_nodes
from kwhatif.clock import read_clock
from kwhatif.progress import track
from kwhatif.results.place import GrownGroup
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.node_pools import zone_of
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot

_WAITS = Condition(type="PodScheduled", status="False", reason="Unschedulable")


def build_autoscaling_context(
    session: Session,
    configured: ConfiguredGroups,
    waiting: Sequence[Pod],
    now: datetime | None = None,
    later: Snapshot | None = None,
) -> AutoscalingContext:
    """The autoscaler's view of a session's cluster, once the scheduler has given up on the waiting pods.

    ``later`` is the cluster at that time, if it may have more controllers than the session began with.
    """
    snapshot = later or session.snapshot
    scheduler = session.driver.scheduler(session.setup.configuration.profiles[0].scheduler_name)
    assert scheduler is not None
    return AutoscalingContext(
        now=moment_of(snapshot, now),
        cluster=session.cluster,
        pending=[_given_up(pod) for pod in waiting],
        groups=configured.groups,
        flags=configured.flags,
        framework=scheduler.framework.filters_only(),
        daemon_sets=snapshot.whole.get("DaemonSet", ()),
        jobs=snapshot.whole.get("Job", ()),
        gpu_label=configured.gpu_label,
        prices=configured.prices,
        priorities=configured.priorities,
    )


def observation_time_of(snapshot: Snapshot, now: datetime | None) -> datetime:
    """The time of observation: the given one, else that of the snapshot, else now."""
    return now or (parse_time(snapshot.taken_at) if snapshot.taken_at else read_clock())


def moment_of(snapshot: Snapshot, now: datetime | None) -> int:
    """The same in the autoscaler's unit."""
    return moment(observation_time_of(snapshot, now).astimezone(UTC).isoformat().replace("+00:00", "Z"))


def _given_up(pod: Pod) -> Pod:
    others = [condition for condition in pod.status.conditions or () if condition.type != "PodScheduled"]
    status = structs.replace(pod.status, conditions=[*others, _WAITS])
    return structs.replace(pod, status=status)


class GroupAutoscaler:
    """cluster-autoscaler with its node groups, which grow with each call. The first time, ``orders`` more loops list
    nodes and pods in other orders, to find out what is left to chance.
    """

    name = "cluster-autoscaler"

    def __init__(self, configured: ConfiguredGroups, orders: int = 0) -> None:
        self.known = configured
        self._orders = orders
        self._sizes = {group.name: group.target for group in configured.groups}

    def ask(
        self, session: Session, later: Snapshot, waiting: Sequence[Pod], now: datetime, is_taken: Callable[[str], bool]
    ) -> AutoscalerPlan:
        """The plan of one loop; new nodes get names for which ``is_taken`` is false."""
        world = build_autoscaling_context(session, self.known, waiting, now, later)
        loop = StaticAutoscaler().loop(world)
        resizes = loop.resizes()
        make_nodes(sum(resize.new_size - resize.current_size for resize in resizes))
        nodes = [node for resize in resizes for node in _iter_new_nodes(resize, loop, is_taken)]
        names: dict[str, list[str]] = {}
        for node in nodes:
            names.setdefault(node.group, []).append(node.node.name)
        grown = [
            replace(group, target=group.target + len(names[group.name]), nodes=(*group.nodes, *names[group.name]))
            if group.name in names
            else group
            for group in self.known.groups
        ]
        self.known = replace(self.known, groups=NodeGroups(grown))
        orders, self._orders = self._orders, 0
        plans, pods = chance(world, loop, orders)
        return AutoscalerPlan(
            nodes, {pod.key: why for pod in waiting if (why := _why_not(pod.key, loop, world))}, orders, plans, pods
        )

    def sizes(self, snapshot: Snapshot) -> Iterator[GrownGroup]:
        """The groups that have grown."""
        for group in self.known.groups:
            size = self._sizes[group.name]
            if group.target != size:
                yield GrownGroup(
                    autoscaler=self.name,
                    group=group.name,
                    size=size,
                    to=group.target,
                    max=group.max_size,
                    full=group.target >= group.max_size,
                )

    def unknown(self, *, unhelped: bool) -> Iterator[str]:
        """Nothing: missing properties of groups are reported when they are read."""
        yield from ()


def chance(world: AutoscalingContext, loop: LoopResult, orders: int) -> tuple[list[str], list[str]]:
    """Other plans under other orders of nodes and pods, and pods that are helped in some order only."""
    if not orders:
        return [], []
    loops = [
        loop,
        *(StaticAutoscaler(Random(seed)).loop(world) for seed in track(range(orders), "Trying", "other orders")),
    ]
    plans = {_plan(loop_result) for loop_result in loops} - {_plan(loop)}
    helped = [_find_helped_pods(loop_result) for loop_result in loops]
    return sorted(plans), sorted(set().union(*helped) - helped[0].intersection(*helped[1:]))


def _plan(loop: LoopResult) -> str:
    """``general 3->5, gpu 0->1``; ``nothing``."""
    plan = sorted(loop.resizes(), key=lambda info: info.group.name)
    return ", ".join(f"{info.group.name} {info.current_size}->{info.new_size}" for info in plan) or "nothing"


def _find_helped_pods(loop: LoopResult) -> set[str]:
    """The pods that will run after this loop."""
    return {*loop.placed, *(pod.key for pod in loop.scale_up.triggered if loop.scale_up.plan)}


def _iter_new_nodes(resize: ScaleUpInfo, loop: LoopResult, is_taken: Callable[[str], bool]) -> Iterator[UpcomingNode]:
    """The nodes that a group gets."""
    group, number = resize.group, resize.current_size
    for _ in range(resize.current_size, resize.new_size):
        number += 1
        while is_taken(f"{group.name}-new-{number}"):
            number += 1
        yield _node(f"{group.name}-new-{number}", group.name, loop.templates[group.name], group.price)


def _node(name: str, group: str, template: NodeTemplate, price: float | None) -> UpcomingNode:
    """A node made of a template, with the pods that it brings."""
    node, infos = template.fresh(name)
    labels = {key: value for key, value in (node.metadata.labels or {}).items() if key != TEMPLATE_MARK}
    node = structs.replace(node, metadata=structs.replace(node.metadata, labels=labels, uid=name))
    return UpcomingNode(
        group, node, [_bind_copy(node, info.pod, number) for number, info in enumerate(infos)], price=price
    )


def _bind_copy(node: Node, pod: Pod, number: int) -> Pod:
    name = f"{pod.name}-{node.name}-{number}"
    meta = structs.replace(pod.metadata, name=name, uid=f"{node.name}/{pod.namespace}/{name}")
    return structs.replace(pod, metadata=meta, spec=structs.replace(pod.spec, node_name=node.name))


def _why_not(pod: str, loop: LoopResult, world: AutoscalingContext) -> dict[str, Sequence[str]]:
    """Why no group helps a pod; None if one does, or will in a later loop."""
    scale_up = loop.scale_up
    if pod in loop.placed:
        room = world.describe_room(loop.placed[pod])
        return {"": [f"it is expected to fit on {loop.placed[pod]}{f', where {room}' if room else ''}"]}
    if (why_not := loop.ignored.get(pod) or loop.overlooked.get(pod)) is not None:
        return {"": [why_not]}
    if pod not in scale_up.remain_unschedulable:
        return {}
    remaining = scale_up.remain_unschedulable[pod]
    why: dict[str, Sequence[str]] = {
        group: status.reasons or [status.plugin] for group, status in remaining.rejected.items()
    }
    return {**why, **remaining.skipped} or {"": [scale_up.why_not(pod) or scale_up.error or scale_up.result]}


def groups_without(configured: ConfiguredGroups, nodes: Collection[str], zone: str = "") -> ConfiguredGroups:
    """The groups once these nodes are gone, and nobody asks the cloud for them any more; where a whole ``zone`` is,
    without those that would make new nodes there.
    """
    left = []
    for group in configured.groups:
        staying = tuple(name for name in group.nodes if name not in nodes)
        template = group.template
        if zone and template is not None and zone_of(template) == zone:
            continue
        left.append(replace(group, nodes=staying, target=group.target - (len(group.nodes) - len(staying))))
    return replace(configured, groups=NodeGroups(left))


def warn_of(configured: ConfiguredGroups, notes: Notes) -> None:
    """Warnings about missing properties of the groups."""
    if configured.incomplete:
        notes.warn(f"{configured.source}: {configured.incomplete}")
    for name in configured.unlimited:
        notes.warn(f"group {name}: its maximum is unknown, so it does not grow")
