"""From columns to results: the only place that turns arrays into words.

Everything here reads; nothing changes the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.framework.evaluation import Evaluation, PluginScore
from kwhatif.framework.status import EXTENDER, Diagnosis, Verdicts
from kwhatif.results.explain import Blocker, Eviction, NodeReport
from kwhatif.results.place import AllocatedDevice, ClaimDevices, Score, Victim
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.preemption import Preemption
from kwhatif.scheduling.preemption_candidates import Budgets

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import ExtenderCycle, Extenders


def owner_of(pod: PodInfo) -> str:
    """``ReplicaSet/web-5d4c``, or an empty text for a pod without a controller."""
    controller = pod.shape.controller
    return f"{controller.kind}/{controller.name}" if controller else ""


def devices_of(cluster: Cluster, pod: PodInfo) -> tuple[ClaimDevices, ...]:
    """The devices that the claims of a pod have, claim by claim."""
    devices = cluster.devices
    extended = devices.extended_claim(pod.pod)
    by_claim = []
    for claim in devices.of_pod(pod.pod):
        allocation = claim.status.allocation
        if allocation is None:
            continue
        uses = tuple(
            AllocatedDevice(
                request=result.request,
                driver=result.driver,
                pool=result.pool,
                device=result.device,
                admin=bool(result.admin_access),
                consumes={name: str(amount) for name, amount in sorted((result.consumed_capacity or {}).items())},
            )
            for result in allocation.devices.results or ()
        )
        others = (f"{claim.namespace}/{user.name}" for user in claim.status.reserved_for or () if user.uid != pod.uid)
        by_claim.append(
            ClaimDevices(claim=claim.key, devices=uses, shared_with=tuple(others), extended=claim is extended)
        )
    return tuple(by_claim)


def victim_of(pod: PodInfo, node: str, budgets: Budgets, *, violates: bool) -> Victim:
    return Victim(
        pod=pod.key,
        node=node,
        priority=pod.priority,
        owner=owner_of(pod),
        budgets=tuple(budget.name for budget in budgets.budgets_of(pod)),
        violates=violates,
        terminating=pod.shape.terminating,
    )


def victims_of(attempt: Attempt, budgets: Budgets) -> tuple[Victim, ...]:
    """The victims of a preemption, the most important first."""
    broken = budgets.broken_by(attempt.victims)
    return tuple(
        victim_of(victim, attempt.nominated, budgets, violates=breaks)
        for victim, breaks in zip(attempt.victims, broken, strict=True)
    )


def choice_of(attempt: Attempt) -> str:
    """What decided between equal nodes, as a placement has it."""
    if attempt.is_hinted:
        return "hint"
    return attempt.choice.value if attempt.is_placed and len(attempt.best) > 1 else ""


def scores_at(attempt: Attempt) -> tuple[Score, ...]:
    """Every plugin's score of the chosen node, if the attempt kept them."""
    if attempt.row is None or not attempt.scores:
        return ()
    place = int(np.flatnonzero(attempt.sampled == attempt.row)[0])
    return tuple(_score(scores, place) for scores in attempt.scores)


def _score(scores: PluginScore, place: int, detail: str = "") -> Score:
    return Score(
        plugin=scores.plugin,
        weight=scores.weight,
        raw=int(scores.raw[place]),
        normalized=int(scores.normalized[place]),
        weighted=int(scores.weighted_score[place]),
        detail=detail or msgspec.UNSET,
    )


def _explained_score(scores: PluginScore, place: int) -> Score:
    """The score with its arithmetic, of a cluster that is as it was when the score was worked out."""
    return _score(scores, place, "" if scores.describe is None else scores.describe(place))


def node_reports(
    pod: PodInfo, evaluation: Evaluation, verdicts: Verdicts, chosen: int | None, asking: ExtenderCycle | None = None
) -> tuple[NodeReport, ...]:
    """Every node with all its blockers or all its scores: feasible ones by rank, then the others by name.

    ``asking`` has what extenders say of the nodes that plugins let pass; their verdicts are added to ``verdicts``.
    """
    cluster = evaluation.cluster
    names = cluster.columns.names
    considered = np.arange(len(names)) if evaluation.narrowed is None else evaluation.narrowed
    feasible = feasible_rows(evaluation, verdicts)
    silent: dict[int, str] = {}
    if asking is not None:
        asking.add_to(verdicts)
        feasible, silent = np.unique(asking.rows), asking.silent
    feasible = feasible[np.argsort(cluster.columns.name_rank[feasible])]
    table = evaluation.scores(pod, feasible) if len(feasible) else []
    if asking is not None:
        table = asking.all_scores(table, feasible)
    reports = _rank_nodes(cluster, feasible, table, chosen)
    out = np.setdiff1d(np.arange(len(names)), feasible)
    for row in sorted(out.tolist(), key=names.__getitem__):
        blockers = _blockers(verdicts, row, evaluation, row not in considered)
        if row in silent:
            blockers = (*blockers, Blocker(plugin=EXTENDER, reason="left out without a word", detail=silent[row]))
        reports.append(NodeReport(node=names[row], feasible=False, blockers=blockers))
    return tuple(reports)


def feasible_rows(evaluation: Evaluation, verdicts: Verdicts) -> IntpArray:
    """Candidate rows that pass."""
    considered = np.arange(len(verdicts.first)) if evaluation.narrowed is None else evaluation.narrowed
    return considered[verdicts.feasible[considered]]


def _rank_nodes(
    cluster: Cluster, rows: IntpArray, table: Sequence[PluginScore], chosen: int | None
) -> list[NodeReport]:
    totals = np.zeros(len(rows), np.int64)
    for scores in table:
        totals += scores.weighted_score
    return [
        NodeReport(
            node=cluster.columns.names[rows[place]],
            feasible=True,
            scores=tuple(_explained_score(scores, place) for scores in table),
            total=int(totals[place]),
            rank=int(np.count_nonzero(totals > totals[place])) + 1,
            chosen=int(rows[place]) == chosen,
        )
        for place in np.argsort(-totals, kind="stable").tolist()
    ]


def _blockers(verdicts: Verdicts, row: int, evaluation: Evaluation, left_out: bool) -> tuple[Blocker, ...]:
    blockers = []
    if left_out:
        who = " ".join(sorted(evaluation.narrowed_by))
        blockers.append(
            Blocker(
                plugin=evaluation.narrowed_by[0],
                reason=f"node(s) didn't satisfy plugin(s) [{who}]",
                detail=f"only {', '.join(sorted(evaluation.narrowed_names))} come into question",
                reported=True,
                resolvable=False,
            )
        )
    for blocker in verdicts.blockers:
        if not blocker.where[row]:
            continue
        rejection = blocker.rejection
        unresolvable = rejection.unresolvable
        never = bool(unresolvable[row]) if isinstance(unresolvable, np.ndarray) else unresolvable
        blockers.append(
            Blocker(
                plugin=blocker.plugin,
                reason=rejection.reason,
                detail=rejection.detail(row) if rejection.detail else "",
                reported=bool(blocker.counted[row]) and not left_out,
                resolvable=not never,
                short=round(rejection.short(row), 4) if rejection.short else 0.0,
            )
        )
    return tuple(blockers)


def evictions(
    pod: PodInfo, diagnosis: Diagnosis, *, chosen: str, most: int, extenders: Extenders | None = None
) -> tuple[Eviction, ...]:
    """Nodes where evictions would make room, best first, with the measures of the choice between them.

    The chosen one is always among them: upstream may not look at all nodes, and so miss better ones.
    """
    budgets = Budgets(diagnosis.cluster)
    victims = []
    for place, candidate in enumerate(Preemption(extenders).rank_candidates(pod, diagnosis)):
        if place >= most and candidate.node != chosen:
            continue
        broken = budgets.broken_by(candidate.victims)
        first = min((v for v in candidate.victims if v.priority == candidate.top), key=lambda v: v.start)
        victims.append(
            Eviction(
                node=candidate.node,
                victims=tuple(
                    victim_of(victim, candidate.node, budgets, violates=breaks)
                    for victim, breaks in zip(candidate.victims, broken, strict=True)
                ),
                violations=candidate.violations,
                top_priority=candidate.top,
                sum_of_priorities=candidate.priorities,
                earliest_start=first.pod.status.start_time or "",
                chosen=candidate.node == chosen,
                behind=candidate.behind,
            )
        )
    return tuple(victims)
