"""What a preemption leads to: would the pods that controllers make in the victims' place fit anywhere afterwards?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.cluster.shapes import PodInfo
from kwhatif.progress import track
from kwhatif.results.place import Placement, Victim
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.controllers import Replacements, with_claims
from kwhatif.scheduling.driver import Driver
from kwhatif.simulation.placement.afterwards import pending_pod_of
from kwhatif.simulation.placement.placing import NodeProvider
from kwhatif.simulation.session import Session

Landing = tuple[str, str]
"""(the replacement, the node it lands on, or nothing)."""


@dataclass(frozen=True)
class Consequences:
    """Placements, their victims with where their replacements land once everything else is placed.

    ``session`` is of the cluster as it is then; ``homeless`` replacements found no node.
    """

    placements: tuple[Placement, ...]
    session: Session
    homeless: Sequence[Attempt] = ()


def add_landings(
    session: Session, placements: Sequence[Placement], evicted: Sequence[PodInfo], helper: NodeProvider | None = None
) -> Consequences:
    """What becomes of the victims, for whom the ``helper`` may add nodes. The session's own cluster stays as it is."""
    if not evicted:
        return Consequences(tuple(placements), session)
    names = {info.key for info, _ in session.cluster.pods()} | {placement.pod for placement in placements}
    # The same process goes on, on a copy of the cluster.
    later = session.sandbox()
    landings, homeless = schedule_replacements(later.driver, evicted, names)
    while (
        homeless
        and helper is not None
        and helper.provide_nodes(later, [pending_pod_of(attempt) for attempt in homeless])
    ):
        again = {attempt.pod.key: later.driver.attempt(attempt.pod) for attempt in homeless}
        found = {key: later.cluster.columns.names[each.row] for key, each in again.items() if each.row is not None}
        if not found:
            break
        landings = {victim: (key, home or found.get(key, "")) for victim, (key, home) in landings.items()}
        homeless = [attempt for key, attempt in again.items() if key not in found]
    told = (
        replace(placement, victims=tuple(add_landing(victim, landings) for victim in placement.victims))
        if placement.victims
        else placement
        for placement in placements
    )
    return Consequences(tuple(told), later, homeless)


def add_landing(victim: Victim, landings: dict[str, Landing]) -> Victim:
    """The victim with the pod that is made again in its place, and where that lands."""
    landing = landings.get(victim.pod)
    return victim if landing is None else replace(victim, replacement=landing[0], lands_on=landing[1])


def schedule_replacements(
    driver: Driver, evicted: Sequence[PodInfo], names: Collection[str]
) -> tuple[dict[str, Landing], list[Attempt]]:
    """Schedule replacements one after the other, without preemption.

    Those that get a name of their own get none of the ``names`` that are taken. Also returns those without a node.
    """
    cluster = driver.cluster
    replacements = Replacements(taken=names.__contains__)
    landings: dict[str, Landing] = {}
    homeless: list[Attempt] = []
    for victim in track(evicted, "Replacing", "evicted pods"):
        # One that was on its way out already has been replaced, unless its controller waits for that.
        pod = None if victim.shape.terminating else replacements.replace_on_eviction(victim)
        pod = pod or replacements.replace_after_deletion(victim)
        if pod is None:
            continue
        pod = with_claims(pod, cluster)
        info = cluster.shapes.info(pod)
        claimed = driver.scheduler(pod.spec.scheduler_name) is not None
        attempt = (driver.futile_attempt(info) or driver.attempt(info)) if claimed else Attempt(info)
        landings[victim.key] = (info.key, "" if attempt.row is None else cluster.columns.names[attempt.row])
        if attempt.row is None:
            homeless.append(attempt)
    return landings, homeless
