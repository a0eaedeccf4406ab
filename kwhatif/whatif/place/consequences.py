"""What a preemption leads to: would the pods that controllers make in the victims' place fit anywhere afterwards?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.progress import tracked
from kwhatif.results.place import Placement, Victim
from kwhatif.scheduling.arrivals import with_claims
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.replacements import Replacements
from kwhatif.whatif.place.afterwards import waiting
from kwhatif.whatif.place.placing import Helper
from kwhatif.whatif.session import Session

Landing = tuple[str, str]
"""(the replacement, the node it lands on, or nothing)."""


@dataclass(frozen=True)
class Aftermath:
    """Placements, their victims told where their replacements land once everything else is placed.

    ``session`` is of the cluster as it is then; ``homeless`` replacements found no node.
    """

    placements: tuple[Placement, ...]
    session: Session
    homeless: Sequence[Attempt] = ()


def with_consequences(
    session: Session, placements: Sequence[Placement], evicted: Sequence[PodInfo], helper: Helper | None = None
) -> Aftermath:
    """What becomes of the victims, for whom the ``helper`` may add nodes. The session's own cluster stays as it is."""
    if not evicted:
        return Aftermath(tuple(placements), session)
    names = {info.key for info, _ in session.cluster.pods()} | {placement.pod for placement in placements}
    # The same process goes on, on a copy of the cluster.
    later = session.apart()
    landings, homeless = land(later.driver, evicted, names)
    while homeless and helper is not None and helper.helps(later, [waiting(attempt) for attempt in homeless]):
        again = {attempt.pod.key: later.driver.attempt(attempt.pod) for attempt in homeless}
        found = {key: later.cluster.columns.names[each.row] for key, each in again.items() if each.row is not None}
        if not found:
            break
        landings = {victim: (key, home or found.get(key, "")) for victim, (key, home) in landings.items()}
        homeless = [attempt for key, attempt in again.items() if key not in found]
    told = (
        replace(placement, victims=tuple(told_where(victim, landings) for victim in placement.victims))
        if placement.victims
        else placement
        for placement in placements
    )
    return Aftermath(tuple(told), later, homeless)


def told_where(victim: Victim, landings: dict[str, Landing]) -> Victim:
    """The victim with the pod that is made again in its place, and where that lands."""
    landing = landings.get(victim.pod)
    return victim if landing is None else replace(victim, replacement=landing[0], lands_on=landing[1])


def land(
    driver: Driver, evicted: Sequence[PodInfo], names: Collection[str]
) -> tuple[dict[str, Landing], list[Attempt]]:
    """Schedule replacements one after the other; they evict nobody.

    Those that get a name of their own get none of the ``names`` that are taken. Also returns those without a node.
    """
    cluster = driver.cluster
    replacements = Replacements(taken=names.__contains__)
    landings: dict[str, Landing] = {}
    homeless: list[Attempt] = []
    for victim in tracked(evicted, "Replacing", "evicted pods"):
        # One that was on its way out already has been replaced, unless its controller waits for that.
        pod = None if victim.shape.terminating else replacements.at_once(victim)
        pod = pod or replacements.once_gone(victim)
        if pod is None:
            continue
        pod = with_claims(pod, cluster)
        info = cluster.shapes.info(pod)
        claimed = driver.scheduler(pod.spec.scheduler_name) is not None
        attempt = (driver.failing(info) or driver.attempt(info)) if claimed else Attempt(info)
        landings[victim.key] = (info.key, "" if attempt.row is None else cluster.columns.names[attempt.row])
        if attempt.row is None:
            homeless.append(attempt)
    return landings, homeless
