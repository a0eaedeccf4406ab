"""What one failure does: which pods come back, which do not, who has to leave for them, and what is left of workloads.

The nodes are gone at once, and no budget is asked. Controllers make all pods again that they make again, before the
scheduler takes up the first of them; it takes them up in its order. Pods that are evicted leave at once and are made
again when all of these have been tried; they evict nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kwhatif.bounds import pods_to_make
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.results.outage import Failure, Headroom, Hit, LostPod, Outcome
from kwhatif.results.place import Victim
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.budgets import Budgets
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.in_words import victims_of
from kwhatif.whatif.outage.failing import Failing
from kwhatif.whatif.outage.failures import Gone
from kwhatif.whatif.outage.made_again import BOUND_TO_NODES, MadeAgain
from kwhatif.whatif.outage.standing import STATEFUL_SET, Standing
from kwhatif.whatif.place.consequences import land, told_where
from kwhatif.whatif.session import Session


@dataclass
class Effects:
    """Asked of one failure after the other; the session's cluster is as it was after each.

    ``unreachable``: the nodes stay in the cluster and do not answer, so nobody knows whether their pods still run.
    """

    session: Session
    unreachable: bool = False

    @cached_property
    def _failing(self) -> Failing:
        return Failing(self.session.cluster, self.session.setup)

    @cached_property
    def standing(self) -> Standing:
        return Standing(self.session.snapshot, self.session.cluster)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(info.key for info, _ in self.session.cluster.pods())

    @cached_property
    def _made(self) -> MadeAgain:
        return MadeAgain(evicting=True, taken=self._names.__contains__)

    @cached_property
    def _budgets(self) -> Budgets:
        return Budgets(self.session.cluster)

    def of(self, gone: Gone) -> Failure:
        """What this failure does."""
        rows = self._failing.rows(gone.nodes)
        names = self.session.cluster.columns.names
        home = {info.uid: names[row] for row in rows for info in self.session.cluster.pods_on[row]}
        run = _Run(self.standing, home)
        again = [info for info in self._failing.lost(gone.nodes) if self._comes_again(info, run)]
        with pods_to_make(), self._failing.without(gone.nodes) as driver:
            queue = []
            for old, info in self._made.of(again, driver.cluster):
                if driver.scheduler(info.pod.spec.scheduler_name) is None:
                    name = info.pod.spec.scheduler_name
                    run.tell(old, "pending", message=f"schedulerName {name} is none of the configuration's profiles")
                else:
                    queue.append((old, info))
            run.place(driver, queue, self._budgets, self._names)
            headroom = tuple(_headroom(driver.cluster))
        return run.failure(gone, headroom)

    def _comes_again(self, info: PodInfo, run: _Run) -> bool:
        """Whether the pod is made again; what else becomes of it is told."""
        owner = info.shape.controller
        outcome: Outcome
        if info.pod.is_mirror or (owner is not None and owner.kind in BOUND_TO_NODES):
            outcome = "bound"
        elif self.unreachable and owner is not None and owner.kind == STATEFUL_SET:
            outcome = "waiting"
        elif not self._made.comes(info):
            outcome = "lost"
        else:
            return True
        run.tell(info, outcome)
        return False


@dataclass
class _Run:
    """What becomes of the pods of one failure, each of which has its ``home``: uid -> node."""

    standing: Standing
    home: dict[str, str]
    pods: list[LostPod] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    gone: list[PodInfo] = field(default_factory=list)
    evicted: list[PodInfo] = field(default_factory=list)

    def tell(self, old: PodInfo, outcome: Outcome, **more: Any) -> None:
        workload = self.standing.workload_of(old)
        self.counts.setdefault(workload, Counter())[outcome] += 1
        self.gone.append(old)
        self.pods.append(
            LostPod(pod=old.key, node=self.home[old.uid], workload=workload, outcome=outcome, **more),
        )

    def place(
        self,
        driver: Driver,
        queue: Sequence[tuple[PodInfo, PodInfo]],
        budgets: Budgets,
        names: Collection[str],
    ) -> None:
        """Schedule the pods that are made again, and then those that had to leave for them."""
        tried = []
        for old, info in driver.in_order(queue, lambda entry: entry[1]):
            failing = driver.failing(info)
            attempts = driver.at_once(info) if failing is None else [failing]
            driver.wait()
            self.evicted += [victim for each in attempts if each.nominated for victim in each.victims]
            victims = tuple(v for each in attempts if each.nominated for v in victims_of(each, budgets))
            tried.append((old, info, attempts[-1], victims))
        landings: dict[str, tuple[str, str]] = {}
        if self.evicted:
            landings = land(driver, self.evicted, {*names, *(info.key for _, info in queue)})[0]
        for old, info, attempt, victims in tried:
            self._told(driver, old, info, attempt, tuple(told_where(victim, landings) for victim in victims))

    def _told(self, driver: Driver, old: PodInfo, info: PodInfo, attempt: Attempt, victims: tuple[Victim, ...]) -> None:
        # A preemptor may have lost its node to another one since.
        if attempt.row is not None and not attempt.lost:
            home = driver.cluster.columns.names[attempt.row]
            self.tell(old, "back", replacement=info.key, lands_on=home, victims=victims)
        else:
            message = attempt.message if attempt.gated is None else attempt.gated.message
            self.tell(old, "pending", replacement=info.key, message=message, victims=victims)
        by_key = {victim.key: victim for victim in self.evicted} if victims else {}
        for victim in victims:
            counts = self.counts.setdefault(self.standing.workload_of(by_key[victim.pod]), Counter())
            counts["evicted"] += 1
            counts["homeless"] += bool(victim.replacement and not victim.lands_on)

    def failure(self, gone: Gone, headroom: tuple[Headroom, ...]) -> Failure:
        totals: Counter[str] = sum(self.counts.values(), Counter())
        pods = sorted(self.pods, key=lambda pod: (pod.node, pod.pod))
        return Failure(
            kind=gone.kind,
            name=gone.name,
            nodes=gone.nodes,
            pods=len(pods),
            **{name: totals[name] for name in ("back", "pending", "waiting", "lost", "bound", "evicted", "homeless")},
            hits=tuple(self._hits()),
            budgets=self.standing.broken_floors(self.gone),
            headroom=headroom,
            lost_pods=tuple(pods),
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


def _headroom(cluster: Cluster) -> Iterator[Headroom]:
    """What the nodes that are there and take pods have, and what is asked of them."""
    rows = cluster.searched
    rows = rows[~cluster.columns.unschedulable[rows]]
    allocatable = cluster.columns.allocatable[rows].sum(axis=0)
    requested = cluster.requested[rows].sum(axis=0)
    named = zip(cluster.shapes.resources.names, allocatable.tolist(), requested.tolist(), strict=True)
    yield from (Headroom(resource=name, allocatable=has, requested=asks) for name, has, asks in named if asks)
    pods = int(np.sum(cluster.columns.allowed_pods[rows]))
    yield Headroom(resource="pods", allocatable=pods, requested=int(np.sum(cluster.pod_count[rows])))
