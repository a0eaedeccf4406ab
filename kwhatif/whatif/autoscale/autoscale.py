"""The scheduler first, then a loop of the autoscaler about what has no node, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_world import World
from kwhatif.autoscaling.cluster_autoscaler.expanders.least_waste import waste
from kwhatif.autoscaling.cluster_autoscaler.expanders.option import Choice
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroup
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import ScaleUp
from kwhatif.autoscaling.cluster_autoscaler.planner import ScaleDown
from kwhatif.autoscaling.cluster_autoscaler.similar_groups import Resize
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import Loop, StaticAutoscaler
from kwhatif.golang.duration import SECOND
from kwhatif.results.added_nodes import HOURS_A_MONTH, Chance
from kwhatif.results.autoscale import (
    AutoscaleResult,
    GroupState,
    Growth,
    GrowthOption,
    NodeOutlook,
    PodOutlook,
    QuietStep,
    Rejection,
)
from kwhatif.results.parts import Fidelity
from kwhatif.results.place import Placement
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.autoscale.ask_groups import chance
from kwhatif.whatif.autoscale.node_groups_document import KnownGroups, read_groups
from kwhatif.whatif.autoscale.until_quiet import until_quiet
from kwhatif.whatif.autoscale.world_of import moment_of, seen_at, world_of
from kwhatif.whatif.session import Asked, Session
from kwhatif.whatif.stages.notes import Notes


def autoscale(
    session: Session,
    placements: Sequence[Placement],
    asked: Sequence[Asked],
    known: KnownGroups,
    *,
    scale_down: bool = False,
    orders: int = 0,
    provision: int | None = None,
    now: datetime | None = None,
    fidelity: Fidelity,
) -> AutoscaleResult:
    """One loop, after the scheduler has placed what it could, as its ``placements`` say.

    ``orders`` more loops list nodes and pods in other orders, to find out what is left to chance. If nodes take
    ``provision`` seconds to come up, what follows is simulated until nothing more happens.
    """
    waiting = {each.pod for each in placements if each.outcome == "unschedulable"}
    pods = [item.pod for item in asked if item.pod.key in waiting]
    world = world_of(session, known, pods, now)
    loop = StaticAutoscaler().loop(world)
    orders = orders if waiting else 0
    plans, some = chance(world, loop, orders)
    costs = [_cost(each) for each in loop.scale_up.plan]
    steps: tuple[QuietStep, ...] = ()
    if provision is not None:
        steps = tuple(until_quiet(session, known, pods, seen_at(session.snapshot, now), provision=provision))
    return AutoscaleResult(
        result=loop.scale_up.result,
        expander=",".join(known.flags.expander),
        groups=tuple(_state(group, loop) for group in known.groups),
        options=tuple(_options(world, loop)),
        plan=tuple(
            Growth(group=each.group.name, size=each.size, to=each.to, max=each.group.most, cost=_cost(each))
            for each in loop.scale_up.plan
        ),
        cost=sum(cost for cost in costs if cost is not None) if costs and None not in costs else None,
        pods=tuple(_pods(placements, loop)),
        nodes=tuple(_nodes(world)) if scale_down else (),
        steps=steps,
        peak=max((step.nodes for step in steps), default=None),
        chance=Chance(orders=orders, plans=tuple(plans), pods=tuple(some)),
        fidelity=fidelity,
    )


def groups_of(path: str, snapshot: Snapshot, notes: Notes, now: datetime | None = None) -> KnownGroups:
    """The groups of a file. Warns of what it lacks, and of groups whose maximum nobody knows. Raises InputError."""
    known = read_groups(path, snapshot.objects.of(Node), moment_of(snapshot, now))
    warn_of(known, notes)
    return known


def warn_of(known: KnownGroups, notes: Notes) -> None:
    """What the groups lack."""
    if known.incomplete:
        notes.warn(f"{known.source}: {known.incomplete}")
    for name in known.unlimited:
        notes.warn(f"group {name}: nobody knows its maximum, so it does not grow")


def _cost(resize: Resize) -> float | None:
    price = resize.group.price
    return None if price is None else round((resize.to - resize.size) * price * HOURS_A_MONTH, 2)


def _state(group: NodeGroup, loop: Loop) -> GroupState:
    template = loop.templates.get(group.name)
    return GroupState(
        name=group.name,
        size=group.target,
        min=group.least,
        max=group.most,
        nodes=len(group.nodes),
        template="" if template is None else template.source,
        skipped="; ".join(loop.scale_up.skipped.get(group.name, ())),
        price=group.price,
    )


def _options(world: World, loop: Loop) -> Iterator[GrowthOption]:
    choice = Choice(world, loop.templates)
    for option in loop.scale_up.options:
        yield GrowthOption(
            group=option.group.name,
            nodes=option.nodes,
            pods=tuple(sorted(pod.key for pod in option.pods)),
            similar=tuple(sorted(group.name for group in option.similar)),
            waste=round(waste(option, choice), 4),
            chosen=option is loop.scale_up.chosen,
        )


# --- pods


def _pods(placements: Sequence[Placement], loop: Loop) -> Iterator[PodOutlook]:
    found = loop.scale_up
    group = "" if found.chosen is None else found.chosen.group.name
    triggered = {pod.key for pod in found.triggered} if found.plan else set()
    awaiting = {pod.key for pod in found.awaiting}
    for each in placements:
        if each.good and each.node:
            yield PodOutlook(pod=each.pod, outcome="placed", node=each.node)
        elif each.outcome != "unschedulable":
            yield PodOutlook(pod=each.pod, outcome="ignored", message=each.message)
        elif each.pod in loop.placed:
            yield PodOutlook(pod=each.pod, outcome="existing", node=loop.placed[each.pod])
        elif each.pod in triggered:
            yield PodOutlook(pod=each.pod, outcome="triggered", group=group)
        elif each.pod in awaiting or each.pod not in found.remaining:
            yield _left(each.pod, loop, helped=each.pod in awaiting)
        else:
            yield _helpless(each.pod, found)


def _left(pod: str, loop: Loop, *, helped: bool) -> PodOutlook:
    """A pod that waits for another loop, or that the autoscaler leaves to others."""
    if pod in loop.ignored:
        message = "cluster unhealthy" if not loop.healthy else "expendable, of a daemon set, or too new"
        return PodOutlook(pod=pod, outcome="ignored" if loop.healthy else "helpless", message=message)
    others = (option.group.name for option in loop.scale_up.options if any(pod == each.key for each in option.pods))
    group = next(others, "") if helped else ""
    return PodOutlook(pod=pod, outcome="awaiting", group=group)


def _helpless(pod: str, found: ScaleUp) -> PodOutlook:
    remaining = found.remaining[pod]
    rejections = [
        Rejection(group=group, plugin=status.plugin, reasons=status.reasons)
        for group, status in remaining.rejected.items()
    ]
    rejections += [Rejection(group=group, reasons=tuple(reasons)) for group, reasons in remaining.skipped.items()]
    return PodOutlook(pod=pod, outcome="helpless", message=found.why_not(pod), rejections=tuple(rejections))


# --- nodes


def _nodes(world: World) -> Iterator[NodeOutlook]:
    """A loop now, and one when all that is unneeded has been so for long enough."""
    autoscaler = StaticAutoscaler()
    first = autoscaler.loop(world, up=False, down=True).scale_down
    settings = [group.settings for group in world.groups]
    waits = [max(each.scale_down_unneeded_time, each.scale_down_unready_time) for each in settings]
    then = replace(world, now=world.now + max(waits, default=0) + SECOND)
    second = autoscaler.loop(then, up=False, down=True).scale_down
    for name in sorted(node.name for node in world.nodes):
        yield _node(world, name, first, second)


def _node(world: World, name: str, first: ScaleDown, second: ScaleDown) -> NodeOutlook:
    group = world.groups.of(name)
    if group is None or name not in first.candidates:
        reason = "NotAutoscaled" if group is None else "NodeGroupMinSizeReached"
        return NodeOutlook(
            node=name, group="" if group is None else group.name, unneeded=False, moves={}, reason=reason
        )
    removal, used = first.unneeded.get(name), first.utilization.get(name)
    later = second.unremovable.get(name)
    why = first.unremovable.get(name) if removal is None else later
    goes = any(name in part for part in second.removable or ())
    deleted = any(name in part for part in second.deleted or ())
    return NodeOutlook(
        node=name,
        group=group.name,
        unneeded=removal is not None,
        utilization=None if used is None else round(used.share, 4),
        resource="" if used is None else used.resource,
        moves={} if removal is None else dict(removal.moves),
        after=group.settings.scale_down_unneeded_time / SECOND if removal is not None and goes else None,
        first=deleted,
        reason="" if why is None or goes else why.reason,
        pod="" if why is None else why.pod,
        pod_reason="" if why is None else why.pod_reason,
    )
