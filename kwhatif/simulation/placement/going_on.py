"""What follows from a run that goes its own way: from how it left the cluster, everything else is settled."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outcome import Cause
from kwhatif.results.place import Placement
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.movers import would_move
from kwhatif.simulation.placement.placing import PlacementRun
from kwhatif.simulation.placement.rested import Bookkeeper, Rested, evicted_by
from kwhatif.simulation.placement.settling import Settling
from kwhatif.simulation.session import PodToSchedule, Session


@dataclass(frozen=True, kw_only=True)
class Settled:
    """How things are in the end: the ``placements`` of a run as they are now, and those of pods made again.

    ``left`` pods have no node; the pods (keys) that are ``at_home`` had to leave and run elsewhere.
    """

    session: Session
    placements: tuple[Placement, ...]
    rested: Rested
    replacements: tuple[Placement, ...] = ()
    left: tuple[Pod, ...] = ()
    at_home: Mapping[str, str] = field(default_factory=dict)


def go_on(
    session: Session,
    run: PlacementRun,
    asked: Sequence[PodToSchedule],
    scaler: Scaler | None = None,
    cause: Cause | None = None,
    emptied: Sequence[PodInfo] = (),
) -> Settled:
    """Go on from how a run has left a session until nobody would move. Pods on nodes that were ``emptied`` lost them,
    too; ``cause`` is why the pods asked about look for a node, if that is not told by the snapshot. Where groups of
    pods were scheduled, who found no node is not tried again by itself.
    """
    book = Bookkeeper.of(session.snapshot)
    pods = {item.pod.key: item.pod for item in asked}
    gone = run.removed | {victim.key for victim in run.evicted}
    left = {
        key: pending_pod_of(run.taken[key]) if key in run.taken else pod for key, pod in pods.items() if key not in gone
    }
    by = evicted_by(run.placements)
    together = bool(run.groups)
    evicted = [(victim, by.get(victim.key)) for victim in run.evicted if together or victim.key in by]
    drained = book.victims((info, None) for info in emptied)
    still = [each for each in run.placements if each.pod not in run.removed]
    causes = {} if cause is None else dict.fromkeys(pods, cause)
    if not run.evicted and (together or not would_move(session, run)):
        rested = Rested(pending=book.pending(still, pods, causes), victims=drained)
        return Settled(session=session, placements=tuple(run.placements), rested=rested, left=tuple(left.values()))
    # Who is asked over the network is not asked to bind what is only tried.
    later = session if session.setup.extenders is None else session.sandbox()
    settling = Settling(later, book, scaler=scaler)
    waiting = [] if together else run.without_node
    again = {taken.asked.pod.key: taken for taken in waiting if taken.asked.pod.key not in gone}
    for taken in again.values():
        if taken.info is not None:
            settling.arrive(taken.asked, taken.info, causes.get(taken.asked.pod.key))
    settling.make_again(evicted, {key: causes.get(key) or book.cause_of(pod) for key, pod in pods.items()})
    settling.run()
    ended = {each.pod: each for each in settling.placements()}
    replacements = tuple(settling.replacements())
    simulator = settling.simulator
    out = by | {info.key: who for uid, who in simulator.evicted.items() if (info := settling.info_of(uid)) is not None}
    told: list[Placement] = []
    at_home = settling.homes_of_victims()
    for each in run.placements:
        now = ended.get(each.pod, each)
        now = replace(now, victims=tuple(map(settling.describe_victim, each.victims)) or now.victims)
        if now.good and now.node and each.pod in out and each.pod not in ended:
            rest = "" if each.pod in at_home else ", and finds no other node"
            text = f"it had to leave {now.node} again for {out[each.pod]}{rest}"
            now = replace(now, outcome="preempted", node="", message=text)
        told.append(now)
    rested = settling.rest(ended.values(), replacements)
    others = [each for each in still if each.pod not in ended]
    rested = dataclasses.replace(
        rested, pending=(*book.pending(others, pods, causes), *rested.pending), victims=(*drained, *rested.victims)
    )
    attempts = [each for uid, each in simulator.outcome.items() if uid not in simulator.evicted]
    homes = {each.pod.key for each in attempts if each.is_placed}
    kept = {key: pod for key, pod in left.items() if key not in homes}
    kept |= {each.pod.key: pending_pod_of(each) for each in attempts if not each.is_placed}
    return Settled(
        session=later,
        placements=tuple(told),
        rested=rested,
        replacements=replacements,
        left=(*kept.values(), *simulator.strangers),
        at_home=at_home,
    )
