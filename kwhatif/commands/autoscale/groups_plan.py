"""The plan of cluster-autoscaler after a scheduler run; and scheduler and autoscaler in turns until neither acts.

First the cluster grows as long as that helps. When no group helps any more, unneeded nodes are removed, and their pods
are recreated and placed. A node stays if its removal would leave a pod pending that is not now: the autoscaler would
remove it and bring it back forever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import (
    AutoscalingContext,
    NodeGroup,
    is_expendable,
)
from kwhatif.autoscaling.cluster_autoscaler.expanders import ExpanderContext, waste
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import FULL, ScaleUpInfo
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import ScaleUp as FoundScaleUp
from kwhatif.autoscaling.cluster_autoscaler.planner import ScaleDown
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import LoopResult, StaticAutoscaler
from kwhatif.commands.autoscale.result import (
    AutoscaleResult,
    GroupState,
    Growth,
    GrowthOption,
    NodeOutlook,
    PodOutlook,
    QuietStep,
    Rejection,
)
from kwhatif.golang.parsing import SECOND
from kwhatif.progress import report_progress
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import NodeCount
from kwhatif.results.place import HOURS_A_MONTH, Chance, Placement, ScaleUp
from kwhatif.simulation.autoscalers.node_groups import build_autoscaling_context, chance, moment_of, warn_of
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups, read_groups
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.conclusion import outcome_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.scale_down import GroupScaleDown, ShrinkingCluster
from kwhatif.snapshot.format.model import Snapshot

_MOST_ROUNDS = 100


def run_until_stable(grown: Run, groups: ConfiguredGroups, now: datetime) -> tuple[Run, list[QuietStep]]:
    """The state in which neither acts, and the steps of growth and shrinking to it.

    The cluster has ``grown`` already; ``groups`` are its groups by then.
    """
    steps = list(_growth(grown))
    time, pending = steps[-1].time, {pod.pod for pod in grown.pending}
    shrinking = ShrinkingCluster(grown.end, [pod for pod in grown.left if pod.key in pending])
    grew = grown.scale_up is not None and len(steps) > 1
    scale_down = GroupScaleDown(groups, now + timedelta(seconds=time), grew=grew)
    for done in range(_MOST_ROUNDS):
        report_progress("Removing unneeded nodes", "rounds", done)
        removal = scale_down.remove_together(shrinking)
        if removal is None:
            break
        time += removal.wait
        some = format_some(sorted(removal.nodes))
        what = f"{format_count(len(removal.nodes), 'node goes', 'nodes go')}: {some}"
        if not removal.gone:
            what = f"{some} would be removed and added again: their pods would wait"
        steps.append(
            QuietStep(time=time, what=what, nodes=len(shrinking.session.cluster), waiting=len(shrinking.waiting))
        )
        if not removal.gone:
            break
    removed = tuple(NodeCount(group=name, nodes=nodes) for name, nodes in sorted(scale_down.gone.items()))
    saved = _monthly_savings(scale_down.gone, groups)
    return replace(grown, after=shrinking.session, removed_nodes=removed, saved=saved), steps


def _monthly_savings(removed: Counter[str], groups: ConfiguredGroups) -> float | None:
    """What the nodes that have gone cost a month; None if a price is not known."""
    prices = {group.name: group.price for group in groups.groups}
    costs = [prices[name] for name in removed]
    return None if None in costs else sum((prices[name] or 0.0) * removed[name] * HOURS_A_MONTH for name in removed)


def _growth(grown: Run) -> Iterator[QuietStep]:
    """The steps of the growth, that of NodePools included where Karpenter was asked as well."""
    scale_up = grown.scale_up or ScaleUp(autoscalers=())
    added = scale_up.nodes
    cluster, waiting = grown.end.cluster, len(grown.pending)
    rests = grown.rests
    first = rests[0] if rests else None
    yield QuietStep(
        time=0,
        what="the scheduler is done",
        nodes=len(cluster) - len(added) if first is None else first.nodes,
        waiting=waiting if first is None else first.waiting,
    )
    sizes = {(group.autoscaler, group.group): group.size for group in scale_up.groups}
    begun = dict(sizes)
    nodes = len(cluster) - len(added)
    times = sorted({added_node.time for added_node in added})
    for number, time in enumerate(times):
        coming = Counter((added_node.autoscaler, added_node.group) for added_node in added if added_node.time == time)
        nodes += coming.total()
        for group, more in coming.items():
            sizes[group] += more
        until = times[number + 1] if number + 1 < len(times) else None
        after = [rest for rest in rests if rest.time >= time and (until is None or rest.time < until)]
        ordered = sorted(coming, key=lambda group: group[::-1])
        what = ", ".join(f"{group[1]} from {begun[group]} to {sizes[group]}" for group in ordered)
        begun = dict(sizes)
        yield QuietStep(
            time=int(time), what=f"new nodes: {what}", nodes=nodes, waiting=after[-1].waiting if after else waiting
        )


def plan_node_groups(
    run: Run,
    grown: Run,
    groups: ConfiguredGroups,
    *,
    scale_down: bool = False,
    orders: int = 0,
    quiet: tuple[Run, Sequence[QuietStep]] | None = None,
    now: datetime | None = None,
    fidelity: Fidelity,
) -> AutoscaleResult:
    """One loop after a ``run`` of the scheduler; the outcome is that of growth alone, from ``grown``, and the ``quiet``
    state, if requested.

    ``orders`` more loops list nodes and pods in other orders, to find out what is left to chance.
    """
    session = run.end
    placements = [placement for placement in (*run.placements, *run.replacements) if placement.outcome != "preempted"]
    waiting = {placement.pod for placement in placements if placement.outcome == "unschedulable"}
    pods = [pod for pod in run.left if pod.key in waiting]
    world = build_autoscaling_context(session, groups, pods, now)
    loop = StaticAutoscaler().loop(world)
    orders = orders if waiting else 0
    plans, some = chance(world, loop, orders)
    resizes = loop.resizes()
    ended, steps = quiet or (grown, ())
    grown_groups = () if ended.scale_up is None else ended.scale_up.groups
    plan = ", ".join(f"{grown_group.group} from {grown_group.size} to {grown_group.to}" for grown_group in grown_groups)
    nodes = tuple(_nodes(world)) if scale_down else ()
    gone = Counter(node.group for node in nodes if node.unneeded and node.after is not None)
    saved = _monthly_savings(gone, groups) if gone else None
    unneeded = (
        f"; {sum(node.unneeded for node in nodes)} of {format_count(len(nodes), 'node')} unneeded" if nodes else ""
    )
    unneeded += "" if saved is None else f"; {saved:,.2f} less a month"
    text = f"cluster-autoscaler grows {plan or 'no group'}{unneeded}"
    return AutoscaleResult(
        outcome=outcome_of(ended, fidelity, text),
        result=loop.scale_up.result,
        expander=",".join(groups.flags.expander),
        groups=tuple(_state(group, loop) for group in groups.groups),
        options=tuple(_options(world, loop)),
        plan=tuple(
            Growth(
                group=resize.group.name,
                size=resize.current_size,
                to=resize.new_size,
                max=resize.group.max_size,
                cost=_cost(resize),
            )
            for resize in resizes
        ),
        scale_up=ended.scale_up,
        cost=ended.scale_up.cost if ended.scale_up is not None and ended.scale_up.nodes else None,
        pods=tuple(_pods(placements, loop)),
        nodes=nodes,
        uncounted=tuple(_pods_left_out(world)) if nodes else (),
        saved=saved,
        steps=tuple(steps),
        peak=max((step.nodes for step in steps), default=None),
        chance=Chance(orders=orders, plans=tuple(plans), pods=tuple(some)),
        fidelity=fidelity,
    )


def groups_of(path: str, snapshot: Snapshot, notes: Notes, now: datetime | None = None) -> ConfiguredGroups:
    """The groups of a file. Warns of missing properties, and of groups whose maximum is unknown. Raises InputError."""
    known = read_groups(path, snapshot.objects.list_all(Node), moment_of(snapshot, now))
    warn_of(known, notes)
    return known


def _cost(resize: ScaleUpInfo) -> float | None:
    price = resize.group.price
    return None if price is None else round((resize.new_size - resize.current_size) * price * HOURS_A_MONTH, 2)


def _state(group: NodeGroup, loop: LoopResult) -> GroupState:
    template = loop.templates.get(group.name)
    return GroupState(
        name=group.name,
        size=group.target,
        min=group.min_size,
        max=group.max_size,
        nodes=len(group.nodes),
        template="" if template is None else template.source,
        skipped="; ".join(loop.scale_up.skipped.get(group.name, ())),
        price=group.price,
    )


def _options(world: AutoscalingContext, loop: LoopResult) -> Iterator[GrowthOption]:
    choice = ExpanderContext(world, loop.templates)
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


def _pods(placements: Sequence[Placement], loop: LoopResult) -> Iterator[PodOutlook]:
    scale_up = loop.scale_up
    group = "" if scale_up.chosen is None else scale_up.chosen.group.name
    triggered = {pod.key for pod in scale_up.triggered} if scale_up.plan else set()
    awaiting = {pod.key for pod in scale_up.await_evaluation}
    for placement in placements:
        if placement.good and placement.node:
            yield PodOutlook(pod=placement.pod, outcome="placed", node=placement.node)
        elif placement.outcome != "unschedulable":
            yield PodOutlook(pod=placement.pod, outcome="ignored", message=placement.message)
        elif placement.pod in loop.placed:
            yield PodOutlook(pod=placement.pod, outcome="existing", node=loop.placed[placement.pod])
        elif placement.pod in triggered:
            yield PodOutlook(pod=placement.pod, outcome="triggered", group=group)
        elif placement.pod in loop.overlooked:
            yield PodOutlook(pod=placement.pod, outcome="helpless", message=loop.overlooked[placement.pod])
        elif placement.pod in awaiting or placement.pod not in scale_up.remain_unschedulable:
            yield _left(placement.pod, loop, helped=placement.pod in awaiting)
        else:
            yield _helpless(placement.pod, scale_up)


def _left(pod: str, loop: LoopResult, *, helped: bool) -> PodOutlook:
    """A pod that waits for another loop, or that the autoscaler ignores."""
    if pod in loop.ignored:
        return PodOutlook(pod=pod, outcome="ignored" if loop.healthy else "helpless", message=loop.ignored[pod])
    scale_up = loop.scale_up
    full = [info.group.name for info in scale_up.plan if info.new_size >= info.group.max_size]
    others = (
        option.group.name
        for option in scale_up.options
        if option.group.name not in full and any(pod == pod_info.key for pod_info in option.pods)
    )
    group = next(others, "")
    if full and not (helped or group) and len(full) == len(scale_up.plan):
        # The next loop skips these groups, as they have all the nodes that they may.
        rejections = tuple(Rejection(group=name, reasons=(FULL,)) for name in full)
        return PodOutlook(pod=pod, outcome="helpless", message=f"{len(full)} {FULL}", rejections=rejections)
    return PodOutlook(pod=pod, outcome="awaiting", group=group if helped else "")


def _helpless(pod: str, scale_up: FoundScaleUp) -> PodOutlook:
    remaining = scale_up.remain_unschedulable[pod]
    rejections = [
        Rejection(group=group, plugin=status.plugin, reasons=status.reasons)
        for group, status in remaining.rejected.items()
    ]
    rejections += [Rejection(group=group, reasons=tuple(reasons)) for group, reasons in remaining.skipped.items()]
    return PodOutlook(pod=pod, outcome="helpless", message=scale_up.why_not(pod), rejections=tuple(rejections))


# --- nodes


def _nodes(world: AutoscalingContext) -> Iterator[NodeOutlook]:
    """One loop now, and one when all unneeded nodes have been so for long enough."""
    autoscaler = StaticAutoscaler()
    first = autoscaler.loop(world, up=False, down=True).scale_down
    settings = [group.settings for group in world.groups]
    waits = [max(setting.scale_down_unneeded_time, setting.scale_down_unready_time) for setting in settings]
    then = replace(world, now=world.now + max(waits, default=0) + SECOND)
    second = autoscaler.loop(then, up=False, down=True).scale_down
    for name in sorted(node.name for node in world.nodes):
        yield _node(world, name, first, second)


def _pods_left_out(world: AutoscalingContext) -> Iterator[str]:
    """The pods that the utilization of nodes leaves out."""
    if any(group.settings.ignore_daemonsets_utilization for group in world.groups):
        yield "pods of DaemonSets (ignore-daemonsets-utilization)"
    if world.flags.ignore_mirror_pods_utilization:
        yield "static pods (ignore-mirror-pods-utilization)"
    expendable = sum(is_expendable(info.pod, world.flags) for info, _ in world.cluster.pods())
    if expendable:
        cutoff = world.flags.expendable_pods_priority_cutoff
        yield f"{format_count(expendable, 'pod')} of a priority below {cutoff} (expendable-pods-priority-cutoff)"


def _node(world: AutoscalingContext, name: str, first: ScaleDown, second: ScaleDown) -> NodeOutlook:
    group = world.groups.group_of(name)
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
