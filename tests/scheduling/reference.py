"""Preemption the slow way: one node at a time, one pod at a time, on a copy of the cluster.

Every lower-priority pod leaves the node, the rest is checked, and pods come back one by one. What it asks of the
engine is only whether a pod fits on a node of a given cluster; everything else is written out plainly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from kwhatif.api.selectors import Selector
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import Code, Diagnosis, Status


@dataclass
class Candidate:
    """A node that would do if ``victims`` left it, the most important first."""

    node: str
    victims: list[PodInfo]
    violations: int


@dataclass
class Outcome:
    """The node chosen among ``candidates``, or reasons by the number of nodes they hold for."""

    best: Candidate | None
    candidates: list[Candidate]
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return ", ".join(sorted(f"{number} {reason}" for reason, number in self.reasons.items()))


def status_on(framework: Framework, cluster: Cluster, pod: PodInfo, row: int) -> Status | None:
    """Whether a pod fits on one node of a cluster: None, or why not."""
    evaluation = Evaluation(framework, cluster, pod)
    evaluation.begin(pod)
    if evaluation.refusal is not None:
        return evaluation.refusal
    status = evaluation.verdicts(pod).status(row)
    assert (status is None) == bool(evaluation.passing(pod)[row]), "the two ways to ask agree"
    return status


def preempt(framework: Framework, diagnosis: Diagnosis, pod: PodInfo, enough: int | None = None) -> Outcome:
    """Search the nodes where evicting might help, in order, until there are ``enough`` candidates."""
    cluster = diagnosis.cluster
    hopeful = [row for row in range(len(cluster)) if _might_help(diagnosis.status(row))]
    enough = len(hopeful) if enough is None else min(enough, len(hopeful))
    budgets = cluster.objects.list_all(PodDisruptionBudget)
    clean: list[Candidate] = []
    dirty: list[Candidate] = []
    reasons: dict[str, int] = {}
    told = 0
    for row in hopeful:
        found = _on_node(framework, cluster, pod, row, budgets)
        if isinstance(found, Status):
            told += 1
            for reason in found.reasons:
                reasons[reason] = reasons.get(reason, 0) + 1
            continue
        same = dirty if found.violations else clean
        if len(same) < enough:
            same.append(found)
        if clean and len(clean) + len(dirty) >= enough:
            break
    if told < len(cluster):
        reasons["Preemption is not helpful for scheduling"] = len(cluster) - told
    return Outcome(_best(clean + dirty), clean + dirty, reasons)


def _might_help(status: Status | None) -> bool:
    return status is not None and status.code is Code.UNSCHEDULABLE


def _on_node(
    framework: Framework, cluster: Cluster, pod: PodInfo, row: int, budgets: Sequence[PodDisruptionBudget]
) -> Candidate | Status:
    twin = cluster.fork()
    lower = [info for info in cluster.pods_on[row] if info.priority < pod.priority]
    if not lower:
        return Status.unresolvable("No preemption victims found for incoming pod")
    for info in lower:
        twin.forget(info.uid)
    status = status_on(framework, twin, pod, row)
    if status is not None:
        return status
    ranked = ranking(lower)
    breaking = breaking_a_budget(ranked, budgets)
    victims: list[PodInfo] = []
    for info in [*breaking, *(i for i in ranked if i not in breaking)]:
        twin.assume(info, row)
        if status_on(framework, twin, pod, row) is not None:
            twin.forget(info.uid)
            victims.append(info)
    broken = sum(info in breaking for info in victims)
    return Candidate(cluster.columns.names[row], [i for i in ranked if i in victims], broken)


def more_important(one: PodInfo, other: PodInfo) -> bool:
    """By priority, then by age. A pod that has not started yet starts the moment it is asked, so ``one`` does first."""
    if one.priority != other.priority:
        return one.priority > other.priority
    if one.start == NEVER_STARTED:
        return other.start == NEVER_STARTED
    return one.start < other.start


def ranking(pods: Sequence[PodInfo]) -> list[PodInfo]:
    """The most important pod first, by insertion."""
    ranked: list[PodInfo] = []
    for pod in pods:
        place = len(ranked)
        while place and more_important(pod, ranked[place - 1]):
            place -= 1
        ranked.insert(place, pod)
    return ranked


def breaking_a_budget(pods: Sequence[PodInfo], budgets: Sequence[PodDisruptionBudget]) -> list[PodInfo]:
    """Those whose eviction, one after the other, some budget no longer allows."""
    left = [budget.status.disruptions_allowed or 0 for budget in budgets]
    found = []
    for info in pods:
        breaks = False
        for i, budget in enumerate(budgets):
            selector = Selector.from_label_selector(budget.spec.selector)
            labels = info.pod.metadata.labels or {}
            if not labels or selector.empty or not selector.matches(labels):
                continue
            if budget.namespace != info.pod.namespace or info.pod.name in (budget.status.disrupted_pods or {}):
                continue
            left[i] -= 1
            breaks = breaks or left[i] < 0
        if breaks:
            found.append(info)
    return found


def _best(candidates: list[Candidate]) -> Candidate | None:
    """Criterion after criterion; nodes are looked at by name."""
    left = sorted(candidates, key=lambda c: c.node)
    clock = count(int(NEVER_STARTED))
    for measure in (
        lambda c: c.violations,
        lambda c: c.victims[0].priority,
        lambda c: sum(v.priority + 2**31 for v in c.victims),
        lambda c: len(c.victims),
        lambda c: -_earliest_start(c, clock),
    ):
        if len(left) > 1:
            values = [measure(candidate) for candidate in left]
            left = [c for c, value in zip(left, values, strict=True) if value == min(values)]
    return left[0] if left else None


def _earliest_start(candidate: Candidate, clock: Iterator[int]) -> int:
    """Of the victims of highest priority; a pod that has not started counts as starting now."""
    top = candidate.victims[0].priority
    starts = [v.start for v in candidate.victims if v.priority == top]
    return min(next(clock) if start == NEVER_STARTED else start for start in starts)
