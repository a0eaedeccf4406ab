"""Explains pods: every node's verdict, the blockers, the scores, and the smallest fixes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_bound_pods import room_if_empty
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import IntpArray
from kwhatif.errors import UsageError
from kwhatif.framework.status import Verdicts
from kwhatif.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.progress import track
from kwhatif.results.amounts import format_amount
from kwhatif.results.explain import Comparison, Eviction, ExplainResult, Fix, NodeReport, PodReport
from kwhatif.results.place import ClaimDevices, Placement
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.describe import devices_of, evictions, feasible_rows, node_reports
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.simulation.explanation.fixes import TrialCluster, smallest_fixes
from kwhatif.simulation.explanation.options import DEFAULT_OPTIONS, ExplainOptions
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.placements import placement_of, skip_pod, skip_reason_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.question import Answer
from kwhatif.simulation.session import PodToSchedule, Session

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import ExtenderCycle

MOST_EVICTIONS = 10


def explain_pods(
    session: Session,
    asked: Sequence[PodToSchedule],
    looking: ExplainOptions = DEFAULT_OPTIONS,
    *,
    state: str = "",
    unknown_kinds: Sequence[str] = (),
) -> Answer[ExplainResult]:
    """Explain each pod by itself, on the cluster as it is; nothing is placed.

    A running pod is taken off its node first, so that the answer is where it would go now. Of pods with the same owner
    and the same outcome one is explained.
    """
    looking.check(session)
    reports: dict[tuple[str, ...], PodReport] = {}
    placements = []
    for item in track(asked, "Explaining", "pods"):
        decided = decide_pod(session, item)
        placement = decided.placement
        placements.append(placement)
        moves = bool(decided.runs_on) and placement.node != decided.runs_on
        alike = (item.owner, placement.outcome, placement.reason, str(moves)) if item.owner else (item.pod.key,)
        if alike in reports:
            first = reports[alike]
            reports[alike] = replace(first, alike=(*first.alike, placement))
        else:
            reports[alike] = replace(report_of(decided, looking), state=state)
    run = Run(session, asked, placements, unknown_kinds)
    result = ExplainResult(
        nodes=len(session.cluster),
        pods=tuple(reports.values()),
        fidelity=assess(run),
        warnings=session.setup.configuration.warnings,
    )
    return Answer(result, [run])


class PodDecision(msgspec.Struct, frozen=True):
    """A pod, its attempt, and the cluster as it was at the decision; None for one that is left out.

    ``row`` is its node, if any. The pod ``runs_on`` a node already ``since`` a moment, or on none.
    """

    session: Session
    asked: PodToSchedule
    placement: Placement
    info: PodInfo | None = None
    attempt: Attempt | None = None
    row: int | None = None
    runs_on: str = ""
    since: str = ""


def decide_pod(session: Session, asked: PodToSchedule) -> PodDecision:
    """The decision about a pod, without acting on it; for a running one, where it would go now."""
    if session.driver.scheduler(asked.pod.spec.scheduler_name) is None:
        return PodDecision(session, asked, skip_pod(session, asked, skip_reason_of(session, asked)))
    running = session.running(asked.pod)
    runs_on = "" if running is None else session.cluster.columns.names[running[1]]
    since = "" if running is None else running[0].pod.status.start_time or ""
    session, asked = session.before_binding(asked)
    info = session.info(asked)
    attempt = session.driver.decide(info)
    placement = _wait_of(session, asked, attempt) or placement_of(session, asked, [attempt])
    placement = replace(placement, devices=_devices(session, asked, attempt))
    return PodDecision(session, asked, placement, info, attempt, attempt.row, runs_on, since)


def report_of(decided: PodDecision, looking: ExplainOptions, tried_in: TrialCluster | None = None) -> PodReport:
    """Every node's verdict on a pod in the state in which it was decided on, and its evictions.

    Fixes are tried in another cluster where one is given: that in which all of the change is placed.
    """
    placement, info, attempt = decided.placement, decided.info, decided.attempt
    if info is None or attempt is None:
        return PodReport(pod=placement.pod, placement=placement)
    session = decided.session
    scheduler = session.driver.scheduler_for(info)
    evaluation = scheduler.evaluation(info) if len(session.cluster) else None
    reports: tuple[NodeReport, ...] = ()
    refusal, refusal_detail = session.reason_of_gate(attempt), ""
    limit = ""
    if evaluation is not None:
        evaluation.refresh(info)
        evaluation.begin(info)
        if evaluation.refusal is not None:
            refusal, refusal_detail = evaluation.refusal.message, evaluation.refusal.detail
        else:
            verdicts = evaluation.verdicts(info)
            limit = "" if attempt.is_placed else describe_largest_node(info, session.cluster, verdicts)
            asking = _ask_extenders_of_all(scheduler, info, attempt, feasible_rows(evaluation, verdicts))
            reports = node_reports(info, evaluation, verdicts, decided.row, asking)
    chosen = attempt.nominated or placement.node
    # Nobody but Kueue takes its gate away.
    wanted = looking.fixes and not attempt.is_placed and info.key not in session.queues.held
    fixes, tried = _fixes(decided, attempt, tried_in) if wanted else ((), 0)
    return PodReport(
        pod=info.key,
        placement=placement,
        refusal=refusal,
        refusal_detail=refusal_detail or msgspec.UNSET,
        nodes=_only(reports, looking.node, looking.versus),
        evictions=_evictions(session, info, attempt),
        fixes=fixes,
        tried=tried,
        limit=limit,
        preemption=attempt.preemption,
        comparison=_comparison(reports, looking.node or chosen, looking.versus) if looking.versus else None,
        runs_on=decided.runs_on,
        since=decided.since,
    )


def _fixes(decided: PodDecision, attempt: Attempt, tried_in: TrialCluster | None) -> tuple[tuple[Fix, ...], int]:
    """The fixes, and how many changes were tried."""
    if tried_in is None:
        return smallest_fixes(TrialCluster.of_pod(decided.session, decided.asked.pod), decided.asked, attempt)
    later = decide_pod(tried_in.session, decided.asked)
    if later.attempt is None or later.attempt.is_placed:
        return (), 0
    return smallest_fixes(tried_in, decided.asked, later.attempt)


def _wait_of(session: Session, asked: PodToSchedule, attempt: Attempt) -> Placement | None:
    """What becomes of a pod that waits for siblings once it has its node: it is tried in a copy of the cluster."""
    if not attempt.is_placed or not session.driver.scheduler_for(attempt.pod).framework.has_quorums:
        return None
    tried = session.sandbox()
    again = tried.driver.attempt(tried.info(asked))
    return placement_of(tried, asked, [again]) if again.waiting else None


def _devices(session: Session, asked: PodToSchedule, attempt: Attempt) -> tuple[ClaimDevices, ...]:
    """The devices that the pod would get: it is bound, in a copy of the cluster."""
    if attempt.row is None or not (asked.pod.spec.resource_claims or session.cluster.devices.serving):
        return ()
    tried = session.sandbox()
    again = tried.driver.attempt(tried.info(asked))
    return devices_of(tried.cluster, again.pod) if again.row == attempt.row else ()


def _ask_extenders_of_all(
    scheduler: Scheduler, info: PodInfo, attempt: Attempt, rows: IntpArray
) -> ExtenderCycle | None:
    """Extenders' verdicts on all nodes that plugins let pass; a cycle may have called them with some only."""
    if (
        attempt.extender_cycle is None
        or attempt.refused is not None
        or not len(rows)
        or attempt.extender_cycle.covers(rows)
    ):
        return attempt.extender_cycle if attempt.refused is None else None
    return scheduler.ask_extenders(info, scheduler.evaluation(info), rows)


def _evictions(session: Session, info: PodInfo, attempt: Attempt) -> tuple[Eviction, ...]:
    diagnosis = attempt.diagnosis
    if diagnosis is None or not attempt.nominated:
        return ()
    extenders = session.setup.extenders
    return evictions(info, diagnosis, chosen=attempt.nominated, most=MOST_EVICTIONS, extenders=extenders)


def _only(reports: tuple[NodeReport, ...], node: str, versus: str) -> tuple[NodeReport, ...]:
    wanted = {name for name in (node, versus) if name}
    return tuple(r for r in reports if r.node in wanted) if wanted else reports


def _comparison(reports: Sequence[NodeReport], left: str, right: str) -> Comparison | None:
    by_name = {report.node: report for report in reports}
    if not left:
        raise UsageError("--versus needs --node NODE, since the pod fits on no node")
    if left == right:
        # Asked to compare the chosen node with itself: the next best tells more.
        right = next((r.node for r in reports if r.node != left and r.feasible), "")
    if left not in by_name or right not in by_name:
        return None
    return compare(by_name[left], by_name[right])


def compare(left: NodeReport, right: NodeReport) -> Comparison:
    """Two nodes side by side, and what decides between them."""
    if left.feasible != right.feasible:
        good, bad = (left, right) if left.feasible else (right, left)
        why = "; ".join(b.detail or b.reason for b in bad.blockers)
        verdict = f"{good.node} fits, {bad.node} does not: {why}"
    elif not left.feasible:
        verdict = f"neither fits: {_count(left)}, {_count(right)}"
    else:
        verdict = _by_score(left, right)
    return Comparison(left=left, right=right, verdict=verdict)


def _count(node: NodeReport) -> str:
    number = len(node.blockers)
    return f"{node.node} has {number} blocker{'' if number == 1 else 's'}"


def _by_score(left: NodeReport, right: NodeReport) -> str:
    gap = (left.total or 0) - (right.total or 0)
    others = {score.plugin: score.weighted for score in right.scores}
    parts = [
        (score.weighted - others.get(score.plugin, 0), score.plugin)
        for score in left.scores
        if score.weighted != others.get(score.plugin, 0)
    ]
    why = ", ".join(f"{plugin} {delta:+d}" for delta, plugin in sorted(parts, key=lambda p: -abs(p[0])))
    if gap == 0:
        taken = next((f"; {report.node} is taken" for report in (left, right) if report.chosen), "")
        return f"a tie at {left.total}" + (f" ({why})" if why else "") + taken
    better, worse = (left, right) if gap > 0 else (right, left)
    return f"{better.node} beats {worse.node} by {abs(gap)} ({why}, seen from {left.node})"


def describe_largest_node(pod: PodInfo, cluster: Cluster, verdicts: Verdicts) -> str:
    """``no node would do, even empty: ...``, with what the largest offers; empty if some node could hold the pod.

    Only nodes count that nothing but resources keeps from the pod.
    """
    rows = verdicts.only_blocked_by().get(NodeResourcesFit.name, [])
    axis = cluster.shapes.resources
    offers = {row: room_if_empty(cluster, row) for row in rows}
    for name, amount in pod.shape.requests.items():
        column = axis.column(name)
        best = max(rows, key=lambda row: int(offers[row][column]), default=None)
        if best is None or offers[best][column] >= amount:
            continue
        one = f"node {cluster.columns.names[best]}"
        node = one if len(rows) == 1 else f"the largest of the {len(rows)} nodes that only resources rule out"
        taken = offers[best][column] < cluster.columns.allocatable[best][column]
        offer = f"{format_amount(name, int(offers[best][column]))} {name}"
        return (
            f"no node would do, even empty: {node} offers {offer}{' beside its daemon pods' if taken else ''}, "
            f"the pod requests {format_amount(name, amount)}"
        )
    return ""
