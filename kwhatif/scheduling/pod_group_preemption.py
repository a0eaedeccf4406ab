"""Preemption for a group as a whole: which pods leave the cluster so that the group can be scheduled.

All units of lower priority are removed from the whole cluster, and reprieved one by one, the most important first, as
long as the group still gets its nodes.

Upstream: pkg/scheduler/framework/preemption (podgrouppreemption.go, types.go).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from kwhatif.api.pod_groups import DISRUPTION_MODE_POD_GROUP, PodGroup
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.pod_group_states import GroupKey, group_key
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Status
from kwhatif.scheduling.preemption_candidates import Budgets

NO_VICTIMS = "No preemption victims found for incoming preemptor"
NEVER = "not eligible due to preemptionPolicy=Never."


class PreemptionUnit(msgspec.Struct, frozen=True):
    """Pods that leave together: one, or all of a group that is disrupted as a whole.

    names_group   its first pod names a group, whatever that group's disruption mode
    start         when its first pod started, in nanoseconds since 1970
    """

    pods: tuple[PodInfo, ...]
    priority: int
    names_group: bool
    start: int

    @property
    def importance(self) -> tuple[int, bool, int, int, str]:
        """A key by which the most important unit comes first; between equals, the first by name."""
        size = -len(self.pods) if self.names_group else 0
        return -self.priority, not self.names_group, size, self.start, min(pod.key for pod in self.pods)


class Preemptor(msgspec.Struct, frozen=True):
    """A group that finds no nodes. ``schedule`` tries it on the cluster as it is just then: None for success."""

    group: PodGroup
    pods: Sequence[PodInfo]
    cluster: Cluster
    schedule: Callable[[], Status | None]


class PodGroupPreemption(msgspec.Struct, frozen=True):
    """The outcome.

    candidates    units of lower priority, the most important first
    violating     those of them whose eviction violates a budget, which are reprieved first
    reprieved     units in the order in which they were tried, and whether they may stay
    victims       pods that leave, those of the most important unit first
    status        None if they make room, else why not
    """

    candidates: tuple[PreemptionUnit, ...] = ()
    violating: tuple[PreemptionUnit, ...] = ()
    reprieved: tuple[tuple[PreemptionUnit, bool], ...] = ()
    victims: tuple[PodInfo, ...] = ()
    status: Status | None = None


def preempt_for_group(preemptor: Preemptor) -> PodGroupPreemption:
    """Choose the victims; the cluster is not changed."""
    if any(pod.shape.spec.preemption_policy == "Never" for pod in preemptor.pods):
        return PodGroupPreemption(status=Status.unschedulable(NEVER))
    cluster = preemptor.cluster
    units = [unit for unit in units_of(cluster) if unit.priority < preemptor.group.priority]
    candidates = tuple(sorted(units, key=lambda unit: unit.importance))
    if not candidates:
        return PodGroupPreemption(status=Status.unresolvable(NO_VICTIMS))
    before = cluster.checkpoint()
    try:
        return _choose_victims(preemptor, candidates)
    finally:
        cluster.go_back(before)


def _choose_victims(preemptor: Preemptor, candidates: tuple[PreemptionUnit, ...]) -> PodGroupPreemption:
    cluster = preemptor.cluster
    rows = {pod.uid: row for unit in candidates for pod in unit.pods if (row := _row_of(cluster, pod)) is not None}
    for unit in candidates:
        for pod in unit.pods:
            cluster.forget(pod.uid)
    status = preemptor.schedule()
    if status is not None:
        return PodGroupPreemption(candidates, status=status)
    violating = _violating(candidates, Budgets(cluster))
    reprieved: list[tuple[PreemptionUnit, bool]] = []
    for unit in (*violating, *(unit for unit in candidates if unit not in violating)):
        for pod in unit.pods:
            cluster.assume(pod, rows[pod.uid])
        stays = preemptor.schedule() is None
        if not stays:
            for pod in unit.pods:
                cluster.forget(pod.uid)
        reprieved.append((unit, stays))
    gone = sorted((unit for unit, stays in reprieved if not stays), key=lambda unit: unit.importance)
    victims = tuple(pod for unit in gone for pod in unit.pods)
    return PodGroupPreemption(candidates, violating, tuple(reprieved), victims)


def units_of(cluster: Cluster) -> list[PreemptionUnit]:
    """All pods that have a node, by what leaves together, in node order."""
    together: dict[str | GroupKey, tuple[int, list[PodInfo]]] = {}
    for row in cluster.node_order.tolist():
        for pod in cluster.pods_on[row]:
            group = cluster.pod_groups.of(pod)
            as_one = group is not None and group.spec.disruption_mode == DISRUPTION_MODE_POD_GROUP
            key = group_key(pod) if as_one else None
            priority = pod.priority if group is None or not as_one else group.priority
            together.setdefault(key or pod.uid, (priority, []))[1].append(pod)
    return [
        PreemptionUnit(tuple(pods), priority, pods[0].shape.spec.scheduling_group is not None, pods[0].start)
        for priority, pods in together.values()
    ]


def _row_of(cluster: Cluster, pod: PodInfo) -> int | None:
    entry = cluster.find(pod.uid)
    return None if entry is None else entry[1]


def _violating(units: Sequence[PreemptionUnit], budgets: Budgets) -> tuple[PreemptionUnit, ...]:
    """The units of which a pod is one more than some budget allows, if all units leave in this order.

    Of a unit that breaks one budget no further pods are counted, nor further budgets of that pod.
    """
    allowed: dict[int, int] = {}

    def breaks(pod: PodInfo) -> bool:
        return any(_takes_one_too_many(budget, allowed) for budget in budgets.budgets_of(pod))

    return tuple(unit for unit in units if any(breaks(pod) for pod in unit.pods))


def _takes_one_too_many(budget: PodDisruptionBudget, allowed: dict[int, int]) -> bool:
    left = allowed.get(id(budget), budget.status.disruptions_allowed or 0) - 1
    allowed[id(budget)] = left
    return left < 0
