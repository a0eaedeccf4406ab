"""One policy on one cluster: what the workers of a sweep do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kwhatif.bounds import pods_to_make
from kwhatif.results.place import Placement
from kwhatif.results.sweep import Level, Measures
from kwhatif.whatif.capacity.capacity import room_for
from kwhatif.whatif.diff.replay import Replayed
from kwhatif.whatif.expand.expand import Expanded, Rollout
from kwhatif.whatif.place.placing import Run
from kwhatif.whatif.place.rolling import roll_out
from kwhatif.whatif.session import Asked, Session
from kwhatif.whatif.stages.ground import Ground
from kwhatif.whatif.sweep.measuring import measured
from kwhatif.whatif.sweep.policy_variant import varied
from kwhatif.whatif.sweep.space_document import Space


class TriedPolicy(msgspec.Struct, frozen=True):
    """A world of a sweep: the settings that differ from today's policy, on the cluster of this number."""

    snapshot: int
    settings: dict[str, Level]


@dataclass(frozen=True)
class Probe:
    """A pod of which as many as find room are placed after a run, the claims made for it, and where to stop."""

    asked: Asked
    claims: Sequence[object]
    limit: int


@dataclass(frozen=True)
class Site:
    """A cluster, and what is placed there by each policy: ``replayed`` pods first, then those the ground asks about.

    ``again`` expands manifests with updates, for each run anew. ``prices`` are those of nodes. ``today`` is where pods
    are by today's policy.
    """

    ground: Ground
    replayed: Replayed
    again: Callable[[], Expanded] | None
    probe: Probe | None
    prices: Mapping[str, float]
    most_pods: int
    today: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tried:
    """A run that has ended, the pods it was about, and its updates."""

    session: Session
    asked: Sequence[Asked]
    rollouts: Sequence[Rollout]
    run: Run

    @property
    def placements(self) -> Sequence[Placement]:
        return self.run.placements


@dataclass(frozen=True)
class Sites:
    """What all worlds of a sweep have in common."""

    space: Space
    sites: Sequence[Site]


def try_policy(sites: Sites, world: TriedPolicy) -> Measures:
    """What a policy comes to. Raises KwhatifError for one that kube-scheduler would refuse."""
    site = sites.sites[world.snapshot]
    return measures_of(site, tried(site, sites.space, world.settings))


def tried(site: Site, space: Space, settings: Mapping[str, Level]) -> Tried:
    """Replayed pods first, in the order they started; then the new ones, in the scheduler's order; then updates."""
    session = site.ground.fork(varied(site.ground.case.setup, space, settings))
    with pods_to_make(site.most_pods):
        rollouts = site.again().rollouts if site.again is not None else []
        run, asked = Run(session), [*site.replayed.pods, *site.ground.case.asked]
        for item in site.replayed.pods:
            info = run.ours(item)
            if info is not None:
                run.schedule(item, info)
        run.all_of(site.ground.case.asked)
        for rollout in rollouts:
            roll_out(rollout, run, asked)
        run.wait()
    return Tried(session, asked, rollouts, run)


def measures_of(site: Site, end: Tried) -> Measures:
    """What a run came to. Afterwards the cluster may be full of probes."""
    found = measured(end.session.cluster, end.placements, len(end.run.evicted), site.today, site.prices)
    if site.probe is None:
        return found
    with pods_to_make(site.most_pods):
        room = room_for(end.session, site.probe.asked, site.probe.claims, site.probe.limit)
    return msgspec.structs.replace(found, probe_room=room)
