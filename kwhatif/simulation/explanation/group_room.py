"""Which pods would have to leave a domain so that a group runs there, and where they would go.

The least important leave first, as if they were evicted; pods that are not in the way stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.pod_group_states import GroupKey, group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.place import Victim
from kwhatif.scheduling.describe import owner_of
from kwhatif.scheduling.group_rounds import scheduled_entities
from kwhatif.scheduling.pod_group_outcome import attempt_pod_group
from kwhatif.scheduling.pod_group_preemption import PreemptionUnit, units_of
from kwhatif.simulation.explanation.group_trials import GroupTrials, TriedGroup
from kwhatif.simulation.session import PodToSchedule, Session

MOST_REPRIEVES = 12
"""The most leaving pods for which it is tried whether they may stay."""

STAYS_WITH_NODE = ("DaemonSet", "Node")


class Departure(msgspec.Struct, frozen=True):
    """The pods that leave, with where they go, and the group as it is scheduled then."""

    leaving: tuple[Victim, ...]
    tried: TriedGroup

    @property
    def all_land(self) -> bool:
        """Whether every pod that leaves finds another node."""
        return all(victim.lands_on for victim in self.leaving)


def find_departure(trials: GroupTrials, rows: Collection[int], scarce: Collection[str]) -> Departure | None:
    """The fewest units of pods that have to leave these nodes for a group; None if that does not help.

    Those that hold what is ``scarce`` (names of resources) are considered first, then all others. Pods at least as
    important as the group leave only if every pod that leaves finds another node.
    """
    units = _units_on(trials.session, trials.key, rows)
    holding = [unit for unit in units if any(_holds(pod, scarce) for pod in unit.pods)]
    for eligible in (holding, units) if len(holding) < len(units) else (units,):
        fewest = _fewest(trials, eligible) if eligible else None
        if fewest is not None:
            chosen, tried = fewest
            departure = Departure(tuple(_landings(trials.session, tried.session, chosen)), tried)
            if departure.all_land or all(unit.priority < trials.priority for unit in chosen):
                return departure
            return None
    return None


def _units_on(session: Session, key: GroupKey, rows: Collection[int]) -> list[PreemptionUnit]:
    """The pods on these nodes by what leaves together, the least important first."""
    cluster, units = session.cluster, list[PreemptionUnit]()
    for unit in units_of(cluster):
        places = [cluster.find(pod.uid) for pod in unit.pods]
        is_here = any(place is not None and place[1] in rows for place in places)
        if is_here and not any(_stays(pod, key) for pod in unit.pods):
            units.append(unit)
    return sorted(units, key=lambda unit: unit.importance, reverse=True)


def _stays(pod: PodInfo, key: GroupKey) -> bool:
    owner = pod.shape.controller
    return group_key(pod) == key or (owner is not None and owner.kind in STAYS_WITH_NODE)


def _holds(pod: PodInfo, scarce: Collection[str]) -> bool:
    return any(pod.shape.requests.get(name, 0) for name in scarce)


def _fewest(trials: GroupTrials, units: Sequence[PreemptionUnit]) -> tuple[list[PreemptionUnit], TriedGroup] | None:
    """The shortest beginning of these units whose leaving lets the group run, less those that may stay after all."""
    best = _without(trials, units)
    if not best.works:
        return None
    low, high = 1, len(units)
    while low < high:
        middle = (low + high) // 2
        tried = _without(trials, units[:middle])
        if tried.works:
            best, high = tried, middle
        else:
            low = middle + 1
    leaving = list(units[:high])
    # The last of them is needed: without it the group did not run.
    for unit in list(reversed(leaving[:-1]))[:MOST_REPRIEVES]:
        rest = [preemption_unit for preemption_unit in leaving if preemption_unit is not unit]
        tried = _without(trials, rest)
        if tried.works:
            leaving, best = rest, tried
    return leaving, best


def _without(trials: GroupTrials, units: Sequence[PreemptionUnit]) -> TriedGroup:
    def leave(session: Session) -> None:
        for unit in units:
            for pod in unit.pods:
                session.cluster.remove_pod(pod.uid)

    return trials.attempt(leave)


def _landings(before: Session, after: Session, units: Sequence[PreemptionUnit]) -> Iterator[Victim]:
    """The pods that leave, with the node of each when it is recreated after the group runs; no pod is evicted
    for them.
    """
    names = before.cluster.columns.names
    leaving = [pod for unit in units for pod in unit.pods]
    infos = [after.info(PodToSchedule(unbind(pod.pod))) for pod in leaving]
    for entity in scheduled_entities(after.driver, infos):
        if entity.key is None:
            entity.came_to(after.driver.attempt(entity.pods[0]).is_placed)
        else:
            failed = attempt_pod_group(after.driver, entity.key, entity.pods).failed
            entity.queue.mark_bound(pod for pod in entity.pods if pod.key not in failed)
    for pod in leaving:
        there, now = before.cluster.find(pod.uid), after.cluster.find(pod.uid)
        assert there is not None
        yield Victim(
            pod=pod.key,
            node=names[there[1]],
            priority=pod.priority,
            owner=owner_of(pod),
            replacement=pod.key,
            lands_on="" if now is None else after.cluster.columns.names[now[1]],
        )


def unbind(pod: Pod) -> Pod:
    """The pod without its node, as it was before it was bound."""
    status = replace(pod.status, phase="Pending", start_time=None, conditions=None, nominated_node_name=None)
    return replace(pod, spec=replace(pod.spec, node_name=None), status=status)


def rows_of_domain(session: Session, key: str, name: str) -> list[int]:
    """The nodes of a domain of a label; all nodes where there is no label."""
    nodes, rows = session.cluster.columns.nodes, session.cluster.node_order.tolist()
    return [row for row in rows if not key or (nodes[row].metadata.labels or {}).get(key) == name]
