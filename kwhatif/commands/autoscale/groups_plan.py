"""The scheduler first, then a loop of the autoscaler about what has no node, in words and numbers.

Scheduler and autoscaler in turns, in simulated time, until neither has anything to do.

New nodes come up after a while; then the scheduler places what waits. When nobody waits for a node any more that the
autoscaler could add, unneeded nodes go, and their pods are made again and placed.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from msgspec import structs

from kwhatif.api.core import Node, Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import (
    AutoscalingContext,
    NodeGroup,
    NodeGroups,
    is_of_daemon_set,
)
from kwhatif.autoscaling.cluster_autoscaler.expanders.least_waste import waste
from kwhatif.autoscaling.cluster_autoscaler.expanders.option import ExpanderContext
from kwhatif.autoscaling.cluster_autoscaler.orchestrator import Resize, ScaleUp
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
from kwhatif.results.place import HOURS_A_MONTH, Chance, Placement
from kwhatif.simulation.autoscalers.node_groups import (
    GroupAutoscaler,
    build_autoscaling_context,
    chance,
    moment_of,
    observation_time_of,
    warn_of,
)
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups, read_groups
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot

_MOST_ROUNDS = 100


@dataclass(slots=True)
class _State:
    """How things stand after ``time`` seconds: ``waiting`` are the pods without a node.

    The last nodes were asked for at ``grown``.
    """

    session: Session
    known: ConfiguredGroups
    waiting: list[Pod]
    now: datetime
    time: int = 0
    grown: int | None = None

    def step(self, what: str) -> QuietStep:
        return QuietStep(time=self.time, what=what, nodes=len(self.session.cluster), waiting=len(self.waiting))

    def world(self) -> AutoscalingContext:
        return build_autoscaling_context(
            self.session, self.known, self.waiting, self.now + timedelta(seconds=self.time)
        )


def run_until_stable(
    session: Session, known: ConfiguredGroups, waiting: Sequence[Pod], now: datetime, *, provision: int
) -> Iterator[QuietStep]:
    """What happens one after the other, from when the scheduler has given up on ``waiting`` pods.

    Nodes come up ``provision`` seconds after they are asked for.
    """
    state = _State(session.sandbox(), known, list(waiting), now)
    yield state.step("the scheduler is done")
    for done in range(_MOST_ROUNDS):
        report_progress("Taking turns", "rounds", done)
        grown = yield from _scale_up(state, provision)
        if not grown and not (yield from _scale_down(state)):
            return


def _scale_up(state: _State, provision: int) -> Generator[QuietStep, None, bool]:
    """Ask for nodes, wait for them, and let the scheduler use them; False if no group grows."""
    if not state.waiting:
        return False
    session, asked = state.session, GroupAutoscaler(state.known)
    now, taken = state.now + timedelta(seconds=state.time), set(session.cluster.columns.names)
    nodes = asked.ask(session, session.snapshot, state.waiting, now, taken.__contains__).nodes
    if not nodes:
        return False
    state.grown = state.time
    state.time += provision
    state.known = asked.known
    session.join([each.node for each in nodes], [pod for each in nodes for pod in each.pods])
    _place(state)
    what = ", ".join(f"{each.group} from {each.size} to {each.to}" for each in asked.sizes(session.snapshot))
    yield state.step(f"new nodes: {what}")
    return True


def _scale_down(state: _State) -> Generator[QuietStep, None, bool]:
    """Unneeded nodes go, as many as go at once; False if none does."""
    world = state.world()
    wait = unneeded_wait(world)
    if state.grown is not None:
        wait = max(wait, state.grown + state.known.flags.scale_down_delay_after_add // SECOND - state.time)
    going = removed_together(world, wait)
    if not going:
        return False
    state.time += wait
    cluster = state.session.cluster
    leaving = [info.pod for info, row in cluster.pods() if cluster.columns.names[row] in going]
    state.waiting += [pod for pod in leaving if not pod.is_mirror and not is_of_daemon_set(pod)]
    state.known = without_nodes(state.known, going)
    staying = [pod for pod in bound_pods(state.session) if pod.spec.node_name not in going]
    _go_on(state, [node for node in cluster.columns.given if node.name not in going], staying)
    yield state.step(f"{format_count(len(going), 'node goes', 'nodes go')}: {format_some(sorted(going))}")
    return True


def unneeded_wait(world: AutoscalingContext) -> int:
    """For so many seconds nodes have to be unneeded before any of them goes."""
    return max((group.settings.scale_down_unneeded_time for group in world.groups), default=0) // SECOND + 1


def removed_together(world: AutoscalingContext, wait: int) -> set[str]:
    """The nodes that go in one loop, once all that are unneeded have been so for ``wait`` seconds."""
    autoscaler = StaticAutoscaler()
    autoscaler.loop(world, up=False, down=True)
    later = replace(world, now=world.now + wait * SECOND)
    found = autoscaler.loop(later, up=False, down=True).scale_down
    return {name for part in found.deleted or () for name in part}


def without_nodes(known: ConfiguredGroups, going: Collection[str]) -> ConfiguredGroups:
    """The groups once these nodes are gone."""
    groups = [
        replace(
            group,
            target=group.target - len(set(going).intersection(group.nodes)),
            nodes=tuple(name for name in group.nodes if name not in going),
        )
        for group in known.groups
    ]
    return replace(known, groups=NodeGroups(groups))


def bound_pods(session: Session) -> list[Pod]:
    """The pods that run, with their nodes."""
    names = session.cluster.columns.names
    return [
        structs.replace(info.pod, spec=structs.replace(info.pod.spec, node_name=names[row]))
        for info, row in session.cluster.pods()
    ]


def _go_on(state: _State, nodes: Sequence[Node], pods: Sequence[Pod]) -> None:
    """The cluster has these nodes and pods from now on, and the scheduler places what waits."""
    snapshot = state.session.snapshot.copy()
    snapshot.objects.put(Node, nodes)
    snapshot.objects.put(Pod, pods)
    state.session = state.session.with_snapshot(snapshot)
    _place(state)


def _place(state: _State) -> None:
    run = PlacementRun(state.session)
    run.schedule_all([PodToSchedule(pod) for pod in state.waiting])
    homes = run.homes()
    state.waiting = [pod for pod in state.waiting if pod.key not in homes]
    state.waiting += [victim.pod for victim in run.evicted if state.session.cluster.find(victim.uid) is None]


def plan_node_groups(
    session: Session,
    placements: Sequence[Placement],
    asked: Sequence[PodToSchedule],
    known: ConfiguredGroups,
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
    world = build_autoscaling_context(session, known, pods, now)
    loop = StaticAutoscaler().loop(world)
    orders = orders if waiting else 0
    plans, some = chance(world, loop, orders)
    costs = [_cost(each) for each in loop.scale_up.plan]
    steps: tuple[QuietStep, ...] = ()
    if provision is not None:
        steps = tuple(
            run_until_stable(session, known, pods, observation_time_of(session.snapshot, now), provision=provision)
        )
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


def groups_of(path: str, snapshot: Snapshot, notes: Notes, now: datetime | None = None) -> ConfiguredGroups:
    """The groups of a file. Warns of what it lacks, and of groups whose maximum is unknown. Raises InputError."""
    known = read_groups(path, snapshot.objects.list_all(Node), moment_of(snapshot, now))
    warn_of(known, notes)
    return known


def _cost(resize: Resize) -> float | None:
    price = resize.group.price
    return None if price is None else round((resize.to - resize.size) * price * HOURS_A_MONTH, 2)


def _state(group: NodeGroup, loop: LoopResult) -> GroupState:
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


def _left(pod: str, loop: LoopResult, *, helped: bool) -> PodOutlook:
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


def _nodes(world: AutoscalingContext) -> Iterator[NodeOutlook]:
    """A loop now, and one when all that is unneeded has been so for long enough."""
    autoscaler = StaticAutoscaler()
    first = autoscaler.loop(world, up=False, down=True).scale_down
    settings = [group.settings for group in world.groups]
    waits = [max(each.scale_down_unneeded_time, each.scale_down_unready_time) for each in settings]
    then = replace(world, now=world.now + max(waits, default=0) + SECOND)
    second = autoscaler.loop(then, up=False, down=True).scale_down
    for name in sorted(node.name for node in world.nodes):
        yield _node(world, name, first, second)


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
