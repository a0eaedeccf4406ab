"""The effects of one failure: which pods are replaced, which find no node, victims, and what is left of workloads;
compared with the state before any failure.

The nodes fail at once, and no budget is checked. Controllers replace all pods before the scheduler tries the first of
them, in its order. Evicted pods leave at once and are replaced when all of these have been tried; then the cluster runs
to rest.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.bounds import pods_to_make
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_bound_pods import BOUND_TO_NODES
from kwhatif.cluster.shapes import PodInfo
from kwhatif.commands.outage.failures import FailingCluster, NodeFailure
from kwhatif.results.disruption import BrokenFloor, Failure, Headroom, Hit, LostPod, Outcome
from kwhatif.results.group_outcome import GroupDisruption, words_of_disruptions
from kwhatif.results.outcome import Cause
from kwhatif.results.place import Victim
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.controllers import Replacements, is_made_elsewhere
from kwhatif.scheduling.describe import victims_of
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.group_rounds import attempts_of, scheduled_entities
from kwhatif.scheduling.preemption_candidates import Budgets
from kwhatif.scheduling.round_queue import takes_groups
from kwhatif.scheduling.selected_budgets import SelectedBudgets
from kwhatif.simulation.ownership import Owners
from kwhatif.simulation.placement.cluster_simulation import ClusterSimulation
from kwhatif.simulation.placement.conclusion import conclude
from kwhatif.simulation.placement.group_disruptions import GroupMembers, disrupted_groups, running_members
from kwhatif.simulation.placement.placing import placement_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.run_outcome import Bookkeeper
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot

STATEFUL_SET = "StatefulSet"


class Baseline:
    """Workloads and budgets of the cluster before any failure."""

    def __init__(self, snapshot: Snapshot, cluster: Cluster) -> None:
        self._owners = Owners(snapshot)
        self._workloads: dict[tuple[int, str], str] = {}
        self._cluster = cluster
        self._snapshot = snapshot

    @cached_property
    def book(self) -> Bookkeeper:
        """Looks up the workload of a pod, and why the pod looks for a node."""
        return Bookkeeper.of(self._snapshot)

    def workload_of(self, info: PodInfo) -> str:
        """The workload at the top, as ``Deployment shop/web``."""
        controller = info.shape.controller
        # Pods of one shape share their controller; one without is its own workload.
        key = info.shape.index, "" if controller is not None else info.key
        if key not in self._workloads:
            self._workloads[key] = str(self._owners.workload_of(info.pod))
        return self._workloads[key]

    @cached_property
    def replicas(self) -> Counter[str]:
        """How many pods of each workload have a node."""
        return Counter(self.workload_of(info) for info, _ in self._cluster.pods())

    @cached_property
    def _desired_replicas(self) -> dict[str, int]:
        """The replicas that each StatefulSet asks for, where the snapshot tells."""
        return {
            f"{STATEFUL_SET} {each['metadata'].get('namespace') or 'default'}/{each['metadata']['name']}": int(
                each.get("spec", {}).get("replicas", 1)
            )
            for each in self._snapshot.whole.get(STATEFUL_SET, ())
        }

    def loses_quorum(self, workload: str, left: int) -> bool:
        """Whether a StatefulSet has lost its majority: at most half of its replicas remain, and there were
        more before.
        """
        if not workload.startswith(STATEFUL_SET):
            return False
        wanted = max(self._desired_replicas.get(workload, 0), self.replicas[workload])
        return 2 * left <= wanted < 2 * self.replicas[workload]

    # --- budgets

    @cached_property
    def _budgets(self) -> SelectedBudgets[BrokenFloor]:
        """Budgets with a status, as none of their pods is lost: the healthy pods they want and have."""
        budgets = self._cluster.objects.list_all(PodDisruptionBudget)
        return SelectedBudgets((each for each in budgets if each.status.desired_healthy is not None), _floor_of)

    def broken_floors(self, lost: Iterable[PodInfo]) -> tuple[BrokenFloor, ...]:
        """The budgets that have fewer healthy pods than they want once these are lost, and had enough before."""
        healthy = (info.shape for info in lost if is_healthy(info))
        gone = Counter(each.budget for shape in healthy for each in self._budgets.of(shape.namespace, shape.labels))
        floors = (each for each in self._budgets.values if each.budget in gone)
        left = (replace(each, after=each.before - gone[each.budget]) for each in floors)
        return tuple(
            replace(each, after=max(each.after, 0)) for each in left if each.after < each.desired <= each.before
        )


def _floor_of(budget: PodDisruptionBudget) -> BrokenFloor:
    status = budget.status
    desired, healthy = status.desired_healthy or 0, status.current_healthy
    if healthy is None:
        healthy = desired + (status.disruptions_allowed or 0)
    return BrokenFloor(budget=f"{budget.namespace}/{budget.name}", desired=desired, before=healthy, after=healthy)


def is_healthy(info: PodInfo) -> bool:
    """Whether a budget counts the pod: it is ready, as far as its conditions tell, and not on its way out."""
    if info.shape.terminating:
        return False
    return all(one.status == "True" for one in info.pod.status.conditions or () if one.type == "Ready")


@dataclass
class FailureEffects:
    """Computes one failure after the other; the session's cluster is restored after each.

    ``unreachable``: the nodes stay in the cluster and do not answer, so it is unknown whether their pods still run.
    """

    session: Session
    unreachable: bool = False

    @cached_property
    def _failing(self) -> FailingCluster:
        return FailingCluster(self.session.cluster, self.session.setup)

    @cached_property
    def standing(self) -> Baseline:
        return Baseline(self.session.snapshot, self.session.cluster)

    @cached_property
    def _members(self) -> GroupMembers:
        return running_members(self.session.cluster)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(info.key for info, _ in self.session.cluster.pods())

    @cached_property
    def _replacements(self) -> Replacements:
        return Replacements(taken=self._names.__contains__)

    @cached_property
    def _budgets(self) -> Budgets:
        return Budgets(self.session.cluster)

    def failure_of(self, node_failure: NodeFailure) -> Failure:
        """The effects of this failure."""
        rows = self._failing.rows(node_failure.nodes)
        names = self.session.cluster.columns.names
        home = {info.uid: names[row] for row in rows for info in self.session.cluster.pods_on[row]}
        run, members = _Run(self.standing, home), self._members
        again = [info for info in self._failing.pods_on(node_failure.nodes) if self._try_to_recreate(info, run)]
        self._replacements.begin_anew()
        with pods_to_make(), self._failing.without(node_failure.nodes) as driver:
            queue = []
            for old, info in self._replacements.replace_lost(again, driver.cluster):
                if driver.scheduler(info.pod.spec.scheduler_name) is None:
                    name = info.pod.spec.scheduler_name
                    run.record(old, "pending", message=f"schedulerName {name} is none of the configuration's profiles")
                else:
                    queue.append((old, info))
            run.place(self.session.driven_by(driver), queue, self._budgets)
            headroom = tuple(_headroom(driver.cluster))
            groups = tuple(disrupted_groups(members, driver.cluster))
        return run.failure(node_failure, headroom, groups)

    def _try_to_recreate(self, info: PodInfo, run: _Run) -> bool:
        """Whether the pod is replaced; other outcomes are recorded."""
        owner = info.shape.controller
        outcome: Outcome
        if info.pod.is_mirror or (owner is not None and owner.kind in BOUND_TO_NODES):
            outcome = "bound"
        elif self.unreachable and owner is not None and owner.kind == STATEFUL_SET:
            outcome = "waiting"
        elif not is_made_elsewhere(info):
            outcome = "lost"
        else:
            return True
        run.record(info, outcome)
        return False


@dataclass
class _Run:
    """The run after one failure; ``home``: uid -> node."""

    standing: Baseline
    home: dict[str, str]
    run: Run = field(init=False)
    pods: list[LostPod] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    gone: list[PodInfo] = field(default_factory=list)
    evicted: list[PodInfo] = field(default_factory=list)

    def record(self, old: PodInfo, outcome: Outcome, **more: Any) -> None:
        workload = self.standing.workload_of(old)
        self.counts.setdefault(workload, Counter())[outcome] += 1
        self.gone.append(old)
        self.pods.append(
            LostPod(pod=old.key, node=self.home[old.uid], workload=workload, outcome=outcome, **more),
        )

    def place(self, session: Session, queue: Sequence[tuple[PodInfo, PodInfo]], budgets: Budgets) -> None:
        """Schedule the replacements, and run to rest."""
        driver, tried = session.driver, []
        before = {info.uid: old for old, info in queue}
        for info, attempts, evicted in _attempts(driver, [info for _, info in queue]):
            self.evicted += evicted
            victims = tuple(v for each in attempts if each.nominated for v in victims_of(each, budgets))
            tried.append((before[info.uid], info, attempts[-1], victims))
        book = self.standing.book
        by = {victim.pod: info.key for _, info, _, victims in tried for victim in victims}
        emptied = book.victims((old, None) for old, _ in queue)
        if not self.evicted:
            placements = [
                placement_of(session, PodToSchedule(info.pod, ran_before=True), [each]) for _, info, each, _ in tried
            ]
            pods = {info.key: info.pod for _, info in queue}
            causes: dict[str, Cause] = dict.fromkeys(pods, "evicted")
            pending = book.pending(placements, pods, causes)
            self.run = Run(session, (), placements, pending=pending, victims=emptied)
            for (old, info, attempt, victims), placement in zip(tried, placements, strict=True):
                home = "" if attempt.lost else placement.node
                self._record_attempt(old, info, home, placement.reason, victims)
            return
        simulation = ClusterSimulation(session, book)
        for _, info, attempt, _ in tried:
            if attempt.row is None or attempt.lost:
                simulation.arrive(PodToSchedule(info.pod, ran_before=True), info, "evicted")
        simulation.make_again([(victim, by.get(victim.key)) for victim in self.evicted], {})
        simulation.run()
        ended, more = simulation.placements(), simulation.replacements()
        found = simulation.run_of(ended, more)
        self.run = dataclasses.replace(found, victims=(*emptied, *found.victims))
        homes = simulation.homes_of_victims()
        for info in simulation.evicted_since():
            counts = self.counts.setdefault(self.standing.workload_of(info), Counter())
            counts["evicted"] += 1
            counts["homeless"] += info.key not in homes and is_made_elsewhere(info)
        by_pod = {each.pod: each for each in ended}
        for old, info, attempt, victims in tried:
            told = tuple(map(simulation.describe_victim, victims))
            now = by_pod.get(info.key)
            where = session.cluster.find(info.uid)
            home = homes.get(info.key, "") if where is None else session.cluster.columns.names[where[1]]
            self._record_attempt(old, info, home, attempt.message if now is None else now.reason, told)

    def _record_attempt(
        self, old: PodInfo, info: PodInfo, home: str, message: str, victims: tuple[Victim, ...]
    ) -> None:
        if home:
            self.record(old, "back", replacement=info.key, lands_on=home, victims=victims)
        else:
            self.record(old, "pending", replacement=info.key, message=message, victims=victims)
        by_key = {victim.key: victim for victim in self.evicted} if victims else {}
        for victim in victims:
            counts = self.counts.setdefault(self.standing.workload_of(by_key[victim.pod]), Counter())
            counts["evicted"] += 1
            counts["homeless"] += bool(victim.replacement and not victim.lands_on)

    def failure(
        self, node_failure: NodeFailure, headroom: tuple[Headroom, ...], groups: tuple[GroupDisruption, ...]
    ) -> Failure:
        totals: Counter[str] = sum(self.counts.values(), Counter())
        pods = sorted(self.pods, key=lambda pod: (pod.node, pod.pod))
        counts = {name: totals[name] for name in ("back", "pending", "waiting", "lost", "bound", "evicted", "homeless")}
        words = [f"{counts[name]} {name}" for name in ("back", "pending", "waiting", "lost", "evicted") if counts[name]]
        words += words_of_disruptions(groups)
        verdict = f"{node_failure.kind} {node_failure.name}: {', '.join(words) or 'nobody has to be made again'}"
        stuck = counts["pending"] + counts["waiting"] + counts["homeless"]
        return Failure(
            outcome=conclude(self.run, None, verdict, bad=bool(stuck)),
            kind=node_failure.kind,
            name=node_failure.name,
            nodes=node_failure.nodes,
            pods=len(pods),
            **counts,
            hits=tuple(self._hits()),
            budgets=self.standing.broken_floors(self.gone),
            headroom=headroom,
            lost_pods=tuple(pods),
            groups=groups or msgspec.UNSET,
        )

    def _hits(self) -> Iterator[Hit]:
        """Workloads by name, without those whose pods are bound to their nodes."""
        for workload, counts in sorted(self.counts.items()):
            lost = sum(counts[outcome] for outcome in ("back", "pending", "waiting", "lost"))
            if not lost and not counts["evicted"]:
                continue
            replicas = self.standing.replicas[workload]
            yield Hit(
                workload=workload,
                replicas=replicas,
                lost=lost,
                back=counts["back"],
                pending=counts["pending"],
                waiting=counts["waiting"],
                gone=counts["lost"],
                evicted=counts["evicted"],
                homeless=counts["homeless"],
                down=lost == replicas,
                quorum_lost=self.standing.loses_quorum(workload, replicas - lost),
            )


def _attempts(
    driver: Driver, infos: Sequence[PodInfo]
) -> Iterator[tuple[PodInfo, Sequence[Attempt], Sequence[PodInfo]]]:
    """Each pod with its attempts and whom they evicted, in the scheduler's order; members of a group come together.

    Whom a group evicted as a whole stands beside its first member.
    """
    if not takes_groups(driver):
        for info in driver.in_order(infos, lambda info: info):
            yield _try_alone(driver, info)
        return
    left = {info.uid: info for info in infos}
    for entity in scheduled_entities(driver, infos):
        if entity.key is None:
            tried = _try_alone(driver, left.pop(entity.pods[0].uid))
            entity.came_to(tried[1][-1].is_placed)
            yield tried
            continue
        cycles = entity.run()
        evicted = [pod for cycle in cycles for pod in cycle.evicted]
        for info, attempts in attempts_of(cycles):
            left.pop(info.uid, None)
            yield info, attempts, evicted
            evicted = []
    for info in left.values():
        yield _try_alone(driver, info)


def _try_alone(driver: Driver, info: PodInfo) -> tuple[PodInfo, Sequence[Attempt], Sequence[PodInfo]]:
    failing = driver.futile_attempt(info)
    attempts = driver.schedule_with_preemption(info) if failing is None else [failing]
    driver.wait()
    return info, attempts, [victim for each in attempts if each.nominated for victim in each.victims]


def _headroom(cluster: Cluster) -> Iterator[Headroom]:
    """The allocatable and requested amounts of the nodes that are left and take pods."""
    rows = cluster.node_order
    rows = rows[~cluster.columns.unschedulable[rows]]
    allocatable = cluster.columns.allocatable[rows].sum(axis=0)
    requested = cluster.requested[rows].sum(axis=0)
    named = zip(cluster.shapes.resources.names, allocatable.tolist(), requested.tolist(), strict=True)
    yield from (Headroom(resource=name, allocatable=has, requested=asks) for name, has, asks in named if asks)
    pods = int(np.sum(cluster.columns.allowed_pods[rows]))
    yield Headroom(resource="pods", allocatable=pods, requested=int(np.sum(cluster.pod_count[rows])))
