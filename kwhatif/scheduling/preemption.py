"""Preemption: whether a pod may preempt, and the choice of a candidate node.

Upstream: pkg/scheduler/framework/preemption/preemption.go and plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.interface import PostFilterResult
from kwhatif.framework.status import Code, Diagnosis, Status
from kwhatif.framework.victim_rules import VictimRules
from kwhatif.scheduling.preemption_candidates import (
    CRITERIA,
    FIRST_BY_NAME,
    PRIORITY_SHIFT,
    Candidates,
    DryRunCache,
    Victims,
    VictimTable,
    choose,
)
from kwhatif.scheduling.victim_search import VictimSearch

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import Extenders

NO_CANDIDATE = "no candidate node for preemption"
_MOST_DRY_RUNS = 32
"""For how many kinds of preemptors dry runs are cached."""


class RankedCandidate(msgspec.Struct, frozen=True):
    """A node, the pods that would have to leave it, and what it is ranked by: how many of those evictions a budget
    does not allow, the highest of their priorities, and their sum; ``behind`` is the measure that puts it behind the
    one before.
    """

    node: str
    victims: tuple[PodInfo, ...]
    violations: int
    top: int
    priorities: int
    behind: str


class Preemption:
    """Preemption for one scheduler; keeps its table of possible victims between pods.

    ``extenders`` are called with the candidates. With ``random`` the dry run begins at any node, and any of equally
    good candidates is taken, as upstream does in every version; without it, the first node and the first by name.
    """

    random: Random | None = None

    def __init__(self, extenders: Extenders | None = None) -> None:
        self._tables: dict[int, VictimTable] = {}
        self._dry_runs: dict[int, DryRunCache] = {}
        self._extenders = extenders

    def __call__(
        self, pod: PodInfo, diagnosis: Diagnosis, args: Any, rules: VictimRules | None = None, /
    ) -> PostFilterResult:
        """The result of DefaultPreemption's PostFilter, its message without the prefix.

        With ``rules`` it is that of another plugin; without ``args`` all nodes are tried.
        """
        reason = ineligible(pod, diagnosis) if rules is None else rules.ineligible(pod, diagnosis)
        if reason:
            return PostFilterResult(Status.unschedulable(reason), preemption="not allowed")
        dry_runs = self._dry_runs_of(diagnosis) if rules is None else None
        search = VictimSearch(pod, diagnosis, self._table(diagnosis), dry_runs, rules)
        candidates = search.run(args, self.random)
        if not len(candidates):
            refusal = search.refusal() if dry_runs is None else self._explain(pod, diagnosis, dry_runs)
            return PostFilterResult(refusal, preemption="no victims", keeps_nomination=refusal.code is Code.ERROR)
        if self._extenders is not None:
            return self._after_extenders(self._extenders, search, candidates)
        place, criterion = choose(candidates, diagnosis.cluster.columns.name_rank, self.random)
        row = int(candidates.rows[place])
        victims = search.victims(row, candidates.gone[place], candidates.broken[place])
        node = diagnosis.cluster.columns.names[row]
        return PostFilterResult(None, node, tuple(victims), criterion, len(candidates), at_once=rules is not None)

    def _explain(self, pod: PodInfo, diagnosis: Diagnosis, dry_runs: DryRunCache) -> Status:
        """Why no node would do. The same verdicts are handed out while no node changes."""
        if dry_runs.refused is not None and dry_runs.refused[0] is diagnosis.verdicts:
            return dry_runs.refused[1]
        # Nodes tell why they would not do when they are tried, here all of them at once.
        search = VictimSearch(pod, diagnosis, self._table(diagnosis))
        search.run(None)
        refusal = search.refusal()
        dry_runs.refused = None if diagnosis.verdicts is None else (diagnosis.verdicts, refusal)
        return refusal

    def _after_extenders(self, extenders: Extenders, search: VictimSearch, candidates: Candidates) -> PostFilterResult:
        """The best of the candidates that extenders leave."""
        claims = search.ask_extenders(extenders, candidates)
        if isinstance(claims, Status):
            return PostFilterResult(claims)
        if not claims:
            refusal = Status.unschedulable(NO_CANDIDATE)
            return PostFilterResult(refusal, preemption="no victims", keeps_nomination=False)
        cluster = search.cluster
        place, criterion = choose(measure_candidates(claims, cluster), cluster.columns.name_rank, self.random)
        node = list(claims)[place]
        return PostFilterResult(None, node, claims[node].victims, criterion, len(claims))

    def rank_candidates(self, pod: PodInfo, diagnosis: Diagnosis) -> list[RankedCandidate]:
        """All nodes where evictions would make room, the best first."""
        if ineligible(pod, diagnosis):
            return []
        search = VictimSearch(pod, diagnosis, self._table(diagnosis))
        candidates = search.run(None)
        claims: dict[str, Victims] | None = None
        if self._extenders is not None and len(candidates):
            answer = search.ask_extenders(self._extenders, candidates)
            claims = {} if isinstance(answer, Status) else answer
            candidates = measure_candidates(claims, diagnosis.cluster)
        names = diagnosis.cluster.columns.name_rank[candidates.rows]
        measures = {criterion: measure(candidates) for criterion, measure in CRITERIA}
        # As in ``choose``, the later of two whose victims have not started is the better.
        keys = [np.where(candidates.start == NEVER_STARTED, -names, names), *(-m for m in reversed(measures.values()))]
        order: IntpArray = np.lexsort(keys)
        ranked: list[RankedCandidate] = []
        for last, place in zip([None, *order[:-1]], order, strict=True):
            row = int(candidates.rows[place])
            node = diagnosis.cluster.columns.names[row]
            victims = search.claim(candidates, int(place)).victims if claims is None else claims[node].victims
            behind = ""
            if last is not None:
                apart = (criterion for criterion, measure in measures.items() if measure[last] != measure[place])
                started = candidates.start[place] != NEVER_STARTED
                behind = next(apart, FIRST_BY_NAME if started else CRITERIA[-1][0])
            violations, top, priorities = (
                int(measure[place]) for measure in (candidates.violations, candidates.top, candidates.priorities)
            )
            ranked.append(RankedCandidate(node, victims, violations, top, priorities, behind))
        return ranked

    def _table(self, diagnosis: Diagnosis) -> VictimTable:
        cluster = diagnosis.cluster
        table = self._tables.get(id(cluster))
        if table is None or table.columns is not cluster.columns:
            table = self._tables[id(cluster)] = VictimTable(cluster)
        return table

    def _dry_runs_of(self, diagnosis: Diagnosis) -> DryRunCache | None:
        """The cached dry runs for pods like this one; None where they may differ from pod to pod."""
        evaluation, cluster = diagnosis.evaluation, diagnosis.cluster
        if evaluation.depends_on_other_pods:
            return None
        dry_runs = self._dry_runs.pop(id(evaluation), None)
        if dry_runs is None or dry_runs.evaluation is not evaluation:
            if len(self._dry_runs) >= _MOST_DRY_RUNS:
                del self._dry_runs[next(iter(self._dry_runs))]
            dry_runs = DryRunCache(evaluation, cluster)
        self._dry_runs[id(evaluation)] = dry_runs
        dry_runs.catch_up()
        return dry_runs


def measure_candidates(claims: Mapping[str, Victims], cluster: Cluster) -> Candidates:
    """Candidates as extenders left them, with the criteria of the choice; the first victim is the most important."""
    of_claims = list(claims.values())
    tops = [max(pod.priority for pod in claim.victims) for claim in of_claims]
    flags = np.zeros((len(of_claims), 0), np.bool_)
    measures = [
        (
            claim.violations,
            claim.victims[0].priority,
            sum(pod.priority + PRIORITY_SHIFT for pod in claim.victims),
            len(claim.victims),
            min(pod.start for pod in claim.victims if pod.priority == top),
        )
        for claim, top in zip(of_claims, tops, strict=True)
    ]
    rows = np.array([cluster.columns.row(node) for node in claims], np.intp)
    return Candidates(rows, np.array(measures, np.int64).reshape(len(rows), 5), flags, flags)


def ineligible(pod: PodInfo, diagnosis: Diagnosis) -> str:
    """Why the pod may not preempt at all, empty if it may (upstream: PodEligibleToPreemptOthers)."""
    if pod.shape.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    row = diagnosis.cluster.columns.row(pod.nominated) if pod.nominated else None
    if row is None:
        return ""
    status = diagnosis.status(row)
    if status is not None and status.code is Code.UNRESOLVABLE:
        return ""
    conditions = diagnosis.cluster.shapes.features.pod_disruption_conditions
    for other in diagnosis.cluster.pods_on[row]:
        leaving = _terminating_by_preemption(other) if conditions else other.shape.terminating
        if other.priority < pod.priority and leaving:
            return "not eligible due to a terminating pod on the nominated node."
    return ""


def _terminating_by_preemption(info: PodInfo) -> bool:
    if not info.shape.terminating:
        return False
    for condition in info.pod.status.conditions or ():
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False
