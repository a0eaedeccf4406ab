"""Scheduler and autoscaler in turns, in simulated time, until neither has anything to do.

New nodes come up after a while; then the scheduler places what waits. When nobody waits for a node any more that the
autoscaler could add, unneeded nodes go, and their pods are made again and placed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from msgspec import structs

from kwhatif.api.core import Node, Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_world import World, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.node_group import NodeGroups
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from kwhatif.golang.duration import SECOND
from kwhatif.progress import reached
from kwhatif.results.amounts import counted, some
from kwhatif.results.autoscale import QuietStep
from kwhatif.whatif.autoscale.ask_groups import ByGroups
from kwhatif.whatif.autoscale.node_groups_document import KnownGroups
from kwhatif.whatif.autoscale.world_of import world_of
from kwhatif.whatif.place.placing import Run
from kwhatif.whatif.session import Asked, Session

_MOST_ROUNDS = 100
_AFTER_SCALE_UP = 600
"""Seconds for which the autoscaler removes nothing after it has added nodes (``scale-down-delay-after-add``)."""


@dataclass(slots=True)
class _State:
    """How things stand after ``time`` seconds: ``waiting`` are the pods without a node.

    The last nodes were asked for at ``grown``.
    """

    session: Session
    known: KnownGroups
    waiting: list[Pod]
    now: datetime
    time: int = 0
    grown: int | None = None

    def step(self, what: str) -> QuietStep:
        return QuietStep(time=self.time, what=what, nodes=len(self.session.cluster), waiting=len(self.waiting))

    def world(self) -> World:
        return world_of(self.session, self.known, self.waiting, self.now + timedelta(seconds=self.time))


def until_quiet(
    session: Session, known: KnownGroups, waiting: Sequence[Pod], now: datetime, *, provision: int
) -> Iterator[QuietStep]:
    """What happens one after the other, from when the scheduler has given up on ``waiting`` pods.

    Nodes come up ``provision`` seconds after they are asked for.
    """
    state = _State(session.apart(), known, list(waiting), now)
    yield state.step("the scheduler is done")
    for done in range(_MOST_ROUNDS):
        reached("Taking turns", "rounds", done)
        grown = yield from _scale_up(state, provision)
        if not grown and not (yield from _scale_down(state)):
            return


def _scale_up(state: _State, provision: int) -> Generator[QuietStep, None, bool]:
    """Ask for nodes, wait for them, and let the scheduler use them; False if no group grows."""
    if not state.waiting:
        return False
    session, asked = state.session, ByGroups(state.known)
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
    autoscaler, world = StaticAutoscaler(), state.world()
    wait = max((group.settings.scale_down_unneeded_time for group in world.groups), default=0) // SECOND + 1
    if state.grown is not None:
        wait = max(wait, state.grown + _AFTER_SCALE_UP - state.time)
    autoscaler.loop(world, up=False, down=True)
    later = replace(world, now=world.now + wait * SECOND)
    found = autoscaler.loop(later, up=False, down=True).scale_down
    going = {name for part in found.deleted or () for name in part}
    if not going:
        return False
    state.time += wait
    cluster = state.session.cluster
    leaving = [info.pod for info, row in cluster.pods() if cluster.columns.names[row] in going]
    state.waiting += [pod for pod in leaving if not pod.is_mirror and not is_of_daemon_set(pod)]
    groups = [
        replace(
            group,
            target=group.target - len(going.intersection(group.nodes)),
            nodes=tuple(name for name in group.nodes if name not in going),
        )
        for group in state.known.groups
    ]
    state.known = replace(state.known, groups=NodeGroups(groups))
    staying = [pod for pod in _bound(state.session) if pod.spec.node_name not in going]
    _go_on(state, [node for node in cluster.columns.given if node.name not in going], staying)
    yield state.step(f"{counted(len(going), 'node goes', 'nodes go')}: {some(sorted(going))}")
    return True


def _bound(session: Session) -> list[Pod]:
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
    state.session = state.session.anew(snapshot)
    _place(state)


def _place(state: _State) -> None:
    run = Run(state.session)
    run.all_of([Asked(pod) for pod in state.waiting])
    homes = run.homes()
    state.waiting = [pod for pod in state.waiting if pod.key not in homes]
    state.waiting += [victim.pod for victim in run.evicted if state.session.cluster.find(victim.uid) is None]
